"""Write a preset's values into params.yaml; other bytes stay."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from concord.metrics_core.conventions.preset_table import PRESETS
from concord.metrics_core.conventions.presets import differs_in_scale
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.read import check_params
from concord.pipeline.params.repository import rerun_command, run_hint
from concord.pipeline.params.yaml_files import load_yaml
from concord.pipeline.running.messages import print_text
from concord.pipeline.running.outputs import atomic_write
from concord.pipeline.terminal.arguments import find_preset
from concord.pipeline.terminal.parser import COMMAND_LINE
from concord.reports.text.numbers import setting

SECTION = "conventions"
INDENT = "  "  # of a section that has no entry yet
_HEAD = re.compile(rf"{SECTION}:\s*(#.*)?")
# Key, space, quote and comment.
_ENTRY = re.compile(r"(\s+[^:]+:)(?:(\s+)(['\"]?)[^#\s][^#]*?\3)?(\s*(?:#.*)?)")


def pin(name: str) -> None:
    """Write all values of the preset but the project's grade scale, and print the changes."""
    if name == PARAMS.name:
        problem = f"{name} has these values already"
        raise refuse(COMMAND_LINE, problem, "name a preset: `concord presets`")
    values = find_preset(name).as_dict()
    text = _read()
    current = _load(text).get(SECTION) or {}
    changed = {
        key: value
        for key, value in values.items()
        if key not in current or (current[key] != value and not _is_own_scale(key, current, value))
    }
    problems = _write(_edit(text, changed, list(values))) if changed else []
    _print_changes(name, current, changed, problems)


def _is_own_scale(key: str, current: Mapping[str, Any], value: Any) -> bool:
    """True if the project, not its present preset, sets this scale of the grades."""
    present = PRESETS.get(str(current.get("preset")))
    is_presets_null = current[key] is None and present and present.differs.get(key, 1) is None
    return differs_in_scale(key, current[key], value) and not is_presets_null


def _read() -> str:
    if not PARAMS.is_file():
        problem = "there is no such file in this folder"
        raise refuse(str(PARAMS), problem, run_hint(PARAMS.parent))
    with PARAMS.open(encoding="utf-8", newline="") as file:  # keeps line ends
        return file.read()


def _load(text: str) -> dict[str, Any]:
    content = load_yaml(text, str(PARAMS))
    if not isinstance(content, dict) or not isinstance(content.get(SECTION) or {}, dict):
        problem = f"has no mapping {SECTION}"
        raise refuse(str(PARAMS), problem, "start from the demo's params.yaml")
    return content


def _edit(text: str, changed: Mapping[str, Any], order: Sequence[str]) -> str:
    """Return the text with the changed values; a new key follows its predecessor in `order`."""
    end = "\r" if "\r\n" in text else ""
    lines = text.split("\n")
    if SECTION not in _load(text):
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
            previous = [
                entries[other] for other in takewhile(key.__ne__, order) if other in entries
            ]
            indent = next((_indent(lines[first]) for first, _ in entries.values()), INDENT)
            line = f"{indent}{key}: {value}{_comment(key)}{end}"
            lines.insert(previous[-1][1] if previous else start, line)
    edited = "\n".join(lines)
    result = _load(edited)[SECTION]
    if wrong := [key for key, value in changed.items() if result.get(key) != value]:
        location = f"{PARAMS}: {SECTION}.{wrong[0]}"
        fix = "write one line for each convention, without & and *"
        raise refuse(location, "cannot be edited in place", fix)
    return edited


def _entries(lines: Sequence[str], start: int) -> dict[str, tuple[int, int]]:
    """Return key -> its first line and the line after its last, in the section at `start`."""
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
        return "{" + ", ".join(f"{key}: {_yaml(part)}" for key, part in value.items()) + "}"
    return "null" if value is None else str(value)


def _comment(key: str) -> str:
    """Return the allowed values as a comment."""
    return f" # {CONVENTION[key].allowed_values()}" if key in CONVENTION else ""


def _write(text: str) -> list[Problem]:
    """Write the text if its conventions are valid; return the problems of other sections."""
    with atomic_write(PARAMS) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
        params, error = check_params(temporary)
        problems = [
            replace(problem, location=problem.where.replace(str(temporary), str(PARAMS)))
            for problem in (error.problems if error else ())
        ]
        raise_problems(p for p in problems if params is None or f", {SECTION}." in p.where)
        return problems


def _print_changes(
    name: str,
    current: Mapping[str, Any],
    changed: Mapping[str, Any],
    problems: Sequence[Problem],
) -> None:
    if not changed:
        print_text(f"{PARAMS} already has every value of {name}.")
        return
    for key, value in changed.items():
        old = _text(current[key]) if key in current else "(was missing)"
        print_text(f"{key}: {old} → {_text(value)}")
    next_step = "fix these problems" if problems else rerun_command()
    print_text(f"pinned {name} in {PARAMS}; next: {next_step}")
    for problem in problems:
        print_text(str(problem))


def _text(value: Any) -> str:
    return _yaml(value) if isinstance(value, Mapping) else setting(value)
