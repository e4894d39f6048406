"""Changes since an earlier revision: what is comparable, and how per-user values changed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from concord.metrics_core.comparison.aligned import align
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.families import PairTest, decide_differences
from concord.metrics_core.comparison.inputs import unlisted_models
from concord.metrics_core.comparison.min_effect import is_share
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.data.tables import schema_of
from concord.metrics_core.errors import Problem, raise_problems
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.files import content_id, content_id_text
from concord.metrics_core.metrics.label import is_pooled, parse
from concord.metrics_core.metrics.scope import as_plain_data, describe_changes, group_by_reason
from concord.metrics_core.results.comparison_parts import or_nan
from concord.metrics_core.results.history import Change, Setting
from concord.metrics_core.results.text_format import all_or_names, group_values
from concord.metrics_core.stats.paired_test import paired_tests
from concord.pipeline.dvc.revision import RevisionResults, load_revision
from concord.pipeline.dvc.training import training_changes_since
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.stages.evaluations import read_evaluations
from concord.pipeline.terminal import evaluated_label, refuse_unknown_model

NOW, THEN = "now", "then"  # sides of a comparison
_FIX = "evaluate both in the same way, or add `--anyway`"


@dataclass(frozen=True)
class RevisionDiff:
    """All changes, those of the requested metrics, and notes on what was not compared.

    Attributes
    ----------
    training_params : tuple of Setting
        Parameters that changed of the stages that made the recommendations.
    """

    changes: list[Change]
    requested: list[Change]
    notes: list[str]
    training_params: tuple[Setting, ...]


def diff(
    params: Params,
    revision: str,
    models: Sequence[str],
    metrics: Sequence[str],
    *,
    anyway: bool = False,
) -> RevisionDiff:
    """Compare the results on disk with those of a revision.

    Raises
    ------
    InputError
        If a model or metric is unknown, or conventions or ground truth differ without `anyway`.
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
    with load_revision(revision, params, config, compared) as previous:
        mismatch = find_mismatch(config, evaluations, previous)
        if not anyway:
            raise_problems(mismatch.refusals(labels))
        notes = [problem.message for problem in mismatch.truth]
        notes += mismatch.differences() if anyway else mismatch.notes()
        notes += version_warnings(evaluations, previous)
        notes += one_sided_notes(config, compared, previous, include_models=not models)
        comparable = config if anyway else config.without(mismatch.labels)
        all_changes = changes(comparable, evaluations, previous)
        training_params = training_changes_since(previous, params)
    compared_labels = {change.label for change in all_changes}
    if others := [x for x in labels if x not in compared_labels and parse(x).metric.is_aggregate]:
        note = "no value per user, only one number over all users; `concord gate` compares it"
        notes.append(f"{note}: {', '.join(others)}")
    requested_changes = [change for change in all_changes if change.label in labels]
    return RevisionDiff(all_changes, requested_changes, notes, training_params)


@dataclass(frozen=True)
class RevisionMismatch:
    """Models and metrics that cannot be compared with a revision.

    Attributes
    ----------
    truth : list of Problem
        Models with another ground truth; if there are any, nothing can be compared.
    labels : dict
        Label -> the conventions or code that it was evaluated with.
    """

    revision: str
    truth: list[Problem]
    labels: Mapping[str, str]

    def refusals(self, required: Collection[str]) -> list[Problem]:
        """Return why none of the required labels can be compared; empty if one can be."""
        if self.truth or not {*required} <= self.labels.keys():
            return self.truth
        location = f"{PARAMS} at {self.revision}"
        return [Problem(location, difference, _FIX) for difference in self.differences()]

    def differences(self) -> list[str]:
        """Return one sentence for each difference, with the labels that it concerns."""
        return [f"{labels} had {reason}" for reason, labels in group_by_reason(self.labels).items()]

    def notes(self) -> list[str]:
        """Return notes on the labels that are left out."""
        return [f"not compared: {difference}" for difference in self.differences()]


def find_mismatch(
    config: ComparisonConfig, models: Mapping[str, ModelResult], previous: RevisionResults
) -> RevisionMismatch:
    """Return models with another ground truth, and labels with other conventions or code."""
    truths: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    conventions = as_plain_data(config.conventions)
    for model, previous_result in previous.evaluations.items():
        for label in config.labels:
            reason = describe_changes(label, previous_result.summary["conventions"], conventions)
            if reason and str(label) in previous_result.summary["metrics"]:
                labels[str(label)] = reason
        previous_ids, current_ids = _truth_ids(previous_result), _truth_ids(models[model])
        if previous_ids.keys() != current_ids.keys():
            previous_id = _first_difference(previous_ids, current_ids)
            current_id = _first_difference(current_ids, previous_ids)
            problem = f"another ground truth: its {previous_id} is {current_id} now"
            truths.setdefault(problem, []).append(model)
    problems = [
        Problem(
            f"{PARAMS} at {previous.name}",
            f"{all_or_names(names, len(previous.evaluations))} had {problem}",
            _FIX,
        )
        for problem, names in truths.items()
    ]
    return RevisionMismatch(previous.name, problems, labels)


def _truth_ids(result: ModelResult) -> dict[str | None, str]:
    """Return content id -> text of the ground truth, or of the ground truth of each fold."""
    truths = [part.truth_hashes for part in result.replicate_results]
    return {content_id(truth): content_id_text(truth, 12) for truth in truths}


def _first_difference(ids: Mapping[str | None, str], others: Mapping[str | None, str]) -> str:
    """Return the text of the first id that is not in `others`, or of the first id."""
    return ids[[*({*ids} - {*others}), *ids][0]]


def version_warnings(models: Mapping[str, ModelResult], previous: RevisionResults) -> Iterator[str]:
    """Yield a warning for models that another version of Concord evaluated at the revision."""
    names_by_versions = group_values(
        ((_version(previous_result), _version(models[model])), model)
        for model, previous_result in previous.evaluations.items()
    )
    for (previous_version, version), names in names_by_versions.items():
        if previous_version != version:
            who = all_or_names(names, len(previous.evaluations))
            verb = "was" if len(names) == 1 else "were"
            yield (
                f"{who} {verb} evaluated by Concord {previous_version} at {previous.name} and by "
                f"Concord {version} now: a difference may come from Concord itself"
            )


def _version(result: ModelResult) -> str:
    return str(result.summary["versions"]["concord-eval"])


def one_sided_notes(
    config: ComparisonConfig,
    models: Sequence[str],
    previous: RevisionResults,
    *,
    include_models: bool,
) -> Iterator[str]:
    """Yield notes on labels, and on models if asked for, that only one side has."""
    labels = {str(label) for label in config.labels}
    previous_labels = {
        label for result in previous.evaluations.values() for label in result.summary["metrics"]
    }
    yield from renaming_notes(previous)
    yield from _name_lists(
        (f"not in {previous.name}", [m for m in models if m not in previous.evaluations]),
        ("removed", previous.vanished_models(models) if include_models else []),
    )
    yield from one_sided_replicates(config, previous)
    yield from _name_lists(
        (f"not evaluated at {previous.name}", sorted(labels - previous_labels)),
        ("no longer evaluated", sorted(previous_labels - labels)),
    )


def renaming_notes(previous: RevisionResults) -> Iterator[str]:
    """Yield a note on models that had another name at the revision."""
    renamed = [f"{model} was {name}" for model, name in previous.former_names.items()]
    yield from _name_lists((f"renamed since {previous.name}", renamed))


def one_sided_replicates(config: ComparisonConfig, previous: RevisionResults) -> Iterator[str]:
    """Yield notes on replicates that only one side has, of models that both have."""
    current = {
        model: list(config.replicates.get(model, {model: model}).values())
        for model in previous.evaluations
    }
    names = [name for lists in current.values() for name in lists]
    if len(names) > len(current) or len(previous.lists) > len(current):
        added = [name for name in names if name not in previous.lists]
        removed = [name for name in previous.lists if name not in names]
        yield from _name_lists(
            (f"replicates that are not in {previous.name}", added),
            (f"replicates only in {previous.name}", removed),
        )


def _name_lists(*lists: tuple[str, Sequence[str]]) -> Iterator[str]:
    return (f"{title}: {', '.join(names)}" for title, names in lists if names)


def changes(
    config: ComparisonConfig, models: Mapping[str, ModelResult], previous: RevisionResults
) -> list[Change]:
    """Return the change of each label and model, now minus then, over users with both values.

    Models x primary labels are one family, all other labels another; see `decide_differences`.
    """
    order = list(dict.fromkeys([*config.primary, *map(str, config.labels)]))
    tests = sorted(
        (
            test
            for model, previous_result in previous.evaluations.items()
            for test in _model_tests(config, models[model], previous_result, model)
        ),
        key=lambda test: order.index(str(test.label)),
    )
    config = replace(config, tried=None, family="baseline", baseline=THEN)
    differences = decide_differences(config, tests, len(previous.evaluations) + 1)
    return [Change.of(each) for each in differences]


def _model_tests(
    config: ComparisonConfig, current: ModelResult, previous: ModelResult, model: str
) -> Iterator[PairTest]:
    sides, conventions = {NOW: current, THEN: previous}, config.conventions
    aligned = align(
        {
            side: [part.values for part in result.replicate_results]
            for side, result in sides.items()
        },
        unit_mean=conventions.unit_mean,
    )
    columns = schema_of(previous.values)
    unlisted = unlisted_models(sides, config.max_missing_lists)
    for label in config.labels:
        text = str(label)
        if text not in columns or text not in previous.summary["metrics"]:
            continue
        values = aligned.values(text, label.conventions(conventions).undefined)
        comparable = aligned.has_common_weights(label, conventions)
        clusters = aligned.clusters_for(label, conventions) if comparable else aligned.clusters
        (paired,) = paired_tests(
            values,
            [(NOW, THEN)],
            confidence=config.confidence,
            clusters=clusters,
            bounds=label.bounds(conventions),
            unlisted=unlisted,
            share_of=THEN if is_share(config.min_effects[text]) else None,
        )
        means = [or_nan(result.mean(text)) for result in (current, previous)]
        if is_pooled(label, conventions) or not comparable:
            paired = paired.with_means(*means)
        yield PairTest(label, model, THEN, paired, config.min_effects[text], means[1])
