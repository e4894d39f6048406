"""Write a preset's values into params.yaml and keep every other byte."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from concord.metrics_core.conventions.presets import differs_in_scale
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.read import check_params
from concord.pipeline.params.repository import run_hint
from concord.pipeline.params.yaml_files import load_yaml
from concord.pipeline.running.outputs import atomic_write
from concord.pipeline.terminal.arguments import preset_named
from concord.pipeline.terminal.parser import COMMAND_LINE
from concord.pipeline.terminal.table import console
from concord.reports.text.numbers import setting

SECTION = "conventions"
INDENT = "  "  # of a section that has no entry yet
_HEAD = re.compile(rf"{SECTION}:\s*(#.*)?")
# Key, space, quote and comment.
_ENTRY = re.compile(r"(\s+[^:]+:)(?:(\s+)(['\"]?)[^#\s][^#]*?\3)?(\s*(?:#.*)?)")


def pin(name: str) -> None:
    """Write every value of the preset, except for the grade scale of the project, and print the changes."""
    if name == PARAMS.name:
        raise refuse(
            COMMAND_LINE,
            f"{name} has the values that are pinned already",
            "name a preset: `concord presets`",
        )
    values = preset_named(name).as_dict()
    text = _read()
    pinned = _loaded(text).get(SECTION) or {}
    changed = {
        key: value
        for key, value in values.items()
        if key not in pinned
        or (pinned[key] != value and not differs_in_scale(key, pinned[key], value))
    }
    problems = _write(_edited(text, changed, list(values))) if changed else []
    _print_changes(name, pinned, changed, problems)


def _read() -> str:
    if not PARAMS.is_file():
        problem = "there is no such file in this folder"
        raise refuse(str(PARAMS), problem, run_hint(PARAMS.parent))
    with PARAMS.open(encoding="utf-8", newline="") as file:  # line ends as they are
        return file.read()


def _loaded(text: str) -> dict[str, Any]:
    content = load_yaml(text, str(PARAMS))
    if not isinstance(content, dict) or not isinstance(content.get(SECTION) or {}, dict):
        problem = f"has no mapping {SECTION}"
        raise refuse(str(PARAMS), problem, "start from the params.yaml of the demo")
    return content


def _edited(text: str, changed: Mapping[str, Any], order: Sequence[str]) -> str:
    """Return the text with the values of `changed`; a new key follows the one before it in `order`."""
    end = "\r" if "\r\n" in text else ""
    lines = text.split("\n")
    if SECTION not in _loaded(text):
        lines += [f"{SECTION}:{end}", end]
    start = next((n for n, line in enumerate(lines, 1) if _HEAD.fullmatch(line)), len(lines))
    for key in filter(changed.__contains__, order):
        entries, value = _entries(lines, start), _yaml(changed[key])
        if key in entries:
            first, last = entries[key]
            if entry := _ENTRY.fullmatch(lines[first]):
                name, space, quote, comment = entry.groups()
                quote = quote if quote and isinstance(changed[key], str) else ""
                lines[first:last] = [f"{name}{space or ' '}{quote}{value}{quote}{comment}"]
        else:
            earlier = [entries[each] for each in takewhile(key.__ne__, order) if each in entries]
            indent = next((_indent(lines[first]) for first, _ in entries.values()), INDENT)
            lines.insert(
                earlier[-1][1] if earlier else start, f"{indent}{key}: {value}{_comment(key)}{end}"
            )
    edited = "\n".join(lines)
    pinned = _loaded(edited)[SECTION]
    if differing := [key for key, value in changed.items() if pinned.get(key) != value]:
        where = f"{PARAMS}: {SECTION}.{differing[0]}"
        raise refuse(where, "cannot be edited in place", "write one line for each convention, without & and *")  # fmt: skip
    return edited


def _entries(lines: Sequence[str], start: int) -> dict[str, tuple[int, int]]:
    """Return key -> its first line and the line after its last, for the section that begins at `start`."""
    entries: dict[str, tuple[int, int]] = {}
    key = indent = ""
    for number, line in enumerate(lines[start:], start):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not (depth := _indent(line)):
            break
        indent = indent or depth
        if depth == indent:
            key = line.strip().partition(":")[0]
        entries[key] = (entries.get(key, (number, 0))[0], number + 1)
    return entries


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _yaml(value: Any) -> str:
    """Return a convention's value as YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_yaml(inner)}" for key, inner in value.items()) + "}"
    return "null" if value is None else str(value)


def _comment(key: str) -> str:
    """Return the allowed values as a comment."""
    return f" # {CONVENTION[key].allowed_values()}" if key in CONVENTION else ""


def _write(text: str) -> list[Problem]:
    """Put the text in place if its conventions are accepted; return the problems of other sections."""
    with atomic_write(PARAMS) as part:
        part.write_text(text, encoding="utf-8", newline="")
        params, refusal = check_params(part)
        problems = [
            replace(each, location=each.where.replace(str(part), str(PARAMS)))
            for each in (refusal.problems if refusal else ())
        ]
        refused = [each for each in problems if params is None or f", {SECTION}." in each.where]
        if refused:
            raise InputError(refused)
        return problems


def _print_changes(
    name: str,
    pinned: Mapping[str, Any],
    changed: Mapping[str, Any],
    problems: Sequence[Problem],
) -> None:
    terminal = console()
    if not changed:
        terminal.print(f"{PARAMS} already has every value of {name}.")
        return
    for key, value in changed.items():
        before = _text(pinned[key]) if key in pinned else "(was missing)"
        terminal.print(f"{key}: {before} → {_text(value)}", soft_wrap=True)
    next_step = "fix these problems" if problems else "dvc repro"
    terminal.print(f"pinned {name} in {PARAMS}; next: {next_step}")
    for problem in problems:
        terminal.print(str(problem), soft_wrap=True)


def _text(value: Any) -> str:
    return _yaml(value) if isinstance(value, Mapping) else setting(value)
