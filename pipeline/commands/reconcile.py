"""`concord reconcile`: definitions under which a model's results equal a reported number."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from concord.pipeline.terminal.parser import COMMAND_LINE

if TYPE_CHECKING:
    from concord.metrics_core.evaluation.panel import Definition
    from concord.pipeline.params.model import Params

HELP = "find the definitions that give a number from elsewhere"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("value", help="the number as it was printed, such as 0.330")
    parser.add_argument("--metric", required=True, help="a metric, such as nDCG@10")
    parser.add_argument("--model", required=True, help="a model of params.yaml")


def run(arguments: argparse.Namespace) -> int:
    """Print the definitions that give the number; return 0 if there are any, else 1."""
    from concord.metrics_core.analyses.reconcile.reconcile import search
    from concord.metrics_core.errors import refuse
    from concord.metrics_core.evaluation.definition_search import PrintedNumber
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.terminal.arguments import argument_error, model_files, parse_label
    from concord.pipeline.terminal.table import print_result

    value, model = arguments.value, arguments.model
    params = read_params(needs_lists=True)
    label = parse_label(arguments.metric)
    _, truth = model_files(params, model)
    if label.metric.is_aggregate:
        problem = f"{label} is one number over all users, which reconcile cannot search"
        fix = "name a metric that has a value for each user, such as nDCG@10"
        raise refuse(COMMAND_LINE, problem, fix)
    try:
        PrintedNumber.parse(value)
    except ValueError as error:
        raise argument_error(error, "write it as it was printed, such as 0.330") from None

    def compute_means(definitions: "Sequence[Definition]") -> list[float]:
        return definition_means(params, model, definitions)

    grades = positive_grades(truth)
    result = search(value, label, params.resolved_conventions, compute_means, grades)
    warn_if_stale(params)
    print_result(result)
    return 0 if result.matches else 1


def definition_means(
    params: "Params", model: str, definitions: "Sequence[Definition]"
) -> list[float]:
    """Return the mean of each definition for a model."""
    from concord.metrics_core.evaluation.accumulator import definition_mean
    from concord.metrics_core.evaluation.partition import Task
    from concord.pipeline.params.result_files import ModelFiles
    from concord.pipeline.stages.evaluate import choose_executor, model_data

    task = Task((), params.resolved_conventions, definitions=definitions)
    lists = ModelFiles.of_model(params.results, model).lists
    parts = choose_executor(params)(lists, model_data(params, model), task)
    frames = [part.values for part in parts]
    return [definition_mean(frames, definition) for definition in definitions]


def positive_grades(truth: Path) -> list[float]:
    """Return the distinct positive grades of the ground truth."""
    from concord.metrics_core.data.relations import connect

    query = "SELECT DISTINCT grade FROM read_parquet(?) WHERE grade > 0 ORDER BY grade"
    with connect(reads=[truth]) as connection:
        return [grade for (grade,) in connection.execute(query, [str(truth)]).fetchall()]
