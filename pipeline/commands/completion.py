"""`concord completion SHELL`: script that completes commands, options, presets and files."""

import argparse
from collections.abc import Iterator

HELP = "print a script that completes commands and files"
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> None:
    """Print the completion script of a shell."""
    import shtab

    from concord.metrics_core.analyses.split.rows import METHOD_OPTIONS, REPEATS
    from concord.metrics_core.conventions.presets import presets

    words = {
        "method": METHOD_OPTIONS,
        "names": ("diff", *presets()),
        "preset": presets(),
        "repeats": REPEATS,
        "versus": presets(),
    }
    files = {
        "DIR": shtab.DIRECTORY,
        **dict.fromkeys(("FILE", "FILE.svg", "INTERACTIONS", "METRIC", "PATH"), shtab.FILE),
    }
    for action in _actions(arguments.parser):
        if action.metavar in files:
            action.complete = files[action.metavar]  # type: ignore[attr-defined]
        elif action.dest in words:
            action.choices = words[action.dest]
    print(shtab.complete(arguments.parser, arguments.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of the parser and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
