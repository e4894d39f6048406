"""`concord pin`: a preset's values into params.yaml, with every other byte kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node

from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.conventions.conventions import KNOB
from concord.metrics_core.conventions.presets import only_another_scale
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.read import examined
from concord.pipeline.params.repository import where_to_run
from concord.pipeline.params.safe_yaml import load_yaml
from concord.pipeline.running.outputs import whole
from concord.pipeline.terminal.arguments import PLACE, preset_named
from concord.pipeline.terminal.table import console, word

SECTION = "conventions"
INDENT = "  "  # of a section that has no entry yet
LINE_END = re.compile(r"\r?\n")


@dataclass(frozen=True)
class Entry:
    """Where a convention stands in the text: the column of its key, start and end of its value."""

    column: int
    start: int
    end: int


def pin(name: str) -> None:
    """Writes every value of the preset; the scale of the grades stays that of the project."""
    if name == PARAMS.name:
        raise refuse(PLACE, f"{name} is what is pinned", "name a preset: `concord presets`")
    wanted = preset_named(name).as_dict()
    text = _read()
    pinned = _loaded(text).get(SECTION) or {}
    changed = {
        key: value
        for key, value in wanted.items()
        if key not in pinned
        or (pinned[key] != value and not only_another_scale(key, pinned[key], value))
    }
    if changed:
        _write(_edited(text, changed, list(wanted)))
    _tell(name, pinned, changed)


def _read() -> str:
    if not PARAMS.is_file():
        what = "there is no such file in this folder"
        raise refuse(str(PARAMS), what, where_to_run(PARAMS.parent))
    with PARAMS.open(encoding="utf-8", newline="") as file:  # line ends as they are
        return file.read()


def _loaded(text: str) -> dict[str, Any]:
    content = load_yaml(text, str(PARAMS))
    if not isinstance(content, dict) or not isinstance(content.get(SECTION) or {}, dict):
        what = f"holds no mapping of {SECTION}"
        raise refuse(str(PARAMS), what, "start from the params.yaml of the demo")
    return content


def _edited(text: str, changed: Mapping[str, Any], order: list[str]) -> str:
    """The text with the values of `changed` in place; keys that are new follow their forerunner."""
    newline = "\r\n" if "\r\n" in text else "\n"
    section, entries = _found(text)
    if section is None:
        return _edited(f"{text}{newline}{SECTION}:{newline}", changed, order)
    indent = " " * next(iter(entries.values())).column if entries else INDENT
    edits = []
    for key, value in changed.items():
        if key in entries:
            entry = entries[key]
            edits.append((entry.start, entry.end, _as_before(text, entry, value)))
        else:
            before = [entries[known] for known in takewhile(key.__ne__, order) if known in entries]
            at = _line_end(text, before[-1].end if before else section)
            edits.append((at, at, f"{newline}{indent}{key}: {_yaml(value)}{_allowed(key)}"))
    return _spliced(text, edits)


def _line_end(text: str, position: int) -> int:
    found = LINE_END.search(text, position)
    return found.start() if found else len(text)


def _as_before(text: str, entry: Entry, value: Any) -> str:
    """The value, in quotes if the one before had them; an empty value lacks the space before it."""
    first = text[entry.start : entry.start + 1]
    quote = first if first in "'\"" and isinstance(value, str) else ""
    gap = "" if text[entry.start - 1].isspace() else " "
    return f"{gap}{quote}{_yaml(value)}{quote}"


def _spliced(text: str, edits: list[tuple[int, int, str]]) -> str:
    parts, done = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])


def _found(text: str) -> tuple[int | None, dict[str, Entry]]:
    """Where the section's name ends, and each of its entries."""
    root = YAML(typ="safe", pure=True).compose(text)
    for key, section in root.value:
        if key.value == SECTION:
            pairs = section.value if isinstance(section, MappingNode) else []
            _refuse_unusual(section, pairs)
            return key.end_mark.index, {
                knob.value: _entry(text, knob, value) for knob, value in pairs
            }
    return None, {}


def _refuse_unusual(section: Node, pairs: list[tuple[Node, Node]]) -> None:
    """One line a convention is what can be edited: no `{…}` around all, no anchors and aliases."""
    linked = [
        key.value
        for key, value in pairs
        if value.anchor or value.start_mark.index < key.end_mark.index
    ]
    around = isinstance(section, MappingNode) and bool(pairs) and section.flow_style
    if linked or around:
        where = f"{PARAMS}: {'.'.join([SECTION, *linked[:1]])}"
        raise refuse(where, "cannot be edited in place", "write a line per convention, no & and *")


def _entry(text: str, key: Node, value: Node) -> Entry:
    start, end = _span(text, key, value)
    return Entry(key.start_mark.column, start, end)


def _span(text: str, key: Node, value: Node) -> tuple[int, int]:
    """Start and end of a value; the marks of empty and of block values lie behind comments."""
    start, end = value.start_mark.index, value.end_mark.index
    if start == end:
        colon = text.index(":", key.end_mark.index) + 1
        return colon, colon
    if isinstance(value, MappingNode) and not value.flow_style:
        return start, _span(text, *value.value[-1])[1]
    return start, end


def _yaml(value: Any) -> str:
    """A convention's value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_yaml(inner)}" for key, inner in value.items()) + "}"
    return "null" if value is None else str(value)


def _allowed(key: str) -> str:
    return f" # {KNOB[key].allowed()}" if key in KNOB else ""


def _write(text: str) -> None:
    """Puts the text in place once it is accepted; before that params.yaml is not touched."""
    with whole(PARAMS) as beside:
        beside.write_text(text, encoding="utf-8", newline="")
        params, refusal = examined(beside)
        problems = [
            replace(each, where=_renamed(each.where, beside))
            for each in (refusal.problems if refusal else ())
            if params is None or f", {SECTION}." in each.where  # the others are for the stages
        ]
        if problems:
            raise InputError(problems)


def _renamed(where: str, beside: Path) -> str:
    return where.replace(str(beside), str(PARAMS))


def _tell(name: str, pinned: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
    out = console()
    if not changed:
        out.print(f"{PARAMS} already has every value of {name}.")
        return
    for key, value in changed.items():
        before = _shown(pinned[key]) if key in pinned else "(was missing)"
        out.print(f"{key}: {before} → {_shown(value)}", soft_wrap=True)
    out.print(f"pinned {name} in {PARAMS}; next: dvc repro")


def _shown(value: Any) -> str:
    return _yaml(value) if isinstance(value, Mapping) else word(value)
