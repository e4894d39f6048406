"""Results of earlier stages: values and summaries of all models, error analysis of two."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from concord.metrics_core.analyses.cases.cases import (
    ExampleSelection,
    NoSharedValuesError,
    analyze_errors,
    resolve_pair,
)
from concord.metrics_core.analyses.cases.result import Cases
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.conventions.values_version import values_version_problem
from concord.metrics_core.data.tables import read_if_small
from concord.metrics_core.errors import Problem, raise_problems
from concord.metrics_core.evaluation.model_result import ModelResult, with_missing_users
from concord.metrics_core.files import content_id, content_id_text, load_json
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import as_plain_data, describe_changes, group_by_reason
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import OF_VALUES
from concord.metrics_core.results.reference import References
from concord.metrics_core.results.stored import read_references
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import ModelFiles, reference_file
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.running.messages import LOG
from concord.pipeline.running.outputs import read_metadata, rerun_fix
from concord.pipeline.stages.evaluation_data import evaluation_data


def read_evaluations(
    params: Params, config: ComparisonConfig, required: Collection[str]
) -> tuple[dict[str, ModelResult], ComparisonConfig]:
    """Return the results of all models, and the configuration with the labels to compare.

    Other labels that were evaluated under other conventions or by other code are left out with
    a warning.

    Parameters
    ----------
    params : Params
        The content of params.yaml.
    config : ComparisonConfig
        The configuration of the comparison.
    required : collection of str
        Labels that must not be left out.

    Raises
    ------
    InputError
        If results are missing, lack a label, are based on different ground truths, or if a
        required label would be left out.
    """
    files = {model: ModelFiles.of_model(params.results, model) for model in params.models}
    raise_problems(
        Problem(
            str(path), "there is no such file", f"run `{rerun_command()}`: it evaluates {model}"
        )
        for model, paths in files.items()
        for path in (paths.per_user, paths.summary, paths.quality)
        if not path.is_file()
    )
    results = {
        model: ModelResult(
            read_if_small(paths.per_user),
            read_if_small(paths.panel),
            read_if_small(paths.lists),
            load_json(paths.summary, rerun_fix()),
            load_json(paths.quality, rerun_fix()),
        )
        for model, paths in files.items()
    }
    raise_problems(_version_problems(files, results))
    problems: list[Problem] = []
    excluded: dict[str, str] = {}
    for model, result in results.items():
        file = files[model].per_user
        departures = _departures(params.resolved_conventions, file, result, config.labels)
        problems += _departure_problems(file, model, departures, required)
        problems += _missing_labels(params, file, model, result, config.labels)
        excluded |= departures
    raise_problems([*problems, *_truth_problems(files, results)])
    if params.has_values:
        results = with_missing_users(results)
    for reason, names in group_by_reason(excluded).items():
        message = "warning: left out: %s, evaluated with %s; run %s"
        LOG.warning(message, names, reason, _evaluate_again(reason))
    return results, config.without(excluded)


def stored_references(params: Params) -> References | None:
    """Return chance, most popular items and best possible lists of the stage `reference`.

    Those of other conventions are left out with a warning.

    Raises
    ------
    InputError
        If the file is missing or damaged.
    """
    if params.has_values:
        return None
    path = reference_file(params)
    fingerprint, references = read_references(path, rerun_fix())
    if fingerprint != params.resolved_conventions.fingerprint:
        message = "warning: left out: %s, computed with other conventions; run `%s`"
        LOG.warning(message, path, rerun_command("reference"))
        return None
    return references


def _version_problems(
    files: Mapping[str, ModelFiles], results: Mapping[str, ModelResult]
) -> Iterator[Problem]:
    """Yield files whose values have another version than those of this Concord."""
    for model, result in results.items():
        tables = [path for path in (files[model].per_user, files[model].panel) if path.is_file()]
        contents = {path: read_metadata(path) for path in tables}
        for path, content in {**contents, files[model].summary: result.summary}.items():
            if "fingerprint" not in content:
                continue  # another structure, which dvc.lock shows
            if problem := values_version_problem(content.get("values_version"), rerun_fix()):
                yield Problem(str(path), *problem)


def _departures(
    conventions: Conventions, per_user: Path, result: ModelResult, labels: Sequence[Label]
) -> dict[str, str]:
    """Return label -> how its conventions or code differ."""
    departures: dict[str, str] = {}
    for content in (read_metadata(per_user), result.summary):
        if content["fingerprint"] != conventions.fingerprint:
            # an older version knew fewer conventions
            used = {**dict.fromkeys(CONVENTION), **content["conventions"]}
            departures |= {
                str(label): reason
                for label in labels
                if (reason := describe_changes(label, used, as_plain_data(conventions)))
            }
    return departures


def _evaluate_again(reason: str, stage: str = "") -> str:
    """Return the command that evaluates again; DVC does not see code outside of the project."""
    command = rerun_command(stage)
    forced = f"dvc repro --force --single-item {stage or 'evaluate'}"
    is_unseen = reason.startswith("other code") and command.startswith("dvc")
    return f"`{command}`, or `{forced}` if DVC sees no change" if is_unseen else f"`{command}`"


def _departure_problems(
    per_user: Path, model: str, departures: Mapping[str, str], required: Collection[str]
) -> Iterator[Problem]:
    refused = {label: reason for label, reason in departures.items() if label in required}
    for reason, labels in group_by_reason(refused).items():
        problem = f"{labels} of {model} was evaluated with {reason}"
        yield Problem(str(per_user), problem, f"run {_evaluate_again(reason, f'evaluate@{model}')}")


def _missing_labels(
    params: Params, per_user: Path, model: str, result: ModelResult, labels: Sequence[Label]
) -> Iterator[Problem]:
    columns = set(pq.read_schema(per_user).names)
    for label in labels:
        has_values = str(label) in columns or label.metric.is_aggregate
        if not has_values or str(label) not in result.summary["metrics"]:
            section = "metrics" if label.metric.is_of_values else "evaluation"
            key = "comparison.primary" if str(label) in params.primary else section
            problem = f"has no {label}, which {key} in {PARAMS} names"
            yield Problem(str(per_user), problem, f"run `{rerun_command(f'evaluate@{model}')}`")


def _truth_problems(
    files: Mapping[str, ModelFiles], results: Mapping[str, ModelResult]
) -> Iterator[Problem]:
    """Yield models whose ground truth differs from that of the first model of the same fold."""
    truths = {model: result.truth_hashes for model, result in results.items()}
    first_of_fold: dict[str | None, str] = {}
    for model, result in results.items():
        first = first_of_fold.setdefault(result.quality.get("fold"), model)
        if content_id(truths[model]) != content_id(truths[first]):
            ids = f"{content_id_text(truths[model], 12)}, {content_id_text(truths[first], 12)}"
            problem = f"{model} was evaluated on another ground truth than {first} ({ids})"
            fix = f"run `{rerun_command()}`, so that all models have the same ground truth"
            yield Problem(str(files[model].per_user), problem, fix)


USERS_PER_SIDE = 5  # in the report, if `comparison.cases` names no models


def load_cases(params: Params, config: ComparisonConfig, selection: ExampleSelection) -> Cases:
    """Return the error analysis of the primary metrics; raises as `analyze_errors`."""
    pair = resolve_pair(selection.models, params.models, config.replicates)
    results, config = read_evaluations(params, config.of_lists, config.of_lists.primary)
    lists = {name: results[name] for name in pair}
    return analyze_errors(ComparisonInput(config, lists, evaluation_data(params)), selection)


def cases_for_report(
    params: Params, config: ComparisonConfig, comparison: Comparison
) -> Cases | None:
    """Return the error analysis for the report; None if there is none, as for values without lists.

    If `comparison.cases` is not set: five users for whom the leader is furthest behind the
    baseline, and five for whom it is furthest ahead.
    """
    models = params.comparison.cases
    if params.has_values or (models is not None and not models):
        return None
    if models:
        return load_cases(params, config, ExampleSelection((models[0], models[1])))
    pair = default_pair(comparison)
    if pair is None:
        return None
    try:
        cases = load_cases(params, config, ExampleSelection(pair, USERS_PER_SIDE, both_sides=True))
    except NoSharedValuesError:
        return None
    return cases if cases.cases else None


def default_pair(comparison: Comparison) -> tuple[str, str] | None:
    """Return the leader on the first primary metric, and the baseline or (if it leads) the next.

    None if nobody leads, or all primary metrics are of values.
    """
    of_lists = (x for x in comparison.primary if comparison.metric(x).family != OF_VALUES)
    if (label := next(of_lists, None)) is None:
        return None
    baseline, leaders = comparison.baseline, comparison.leaders(label)
    ordered = [*leaders, *comparison.others(label)]
    if not leaders or len(ordered) == 1:
        return None
    best = ordered[0]
    return (best, ordered[1] if best == baseline else baseline)
