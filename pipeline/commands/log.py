"""`concord log`: whether the last results were logged to MLflow; with `--again`, log what is missing there."""

import argparse

HELP = "check whether the last results were logged to MLflow"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--again", action="store_true", help="log what is missing in MLflow")


def run(arguments: argparse.Namespace) -> None:
    """Print one line on what is logged, or log the results on disk again."""
    from concord.pipeline.mlflow.log import log_again, log_status
    from concord.pipeline.params.read import read_params

    if arguments.again:
        log_again()
    else:
        print(log_status(read_params()))
