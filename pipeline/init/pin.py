"""Write a preset's values into params.yaml; values and comments of other sections stay."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from concord.metrics_core.conventions.presets import PRESETS, differs_in_scale
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.pipeline.init.render import flow, params_yaml
from concord.pipeline.init.upgrade import (
    add_missing,
    dump_with_comments,
    load_with_comments,
    set_value,
)
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
    problems = _write(_edit(text, changed)) if changed else []
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
    return PARAMS.read_text(encoding="utf-8")


def _load(text: str) -> dict[str, Any]:
    content = load_yaml(text, str(PARAMS))
    if not isinstance(content, dict) or not isinstance(content.get(SECTION) or {}, dict):
        problem = f"has no mapping {SECTION}"
        raise refuse(str(PARAMS), problem, "start from the demo's params.yaml")
    return content


def _edit(text: str, changed: Mapping[str, Any]) -> str:
    """Return the text with the changed values; a missing key is added with its comment."""
    content = load_with_comments(text)
    defaults = load_with_comments(params_yaml({}, None))[SECTION]
    if content.get(SECTION):
        add_missing(content[SECTION], defaults)
    else:
        content[SECTION] = defaults
    for key, value in changed.items():
        set_value(content[SECTION], key, load_with_comments(flow(value)))
    return dump_with_comments(content)


def _write(text: str) -> list[Problem]:
    """Write the text if its conventions are valid; return the problems of other sections."""
    with atomic_write(PARAMS) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
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
    return flow(value) if isinstance(value, Mapping) else setting(value)
