"""`concord reconcile`: definitions under which a model's results equal reported numbers."""

import argparse

from concord.pipeline.commands.parser import COMMAND_LINE

HELP = "find the definitions that give numbers from elsewhere"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "value", nargs="+", help="the number as it was printed, such as 0.330; may repeat"
    )
    parser.add_argument(
        "--metric",
        action="append",
        required=True,
        help="the metric of a number, such as nDCG@10; repeat it for further numbers, in order",
    )
    parser.add_argument("--model", required=True, help="a model of params.yaml")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the definitions that give the numbers; return 0 if there are any, else 1."""
    from concord.metrics_core.analyses.reconcile.reconcile import search
    from concord.metrics_core.errors import format_count, refuse
    from concord.metrics_core.evaluation.printed_number import PrintedNumber
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.stages.evaluate import positive_grades
    from concord.pipeline.stages.ranked_again import model_lists
    from concord.pipeline.terminal import argument_error, model_files, parse_label, print_result

    numbers, metrics, model = arguments.value, arguments.metric, arguments.model
    params = read_params(needs_lists=True)
    if len(numbers) != len(metrics):
        counts = (
            f"{format_count(len(numbers), 'number')} and {format_count(len(metrics), 'metric')}"
        )
        fix = "write `--metric` once for each number, in the same order"
        raise refuse(COMMAND_LINE, f"there are {counts}", fix)
    labels = [parse_label(text) for text in metrics]
    _, truth = model_files(params, model)
    for label in labels:
        if label.metric.is_aggregate:
            problem = f"{label} is one number over all users, which reconcile cannot search"
            fix = "name a metric that has a value for each user, such as nDCG@10"
            raise refuse(COMMAND_LINE, problem, fix)
    if repeated := {label for label in labels if labels.count(label) > 1}:
        problem = f"{repeated.pop()} has two numbers"
        raise refuse(COMMAND_LINE, problem, "give one number of each metric")
    try:
        for text in numbers:
            PrintedNumber.parse(text)
    except ValueError as error:
        raise argument_error(error, "write it as it was printed, such as 0.330") from None

    values = dict(zip(labels, numbers, strict=True))
    with model_lists(params, [model]) as lists:
        result = search(values, params.resolved_conventions, lists[model], positive_grades(truth))
    warn_if_stale(params)
    print_result(result, as_json=arguments.json)
    return 0 if result.matches else 1
