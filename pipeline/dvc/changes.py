"""Models compared with an earlier revision: what is not comparable, and how users' values changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from concord.metrics_core.comparison.aligned import align
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import unlisted_models
from concord.metrics_core.comparison.min_effect import absolute
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.data.relations import schema_of
from concord.metrics_core.errors import Problem, raise_problems
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.files import content_id, content_id_text
from concord.metrics_core.metrics.label import Label, is_pooled, parse
from concord.metrics_core.metrics.scope import as_plain_data, describe_changes, group_by_reason
from concord.metrics_core.results.comparison_parts import or_nan, or_none
from concord.metrics_core.results.history import Change
from concord.metrics_core.stats.adjustment import adjust
from concord.metrics_core.stats.paired_test import PairedTest, paired_tests
from concord.metrics_core.stats.verdict import verdict
from concord.pipeline.dvc.revision import RevisionResults, load_revision
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.stages.evaluations import read_evaluations
from concord.pipeline.terminal.arguments import evaluated_label, refuse_unknown_model

NOW, THEN = "now", "then"
_FIX = "evaluate both alike, or say `--anyway`"


@dataclass(frozen=True)
class RevisionDiff:
    """All changes, those of the requested metrics, and notes on what was not compared."""

    changes: list[Change]
    requested: list[Change]
    notes: list[str]


def diff(
    params: Params,
    revision: str,
    models: Sequence[str],
    metrics: Sequence[str],
    *,
    anyway: bool = False,
) -> RevisionDiff:
    """Compare the evaluations here with those of a revision.

    Raises
    ------
    InputError
        A model or metric is unknown, or conventions or ground truth differ and `anyway` is not set.
    """
    config = params.comparison_config
    for model in models:
        refuse_unknown_model(params.compared_models, model)
    evaluated = [str(label) for label in config.labels]
    requested = [evaluated_label(text, evaluated) for text in metrics]
    lists, config = read_evaluations(params, config, requested or config.primary)
    evaluations = with_replicates(lists, config)
    labels = requested or config.primary
    compared = list(models) or list(evaluations)
    with load_revision(revision, params, config, compared) as before:
        mismatch = find_mismatch(config, evaluations, before)
        if not anyway:
            raise_problems(mismatch.refusals(labels))
        notes = [problem.message for problem in mismatch.truth]
        notes += mismatch.differences() if anyway else mismatch.notes()
        notes += version_warnings(evaluations, before)
        notes += one_sided_notes(config, compared, before, every_model=not models)
        comparable = config if anyway else config.without(mismatch.labels)
        every_change = changes(comparable, evaluations, before)
    compared_labels = {each.label for each in every_change}
    if others := [x for x in labels if x not in compared_labels and parse(x).metric.is_aggregate]:
        note = "no value per user, only one number over all users; `concord gate` compares it"
        notes.append(f"{note}: {', '.join(others)}")
    return RevisionDiff(
        every_change, [each for each in every_change if each.label in labels], notes
    )


@dataclass(frozen=True)
class RevisionMismatch:
    """Models and metrics that cannot be compared with a revision.

    Attributes
    ----------
    truth : list of Problem
        Models with another ground truth; if there are any, nothing can be compared.
    labels : dict
        Label -> how it was evaluated then: with other conventions, or other code.
    """

    revision: str
    truth: list[Problem]
    labels: Mapping[str, str]

    def refusals(self, needed: Collection[str]) -> list[Problem]:
        """Return why none of the needed labels can be compared; empty if one can."""
        if self.truth or not {*needed} <= self.labels.keys():
            return self.truth
        return [Problem(f"{PARAMS} at {self.revision}", each, _FIX) for each in self.differences()]

    def differences(self) -> list[str]:
        """Return one sentence per reason, with the labels that it concerns."""
        return [f"{labels} had {reason}" for reason, labels in group_by_reason(self.labels).items()]

    def notes(self) -> list[str]:
        """Return the labels that are left out."""
        return [f"not compared: {each}" for each in self.differences()]


def find_mismatch(
    config: ComparisonConfig, models: Mapping[str, ModelResult], before: RevisionResults
) -> RevisionMismatch:
    """Return the models with another ground truth and the labels with other conventions or code."""
    truths: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    conventions = as_plain_data(config.conventions)
    for model, then in before.evaluations.items():
        for label in config.labels:
            reason = describe_changes(label, then.summary["conventions"], conventions)
            if reason and str(label) in then.summary["metrics"]:
                labels[str(label)] = reason
        ids_then, ids_now = _truth_ids(then), _truth_ids(models[model])
        if ids_then.keys() != ids_now.keys():
            was, is_now = _first_other(ids_then, ids_now), _first_other(ids_now, ids_then)
            truths.setdefault(f"another truth: its {was} is {is_now} now", []).append(model)
    problems = [
        Problem(f"{PARAMS} at {before.name}", f"{', '.join(names)} had {problem}", _FIX)
        for problem, names in truths.items()
    ]
    return RevisionMismatch(before.name, problems, labels)


def _truth_ids(result: ModelResult) -> dict[str | None, str]:
    """Return content id -> its text, of the ground truth or of those of the folds."""
    truths = [each.summary["inputs"]["truth"] for each in result.each]
    return {content_id(truth): content_id_text(truth, 12) for truth in truths}


def _first_other(ids: Mapping[str | None, str], others: Mapping[str | None, str]) -> str:
    """Return the text of the first id that the others lack; of the first one if they have all."""
    return ids[[*({*ids} - {*others}), *ids][0]]


def version_warnings(models: Mapping[str, ModelResult], before: RevisionResults) -> Iterator[str]:
    """Yield the models that another version of Concord evaluated at the revision, with both versions."""
    evaluated: dict[tuple[str, str], list[str]] = {}
    for model, then in before.evaluations.items():
        versions = (_version(then), _version(models[model]))
        evaluated.setdefault(versions, []).append(model)
    for (was, is_now), names in evaluated.items():
        if was != is_now:
            verb = "was" if len(names) == 1 else "were"
            yield (
                f"{', '.join(names)} {verb} evaluated by Concord {was} at {before.name} and by Concord "
                f"{is_now} now: a difference may come from Concord itself"
            )


def _version(result: ModelResult) -> str:
    return str(result.summary["versions"]["concord-eval"])


def one_sided_notes(
    config: ComparisonConfig, models: Sequence[str], before: RevisionResults, *, every_model: bool
) -> Iterator[str]:
    """Yield notes on labels, and on models if `every_model`, that only one of the two revisions has."""
    labels = {str(label) for label in config.labels}
    labels_then = {
        label for each in before.evaluations.values() for label in each.summary["metrics"]
    }
    yield from renaming_notes(before)
    yield from _lists_of_names(
        (f"not in {before.name}", [m for m in models if m not in before.evaluations]),
        ("removed", before.vanished(models) if every_model else []),
    )
    yield from one_sided_replicates(config, before)
    yield from _lists_of_names(
        (f"not evaluated at {before.name}", sorted(labels - labels_then)),
        ("no longer evaluated", sorted(labels_then - labels)),
    )


def renaming_notes(before: RevisionResults) -> Iterator[str]:
    """Yield which models the revision knew by another name."""
    renamed = [f"{model} was {name}" for model, name in before.former_names.items()]
    yield from _lists_of_names((f"renamed since {before.name}", renamed))


def one_sided_replicates(config: ComparisonConfig, before: RevisionResults) -> Iterator[str]:
    """Yield the replicates, of models that both revisions have, that only one of them has."""
    current = {
        model: list(config.replicates.get(model, {model: model}).values())
        for model in before.evaluations
    }
    names = [name for lists in current.values() for name in lists]
    if len(names) > len(current) or len(before.lists) > len(current):
        yield from _lists_of_names(
            (
                f"trainings that are not in {before.name}",
                [n for n in names if n not in before.lists],
            ),
            (f"trainings of {before.name} alone", [n for n in before.lists if n not in names]),
        )


def _lists_of_names(*lists: tuple[str, Sequence[str]]) -> Iterator[str]:
    return (f"{title}: {', '.join(names)}" for title, names in lists if names)


class _ModelTest(NamedTuple):
    label: Label
    model: str
    paired: PairedTest
    min_effect: float


def changes(
    config: ComparisonConfig, models: Mapping[str, ModelResult], before: RevisionResults
) -> list[Change]:
    """Return one change per label and model, now minus then, over the users with both values.

    Holm over models x primary labels, Benjamini-Hochberg over the others.
    """
    order = list(dict.fromkeys([*config.primary, *map(str, config.labels)]))
    tests = sorted(
        (
            test
            for model, then in before.evaluations.items()
            for test in _model_tests(config, models[model], then, model)
        ),
        key=lambda test: order.index(str(test.label)),
    )
    is_primary = np.array([str(test.label) in config.primary for test in tests], dtype=bool)
    adjusted = adjust(np.array([test.paired.p for test in tests], dtype=np.float64), is_primary)
    n_primary = int(np.count_nonzero(~np.isnan(adjusted[is_primary])))
    return [
        _change(config, test, float(p), n_primary) for test, p in zip(tests, adjusted, strict=True)
    ]


def _model_tests(
    config: ComparisonConfig, now: ModelResult, then: ModelResult, model: str
) -> Iterator[_ModelTest]:
    sides = {NOW: now, THEN: then}
    aligned = align(
        {side: [each.values for each in result.each] for side, result in sides.items()},
        unit_mean=config.conventions.unit_mean,
    )
    columns = schema_of(then.values)
    unlisted = unlisted_models(sides, config.max_missing_lists)
    for label in config.labels:
        text = str(label)
        if text not in columns or text not in then.summary["metrics"]:
            continue
        values = aligned.values(text, label.conventions(config.conventions).undefined)
        comparable = aligned.has_common_weights(label, config.conventions)
        clusters = aligned.clusters
        if comparable:
            clusters = aligned.clusters_for(label, config.conventions)
        (paired,) = paired_tests(
            values,
            [(NOW, THEN)],
            confidence=config.confidence,
            clusters=clusters,
            bounds=label.bounds(config.conventions),
            unlisted=unlisted,
        )
        means = [or_nan(each.mean(text)) for each in (now, then)]
        if is_pooled(label, config.conventions) or not comparable:
            paired = paired.with_means(*means)
        yield _ModelTest(label, model, paired, absolute(config.min_effects[text], means[1]))


def _change(
    config: ComparisonConfig, test: _ModelTest, p_adjusted: float, n_primary: int
) -> Change:
    paired, label = test.paired, str(test.label)
    return Change(
        label=label,
        model=test.model,
        primary=label in config.primary,
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
        min_effect=or_none(test.min_effect),
        verdict=verdict(
            paired,
            p_adjusted,
            alpha=config.alpha,
            min_effect=test.min_effect,
            higher_is_better=test.label.metric.higher_is_better,
            tests=n_primary if label in config.primary else 1,
        ),
    )
