"""`concord reconcile`: definitions under which a model's results equal reported numbers."""

import argparse
from functools import partial

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
    from concord.metrics_core.analyses.reconcile.reconcile import parse_values, search
    from concord.metrics_core.data.relations import in_memory
    from concord.metrics_core.errors import format_count, label_fix, refuse
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.stages.load import read_conventions
    from concord.pipeline.stages.model_inputs import load_model_inputs
    from concord.pipeline.terminal import (
        argument_error,
        parse_per_user,
        print_result,
        refuse_unknown_model,
    )

    numbers, metrics, model = arguments.value, arguments.metric, arguments.model
    params = read_params(needs_lists=True)
    refuse_unknown_model(params.models, model)
    if len(numbers) != len(metrics):
        counts = (
            f"{format_count(len(numbers), 'number')} and {format_count(len(metrics), 'metric')}"
        )
        fix = "write `--metric` once for each number, in the same order"
        raise refuse(COMMAND_LINE, f"there are {counts}", fix)
    try:
        parse = partial(parse_per_user, feature="reconcile")
        values = parse_values(zip(metrics, numbers, strict=True), parse)
    except ValueError as error:
        raise argument_error(error, label_fix(error)) from None
    conventions = params.with_catalogue_size(read_conventions(params))
    with in_memory() as connection:
        inputs = load_model_inputs(connection, params, model, conventions, values)
        result = search(values, conventions, inputs)
    warn_if_stale(params)
    print_result(result, as_json=arguments.json)
    return 0 if result.matches else 1
