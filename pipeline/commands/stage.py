"""`concord stage NAME [MODEL]`: run a stage of dvc.yaml."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from concord.pipeline.terminal.parser import COMMAND_LINE

HELP = "run one stage, as `dvc repro` does"
STAGES = ("load-truth", "load-background", "load", "evaluate", "compare", "report", "log")
WITH_ARGUMENT = ("load-background", "load", "evaluate")  # stages of one table or model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stage", choices=STAGES, metavar="NAME", help=", ".join(STAGES))
    parser.add_argument(
        "argument", nargs="?", metavar="MODEL", help=f"for {', '.join(WITH_ARGUMENT)}"
    )


def run(arguments: argparse.Namespace) -> NoReturn:
    """Run the stage and exit."""
    from concord.pipeline.running.stage import run_stage

    words = [] if arguments.argument is None else [arguments.argument]
    sys.argv = [arguments.stage, *words, *arguments.output_flags]
    run_stage(lambda: _run(arguments), lambda: _print_leaderboard(arguments.stage))


def _run(arguments: argparse.Namespace) -> str:
    from concord.metrics_core.errors import refuse
    from concord.pipeline.running.signals import without_garbage_collection

    name, argument = arguments.stage, arguments.argument
    if argument is not None and name not in WITH_ARGUMENT:
        problem = f"stage {name} takes no argument"
        raise refuse(COMMAND_LINE, problem, f"run `concord stage {name}`")
    with without_garbage_collection():
        main = import_main(name)
    return main()


def _print_leaderboard(stage: str) -> None:
    """Print the leaderboard if this is the last stage."""
    if stage not in STAGES[-2:]:
        return
    from concord.pipeline.commands.leaderboard import after_repro, is_last_stage

    if is_last_stage(stage):
        after_repro()


def import_main(name: str) -> Callable[[], str]:
    """Return the function of a stage; import only its module."""
    match name:
        case "load-truth":
            from concord.pipeline.stages.load import main_truth as main
        case "load-background":
            from concord.pipeline.stages.load import main_background as main
        case "load":
            from concord.pipeline.stages.load import main
        case "evaluate":
            from concord.pipeline.stages.evaluate import main
        case "compare":
            from concord.pipeline.stages.compare import main
        case "report":
            from concord.pipeline.stages.report import main
        case _:
            from concord.pipeline.mlflow.log import main
    return main
