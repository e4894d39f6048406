"""The ground truth and side data that all models were evaluated on."""

from pathlib import Path

from concord.metrics_core.data.tables import Table, read_if_small
from concord.metrics_core.evaluation.model_result import EvaluationData, no_lists_data
from concord.metrics_core.files import load_json, sort_by_number
from concord.pipeline.params.model import Params
from concord.pipeline.params.paths import side_data_file, truth_file, truth_quality_file
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.running.outputs import rerun_fix


def evaluation_data(params: Params) -> EvaluationData:
    """Return the data that all models were evaluated on, as the load stages wrote it."""
    if params.has_values:
        return no_lists_data()
    names = sort_by_number(params.data.truth.folds)
    folds = {fold: read_if_small(truth_file(params, fold)) for fold in names}
    described = {role: Path(params.results.data) / f"{role}.json" for role in params.background}
    return EvaluationData(
        truth=next(iter(folds.values())) if folds else read_if_small(truth_file(params)),
        train=_side_table(params, "train"),
        items=_side_table(params, "items"),
        users=_side_table(params, "users"),
        truth_quality=load_json(truth_quality_file(params), rerun_fix()),
        side_qualities={
            role: load_json(file, rerun_fix())
            for role, file in described.items()
            if role != "metrics" and file.is_file()
        },
        connect=read_only_connection,
        folds=folds,
    )


def _side_table(params: Params, role: str) -> Table | None:
    file = side_data_file(params, role)
    return file and read_if_small(file)
