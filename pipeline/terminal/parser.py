"""The parser of the command line. It imports what a refusal needs when there is one, so that help answers at once."""

import argparse
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

PROGRAM, DISTRIBUTION = "concord", "concord-eval"


class _Help(argparse.HelpFormatter):
    """Leaves room for the longest command, which stands deeper than argparse counts."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(map(len, action.choices), default=0)
            self._action_max_length = max(self._action_max_length, longest + 4)


class Parser(argparse.ArgumentParser):
    """Refuses a command line as all else is refused: with what may be meant, or how it is written."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"formatter_class": _Help, **how}, allow_abbrev=False)
        self._given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """A command refuses itself what it does not know: the parser above it knows none of its options."""
        self._given = args or ()
        chosen, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"does not know {' '.join(unknown)}")
        return chosen, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        with suppress(OSError):  # of a reader who has gone, which some patches of Python 3.11 raise
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        from concord.metrics_core.errors import Problem

        self.exit(2, f"{Problem('command line', *self._refusal(message))}\n")

    def _refusal(self, message: str) -> tuple[str, str]:
        from concord.metrics_core.conventions.validation import nearest

        if choice := re.search(r"invalid choice: (.*) \(choose from", message, re.DOTALL):
            known = {name for action in self._actions for name in action.choices or ()}
            kind = "command" if self.prog == PROGRAM else "stage"
            return f"{choice[1]} is not a {kind}", nearest(choice[1].strip("'\""), known)
        options = {each for each in self._option_string_actions if each.startswith("--")}
        named = [each.partition("=")[0] for each in self._given if re.match("--.", each)]
        if unknown := [each for each in named if each not in options]:
            return f"`{self.prog}` has no option {unknown[0]}", nearest(unknown[0], options)
        said = message.replace("the following arguments are required:", "needs")
        return f"`{self.prog}` {said}", f"write `{self.written}`"

    @property
    def written(self) -> str:
        """How the command is written, without the options that all have."""
        usage = " ".join(self.format_usage().removeprefix("usage: ").split())
        return usage.replace(" [-h] [-q] [-v] [--log-json] [--debug]", "")


class Version(argparse.Action):
    """Looked up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(PROGRAM, version(DISTRIBUTION))
        parser.exit()
