"""The command `concord`. Each command imports what it needs when it runs, so that help answers at once."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from concord.pipeline.commands.declared import DECIDING, OF_ONE, STAGE, STAGES, parser_of
from concord.pipeline.terminal.parser import PROGRAM

if TYPE_CHECKING:
    from concord.metrics_core.errors import Problem

ERRORS = 2  # where 0, 1 and 3 are decisions of a gate


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the command line names."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == [STAGE]:  # before imports that take a second
        from concord.pipeline.running.signals import begin

        begin()
    from concord.pipeline.running.messages import flush

    parser = parser_of(_stage)
    try:
        chosen = parser.parse_args(given)
    except SystemExit:
        flush()
        raise
    if "command" not in chosen:
        parser.print_help()
        flush()
        return
    if chosen.name in DECIDING:
        _decide(chosen)
    from concord.metrics_core.errors import InputError, extra_named

    try:
        with extra_named():
            from concord.pipeline.running.stage import leave, run
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    if chosen.name == STAGE:
        given_to = [] if chosen.argument is None else [chosen.argument]
        sys.argv = [chosen.stage, *given_to, *chosen.how]
        run(lambda: _stage(chosen), lambda: _after(chosen.stage))
    sys.argv = [f"concord {chosen.name}", *chosen.how]
    leave(lambda: _command(chosen))


def _decide(chosen: argparse.Namespace) -> NoReturn:
    """Leaves with the gate's decision; what goes wrong, even before it begins, does not look like one."""
    try:
        from concord.metrics_core.errors import extra_named

        with extra_named():
            from concord.pipeline.running.stage import leave
        sys.argv = [f"concord {chosen.name}", *chosen.how]
        leave(lambda: _command(chosen), errors=ERRORS)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(ERRORS)
        raise
    except Exception as error:
        kind = type(error).__name__
        print(error if kind == "InputError" else f"{kind}: {error}", file=sys.stderr)
        sys.exit(ERRORS)


def _command(chosen: argparse.Namespace) -> object:
    from concord.pipeline.running.failures import damaged_results_named

    with damaged_results_named(_damaged_results):
        return chosen.command(chosen)


def _damaged_results(error: Exception) -> "list[Problem]":
    from concord.pipeline.commands.stale import damaged_results

    return damaged_results(error)


def _stage(chosen: argparse.Namespace) -> str:
    from concord.metrics_core.errors import refuse
    from concord.pipeline.commands.stage import stage
    from concord.pipeline.running.signals import importing

    if chosen.argument is not None and chosen.stage not in OF_ONE:
        what = f"stage {chosen.stage} takes no {chosen.argument!r}"
        raise refuse("command line", what, f"run `{PROGRAM} {STAGE} {chosen.stage}`")
    with importing():
        work = stage(chosen.stage)
    return work()


def _after(stage: str) -> None:
    if stage not in STAGES[-2:]:
        return
    from concord.pipeline.commands.leaderboard import after_repro, ends_with

    if ends_with(stage):
        after_repro()
