"""The result of `compare` and `compare_values`; comparison.json stores it and reports show it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from concord.metrics_core.analyses.cases.result import Cases
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.results.base import OMIT_IF_NONE, frame_of
from concord.metrics_core.results.behaviour import BehaviourCheck, Overlap
from concord.metrics_core.results.comparison_methods import ComparisonMethods
from concord.metrics_core.results.comparison_parts import (
    OF_VALUES,
    BestShare,
    DataWarning,
    Difference,
    Distribution,
    Metric,
    PanelEntry,
    PinnedConventions,
    Provenance,
    Score,
    Segmentation,
    TieRange,
    Tradeoff,
    Unit,
    Winner,
)
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.plot import Kind, Plot
from concord.metrics_core.results.reference import References
from concord.metrics_core.results.rendering import (
    draw,
    render_document,
    render_sentences,
    write_document,
)
from concord.metrics_core.results.replicates import ReplicatedDifference, Replicates
from concord.metrics_core.results.text_format import metric_decimals

if TYPE_CHECKING:
    import polars as pl

P = TypeVar("P", Difference, ReplicatedDifference)
NO_CONVENTIONS = PinnedConventions("custom", "", (), {})
NO_PROVENANCE = Provenance((), {}, "")


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonMethods):
    """Models compared on the same users, under the same conventions.

    It holds no values of single users, but for the example users of a check that fails: the stage
    `evaluate` writes them, and `Cases` has other example users.

    Attributes
    ----------
    baseline : str
        The model that all others are compared with.
    primary : tuple of str
        The metrics that decide, the most important first.
    confidence : float
        Confidence level of all intervals and tests, such as 0.95.
    models : tuple of str
        In the order of the argument `models`.
    metrics : tuple of Metric
        Every metric, in report order.
    ks : tuple of int
        All cutoffs, ascending.
    scores : tuple of Score
        One per metric and model; `leaderboard` is the same as a frame.
    pairs : tuple of Difference
        One per metric and pair of models that was compared; `differences` is the same as a frame.
    panel : tuple of PanelEntry
        Each primary metric under the definitions of all presets.
    distributions : tuple of Distribution
        Percentiles of users' differences to the baseline, per primary metric and model.
    best : tuple of BestShare
        Share of resamples in which each model is best, per primary metric.
    winners : tuple of Winner
        The leader of each primary metric, if it was chosen from several models, with an estimate
        that allows for this choice.
    ties : tuple of TieRange
        Range of each mean that depends on the order of equal scores.
    tradeoffs : tuple of Tradeoff
        Metrics beyond accuracy against the first primary metric.
    segments : tuple of Segmentation
        The models in groups of users or items.
    overlaps : tuple of Overlap
        The overlap of each other model's lists with those of the baseline.
    checks : tuple of BehaviourCheck
        The result of each of the owner's checks on each model.
    warnings : tuple of DataWarning
        Signs of a doubtful evaluation, most serious first; acknowledged ones last.
    checked : tuple of str
        The kinds of warnings that were checked.
    gate : Decision or None
        The decision of the gate on every model against the baseline; None without a gate.
    quality : dict
        Name of lists, or `truth` -> counts of this table. Must not be changed.
    conventions : PinnedConventions
        All conventions and their values, with overrides for single metrics.
    provenance : Provenance
        The input tables with their hashes, and the versions of programs.
    values_version : int
        Version of the values; a Concord that computes other values rejects them.
    replicates : Replicates or None
        Models with replicates; None if every model was trained once.
    family : {'baseline', 'all'}
        The comparisons of primary metrics whose intervals hold together.
    tried : int or None
        Number of models that were tried on these users, if it was configured.
    references : References or None
        Chance, the most popular items and the best possible lists; None if they were not computed.
    unit : Unit or None
        The evaluated unit; None if it is a user.
    words : dict or None
        The words that texts show for user, item and request; None if they show these.
    chosen : tuple of str
        Arguments of `compare` that were chosen from the tables, as its metrics were not named.

    Examples
    --------
    >>> import concord as cc
    >>> demo = cc.datasets.load_demo()
    >>> models = {name: demo.models[name] for name in ("als", "ease")}
    >>> comparison = cc.compare(models, demo.truth, metrics=["nDCG@10"], baseline="als")
    >>> comparison.verdicts[0]
    'ease beats als on nDCG@10.'
    >>> comparison.differences.select("a", "b", "verdict").rows()
    [('ease', 'als', 'better')]
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
    best: tuple[BestShare, ...] = ()
    winners: tuple[Winner, ...] = ()
    ties: tuple[TieRange, ...] = field(default=(), metadata=OMIT_IF_NONE)
    tradeoffs: tuple[Tradeoff, ...] = ()
    segments: tuple[Segmentation, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    checks: tuple[BehaviourCheck, ...] = ()
    warnings: tuple[DataWarning, ...] = ()
    checked: tuple[str, ...] = ()
    gate: Decision | None = None
    quality: Mapping[str, Any] = field(default_factory=dict)
    conventions: PinnedConventions = NO_CONVENTIONS
    provenance: Provenance = NO_PROVENANCE
    values_version: int = VALUES_VERSION
    replicates: Replicates | None = None
    family: Literal["baseline", "all"] = "baseline"
    tried: int | None = field(default=None, metadata=OMIT_IF_NONE)
    references: References | None = field(default=None, metadata=OMIT_IF_NONE)
    unit: Unit | None = field(default=None, metadata=OMIT_IF_NONE)
    words: Mapping[str, str] | None = field(default=None, metadata=OMIT_IF_NONE)
    chosen: tuple[str, ...] = field(default=(), metadata=OMIT_IF_NONE)

    @overload
    def to_html(self, path: None = None, cases: Cases | None = None) -> str: ...
    @overload
    def to_html(self, path: str | Path, cases: Cases | None = None) -> Path: ...
    def to_html(self, path: str | Path | None = None, cases: Cases | None = None) -> str | Path:
        """Return the report as an HTML page that needs no network, or write it to `path`.

        Parameters
        ----------
        path : str or Path, optional
            File to write the page to; then the path is returned.
        cases : Cases, optional
            Error analysis of two models that the report shows, from `concord.cases`.
        """
        return write_document(render_document(self, "html", cases=cases), path)

    @overload
    def to_latex(self, path: None = None, metrics: Sequence[str] | None = None) -> str: ...
    @overload
    def to_latex(self, path: str | Path, metrics: Sequence[str] | None = None) -> Path: ...
    def to_latex(
        self, path: str | Path | None = None, metrics: Sequence[str] | None = None
    ) -> str | Path:
        """Return the leaderboard as a LaTeX table, or write it to `path`.

        Parameters
        ----------
        path : str or Path, optional
            File to write the table to; then the path is returned.
        metrics : sequence of str, optional
            Labels of the columns; by default the primary ones. `comparison.labels` are all.
        """
        return write_document(render_document(self, "latex", metrics=metrics), path)

    @overload
    def to_markdown(self, path: None = None) -> str: ...
    @overload
    def to_markdown(self, path: str | Path) -> Path: ...
    def to_markdown(self, path: str | Path | None = None) -> str | Path:
        """Return the short report as Markdown, as in `report.md`, or write it to `path`."""
        return write_document(render_document(self, "markdown"), path)

    def plot(self, kind: Kind, of: str | None = None) -> Plot:
        """Return a picture, which a notebook shows and `save("plot.svg")` writes.

        Parameters
        ----------
        kind : {"differences", "leaderboard", "segments", "curves"}
            Differences to the baseline with their intervals and verdicts; means with their
            intervals; differences by segment; differences over cutoffs.
        of : str, optional
            What it shows: a label such as `nDCG@10` (of `segments` the name of a segmentation, of
            `curves` a metric such as `nDCG`). By default the first.

        Returns
        -------
        Plot

        Raises
        ------
        InputError
            There is no such picture; the message says what is missing.

        Examples
        --------
        >>> import concord as cc
        >>> truth = {f"u{n}": ["a"] for n in range(40)}
        >>> new, old = ({user: items for user in truth} for items in (["a"], ["b", "a"]))
        >>> comparison = cc.compare({"new": new, "old": old}, truth, metrics=["RR"])
        >>> comparison.plot("leaderboard")
        RR: mean of each model; `save('plot.svg')` writes the picture
        """
        picture: Plot = draw(self, kind, of)
        return picture

    def to_frame(self) -> "pl.DataFrame":
        """Return the leaderboard: one row per metric and model, columns as fields of `Score`."""
        return frame_of(Score, self.scores)

    def _repr_html_(self) -> str:
        """Return leaderboard, verdicts and charts as HTML.

        If a package for charts is missing, return the summary and the command that installs it.
        """
        try:
            return render_document(self, "notebook")
        except InputError as missing:
            return f"{super()._repr_html_()}<p>{escape(str(missing))}</p>"

    @cached_property
    def headline(self) -> str:
        """The decision in one sentence: the outcome of the gate, and the first answer."""
        return render_sentences("headline", self)[0]

    @cached_property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts in sentences, most important first."""
        return render_sentences("verdicts", self)

    @cached_property
    def replicate_answers(self) -> tuple[str, ...]:
        """Sentences on whether the order holds after retraining; empty without replicates."""
        return render_sentences("replicates", self)

    @property
    def covers(self) -> str:
        """Sentence on which sources of variation the intervals cover."""
        return render_sentences("covers", self)[0]

    @property
    def methods(self) -> str:
        """What was done, in at most 120 words with citations, for a paper."""
        return render_sentences("methods", self)[0]

    @property
    def has_lists(self) -> bool:
        """True if values were computed from lists; False for `compare_values`."""
        return not self.metrics or any(metric.family != OF_VALUES for metric in self.metrics)

    @property
    def serious(self) -> tuple[DataWarning, ...]:
        """The warnings that a reader must know before any number; none that is acknowledged."""
        return tuple(
            each
            for each in self.warnings
            if each.severity == "serious" and not each.is_acknowledged
        )

    @property
    def prominent(self) -> tuple[DataWarning, ...]:
        """The warnings that every view shows in sentences; see `DataWarning.is_prominent`."""
        return tuple(each for each in self.warnings if each.is_prominent)

    @property
    def leaderboard(self) -> "pl.DataFrame":
        """One row per metric and model, columns as the fields of `Score`."""
        return self.to_frame()

    @property
    def differences(self) -> "pl.DataFrame":
        """One row per metric and pair of models, columns as the fields of `Difference`.

        If models have replicates, also `trained_low`, `trained_high` and `trained_verdict`, over
        new users and new replicates.
        """
        differences = frame_of(Difference, self.pairs)
        if self.replicates is None:
            return differences
        replicated = frame_of(ReplicatedDifference, self.replicates.pairs)
        columns = {"ci_low": "trained_low", "ci_high": "trained_high", "verdict": "trained_verdict"}
        key = ["label", "a", "b"]
        replicated = replicated.select(*key, *columns).rename(columns)
        return differences.join(replicated, on=key, how="left", maintain_order="left")

    def metric(self, label: str) -> Metric:
        """Return the metric of a label.

        Raises
        ------
        InputError
            The label was not evaluated.
        """
        if label not in self._metrics:
            problem = f"was not evaluated; there are {', '.join(self._metrics)}"
            raise refuse(label, problem, "name one of these")
        return self._metrics[label]

    @property
    def lists(self) -> dict[str, str]:
        """Name of lists -> its model, which has the same name unless it has replicates."""
        replicates = self.replicates.models if self.replicates else {}
        return {
            name: model
            for model in self.models
            for name in replicates.get(model, {model: model}).values()
        }

    @property
    def ranked_lists(self) -> list[str]:
        """Names of all lists, those of the best model first."""
        models = self.lists
        return sorted(models, key=lambda name: self.ranked.index(models[name]))

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in report order."""
        return tuple(self._metrics)

    def score(self, model: str, label: str) -> Score:
        """Return the mean of a model on a label.

        Raises
        ------
        InputError
            There is no such model, or the label was not evaluated.
        """
        if model not in self.models:
            problem = f"is not among the models: {', '.join(self.models)}"
            raise refuse(model, problem, "name one of these")
        return self._scores[self.metric(label).label][model]

    def scores_of(self, label: str) -> list[Score]:
        """Return the means of a label, in the order of `models`."""
        return list(self._scores[self.metric(label).label].values())

    def pairs_of(self, label: str) -> list[Difference]:
        """Return the differences of a label."""
        return self._pairs.get(label, [])

    @cached_property
    def model_order(self) -> tuple[str, ...]:
        """All models in the order of `models`, also where charts show only some of them."""
        return self.models

    @cached_property
    def decimals(self) -> Mapping[str, int]:
        """Label -> number of decimals with which its means and differences are shown."""
        return {
            label: metric_decimals(self.pairs_of(label), self.scores_of(label))
            for label in self.labels
        }

    def winner(self, label: str) -> Winner | None:
        """Return the leader of a primary label that was chosen from several models."""
        return next((each for each in self.winners if each.label == label), None)

    def difference(self, a: str, b: str, label: str) -> Difference | None:
        """Return model a minus model b, mirrored if b minus a was computed; None if neither was."""
        return _find_pair(self._by_names, a, b, label)

    def retrained(self, a: str, b: str, label: str) -> ReplicatedDifference | None:
        """Return model a minus model b over new users and replicates; None without replicates."""
        return _find_pair(self._retrained, a, b, label)

    @cached_property
    def primary_pairs(self) -> list[Difference]:
        """Differences of all primary labels."""
        return [pair for pair in self.pairs if pair.primary]

    def leaders(self, label: str) -> list[str]:
        """Return the models with the best mean of a label."""
        return [score.model for score in self.scores_of(label) if score.best]

    def others(self, label: str) -> list[str]:
        """Return the models behind the leaders, best first; those without a mean last."""
        return self._best_first([s.model for s in self.scores_of(label) if not s.best], label)

    @cached_property
    def ranked(self) -> list[str]:
        """All models, best first by the first primary label; those without a mean last."""
        return self._best_first(list(self.models), self.primary[0])

    @property
    def compared_models(self) -> list[str]:
        """All models but the baseline, best first."""
        return [model for model in self.ranked if model != self.baseline]

    def against_baseline(self, label: str) -> list[Difference]:
        """Return the differences of all other models to the baseline, best on the label first."""
        models = [*self.leaders(label), *self.others(label)]
        pairs = [self.difference(m, self.baseline, label) for m in models if m != self.baseline]
        return [pair for pair in pairs if pair is not None]

    @cached_property
    def main_cutoff(self) -> int | None:
        """The cutoff of the first primary label that has one; else the greatest."""
        cutoffs = [k for label in self.primary if (k := self.metric(label).k) is not None]
        return cutoffs[0] if cutoffs else max(self.ks, default=None)

    def _best_first(self, models: list[str], label: str) -> list[str]:
        means = {model: self.score(model, label).mean for model in models}
        sign = -1 if self.metric(label).higher_is_better else 1
        return sorted(models, key=lambda model: (means[model] is None, sign * (means[model] or 0)))

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        return {metric.label: metric for metric in self.metrics}

    @cached_property
    def _scores(self) -> dict[str, dict[str, Score]]:
        scores: dict[str, dict[str, Score]] = {}
        for score in self.scores:
            scores.setdefault(score.label, {})[score.model] = score
        return scores

    @cached_property
    def _pairs(self) -> dict[str, list[Difference]]:
        pairs: dict[str, list[Difference]] = {}
        for pair in self.pairs:
            pairs.setdefault(pair.label, []).append(pair)
        return pairs

    @cached_property
    def _by_names(self) -> dict[tuple[str, str, str], Difference]:
        return {(pair.a, pair.b, pair.label): pair for pair in self.pairs}

    @cached_property
    def _retrained(self) -> dict[tuple[str, str, str], ReplicatedDifference]:
        pairs = self.replicates.pairs if self.replicates else ()
        return {(pair.a, pair.b, pair.label): pair for pair in pairs}


def _find_pair(pairs: Mapping[tuple[str, str, str], P], a: str, b: str, label: str) -> P | None:
    if (a, b, label) in pairs:
        return pairs[a, b, label]
    return pairs[b, a, label].mirrored() if (b, a, label) in pairs else None
