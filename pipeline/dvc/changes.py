"""Models compared with an earlier revision: what is not comparable, and how users' values changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from concord.metrics_core.comparison.aligned import align
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import unlisted_models
from concord.metrics_core.comparison.min_effect import Effect, absolute
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.relations import schema_of
from concord.metrics_core.errors import Problem
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.files import content_id, content_id_text
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.scope import by_reason, departure, plain
from concord.metrics_core.results.comparison_parts import or_nan, or_none
from concord.metrics_core.results.history import Change
from concord.metrics_core.stats.adjustment import adjust
from concord.metrics_core.stats.paired_test import PairedTest, paired_tests
from concord.metrics_core.stats.verdict import verdict
from concord.pipeline.dvc.revision import RevisionResults
from concord.pipeline.params.model import PARAMS

NOW, THEN = "now", "then"
_ALIKE = "evaluate both alike, or say `--anyway`"


class DecisionRules(Protocol):
    """What of a `ComparisonConfig` decides on a change: as it stands in params.yaml now, or as it stood at a revision."""

    @property
    def conventions(self) -> Conventions: ...
    @property
    def labels(self) -> list[Label]: ...
    @property
    def primary(self) -> Sequence[str]: ...
    @property
    def min_effects(self) -> dict[str, Effect]: ...
    @property
    def confidence(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def max_missing_lists(self) -> float: ...


@dataclass(frozen=True)
class _ModelTest:
    label: Label
    model: str
    paired: PairedTest
    min_effect: float


@dataclass(frozen=True)
class RevisionMismatch:
    """Models and metrics that cannot be compared with a revision.

    truth  : problems of models with another ground truth; then nothing can be compared
    labels : label -> how it was evaluated then: with other conventions, or other code
    """

    revision: str
    truth: list[Problem]
    labels: Mapping[str, str]

    def refusals(self, needed: Collection[str]) -> list[Problem]:
        """Return why none of the needed labels can be compared; empty if one can."""
        if self.truth or not {*needed} <= self.labels.keys():
            return self.truth
        return [
            Problem(f"{PARAMS} at {self.revision}", what, _ALIKE) for what in self.differences()
        ]

    def differences(self) -> list[str]:
        """Return one sentence per reason, with the labels that it concerns."""
        return [f"{labels} had {why}" for why, labels in by_reason(self.labels).items()]

    def notes(self) -> list[str]:
        """Return the labels that are left out."""
        return [f"not compared: {each}" for each in self.differences()]


def find_mismatch(
    config: DecisionRules, models: Mapping[str, ModelResult], before: RevisionResults
) -> RevisionMismatch:
    """Return the models with another ground truth and the labels with other conventions or code."""
    truths: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    pinned = plain(config.conventions)
    for model, then in before.evaluations.items():
        for label in config.labels:
            why = departure(label, then.summary["conventions"], pinned)
            if why and str(label) in then.summary["metrics"]:
                labels[str(label)] = why
        was, is_now = (_truth_ids(each) for each in (then, models[model]))
        if was.keys() != is_now.keys():
            first, now = ((*({*side} - {*other}), *side)[0] for side, other in ((was, is_now), (is_now, was)))  # fmt: skip
            what = f"another truth: its {was[first]} is {is_now[now]} now"
            truths.setdefault(what, []).append(model)
    where = f"{PARAMS} at {before.name}"
    problems = [Problem(where, f"{', '.join(of)} had {what}", _ALIKE) for what, of in truths.items()]  # fmt: skip
    return RevisionMismatch(before.name, problems, labels)


def _truth_ids(evaluated: ModelResult) -> dict[str | None, str]:
    """The marks of the truth, or of those of the folds, and how they are told."""
    truths = [each.summary["inputs"]["truth"] for each in evaluated.each]
    return {content_id(truth): content_id_text(truth, 12) for truth in truths}


def version_warnings(models: Mapping[str, ModelResult], before: RevisionResults) -> Iterator[str]:
    """Yield the models that another version of Concord evaluated at the revision, with both versions."""
    evaluated: dict[tuple[str, str], list[str]] = {}
    for model, then in before.evaluations.items():
        versions = (_version(then), _version(models[model]))
        evaluated.setdefault(versions, []).append(model)
    for (was, is_now), names in evaluated.items():
        if was != is_now:
            verb = "was" if len(names) == 1 else "were"
            by = f"by Concord {was} at {before.name} and by Concord {is_now} now"
            yield f"{', '.join(names)} {verb} evaluated {by}: a difference may come from Concord itself"


def _version(evaluated: ModelResult) -> str:
    return str(evaluated.summary["versions"]["concord-eval"])


def changes(
    config: DecisionRules, models: Mapping[str, ModelResult], before: RevisionResults
) -> list[Change]:
    """Return one change per label and model, now minus then, over the users with both values.

    Holm over models x primary labels, Benjamini-Hochberg over the others.
    """
    found = [
        change
        for model, then in before.evaluations.items()
        for change in _model_tests(config, models[model], then, model)
    ]
    order = list(dict.fromkeys([*config.primary, *map(str, config.labels)]))
    found.sort(key=lambda each: order.index(str(each.label)))
    primary = np.array([str(each.label) in config.primary for each in found], dtype=bool)
    adjusted = adjust(np.array([each.paired.p for each in found], dtype=np.float64), primary)
    in_family = int(np.count_nonzero(~np.isnan(adjusted[primary])))
    return [
        _change(config, each, float(p), primary=bool(is_primary), in_family=in_family)
        for each, is_primary, p in zip(found, primary, adjusted, strict=True)
    ]


def one_sided_notes(
    config: ComparisonConfig, named: Sequence[str], before: RevisionResults, *, every_model: bool
) -> Iterator[str]:
    """Yield notes on labels, and on models if `every_model`, that only one of the two revisions has."""
    new = [model for model in named if model not in before.evaluations]
    gone = before.vanished(named) if every_model else []
    ours, theirs = _labels_of_one_side(config, before)
    if before.former_names:
        yield renamed_note(before)
    for names, what in (
        (new, f"not in {before.name}"),
        (gone, "removed"),
        *one_sided_replicates(config, before),
        (ours, f"not evaluated at {before.name}"),
        (theirs, "no longer evaluated"),
    ):
        if names:
            yield f"{what}: {', '.join(names)}"


def renamed_note(before: RevisionResults) -> str:
    """Return which models the revision knew by another name."""
    names = (f"{model} was {name}" for model, name in before.former_names.items())
    return f"renamed since {before.name}: {', '.join(names)}"


def one_sided_replicates(
    config: ComparisonConfig, before: RevisionResults
) -> Iterator[tuple[list[str], str]]:
    """Yield the replicates, of models that both have, that only one of them has."""
    ours = {
        model: list(config.replicates.get(model, {model: model}).values())
        for model in before.evaluations
    }
    now = [name for names in ours.values() for name in names]
    if any(len(names) > 1 for names in ours.values()) or len(before.lists) > len(ours):
        yield [n for n in now if n not in before.lists], f"trainings that are not in {before.name}"
        yield [n for n in before.lists if n not in now], f"trainings of {before.name} alone"


def _labels_of_one_side(
    config: ComparisonConfig, before: RevisionResults
) -> tuple[list[str], list[str]]:
    """Return the labels that are only here, and those that are only at the revision."""
    ours = {str(label) for label in config.labels}
    theirs = {label for each in before.evaluations.values() for label in each.summary["metrics"]}
    return sorted(ours - theirs), sorted(theirs - ours)


def _model_tests(
    config: DecisionRules, now: ModelResult, then: ModelResult, model: str
) -> Iterator[_ModelTest]:
    aligned = align(
        {side: [each.values for each in found.each] for side, found in ((NOW, now), (THEN, then))},
        mean=config.conventions.unit_mean,
    )
    columns = schema_of(then.values)
    unlisted = unlisted_models({NOW: now, THEN: then}, config.max_missing_lists)
    for label in config.labels:
        text = str(label)
        if text not in columns or text not in then.summary["metrics"]:
            continue
        values = aligned.values(text, label.conventions(config.conventions).undefined)
        on_one_truth = aligned.on_one_truth(label, config.conventions)
        whose = aligned.whose(label, config.conventions) if on_one_truth else aligned.clusters
        (paired,) = paired_tests(
            values,
            [(NOW, THEN)],
            confidence=config.confidence,
            clusters=whose,
            bounds=label.bounds(config.conventions),
            unlisted=unlisted,
        )
        means = [or_nan(each.mean(text)) for each in (now, then)]
        if is_pooled(label, config.conventions) or not on_one_truth:
            paired = paired.with_means(*means)
        yield _ModelTest(label, model, paired, absolute(config.min_effects[text], means[1]))


def _change(
    config: DecisionRules, found: _ModelTest, p_adjusted: float, *, primary: bool, in_family: int
) -> Change:
    paired = found.paired
    return Change(
        label=str(found.label),
        model=found.model,
        primary=primary,
        then=or_none(paired.mean_b),
        now=or_none(paired.mean_a),
        difference=or_none(paired.difference),
        ci_low=or_none(paired.ci_low),
        ci_high=or_none(paired.ci_high),
        relative=or_none(paired.relative),
        n_users=paired.n_users,
        n_nonzero=paired.n_nonzero,
        p=or_none(paired.p),
        p_adjusted=or_none(p_adjusted),
        min_effect=or_none(found.min_effect),
        verdict=verdict(
            paired,
            p_adjusted,
            alpha=config.alpha,
            min_effect=found.min_effect,
            higher_is_better=found.label.metric.higher_is_better,
            tests=in_family if primary else 1,
        ),
    )
