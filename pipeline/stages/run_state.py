"""Stages of `concord run`: their dependencies, and what it remembers of their content."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import product, starmap
from pathlib import Path
from typing import Any

import concord
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.data.paths import RemotePath, parse_path
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.files import is_address, load_json
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.init.render import (
    NamedFiles,
    dvc_yaml,
    is_mlflow_installed,
)
from concord.pipeline.params.values import has_values
from concord.pipeline.params.yaml_files import load_yaml, value_at
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
    return path if is_address(path) else os.path.normpath(path)


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
_FORMAT = 2  # of that file


class RunState:
    """Content of the state file: stages at their last success, and hashes of files.

    A stage that fails keeps the entry of its last success, from which its inputs or outputs
    differ: the next run repeats it. A file is read again if its size, time or inode has changed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stages: dict[str, Any] = {}
        self._files: dict[str, Any] = {}
        try:
            content = load_json(path, "")
            if content["format"] == _FORMAT:
                self._stages, self._files = dict(content["stages"]), dict(content["files"])
        except (InputError, KeyError, TypeError, ValueError):
            pass  # missing or damaged: all stages run, as with another format

    def is_current(self, spec: StageSpec) -> bool:
        """True if neither inputs nor outputs have changed since the stage last succeeded."""
        return bool(self._stages.get(spec.name) == self._inputs(spec) | self._outputs(spec))

    def changes(self, specs: Sequence[StageSpec]) -> tuple[list[str], list[str]]:
        """Return the keys of params.yaml, and what else has changed since the stages succeeded.

        Left out are parts of a section or folder that has changed, and files in stores. If the last
        stage has no entry, the state file is named.
        """
        if specs[-1].name not in self._stages:
            return [], [f"{self._path} (incomplete)"]
        current = version("concord-eval")
        keys: list[str] = []
        versions: list[str] = []
        paths: list[str] = []
        for spec in specs:
            if known := self._stages.get(spec.name):
                keys += [key for key, old in known["params"].items() if spec.params.get(key) != old]
                versions += [known["version"]] if known["version"] != current else []
                hashes = {**known["files"], **known["outputs"]}
                local = [(path, old) for path, old in hashes.items() if not is_address(path)]
                paths += [path for path, old in local if self._hash(path) != old]
        return _outermost(keys, "."), [
            *(f"Concord ({old} → {current})" for old in dict.fromkeys(versions)),
            *(p if Path(p).exists() else f"{p} (missing)" for p in _outermost(paths, "/")),
        ]

    @contextmanager
    def record(self, spec: StageSpec) -> Iterator[None]:
        """Store the stage's inputs and outputs if the block, which runs it, succeeds."""
        inputs = self._inputs(spec)  # before it reads them: a later change must not be missed
        for out in map(Path, spec.outs):
            if _is_result_folder(out):
                shutil.rmtree(out)  # files of the last run that this one does not write
        yield
        self._stages[spec.name] = inputs | self._outputs(spec)
        files = {path: entry for path, entry in self._files.items() if Path(path).exists()}
        write_json(self._path, {"format": _FORMAT, "stages": self._stages, "files": files})

    def _inputs(self, spec: StageSpec) -> dict[str, Any]:
        return {
            "version": version("concord-eval"),
            "code": _hash_code(),
            "params": spec.params,
            "files": {path: self._hash(path) for path in spec.files},
        }

    def _outputs(self, spec: StageSpec) -> dict[str, Any]:
        return {"outputs": {path: self._hash(path) for path in spec.outs}}

    def _hash(self, text: str) -> str | None:
        """Return the hash of a file, a folder or an object in a store; None if it is missing."""
        path = parse_path(text)
        if isinstance(path, RemotePath):
            return hash_content(path).etag
        if path.is_dir():
            return _digest([(str(file), self._hash_file(file)) for file in _files_in(path)])
        return self._hash_file(path) if path.is_file() else None

    def _hash_file(self, path: Path) -> str:
        status = path.stat()
        state = [status.st_size, status.st_mtime_ns, status.st_ino]
        known = self._files.get(str(path))
        if known is None or known[:-1] != state:
            known = self._files[str(path)] = [*state, _hash_bytes(path)]
        return str(known[-1])


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
    files = [file for folder in CODE for file in _files_in(PACKAGE / folder)]
    return _digest([(os.path.relpath(file, PACKAGE), _hash_bytes(file)) for file in files])


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder, without hidden ones and compiled code."""
    files = ((path, path.relative_to(folder).parts) for path in sorted(folder.rglob("*")))
    return [
        path
        for path, parts in files
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in parts)
    ]


def _hash_bytes(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()
