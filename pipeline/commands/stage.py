"""`concord stage NAME [MODEL]`: run a stage of dvc.yaml."""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from concord.pipeline.commands.parser import COMMAND_LINE

if TYPE_CHECKING:
    from concord.pipeline.params.model import Params

HELP = "run one stage, as `dvc repro` does"
_NAMES = "load-truth load-background load evaluate reference compare report log"
STAGES = tuple(_NAMES.split())
WITH_ARGUMENT = {  # stages of one table or model
    "load-background": "a file of background",
    "load": "a model",
    "evaluate": "a model",
}


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
        from concord.pipeline.params.read import read_params
    params = read_params()
    return run_main(main, params, *_argument(params, name, argument))


def run_main(main: Callable[..., str], params: "Params", *argument: str) -> str:
    """Run the function of a stage; return its summary in the words of the project."""
    from concord.pipeline.params.paths import display_words
    from concord.reports.text.display_words import DisplayWords

    summary = main(params, *argument)
    return DisplayWords(display_words(params)).show(summary)


def _argument(params: "Params", stage: str, argument: str | None) -> tuple[str, ...]:
    """Return the table or model of a stage; raise InputError if params.yaml lacks it."""
    from concord.metrics_core.errors import refuse

    if stage not in WITH_ARGUMENT:
        return ()
    known = list(params.background if stage == "load-background" else params.models)
    if argument in known:
        return (argument,)
    problem = f"{argument or 'nothing'!r} is not {WITH_ARGUMENT[stage]}"
    fix = f"name one of those in params.yaml: {', '.join(known)}"
    raise refuse(COMMAND_LINE, problem, fix)


def _print_leaderboard(stage: str) -> None:
    """Print the leaderboard if this is the last stage."""
    if stage not in STAGES[-2:]:
        return
    from concord.pipeline.commands.leaderboard import after_repro, is_last_stage

    if is_last_stage(stage):
        after_repro()


def import_main(name: str) -> Callable[..., str]:
    """Return the function of a stage; import only its module."""
    if name.startswith("load"):
        from concord.pipeline.stages import load

        mains: dict[str, Callable[..., str]] = {
            "load-truth": load.main_truth,
            "load-background": load.main_background,
        }
        return mains.get(name, load.main)
    if name == "evaluate":
        from concord.pipeline.stages import evaluate

        return evaluate.main
    if name == "reference":
        from concord.pipeline.stages import reference

        return reference.main
    if name == "compare":
        from concord.pipeline.stages import compare

        return compare.main
    if name == "report":
        from concord.pipeline.stages import report

        return report.main
    from concord.pipeline.mlflow import log

    return log.main
