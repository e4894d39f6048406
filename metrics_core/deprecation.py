"""Deprecated names: each use warns with a FutureWarning, and the new name is used instead."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Deprecation(NamedTuple):
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
        """The version that removes the old name: a major one, before 1.0 the second minor one."""
        major, minor = map(int, self.since.split("."))
        return f"{major + 1}.0" if major else f"0.{minor + 2}"


# Old name, as a message shows it: "concord.rate", "compare(users_table=…)",
# "params.yaml: comparison.alpha", "concord rank" or "concord gate --strict".
DEPRECATED: dict[str, Deprecation] = {}


def replacement(old: str, depth: int = 1) -> str | None:
    """Warn about a deprecated name and return the new one; None if it is not deprecated.

    The warning shows the line `depth` calls above the caller of this function.
    """
    if (found := DEPRECATED.get(old)) is None:
        return None
    when = f"was deprecated in {found.since} and will be removed in {found.removal}"
    warnings.warn(f"{old} {when}; use {found.new} instead", FutureWarning, stacklevel=2 + depth)
    return found.new


def with_new_arguments(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a public function under their present names.

    Raises
    ------
    TypeError
        An argument is given under both names.
    """
    for name in [name for name in arguments if f"{function}({name}=…)" in DEPRECATED]:
        new = replacement(f"{function}({name}=…)", depth=2) or name
        if new in arguments:
            message = f"{function}() got {new!r} and its old name {name!r}"
            raise TypeError(message)
        arguments[new] = arguments.pop(name)
    return arguments


def with_new_words(program: str, words: Sequence[str]) -> list[str]:
    """Return a command line with the present names of its command and options."""
    present, command = [], ""
    for word in words:
        name, equals, value = word.partition("=")
        old = f"{program} {command} {name}" if command else f"{program} {name}"
        present.append(f"{replacement(old) or name}{equals}{value}")
        if not command and not word.startswith("-") and word != "help":
            command = present[-1]
    return present


def with_new_keys(file: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file under its present keys, such as `comparison.alpha`.

    Raises
    ------
    InputError
        The file has a key under both names.
    """
    start, renamed = f"{file}: ", dict(content)
    for old in [name.removeprefix(start) for name in DEPRECATED if name.startswith(start)]:
        renamed = _with_new_key(file, renamed, old, old.split("."))
    return renamed


def _with_new_key(file: str, content: Any, old: str, path: Sequence[str]) -> Any:
    """Return a section in which the key at the end of a path has its present name."""
    key, *rest = path
    if not isinstance(content, dict) or key not in content:
        return content
    if rest:
        return {**content, key: _with_new_key(file, content[key], old, rest)}
    new = replacement(f"{file}: {old}") or key
    if new in content:
        from concord.metrics_core.errors import refuse  # slow: commands start without it

        raise refuse(f"{file}: {old}", f"is the old name of {new}, which is there too", "remove it")
    return {new if name == key else name: value for name, value in content.items()}
