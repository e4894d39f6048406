"""Stage `reference`: chance, most popular items and best possible lists; it reads no model."""

from dataclasses import replace

from concord.metrics_core.errors import InputError, format_count, refuse
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.reference import compute_references
from concord.metrics_core.files import load_json
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.reference import References
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import (
    reference_file,
    side_data_file,
    truth_file,
    truth_quality_file,
)
from concord.pipeline.params.read import refuse_values
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.running.outputs import (
    prepare_folders,
    remove_background,
    rerun_fix,
    write_json,
)
from concord.pipeline.stages.load import read_conventions

_NAMES = {"chance": "chance", "most_popular": "most popular", "best_possible": "best possible"}


def main(params: Params) -> str:
    """Write reference.json; return what it holds as text."""
    refuse_values(params)
    prepare_folders(params.results, params.results.reference)
    remove_background(params)
    references = compute(params)
    fingerprint = params.resolved_conventions.fingerprint
    write_json(
        reference_file(params), {"fingerprint": fingerprint, "references": to_plain(references)}
    )
    if references is None:
        return "none: folds have different ground truths, or no metric has references"
    names = [text for name, text in _NAMES.items() if name not in references.missing]
    metrics = format_count(len(references.values), "metric")
    return f"{', '.join(names)} of {metrics}"


def compute(params: Params) -> References | None:
    """Return the references of the loaded tables; None if there are none."""
    exclude = read_conventions(params).exclude
    conventions = replace(params.resolved_conventions, exclude=exclude)
    data = EvaluationData(
        truth=truth_file(params),
        train=side_data_file(params, "train"),
        items=side_data_file(params, "items"),
        users=side_data_file(params, "users"),
        truth_quality=load_json(truth_quality_file(params), rerun_fix()),
        connect=read_only_connection,
        folds={fold: truth_file(params, fold) for fold in params.data.truth.folds},
    )
    try:
        return compute_references(
            params.labels,
            conventions,
            data,
            lists_unknown_items=params.input.unknown_items == "keep",
        )
    except InputError:
        raise
    except ValueError as error:
        fix = "change the convention that is named, or the data"
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error
