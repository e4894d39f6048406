"""Safe reading of YAML files, with the line of each key."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.pipeline.params.repository import FILL_IN, run_hint

MAX_BYTES = 1_000_000
_CONFLICT = re.compile(r"^(<{7}|>{7})", re.MULTILINE)


def load_yaml(text: str, source: str) -> Any:
    """Return the content of a YAML text as plain values.

    Parameters
    ----------
    text : str
        The text.
    source : str
        Name of the file, for messages.

    Raises
    ------
    InputError
        If the text is not YAML, or is larger than a file of parameters may be.
    """
    if len(text) > MAX_BYTES:
        fix = "keep data in separate files, and name them"
        raise refuse(source, f"is larger than {MAX_BYTES:,} bytes", fix)
    try:
        return YAML(typ="safe", pure=True).load(text)
    except DuplicateKeyError as error:
        match = re.search(r'duplicate key "(.*?)" with value', str(error.problem), re.DOTALL)
        problem = f"key {match[1]!r} occurs more than once" if match else "a key occurs twice"
        location = f"{source}: line {error.problem_mark.line + 1}"
        raise refuse(location, problem, "keep one of them") from None
    except MarkedYAMLError as error:
        if conflict := find_conflict(text):
            line, marker = conflict
            problem = f"a merge conflict begins here ({marker!r})"
            fix = "keep one side of it, and remove the markers"
            raise refuse(f"{source}: line {line}", problem, fix) from None
        position = error.problem_mark or error.context_mark
        location = f"{source}: line {position.line + 1}" if position else source
        problem = f"is not valid YAML: {_message(error)}"
        tab = r"character '\t'" in _message(error)
        fix = "indent with spaces, not tabs" if tab else "correct that line"
        raise refuse(location, problem, fix) from None
    except RecursionError:
        problem = "is nested too deep"
        raise refuse(source, problem, "write it flat, as in the demo's params.yaml") from None
    except (YAMLError, ValueError) as error:  # a number of a million digits is a ValueError
        problem = f"is not valid YAML: {' '.join(str(error).split())[:300]}"
        raise refuse(source, problem, "correct it") from None


def find_conflict(text: str) -> tuple[int, str] | None:
    """Return line and text of the first merge conflict marker; None if there is none."""
    marker = _CONFLICT.search(text)
    return None if marker is None else (text.count("\n", 0, marker.start()) + 1, marker[0])


def _message(error: MarkedYAMLError) -> str:
    """Return the message of the parser without its excerpt of the file."""
    words = " ".join(part for part in (error.context, error.problem) if part)
    return " ".join(words.split())


@dataclass(frozen=True)
class YamlFile:
    """Content of a file, and the line of each key."""

    path: Path
    text: str
    content: dict[str, Any]

    def error(self, problems: Iterable[Problem]) -> InputError:
        """Return an InputError with the line and key of each problem, in order of lines."""
        located = [(self.line_of(problem.location), problem) for problem in problems]
        located.sort(key=lambda pair: pair[0])
        return InputError(
            replace(problem, location=f"{self.path}: line {line}, {problem.where}")
            for line, problem in located
        )

    @cached_property
    def _marked(self) -> Any:
        return YAML(typ="rt").load(self.text)

    def line_of(self, keys: Iterable[Any]) -> int:
        """Return the line of the deepest key that is in the file; 1 if none is."""
        return max(self._lines(keys), default=1)

    def fill_in_problems(self) -> Iterator[Problem]:
        """Yield the values that are not filled in yet; the comment of their line is the fix."""
        for keys in _keys_of(self.content, FILL_IN):
            line = self.text.splitlines()[self.line_of(keys) - 1]
            comment = line.partition(" # ")[2]
            fix = f"write a value in its place{': ' + comment if comment else ''}"
            yield Problem(keys, f"is {FILL_IN}", fix)

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


def _keys_of(node: Any, value: str) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each occurrence of a value."""
    if node == value:
        yield ()
    parts = node.items() if isinstance(node, dict) else ()
    for key, part in enumerate(node) if isinstance(node, list) else parts:
        yield from ((key, *keys) for keys in _keys_of(part, value))


def read_yaml(path: Path, *, start: str = "start from the demo's params.yaml") -> YamlFile:
    """Return a YAML file that holds a mapping.

    Parameters
    ----------
    path : Path
        The file.
    start : str
        What to do if the file holds something else.

    Raises
    ------
    InputError
        If the file is missing, or is not a mapping in YAML 1.2 and UTF-8.
    """
    if not path.is_file():
        problem = "there is no such file in this folder"
        raise refuse(str(path), problem, run_hint(path.parent))
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(MAX_BYTES + 1)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start:,} is not UTF-8"
        raise refuse(str(path), problem, "save the file as UTF-8") from None
    content = load_yaml(text, str(path))
    if not isinstance(content, dict):
        raise refuse(str(path), "is not a mapping", start)
    return YamlFile(path, text, content)


def value_at(content: Any, key: str) -> Any:
    """Return the value of a key such as `data.truth.path`; None if it is missing."""
    for name in key.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content
