"""Stages of `concord run`: their dependencies, and what it remembers of their content."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import product, starmap
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

import concord
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.data.paths import RemotePath, parse_path
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.files import is_address, load_json
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.init.render import (
    OPTIONAL_KEYS,
    NamedFiles,
    dvc_yaml,
    is_mlflow_installed,
)
from concord.pipeline.params.model import Params
from concord.pipeline.params.repository import normalized_path
from concord.pipeline.params.values import kind_of_models
from concord.pipeline.params.yaml_files import load_yaml, value_at
from concord.pipeline.running.inputs import file_state, refuse_changes, visible_files
from concord.pipeline.running.outputs import write_json

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


def stage_specs(content: Mapping[str, Any]) -> list[StageSpec]:
    """Return all stages, in an order in which they can run.

    Parameters
    ----------
    content : mapping
        Content of params.yaml.
    """
    paths, models = NamedFiles.of_params(content), kind_of_models(content)
    text = dvc_yaml(paths, mlflow=is_mlflow_installed(), optional=OPTIONAL_KEYS, models=models)
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
        read = {file for other in selected for file in other.files}
        is_named = not names or spec.name in names or spec.words[0] in names
        if is_named or any(starmap(_overlap, product(read, spec.outs))):
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
    return path if is_address(path) else normalized_path(path)


def _resolve(text: str, values: Mapping[str, Any]) -> str:
    """Replace `${key}` by its value, as DVC does."""
    return _REFERENCE.sub(
        lambda match: match[0][1:] if match[1] else str(value_at(values, match[2])), text
    )


def _overlap(a: str, b: str) -> bool:
    """True if one path is the other or inside it."""
    return f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/")


PACKAGE = Path(concord.__file__).parent
CODE = ("metrics_core", "pipeline", "reports")
STATE = "concord-run.json"  # beside the folder of the comparison


class _Stage(BaseModel):
    version: str
    code: str
    own_metrics: dict[str, str]
    params: dict[str, Any]
    files: dict[str, str | None]
    outputs: dict[str, str | None]


class _State(BaseModel):
    format: Literal[3] = 3
    stages: dict[str, _Stage] = {}
    files: dict[str, tuple[list[int], str]] = {}  # state and hash


class RunState:
    """Content of the state file: stages at their last success, and hashes of files.

    A stage that fails keeps the entry of its last success, from which its inputs or outputs
    differ: the next run repeats it. A file is read again if its size, times or inode have changed.
    """

    def __init__(self, path: Path, params: Params) -> None:
        self._path = path
        self._own_metrics = dict(params.parsed_conventions.own_metrics)
        self._state = _State()
        with suppress(InputError, ValidationError):  # missing or damaged: all stages run
            self._state = _State.model_validate(load_json(path, ""))

    def is_current(self, spec: StageSpec) -> bool:
        """True if neither inputs nor outputs have changed since the stage last succeeded."""
        known = self._state.stages.get(spec.name)
        return known is not None and _is_same(known.model_dump(), self._entry(spec).model_dump())

    def changes(self, specs: Sequence[StageSpec]) -> tuple[list[str], list[str]]:
        """Return the keys of params.yaml, and what else has changed since the stages succeeded.

        Left out are parts of a section or folder that has changed, and files in stores. If the last
        stage has no entry, the state file is named.
        """
        stages = self._state.stages
        if specs[-1].name not in stages:
            return [], [f"{self._path} (incomplete)"]
        current = version("concord-eval")
        keys: list[str] = []
        code: list[str] = []
        paths: list[str] = []
        for spec in specs:
            if known := stages.get(spec.name):
                old, own, hashes = known.params, known.own_metrics, known.files | known.outputs
                keys += [key for key, new in spec.params.items() if not _is_same(old.get(key), new)]
                if known.version != current:
                    code.append(f"Concord ({known.version} → {current})")
                digests = self._own_of(spec).items()
                code += [
                    f"the code of {name}" for name, new in digests if own.get(name, new) != new
                ]
                local = [path for path in (*spec.files, *spec.outs) if not is_address(path)]
                paths += [path for path in local if self._hash(path) != hashes.get(path)]
        shown = (p if Path(p).exists() else f"{p} (missing)" for p in _outermost(paths, "/"))
        return _outermost(keys, "."), [*dict.fromkeys(code), *shown]

    @contextmanager
    def record(self, spec: StageSpec) -> Iterator[None]:
        """Store the stage's inputs and outputs if the block, which runs it, succeeds.

        Raises
        ------
        InputError
            If a file that it reads changes meanwhile.
        """
        with ExitStack() as stack:
            for path in spec.files:
                stack.enter_context(refuse_changes(parse_path(path)))
            for out in map(Path, spec.outs):
                if _is_result_folder(out):
                    shutil.rmtree(out)  # files of the last run that this one does not write
            yield
            entry = self._entry(spec)
        self._state.stages[spec.name] = entry
        files = self._state.files.items()
        self._state.files = {path: known for path, known in files if os.path.exists(path)}  # noqa: PTH110 - False for a path that no disk accepts
        write_json(self._path, self._state.model_dump())

    def _entry(self, spec: StageSpec) -> _Stage:
        return _Stage(
            version=version("concord-eval"),
            code=_hash_code(),
            own_metrics=self._own_of(spec),
            params=dict(spec.params),
            files={path: self._hash(path) for path in spec.files},
            outputs={path: self._hash(path) for path in spec.outs},
        )

    def _own_of(self, spec: StageSpec) -> dict[str, str]:
        """Return the digests of the user's metrics that a stage computes or reads."""
        return self._own_metrics if "evaluation" in spec.params else {}

    def _hash(self, text: str) -> str | None:
        """Return the hash of a file, a folder or an object in a store; None if it is missing."""
        path = parse_path(text)
        if isinstance(path, RemotePath):
            return hash_content(path).etag
        if path.is_dir():
            return _digest(
                [(file.as_posix(), self._hash_file(file)) for file in visible_files(path)]
            )
        return self._hash_file(path) if path.is_file() else None

    def _hash_file(self, path: Path) -> str:
        state, files = [*file_state(path)], self._state.files
        known = files.get(str(path))
        if known is None or known[0] != state:
            known = files[str(path)] = (state, _hash_bytes(path))
        return known[1]


def _is_same(a: object, b: object) -> bool:
    """True if the JSON text is the same: 1 and 1.0 are written differently in results."""
    return json.dumps(a) == json.dumps(b)


def _is_result_folder(path: Path) -> bool:
    """True for a folder that Concord wrote: the comparison, or ground truth of folds."""
    has_comparison = (path / "comparison.json").is_file()
    return path.is_dir() and (has_comparison or path.suffix == ".parquet")


def _outermost(names: Sequence[str], separator: str) -> list[str]:
    """Return the names, each once, without those inside another one."""
    return [
        name
        for name in dict.fromkeys(names)
        if not any(name.startswith(other + separator) for other in names)
    ]


@cache
def _hash_code() -> str:
    """Return the hash of all code of this package."""
    files = [file for folder in CODE for file in visible_files(PACKAGE / folder)]
    return _digest([(os.path.relpath(file, PACKAGE), _hash_bytes(file)) for file in files])


def _hash_bytes(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()
