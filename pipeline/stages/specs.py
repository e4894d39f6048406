"""Stages of the template of dvc.yaml, with the paths and values of params.yaml."""

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import refuse
from concord.metrics_core.files import is_address
from concord.pipeline.init.render import (
    NamedFiles,
    dvc_yaml,
    is_mlflow_installed,
)
from concord.pipeline.params.values import has_values
from concord.pipeline.params.yaml_files import load_yaml, value_at
from concord.pipeline.terminal.parser import COMMAND_LINE

_REFERENCE = re.compile(r"(\\?)\$\{([^}]+)\}")  # a backslash makes it plain text


@dataclass(frozen=True)
class StageSpec:
    """A stage: what it reads and writes.

    Attributes
    ----------
    words : tuple of str
        Its name, and the table or model of a stage of one.
    files : tuple of str
        Paths that it reads.
    params : dict
        The keys of params.yaml that it reads, with their values as in JSON.
    outs : tuple of str
        Paths that it writes.
    """

    words: tuple[str, ...]
    files: tuple[str, ...]
    params: Mapping[str, Any]
    outs: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name in DVC, such as `load@als`."""
        return "@".join(self.words)

    def reads_from(self, other: "StageSpec") -> bool:
        """True if it reads an output of another stage."""
        return any(_overlap(file, out) for file in self.files for out in other.outs)


def stage_specs(content: Mapping[str, Any]) -> list[StageSpec]:
    """Return all stages, in an order in which they can run.

    Parameters
    ----------
    content : mapping
        Content of params.yaml.
    """
    paths, values = NamedFiles.of_params(content), has_values(content)
    text = dvc_yaml(paths, mlflow=is_mlflow_installed(), acknowledge=True, values=values)
    specs = []
    for name, stage in load_yaml(text, "dvc.yaml")["stages"].items():
        if "foreach" not in stage:
            specs.append(_spec((name,), stage, content))
            continue
        entries = value_at(content, stage["foreach"].strip("${}")) or {}
        specs += [
            _spec((name, key), stage["do"], {**content, "key": key, "item": item})
            for key, item in entries.items()
        ]
    return specs


def select_stages(specs: Sequence[StageSpec], names: Collection[str]) -> list[StageSpec]:
    """Return the named stages and those whose outputs they read; all stages without names.

    Raises
    ------
    InputError
        If a name is neither a stage, such as `load@als`, nor all stages of a kind, such as `load`.
    """
    known = {word for spec in specs for word in (spec.name, spec.words[0])}
    for name in names:
        if name not in known:
            raise refuse(COMMAND_LINE, f"{name!r} is not a stage", suggest(name, known))
    selected: list[StageSpec] = []
    for spec in reversed(specs):
        is_named = not names or spec.name in names or spec.words[0] in names
        if is_named or any(other.reads_from(spec) for other in selected):
            selected.append(spec)
    return selected[::-1]


def _spec(words: tuple[str, ...], stage: Mapping[str, Any], values: Mapping[str, Any]) -> StageSpec:
    keys = [_resolve(key, values) for key in stage["params"]]
    outs = [
        _path(out if isinstance(out, str) else next(iter(out)), values)
        for out in (*stage["outs"], *stage.get("metrics", ()))
    ]
    return StageSpec(
        words,
        tuple(_path(dep, values) for dep in stage["deps"]),
        json.loads(json.dumps({key: value_at(values, key) for key in keys}, default=str)),
        tuple(outs),
    )


def _path(text: str, values: Mapping[str, Any]) -> str:
    path = _resolve(text, values)
    return path if is_address(path) else os.path.normpath(path)


def _resolve(text: str, values: Mapping[str, Any]) -> str:
    """Replace `${key}` by its value, as DVC does."""
    return _REFERENCE.sub(
        lambda match: match[0][1:] if match[1] else str(value_at(values, match[2])), text
    )


def _overlap(a: str, b: str) -> bool:
    """True if one path is the other or inside it."""
    return f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/")
