"""params.yaml as YAML 1.2 (as DVC reads it), and the line at which a key stands."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.pipeline.params.repository import where_to_run
from concord.pipeline.params.safe_yaml import BYTES, load_yaml, too_large

Finding = tuple[tuple[Any, ...], str, str]  # the keys that lead to it, what is wrong, the fix


@dataclass(frozen=True)
class Yaml:
    """What a file says, and where."""

    path: Path
    text: str
    content: dict[str, Any]

    def refusal(self, findings: Iterable[Finding]) -> InputError:
        """An InputError that names the line and the key of each finding, in the order of the lines."""
        placed = [(self.line_of(keys), finding) for finding in findings for keys in finding[:1]]
        placed.sort(key=lambda pair: pair[0])
        return InputError(
            Problem(f"{self.path}: line {line}, {'.'.join(map(str, keys))}", what, fix)
            for line, (keys, what, fix) in placed
        )

    @cached_property
    def _marked(self) -> Any:
        return YAML(typ="rt").load(self.text)

    def line_of(self, keys: Iterable[Any]) -> int:
        """The line of the deepest of the keys that stands in the file."""
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
    """The file as a mapping; `start` says what to do where it holds none.

    Raises
    ------
    InputError : there is no such file, it is no YAML 1.2 in UTF-8, or no mapping
    """
    if not path.is_file():
        what = "there is no such file in this folder"
        raise refuse(str(path), what, where_to_run(path.parent))
    if path.stat().st_size > BYTES:
        raise too_large(str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"byte {error.start:,} is not UTF-8"
        raise refuse(str(path), what, "save the file as UTF-8") from None
    content = load_yaml(text, str(path))
    if not isinstance(content, dict):
        raise refuse(str(path), "holds no mapping", start)
    return Yaml(path, text, content)
