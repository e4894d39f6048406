"""The results of earlier stages: summary, quality and per-user values of each model; error analysis of two."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from concord.metrics_core.analyses.error_analysis import (
    ExampleSelection,
    NoSharedValuesError,
    analyze_errors,
    resolve_pair,
)
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicate_config import sort_by_number
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import InputError, Problem
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.files import content_id, content_id_text, load_json
from concord.metrics_core.metrics.label import Label, canonical_label
from concord.metrics_core.metrics.scope import by_reason, departure, plain
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.error_analysis import Cases
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.running.messages import LOG
from concord.pipeline.running.outputs import RERUN_FIX
from concord.pipeline.running.tables import read_metadata


def read_evaluations(
    params: Params, config: ComparisonConfig, needed: Collection[str]
) -> tuple[dict[str, ModelResult], ComparisonConfig]:
    """The evaluations of the models of params.yaml, in its order; the folders are never searched for others.

    Labels that were evaluated under other conventions, or by other code, are left out of what is asked, and named.

    Parameters
    ----------
    needed : labels that are refused instead

    Raises
    ------
    InputError : results that are missing, lack a label, or were made otherwise or on other truth
    """
    _refuse(_missing_files(params))
    found = {model: _read(params, model) for model in params.models}
    departed = {
        model: _departed(params, model, evaluation, config.labels)
        for model, evaluation in found.items()
    }
    problems = [
        problem
        for model, evaluation in found.items()
        for problem in (
            *_departures(params, model, departed[model], needed),
            *_lacking(params, model, evaluation, config.labels),
        )
    ]
    _refuse([*problems, *_other_truth(found)])
    left_out = {label: why for each in departed.values() for label, why in each.items()}
    for why, labels in by_reason(left_out).items():
        LOG.warning("warning: left out: %s, evaluated with %s; run `dvc repro`", labels, why)
    return found, config.without(left_out)


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise InputError(problems)


def _paths(params: Params, model: str) -> tuple[Path, Path, Path]:
    folders = params.results
    return (
        Path(folders.per_user) / f"{model}.parquet",
        Path(folders.summary) / f"{model}.json",
        Path(folders.quality) / f"{model}.json",
    )


def _missing_files(params: Params) -> list[Problem]:
    return [
        Problem(
            str(path), "there is no such file", f"run `dvc repro`: it loads and evaluates {model}"
        )
        for model in params.models
        for path in _paths(params, model)
        if not path.is_file()
    ]


def _read(params: Params, model: str) -> ModelResult:
    per_user, summary, quality = _paths(params, model)
    panel, lists = (
        Path(folder) / f"{model}.parquet" for folder in (params.results.panel, params.results.lists)
    )
    return ModelResult(
        per_user, panel, lists, load_json(summary, RERUN_FIX), load_json(quality, RERUN_FIX)
    )


def ground_of(params: Params) -> EvaluationData:
    """What all models were evaluated on, as the load stages left it."""
    data = Path(params.results.data)
    train, items, users = (
        data / f"{name}.parquet" if name in params.background else None
        for name in ("train", "items", "users")
    )
    quality = load_json(Path(params.results.quality) / "truth.json", RERUN_FIX)
    truth = data / "truth.parquet"
    folds = {fold: truth / f"{fold}.parquet" for fold in sort_by_number(params.data.truth.folds)}
    first = next(iter(folds.values()), truth)
    return EvaluationData(first, train, items, users, quality, read_only_connection, folds)


def _departed(
    params: Params, model: str, evaluation: ModelResult, labels: Sequence[Label]
) -> dict[str, str]:
    """Return the labels that were not evaluated as params.yaml pins it, and how they were."""
    pinned = plain(params.pinned)
    per_user, *_ = _paths(params, model)
    found: dict[str, str] = {}
    for carried in (read_metadata(per_user), evaluation.summary):
        if carried["fingerprint"] != params.pinned.fingerprint:
            then = {
                **dict.fromkeys(CONVENTION),
                **carried["conventions"],
            }  # an older version knew fewer
            found |= {str(x): why for x in labels if (why := departure(x, then, pinned))}
    return found


def _departures(
    params: Params, model: str, departed: Mapping[str, str], needed: Collection[str]
) -> Iterator[Problem]:
    per_user, *_ = _paths(params, model)
    refused = {label: why for label, why in departed.items() if label in needed}
    for why, labels in by_reason(refused).items():
        what = f"{labels} of {model} was evaluated with {why}"
        yield Problem(str(per_user), what, f"run `dvc repro evaluate@{model}`")


def _lacking(
    params: Params, model: str, evaluation: ModelResult, labels: Sequence[Label]
) -> Iterator[Problem]:
    per_user, *_ = _paths(params, model)
    columns = set(pq.read_schema(per_user).names)
    primary = {canonical_label(text) for text in params.comparison.primary}
    of_catalogue = {str(label) for label in labels if label.metric.of_catalogue}
    for label in map(str, labels):
        kept = label in columns or label in of_catalogue
        if not kept or label not in evaluation.summary["metrics"]:
            key = "comparison.primary" if label in primary else "evaluation"
            what = f"has no {label}, which {key} in {PARAMS} names"
            yield Problem(str(per_user), what, f"run `dvc repro evaluate@{model}`")


def _other_truth(found: Mapping[str, ModelResult]) -> list[Problem]:
    """All models, or all of a fold, must have met the same truth; the first one's stands for it."""
    truth = {model: e.summary["inputs"]["truth"] for model, e in found.items()}
    firsts: dict[str | None, str] = {}
    first_of = {m: firsts.setdefault(e.quality.get("fold"), m) for m, e in found.items()}
    return [
        Problem(
            str(found[model].values),
            f"{model} was evaluated on another truth than {first} ({content_id_text(truth[model], 12)}, {content_id_text(truth[first], 12)})",
            "run `dvc repro`, so that all models meet the same truth",
        )
        for model, first in first_of.items()
        if content_id(truth[model]) != content_id(truth[first])
    ]


USERS_PER_SIDE = 5  # in the report, if `comparison.cases` names no models


def load_cases(params: Params, config: ComparisonConfig, selection: ExampleSelection) -> Cases:
    """Return the error analysis on the primary metrics; raise as `analyze_errors`, or if results are missing."""
    pair = resolve_pair(selection.models, params.models, config.replicates)
    results, config = read_evaluations(params, config, config.primary)
    lists = {name: results[name] for name in pair}
    return analyze_errors(ComparisonInput(config, lists, ground_of(params)), selection)


def cases_for_report(
    params: Params, config: ComparisonConfig, comparison: Comparison
) -> Cases | None:
    """Return the error analysis that the report shows; None if there is none or `comparison.cases` is empty.

    If `comparison.cases` is not set: five users for whom the leader is furthest behind the baseline, and five for whom
    it is furthest ahead.
    """
    models = params.comparison.cases
    if models is not None:
        return load_cases(params, config, ExampleSelection((models[0], models[1]))) if models else None  # fmt: skip
    pair = default_pair(comparison)
    if pair is None:
        return None
    try:
        cases = load_cases(params, config, ExampleSelection(pair, USERS_PER_SIDE, both_sides=True))
    except NoSharedValuesError:
        return None
    return cases if cases.cases else None


def default_pair(comparison: Comparison) -> tuple[str, str] | None:
    """Return the leader on the first primary metric and the baseline; if the baseline leads, it and the runner-up."""
    label, baseline = comparison.primary[0], comparison.baseline
    leaders = comparison.leaders(label)
    ordered = [*leaders, *comparison.others(label)]
    if not leaders or len(ordered) == 1:
        return None
    best = ordered[0]
    return (best, ordered[1] if best == baseline else baseline)
