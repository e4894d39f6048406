"""YAML files: read safely, with the line of each key."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML, events
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.pipeline.params.repository import run_hint

BYTES = 1_000_000
DEPTH = 30
VALUES = 50_000  # with every alias written out
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null")}
_PLAIN |= {"!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}

_ALIAS = (events.AliasEvent, yaml.AliasEvent)
_START = (events.CollectionStartEvent, yaml.CollectionStartEvent)
_END = (events.CollectionEndEvent, yaml.CollectionEndEvent)
_SCALAR = (events.ScalarEvent, yaml.ScalarEvent)


def load_yaml(text: str, where: str) -> Any:
    """Return the content of a text in plain values.

    Raises
    ------
    InputError
        It is not YAML, or larger than a file of parameters may be; `where` names it.
    """
    if len(text) > BYTES:
        raise too_large_error(where)
    try:
        check_size(YAML(typ="safe", pure=True).parse(text), where)
        return YAML(typ="safe", pure=True).load(text)
    except DuplicateKeyError as error:
        raise _duplicate_key_error(error, where) from None
    except MarkedYAMLError as error:
        position = error.problem_mark or error.context_mark
        location = f"{where}: line {position.line + 1}" if position else where
        problem = f"is not valid YAML: {_message(error)}"
        tab = r"character '\t'" in _message(error)
        fix = "indent with spaces, not tabs" if tab else "correct that line"
        raise refuse(location, problem, fix) from None
    except InputError:
        raise
    except (YAMLError, ValueError) as error:  # a number of a million digits is a ValueError
        problem = f"is not valid YAML: {' '.join(str(error).split())[:300]}"
        raise refuse(where, problem, "correct it") from None


def _duplicate_key_error(error: DuplicateKeyError, where: str) -> InputError:
    line = error.problem_mark.line
    match = re.search(r'duplicate key "(.*?)" with value', str(error.problem), re.DOTALL)
    problem = f"key {match[1]!r} occurs more than once" if match else "a key occurs more than once"
    return refuse(f"{where}: line {line + 1}", problem, "keep one of them")


def _message(error: MarkedYAMLError) -> str:
    """Return the message of the parser without its excerpt of the line."""
    words = " ".join(part for part in (error.context, error.problem) if part)
    return " ".join(words.split())


def too_large_error(where: str) -> InputError:
    fix = "keep data in files of its own, and name them"
    return refuse(where, f"is larger than {BYTES:,} bytes", fix)


def check_size(parsed: Iterable[Any], where: str, *, most: int = VALUES) -> None:
    """Raise InputError for too many values, too deep nesting and tags.

    `parsed` are events of ruamel.yaml or PyYAML, so that nothing is built before the check.
    """
    count = _Count(where, most)
    for event in parsed:
        if isinstance(event, _SCALAR):
            count.value(event, opens=False)
        elif isinstance(event, _START):
            count.value(event, opens=True)
        elif isinstance(event, _END):
            count.end()
        elif isinstance(event, _ALIAS):
            count.alias(event)


class _Count:
    """Counts values, those of aliases too."""

    def __init__(self, where: str, most: int) -> None:
        self._where = where
        self._most = most
        self._total = 0
        self._open: list[tuple[str | None, int]] = []  # anchor, total at its start
        self._size: dict[str, int] = {}

    def value(self, event: Any, *, opens: bool) -> None:
        tag = None if event.tag is None else str(event.tag)
        if tag is not None and tag not in _PLAIN:
            problem = f"line {event.start_mark.line + 1} has the tag {tag!r}"
            raise refuse(self._where, problem, "write plain values: text, numbers, lists, mappings")
        self._add(1)
        if opens:
            self._open.append((event.anchor, self._total - 1))
            if len(self._open) > DEPTH:
                problem = f"line {event.start_mark.line + 1} is nested more than {DEPTH} deep"
                raise refuse(self._where, problem, "write it flat, as the params.yaml of the demo")
        elif event.anchor:
            self._size[event.anchor] = 1

    def end(self) -> None:
        anchor, before = self._open.pop()
        if anchor:
            self._size[anchor] = self._total - before

    def alias(self, event: Any) -> None:
        if any(anchor == event.anchor for anchor, _ in self._open):
            problem = f"line {event.start_mark.line + 1}: *{event.anchor} contains itself"
            raise refuse(self._where, problem, "write the values out")
        self._add(self._size.get(event.anchor, 1))

    def _add(self, values: int) -> None:
        self._total += values
        if self._total > self._most:
            problem = f"holds more than {self._most:,} values, aliases written out"
            raise refuse(self._where, problem, "keep data in files of its own, and name them")


@dataclass(frozen=True)
class Yaml:
    """The content of a file, and the line of each key."""

    path: Path
    text: str
    content: dict[str, Any]

    def error(self, problems: Iterable[Problem]) -> InputError:
        """Return an InputError that names the line and the key of each problem, in the order of the lines."""
        placed = [(self.line_of(each.location), each) for each in problems]
        placed.sort(key=lambda pair: pair[0])
        return InputError(
            replace(each, location=f"{self.path}: line {line}, {each.where}")
            for line, each in placed
        )

    @cached_property
    def _marked(self) -> Any:
        return YAML(typ="rt").load(self.text)

    def line_of(self, keys: Iterable[Any]) -> int:
        """Return the line of the deepest key that is in the file."""
        return max(self._lines(keys), default=1)

    def _lines(self, keys: Iterable[Any]) -> Iterator[int]:
        node = self._marked
        for key in keys:
            if isinstance(node, dict) and key in node:
                line, _ = node.lc.key(key)  # type: ignore[attr-defined]
            elif isinstance(node, list) and isinstance(key, int) and key < len(node):
                line, _ = node.lc.item(key)  # type: ignore[attr-defined]
            else:
                continue  # a name that pydantic puts between keys, or a key that is missing
            yield line + 1
            node = node[key]


def read_yaml(path: Path, *, start: str = "start from the params.yaml of the demo") -> Yaml:
    """Return a file that holds a mapping; `start` is the fix if it does not.

    Raises
    ------
    InputError
        The file is missing, or is not a mapping in YAML 1.2 and UTF-8.
    """
    if not path.is_file():
        problem = "there is no such file in this folder"
        raise refuse(str(path), problem, run_hint(path.parent))
    if path.stat().st_size > BYTES:
        raise too_large_error(str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start:,} is not UTF-8"
        raise refuse(str(path), problem, "save the file as UTF-8") from None
    content = load_yaml(text, str(path))
    if not isinstance(content, dict):
        raise refuse(str(path), "is not a mapping", start)
    return Yaml(path, text, content)
