"""Deprecated names: each use warns with a FutureWarning, and the new name is used instead."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MINOR_VERSIONS = 2  # for which a deprecated name works


@dataclass(frozen=True)
class Deprecation:
    """The name that replaces another.

    Attributes
    ----------
    new : str
        The name to use.
    since : str
        The minor version that deprecated the old name, such as "0.2".
    """

    new: str
    since: str

    @property
    def removal(self) -> str:
        """The minor version that removes the old name."""
        major, minor = self.since.split(".")
        return f"{major}.{int(minor) + MINOR_VERSIONS}"


# Old name, as a message shows it: "concord.rate", "compare(users_table=…)",
# "params.yaml: comparison.alpha", "concord rank" or "concord gate --strict".
DEPRECATED: dict[str, Deprecation] = {}


def replacement(old: str, depth: int = 1) -> str | None:
    """Warn about a deprecated name and return the new one; None if it is not deprecated.

    The warning shows the line `depth` calls above the caller of this function.
    """
    if (found := DEPRECATED.get(old)) is None:
        return None
    text = f"{old} is deprecated since {found.since} and goes with {found.removal}; use {found.new}"
    warnings.warn(text, FutureWarning, stacklevel=2 + depth)
    return found.new


def with_new_arguments(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a public function under their present names."""
    for name in [name for name in arguments if f"{function}({name}=…)" in DEPRECATED]:
        value = arguments.pop(name)
        arguments[replacement(f"{function}({name}=…)", depth=2) or name] = value
    return arguments


def with_new_words(program: str, words: Sequence[str]) -> list[str]:
    """Return a command line with the present names of its command and options."""
    if not words:
        return []
    command = replacement(f"{program} {words[0]}") or words[0]
    return [command, *(replacement(f"{program} {command} {word}") or word for word in words[1:])]


def with_new_keys(file: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file under its present keys, such as `comparison.alpha`."""
    start = f"{file}: "
    for old in [name.removeprefix(start) for name in DEPRECATED if name.startswith(start)]:
        section, _, key = old.rpartition(".")
        values = content.get(section) if section else content
        if isinstance(values, dict) and key in values:
            new = replacement(start + old) or old
            values = {new if name == key else name: value for name, value in values.items()}
            content = {**content, section: values} if section else values
    return content
