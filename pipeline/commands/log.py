"""`concord log`: whether the last results are in MLflow; `--again` logs missing ones."""

import argparse

HELP = "check whether the last results were logged to MLflow"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--again", action="store_true", help="log what is missing in MLflow")


def run(arguments: argparse.Namespace) -> int:
    """Print whether the last results were logged, or log them again; return 1 if they are not."""
    from concord.metrics_core.errors import InputError
    from concord.pipeline.dvc.current_results import stale_results, warn_if_stale
    from concord.pipeline.mlflow.log import log_again, log_status, not_logged_reason
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import print_text

    params = read_params()
    if arguments.again:
        if stale := stale_results(params, "report"):
            raise InputError([stale])
        log_again()
        return 0
    warn_if_stale(params)
    reason = not_logged_reason(params)
    print_text(log_status(params) if reason is None else f"not logged: {reason}")
    return 0 if reason is None else 1
