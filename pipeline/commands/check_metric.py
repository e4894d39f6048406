"""`concord check-metric METRIC`: the properties of a metric of one's own."""

import argparse

HELP = "check the properties of a metric of your own"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "own_metric",
        metavar="METRIC",
        help="file and name of the metric, such as ./my_metrics.py:revenue",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print whether each property holds, with a counterexample; return 1 if any fails."""
    from concord.metrics_core.analyses.check_metric.check_metric import check_metric
    from concord.metrics_core.errors import label_fix
    from concord.pipeline.commands.metrics import load_own_metrics
    from concord.pipeline.terminal import argument_error, print_result

    load_own_metrics()
    try:
        result = check_metric(arguments.own_metric)
    except ValueError as error:
        raise argument_error(error, label_fix(error)) from None
    print_result(result)
    return 0 if result.holds else 1
