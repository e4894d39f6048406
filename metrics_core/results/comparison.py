"""Comparison: what `compare` returns, comparison.json holds and reports show."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.results.comparison_parts import (
    LEFT_OUT,
    OF_VALUES,
    BestChance,
    Difference,
    Distribution,
    Metric,
    PanelEntry,
    PinnedConventions,
    Provenance,
    Score,
    Segmentation,
    Tradeoff,
    Unit,
    Warned,
)
from concord.metrics_core.results.error_analysis import Cases
from concord.metrics_core.results.frames import frame_of
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.rendering import render_sentences, rendered
from concord.metrics_core.results.replicates import ReplicatedDifference, Replicates
from concord.metrics_core.results.words import narrowest_half

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Precision:
    """Half of the narrowest interval of a label's means, and of its differences; do all means lie in [-1, 1]?"""

    means: float | None
    differences: float | None
    in_unit_interval: bool


def in_unit_interval(values: Iterable[float | None]) -> bool:
    """True if all values that exist lie in [-1, 1]."""
    return all(value is None or abs(value) <= 1 for value in values)


NO_CONVENTIONS = PinnedConventions("custom", "", (), {})
NO_PROVENANCE = Provenance((), {}, "")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Models compared on the same users, under the same conventions.

    baseline    : the model that all others are compared with
    primary     : the labels that were declared to matter, the first most of all
    confidence  : of all intervals and tests, such as 0.95
    models      : in the order given; `ks`: all cutoffs, ascending
    metrics     : every label, in report order
    scores      : one a label and model; `leaderboard` is the same as a frame
    pairs       : one a label and pair of models that was compared; `differences` is the same as a frame
    panel       : each primary label under every definition that some preset has
    warnings    : signs of a doubtful evaluation, most serious first; `checked` names those that were looked for
    gate        : what the gate decides on every model against the baseline; None where none was asked for
    quality     : lists, or `truth` -> what was found in the table, as quality files have it; not to be changed
    covers      : what the intervals cover, and what not
    replicates  : models that were trained several times; None where none was
    unit        : what values are of, where they are not of users
    """

    title: str
    baseline: str
    primary: tuple[str, ...]
    confidence: float
    models: tuple[str, ...]
    metrics: tuple[Metric, ...]
    ks: tuple[int, ...]
    scores: tuple[Score, ...]
    pairs: tuple[Difference, ...]
    panel: tuple[PanelEntry, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    best: tuple[BestChance, ...] = ()
    tradeoffs: tuple[Tradeoff, ...] = ()
    segments: tuple[Segmentation, ...] = ()
    warnings: tuple[Warned, ...] = ()
    checked: tuple[str, ...] = ()
    gate: Decision | None = None
    quality: Mapping[str, Any] = field(default_factory=dict)
    conventions: PinnedConventions = NO_CONVENTIONS
    provenance: Provenance = NO_PROVENANCE
    covers: str = ""
    replicates: Replicates | None = None
    unit: Unit | None = field(default=None, metadata=LEFT_OUT)

    def to_html(self, path: str | Path | None = None, cases: Cases | None = None) -> str:
        """The report as one HTML page that needs no network; written to `path`, if one is given.

        cases : error analysis of two models, by `concord.cases`, that the report shows; none by default
        """
        page = rendered(self, "html", cases)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8", newline="\n")
        return page

    def to_latex(self, path: str | Path | None = None) -> str:
        """The leaderboard as a LaTeX table; written to `path`, if one is given."""
        table = rendered(self, "latex")
        if path is not None:
            Path(path).write_text(table, encoding="utf-8", newline="\n")
        return table

    def __repr__(self) -> str:
        n = len(self.models)
        models = "1 model" if n == 1 else f"{n} models"
        said = f": {self.verdicts[0]}" if self.verdicts else ""
        warnings = "".join(f" Warning ({each.whose}): {each.sentence}" for each in self.serious)
        return f"<Comparison of {models} on {', '.join(self.primary)}{said}{warnings}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the leaderboard, the verdicts and the differences to the baseline.

        Where what draws is not installed: the scores, and what to install.
        """
        try:
            return rendered(self, "notebook")
        except InputError as missing:
            told = "".join(f"<p>{escape(text)}</p>" for text in (repr(self), str(missing)))
            return self.leaderboard._repr_html_() + told

    @cached_property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts in sentences, most important first."""
        return render_sentences("verdicts", self)

    @cached_property
    def replicate_answers(self) -> tuple[str, ...]:
        """Would the order hold if the models were trained again? Sentences; () if each was trained once."""
        return render_sentences("replicates", self)

    @property
    def has_lists(self) -> bool:
        """True if values were computed from lists; False if they were given, as to `compare_values`."""
        return not self.metrics or any(metric.family != OF_VALUES for metric in self.metrics)

    @property
    def serious(self) -> tuple[Warned, ...]:
        """The warnings that a reader must know before any number."""
        return tuple(each for each in self.warnings if each.severity == "serious")

    @property
    def leaderboard(self) -> "pl.DataFrame":
        """One row a label and model, columns as the fields of `Score`."""
        return frame_of(Score, self.scores)

    @property
    def differences(self) -> "pl.DataFrame":
        """One row a label and pair of models, columns as the fields of `Difference`.

        Where models have replicates: `trained_low`, `trained_high` and `trained_verdict` too, over new users and new
        trainings.
        """
        found = frame_of(Difference, self.pairs)
        if self.replicates is None:
            return found
        over = frame_of(ReplicatedDifference, self.replicates.pairs)
        columns = {"ci_low": "trained_low", "ci_high": "trained_high", "verdict": "trained_verdict"}
        key = ["label", "a", "b"]
        over = over.select(*key, *columns).rename(columns)
        return found.join(over, on=key, how="left", maintain_order="left")

    def metric(self, label: str) -> Metric:
        """What is known of a label.

        Raises
        ------
        InputError : it was not evaluated
        """
        if label not in self._metrics:
            what = f"was not evaluated; there are {', '.join(self._metrics)}"
            raise refuse(label, what, "name one of these")
        return self._metrics[label]

    @property
    def lists(self) -> dict[str, str]:
        """Name of lists -> the model they are of, which is of the same name unless it has replicates."""
        trained = self.replicates.models if self.replicates else {}
        return {
            name: model
            for model in self.models
            for name in trained.get(model, {model: model}).values()
        }

    @property
    def ranked_lists(self) -> list[str]:
        """Names of all lists, those of the best model first."""
        of_model: dict[str, list[str]] = {model: [] for model in self.ranked}
        for name, model in self.lists.items():
            of_model[model].append(name)
        return [name for names in of_model.values() for name in names]

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in report order."""
        return tuple(self._metrics)

    def score(self, model: str, label: str) -> Score:
        """The mean of a model on a label.

        Raises
        ------
        InputError : there is no such model, or the label was not evaluated
        """
        if model not in self.models:
            what = f"is not among the models: {', '.join(self.models)}"
            raise refuse(model, what, "name one of these")
        return self._scores[self.metric(label).label][model]

    def scores_of(self, label: str) -> list[Score]:
        """The means of a label, models in the order given."""
        return list(self._scores[self.metric(label).label].values())

    def pairs_of(self, label: str) -> list[Difference]:
        """The differences of a label."""
        return self._pairs.get(label, [])

    @cached_property
    def precision(self) -> Mapping[str, Precision]:
        """How precisely each label is known."""
        return {
            label: Precision(
                narrowest_half(scores := self.scores_of(label)),
                narrowest_half(self.pairs_of(label)),
                in_unit_interval(score.mean for score in scores),
            )
            for label in self.labels
        }

    def difference(self, a: str, b: str, label: str) -> Difference | None:
        """Model a minus model b, whichever way round it was computed; None if it was not."""
        found = self._by_names.get((a, b, label))
        if found is None and (backward := self._by_names.get((b, a, label))) is not None:
            return backward.mirrored()
        return found

    def retrained(self, a: str, b: str, label: str) -> ReplicatedDifference | None:
        """Model a minus model b over new users and new trainings; None where both were trained once."""
        found = self._retrained.get((a, b, label))
        if found is None and (backward := self._retrained.get((b, a, label))) is not None:
            return backward.mirrored()
        return found

    @cached_property
    def primary_pairs(self) -> list[Difference]:
        """The differences of all primary labels: the family whose p values are adjusted together."""
        return [pair for pair in self.pairs if pair.primary]

    def leaders(self, label: str) -> list[str]:
        """The models with the best mean of a label."""
        return [score.model for score in self.scores_of(label) if score.best]

    def others(self, label: str) -> list[str]:
        """The models behind the leaders, best first; those without a mean last."""
        return self._best_first([s.model for s in self.scores_of(label) if not s.best], label)

    @cached_property
    def ranked(self) -> list[str]:
        """All models, best first by the first primary label; those without a mean last."""
        return self._best_first(list(self.models), self.primary[0])

    @property
    def challengers(self) -> list[str]:
        """All models but the baseline, best first."""
        return [model for model in self.ranked if model != self.baseline]

    def against_baseline(self, label: str) -> list[Difference]:
        """Every challenger against the baseline that was compared with it, best on the label first."""
        models = [*self.leaders(label), *self.others(label)]
        found = [self.difference(m, self.baseline, label) for m in models if m != self.baseline]
        return [pair for pair in found if pair is not None]

    @cached_property
    def main_cutoff(self) -> int | None:
        """The cutoff of the first primary label that has one; else the greatest."""
        known = [k for label in self.primary if (k := self.metric(label).k) is not None]
        return known[0] if known else max(self.ks, default=None)

    def _best_first(self, models: list[str], label: str) -> list[str]:
        means = {model: self.score(model, label).mean for model in models}
        sign = -1 if self.metric(label).higher_is_better else 1
        return sorted(models, key=lambda model: (means[model] is None, sign * (means[model] or 0)))

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {metric.label: metric for metric in self.metrics}

    @cached_property
    def _scores(self) -> dict[str, dict[str, Score]]:
        found: dict[str, dict[str, Score]] = {}
        for score in self.scores:
            found.setdefault(score.label, {})[score.model] = score
        return found

    @cached_property
    def _pairs(self) -> dict[str, list[Difference]]:
        found: dict[str, list[Difference]] = {}
        for pair in self.pairs:
            found.setdefault(pair.label, []).append(pair)
        return found

    @cached_property
    def _retrained(self) -> dict[tuple[str, str, str], ReplicatedDifference]:
        pairs = self.replicates.pairs if self.replicates else ()
        return {(pair.a, pair.b, pair.label): pair for pair in pairs}

    @cached_property
    def _by_names(self) -> dict[tuple[str, str, str], Difference]:
        return {(pair.a, pair.b, pair.label): pair for pair in self.pairs}
