"""Parser of the command line; it imports modules for errors only when needed: help is fast."""

import argparse
import re
from collections.abc import Collection, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

PROGRAM, DISTRIBUTION = "concord", "concord-eval"
COMMAND_LINE = "command line"


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add the option `--force`."""
    help_text = "overwrite a file that Concord did not write"
    parser.add_argument("--force", action="store_true", help=help_text)


def add_columns(parser: argparse.ArgumentParser, example: str) -> None:
    """Add the option `--column`."""
    names = f"such as item=articles, or in one, such as {example}; may repeat"
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="COLUMN=NAME",
        help=f"name of a column in all tables, {names}",
    )


def parse_effect(text: str) -> float | str:
    """Return `0.005` as a number, and `2%` as text."""
    try:
        return float(text)
    except ValueError:
        return text


class FilePath(str):
    """A path that the command line names, relative to the folder where the command starts."""

    __slots__ = ()


def add_evaluation(parser: argparse.ArgumentParser) -> None:
    """Add the option `--dir`."""
    help_text = "folder of the evaluation (default: the nearest one)"
    parser.add_argument("--dir", metavar="DIR", help=help_text)


class _Help(argparse.RawDescriptionHelpFormatter):
    """Formatter with room for the longest command, whose indent argparse ignores.

    It lists the commands in `shown`; None for all.
    """

    def __init__(self, shown: Collection[str] | None, **options: Any) -> None:
        super().__init__(**options)
        self._shown = shown

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(map(len, action.choices), default=0)
            self._action_max_length = max(self._action_max_length, longest + 4)

    def _iter_indented_subactions(
        self, action: argparse.Action
    ) -> Generator[argparse.Action, None, None]:
        for each in super()._iter_indented_subactions(action):
            if self._shown is None or each.dest in self._shown:
                yield each


class Parser(argparse.ArgumentParser):
    """Parser whose errors name the problem and the fix."""

    def __init__(self, shown: Collection[str] | None = None, **options: Any) -> None:
        super().__init__(**options, formatter_class=partial(_Help, shown), allow_abbrev=False)
        self._words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and reject unknown words: a parent parser does not know a command's options."""
        self._words = args or ()
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"does not know {' '.join(unknown)}")
        return parsed, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        with suppress(OSError):  # some versions of Python 3.11 raise it for a closed pipe
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        from concord.metrics_core.errors import Problem

        self.exit(2, f"{Problem(COMMAND_LINE, *self._problem_and_fix(message))}\n")

    def _problem_and_fix(self, message: str) -> tuple[str, str]:
        from concord.metrics_core.conventions.registry import suggest

        if choice := re.search(r"invalid choice: (.*) \(choose from", message, re.DOTALL):
            known = {name for action in self._actions for name in action.choices or ()}
            kind = "command" if self.prog == PROGRAM else "stage"
            return f"{choice[1]} is not a {kind}", suggest(choice[1].strip("'\""), known)
        options = {name for name in self._option_string_actions if name.startswith("--")}
        used = [word.partition("=")[0] for word in self._words if re.match("--.", word)]
        if unknown := [name for name in used if name not in options]:
            return f"`{self.prog}` has no option {unknown[0]}", suggest(unknown[0], options)
        text = message.replace("the following arguments are required:", "needs")
        return f"`{self.prog}` {text}", f"write `{self.short_usage}`"

    @property
    def short_usage(self) -> str:
        """Usage of the command, without the options that most commands have."""
        usage = " ".join(self.format_usage().removeprefix("usage: ").split())
        for common in (" [-h] [-q] [-v] [--log-json] [--debug]", " [--dir DIR]"):
            usage = usage.replace(common, "")
        return usage


class Version(argparse.Action):
    """Print the version; it is read only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(PROGRAM, version(DISTRIBUTION))
        parser.exit()
