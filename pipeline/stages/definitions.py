"""Means of other definitions of a metric, on the lists of a model."""

from collections.abc import Sequence
from pathlib import Path

from concord.metrics_core.data.relations import connect
from concord.metrics_core.evaluation.accumulator import definition_mean
from concord.metrics_core.evaluation.panel import Definition
from concord.metrics_core.evaluation.partition import Task
from concord.pipeline.params.model import Params
from concord.pipeline.params.result_files import ModelFiles
from concord.pipeline.stages.evaluate import choose_executor, model_data


def definition_means(params: Params, model: str, definitions: Sequence[Definition]) -> list[float]:
    """Return the mean of each definition for a model."""
    task = Task((), params.resolved_conventions, definitions=definitions)
    lists = ModelFiles.of_model(params.results, model).lists
    parts = choose_executor(params)(lists, model_data(params, model), task)
    frames = [part.values for part in parts]
    return [definition_mean(frames, definition) for definition in definitions]


def positive_grades(truth: Path) -> list[float]:
    """Return the distinct positive grades of the ground truth."""
    query = "SELECT DISTINCT grade FROM read_parquet(?) WHERE grade > 0 ORDER BY grade"
    with connect(reads=[truth]) as connection:
        return [grade for (grade,) in connection.execute(query, [str(truth)]).fetchall()]
