"""`concord completion SHELL`: the script by which a shell completes commands, options, presets and files."""

import argparse
from collections.abc import Iterator

import shtab

from concord.metrics_core.analyses.split_methods import METHODS, REPEATS
from concord.metrics_core.conventions.presets import presets

_FILES = {
    "DIR": shtab.DIRECTORY,
    "FILE": shtab.FILE,
    "FILE.svg": shtab.FILE,
    "INTERACTIONS": shtab.FILE,
    "METRIC": shtab.FILE,
    "PATH": shtab.FILE,
}


def print_script(parser: argparse.ArgumentParser, shell: str) -> None:
    """Print the completion script of a shell; it is made from the parser of the command line."""
    words = {
        "how_to": METHODS,
        "names": ("diff", *presets()),
        "preset": presets(),
        "repeats": REPEATS,
        "versus": presets(),
    }
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = _FILES[action.metavar]  # type: ignore[attr-defined]
        elif action.dest in words:
            action.choices = words[action.dest]
    print(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of the parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
