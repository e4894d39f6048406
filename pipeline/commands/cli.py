"""The command `concord`; each command imports what it needs when it runs: help is fast."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NoReturn

from concord.metrics_core.deprecation import with_new_words
from concord.pipeline.commands import compare, evaluate, explain, stage
from concord.pipeline.commands.parser import PROGRAM, Parser, Version, add_evaluation

if TYPE_CHECKING:
    from concord.metrics_core.errors import Problem
    from concord.pipeline.commands.registry import Command

# Commands that need no evaluation, or run only in its folder.
WITHOUT_EVALUATION = (
    "compare",
    "evaluate",
    "init",
    "split",
    "check-metric",
    "replay",
    "study",
    "stage",
    "completion",
)
# Commands that a script runs for their exit code: 1, 3 and 4 are decisions, so errors are others.
DECISION_COMMANDS = ("compare", "evaluate", "gate", "comment", "replay")
# Commands that start fast: they import no other command.
ALONE: "Mapping[str, Command]" = {"compare": compare, "evaluate": evaluate, "stage": stage}
DECISION_ERROR = 2  # their exit code after any error
VERBOSITY = {
    ("-q", "--quiet"): "print errors only",
    ("-v", "--verbose"): "print every step",
    ("--log-json",): "write messages to stderr as JSON, one object a line",
    ("--debug",): "print the traceback of an error",
}


_DESCRIPTION = """Evaluate recommendations with fixed, reproducible and explained metrics.
`concord compare NEW OLD --truth TEST` needs nothing else; `concord init` keeps it in a repository.
`concord COMMAND --help` shows the options of a command, `concord help all` all commands."""


def build_parser(commands: "Mapping[str, Command] | None" = None) -> argparse.ArgumentParser:
    """Return the parser of these commands; by default, of all."""
    shown, more = commands, ""
    if commands is None:
        from concord.pipeline.commands.registry import COMMANDS, FIRST, GROUPS

        commands, shown = COMMANDS, FIRST
        more = "\n".join(["more commands:", *(f"  {g}: {', '.join(GROUPS[g])}" for g in GROUPS)])
    parser = Parser(shown, prog=PROGRAM, description=_DESCRIPTION, epilog=more)
    _add_verbosity(parser, "output_flags")
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
    parser.set_defaults(parser=parser, output_flags=[], command_flags=[])
    parsers = parser.add_subparsers(title="commands", metavar="COMMAND", dest="name")
    for name, command in commands.items():
        command_parser = parsers.add_parser(name, help=command.HELP, description=command.HELP)
        # With a common `dest`, flags after the command would replace those before it.
        _add_verbosity(command_parser, "command_flags")
        command_parser.set_defaults(run=command.run)
        command.add_arguments(command_parser)
        if name not in WITHOUT_EVALUATION:
            add_evaluation(command_parser)
    return parser


def _add_verbosity(parser: argparse.ArgumentParser, dest: str) -> None:
    group = parser.add_argument_group("verbosity")
    for flags, text in VERBOSITY.items():
        group.add_argument(
            *flags,
            dest=dest,
            action="append_const",
            const=flags[-1],
            default=argparse.SUPPRESS,
            help=text,
        )


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; `output_flags` are those before and after the command."""
    argv = with_new_words(PROGRAM, argv)
    if argv[:1] == ["help"]:
        return _help(argv[1:])
    if argv[:1] == ["explain"]:
        argv = explain.command_of(argv[1:])
    own = {name: ALONE[name] for name in argv[:1] if name in ALONE}
    arguments = build_parser(own or None).parse_args(argv)
    arguments.output_flags = [*arguments.output_flags, *arguments.command_flags]
    return arguments


def _help(names: Sequence[str]) -> argparse.Namespace:
    """Print the help of a command; for `all`, each command in one line."""
    from concord.pipeline.commands.registry import COMMANDS

    if [*names] == ["all"]:
        return build_parser(COMMANDS).parse_args(["--help"])
    return build_parser().parse_args([*names, "--help"])


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command that the command line names."""
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["stage"]:  # before imports that take a second
        from concord.pipeline.running.signals import prepare_process

        prepare_process()
    from concord.pipeline.running.messages import flush, set_up_encodings

    set_up_encodings()  # help has characters that not every console knows
    try:
        arguments = parse(argv)
    except SystemExit:
        flush()
        raise
    if arguments.name is None:
        arguments.parser.print_help()
        flush()
    elif arguments.name in DECISION_COMMANDS:
        _run_decision(arguments)
    else:
        _run(arguments)


def _run(arguments: argparse.Namespace, error_code: int | None = None) -> NoReturn:
    """Run the command and exit; `error_code` is the exit code of all errors."""
    from concord.metrics_core.errors import InputError, report_missing_extra

    try:
        with report_missing_extra():
            from concord.pipeline.running.stage import run_and_exit
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    if arguments.name == "stage":
        stage.run(arguments)
    sys.argv = [f"{PROGRAM} {arguments.name}", *arguments.output_flags]
    run_and_exit(lambda: _run_command(arguments), error_code=error_code)


def _run_decision(arguments: argparse.Namespace) -> NoReturn:
    """Run a command whose exit code is a decision: no error may look like one."""
    try:
        _run(arguments, error_code=DECISION_ERROR)
    except Exception as error:
        from concord.metrics_core.errors import printable

        print(printable(f"{type(error).__name__}: {error}"), file=sys.stderr)
        sys.exit(DECISION_ERROR)


def _run_command(arguments: argparse.Namespace) -> int | None:
    from concord.pipeline.running.failures import report_damaged_results

    work_folder: AbstractContextManager[None] = nullcontext()
    if arguments.name not in WITHOUT_EVALUATION:
        from concord.pipeline.terminal import in_evaluation  # slow

        work_folder = in_evaluation(arguments)
    with work_folder, report_damaged_results(_damaged_results):
        code: int | None = arguments.run(arguments)
        return code


def _damaged_results(error: Exception) -> "list[Problem]":
    from concord.pipeline.dvc.current_results import damaged_results

    return damaged_results(error)
