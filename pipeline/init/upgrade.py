"""Upgrade of params.yaml and dvc.yaml from another version of Concord."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from concord.metrics_core.errors import refuse
from concord.pipeline.init.choices import TABLE_HELP
from concord.pipeline.init.messages import relative
from concord.pipeline.init.render import NamedFiles, dvc_yaml, flow, params_yaml
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import is_concord_project, run_hint
from concord.pipeline.params.values import has_values
from concord.pipeline.params.yaml_files import read_yaml

_USER_KEYS = {"segments", "background", "models", "gate"}  # sections whose keys the user chooses
_DEFAULTS: Mapping[str, Any] = {
    "columns": {},
    "unit": [],
    "truth": {"path": "truth.parquet", "columns": {}},
    "background": {},
    "models": {},
    "rank_base": 1,
    "repeated_grade": "error",
    "allow_outside": False,
    "metrics": [],
    "ks": [],
    "baseline": "",
    "primary": [],
    "min_effect": 0,
    "segments": (),
    "threshold": 1,
    "highest": 1,
    "title": "",
    "experiment": "",
    "tracking_uri": "sqlite:///mlflow.db",
    "table_help": TABLE_HELP,
    "comments": {},
}
_VERSION = re.compile(r"^concord:[^\r\n#]*?(?=[ \t]*(#|\r|$))", re.MULTILINE)


def upgraded_texts(project: Path, version: str, *, dvc: bool, mlflow: bool) -> dict[Path, str]:
    """Return the texts of params.yaml and, with DVC, dvc.yaml; the user's lines stay as they are.

    Raises
    ------
    InputError
        If params.yaml is not valid YAML, or `concord init` did not write it.
    """
    path = Path(relative(project / PARAMS))
    content = read_yaml(path).content
    models, of_values = content.get("models"), has_values(content)
    if not is_concord_project(project) or not isinstance(models, dict):
        raise refuse(str(path), "is not a params.yaml of `concord init`", run_hint(project))
    text = path.read_bytes().decode("utf-8")
    if not of_values:
        text = _with_missing_keys(text, params_yaml(_DEFAULTS, version), str(path))
    text = _VERSION.sub(f"concord: {flow(version)}", text, count=1)
    if not dvc:
        return {path: text}
    acknowledge, files = "acknowledge" in content, NamedFiles.of_params(content)
    stages = dvc_yaml(files, mlflow=mlflow, acknowledge=acknowledge, values=of_values)
    return {path: text, path.with_name("dvc.yaml"): stages}


def _with_missing_keys(text: str, defaults: str, source: str) -> str:
    """Return the text with the lines of missing default keys."""
    lines, new_lines = text.split("\n"), defaults.split("\n")
    old, new = YAML().load(text.removeprefix("\ufeff")), YAML().load(defaults)
    added: list[tuple[int, list[str]]] = []
    for section, content in new.items():
        if section not in old:
            number = _line_number(lines, old, new, section)
            added.append((number, [*_block(new_lines, new, section), ""]))
            continue
        current = old[section]
        is_section = isinstance(content, dict) and isinstance(old[section], dict)
        if section in _USER_KEYS or not is_section:
            continue
        missing = [key for key in content if key not in current]
        if missing and current.fa.flow_style():
            problem = f"lacks {', '.join(missing)}, and is written in braces"
            raise refuse(f"{source}: {section}", problem, "write one line for each of its keys")
        for key in missing:
            indent = " " * current.lc.col
            block = [indent + line[2:] for line in _block(new_lines, content, key)]
            added.append((_line_number(lines, current, content, key), block))
    added.reverse()  # keeps the order of two blocks at the same line
    end = "\r" if "\r\n" in text else ""
    for number, block in sorted(added, key=lambda entry: entry[0], reverse=True):
        lines[number:number] = [f"{line}{end}" for line in block]
    return "\n".join(lines)


def _block(lines: list[str], mapping: Any, key: str) -> list[str]:
    """Return the lines of a key and its value."""
    start = mapping.lc.key(key)[0]
    later = [line for other in mapping if (line := mapping.lc.key(other)[0]) > start]
    end = min([*later, lines.index("", start)])
    return lines[start:end]


def _line_number(lines: list[str], old: Any, new: Any, key: str) -> int:
    """Return the line where a key belongs: before the next existing key and its comments."""
    names = list(new)
    later = [name for name in names[names.index(key) :] if name in old]
    number = int(old.lc.key((later or list(old))[0])[0])
    while number and lines[number - 1].lstrip().startswith("#"):
        number -= 1
    return number
