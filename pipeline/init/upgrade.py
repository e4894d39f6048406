"""A project that another version of Concord made, as this one would make it; what people wrote is kept."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from concord.metrics_core.errors import refuse
from concord.pipeline.init.choices import NEEDS
from concord.pipeline.init.messages import shown
from concord.pipeline.init.render import dvc_yaml, flow, params_yaml, run_files
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import is_concords, where_to_run
from concord.pipeline.params.yaml_files import read_yaml

_OWN = {"segments", "background", "models", "gate"}  # sections whose keys are the user's
_USUAL: Mapping[str, Any] = {
    "columns": {}, "unit": [], "truth": {"path": "truth.parquet", "columns": {}}, "background": {}, "models": {},
    "rank_base": 1, "repeated_grade": "error", "allow_outside": False, "metrics": [], "ks": [], "baseline": "",
    "primary": [], "min_effect": 0, "segments": (), "threshold": 1, "highest": 1, "title": "", "experiment": "",
    "tracking_uri": "sqlite:///mlflow.db", "NEEDS": NEEDS,
}  # fmt: skip


def upgraded(project: Path, version: str, *, mlflow: bool) -> dict[Path, str]:
    """The texts of params.yaml and dvc.yaml.

    Raises
    ------
    InputError : params.yaml is no YAML, or `concord init` did not write it
    """
    path = Path(shown(project / PARAMS))
    models = read_yaml(path).content.get("models")
    if not is_concords(project) or not isinstance(models, dict):
        raise refuse(str(path), "is not a params.yaml of `concord init`", where_to_run(project))
    text = path.read_bytes().decode("utf-8")
    filled = _filled(text, params_yaml(_USUAL, version), str(path))
    filled = re.sub(r"^concord:[^\r\n#]*?(?=[ \t]*(#|\r|$))", f"concord: {flow(version)}", filled, count=1, flags=re.MULTILINE)  # fmt: skip
    return {
        path: filled,
        path.with_name("dvc.yaml"): dvc_yaml(mlflow=mlflow, trained=run_files(models)),
    }


def _filled(text: str, usual: str, where: str) -> str:
    """With the lines of keys that this version asks for and the text lacks; all other lines stay as they are."""
    lines, new = text.split("\n"), usual.split("\n")
    theirs, ours = YAML().load(text.removeprefix("\ufeff")), YAML().load(usual)
    added: list[tuple[int, list[str]]] = []
    for section, content in ours.items():
        if section not in theirs:
            added.append((_place(lines, theirs, ours, section), [*_block(new, ours, section), ""]))
        elif (
            section not in _OWN and isinstance(content, dict) and isinstance(theirs[section], dict)
        ):
            lacking = [key for key in content if key not in theirs[section]]
            if lacking and theirs[section].fa.flow_style():
                what = f"lacks {', '.join(lacking)}, and stands in braces"
                raise refuse(
                    f"{where}: {section}", what, "write each of its keys in a line of its own"
                )
            for key in lacking:
                indent = " " * theirs[section].lc.col
                block = [indent + line[2:] for line in _block(new, content, key)]
                added.append((_place(lines, theirs[section], content, key), block))
    added.reverse()  # so that of two blocks at one place the first ends up first
    end = "\r" if "\r\n" in text else ""
    for place, block in sorted(added, key=lambda each: each[0], reverse=True):
        lines[place:place] = [f"{line}{end}" for line in block]
    return "\n".join(lines)


def _block(lines: list[str], mapping: Any, key: str) -> list[str]:
    """The lines of a key and its value."""
    start = mapping.lc.key(key)[0]
    after = [line for each in mapping if (line := mapping.lc.key(each)[0]) > start]
    end = min([*after, lines.index("", start)])
    return lines[start:end]


def _place(lines: list[str], theirs: Any, ours: Any, key: str) -> int:
    """The line before the next key that is there, and before the remarks above it; else before the first key."""
    names = list(ours)
    after = [name for name in names[names.index(key) :] if name in theirs]
    place = int(theirs.lc.key((after or list(theirs))[0])[0])
    while place and lines[place - 1].lstrip().startswith("#"):
        place -= 1
    return place
