"""`concord reconcile`: definitions under which a model's results equal a reported number."""

import argparse
from functools import partial

from concord.pipeline.commands.parser import COMMAND_LINE

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
    from concord.pipeline.stages.evaluate import definition_means, positive_grades
    from concord.pipeline.terminal import argument_error, model_files, parse_label, print_result

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

    compute_means = partial(definition_means, params, model)
    grades = positive_grades(truth)
    result = search(value, label, params.resolved_conventions, compute_means, grades)
    warn_if_stale(params)
    print_result(result)
    return 0 if result.matches else 1
