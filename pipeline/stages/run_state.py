"""What `concord run` remembers of stages: their inputs and outputs, by content."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import concord
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.data.paths import RemotePath, parse_path
from concord.metrics_core.errors import InputError
from concord.metrics_core.files import load_json
from concord.pipeline.running.outputs import write_json
from concord.pipeline.stages.specs import StageSpec

PACKAGE = Path(concord.__file__).parent
STATE = "concord-run.json"  # beside the folder of the comparison


class RunState:
    """Content of the state file: stages at their last success, and hashes of files.

    A stage that has not ended is not in the file, so the next run repeats it. A file is read again
    if its size, time or inode has changed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stages: dict[str, Any] = {}
        self._files: dict[str, Any] = {}
        try:
            content = load_json(path, "")
            self._stages, self._files = dict(content["stages"]), dict(content["files"])
        except (InputError, KeyError, TypeError, ValueError):
            pass  # missing, damaged or of another version: all stages run

    def is_current(self, spec: StageSpec) -> bool:
        """True if neither inputs nor outputs have changed since the stage last succeeded."""
        return bool(self._stages.get(spec.name) == self._inputs(spec) | self._outputs(spec))

    def changes(self, specs: Sequence[StageSpec]) -> tuple[list[str], list[str]]:
        """Return the keys of params.yaml and the local paths that changed since stages succeeded.

        A section or folder is left out if a part of it is named.
        """
        keys: list[str] = []
        paths: list[str] = []
        for spec in specs:
            known = self._stages.get(spec.name, {"params": {}, "files": {}, "outputs": {}})
            keys += [key for key, value in known["params"].items() if spec.params.get(key) != value]
            hashes = known["files"] | known["outputs"]
            existing = [path for path in hashes if Path(path).exists()]
            paths += [path for path in existing if self._hash(path) != hashes[path]]
        return _innermost(keys, "."), _innermost(paths, "/")

    @contextmanager
    def record(self, spec: StageSpec) -> Iterator[None]:
        """Store the stage's inputs and outputs if the block, which runs it, succeeds."""
        inputs = self._inputs(spec)  # before it reads them: a later change must not be missed
        self._stages.pop(spec.name, None)
        self._write()
        for out in map(Path, spec.outs):
            if _is_result_folder(out):
                shutil.rmtree(out)  # files of the last run that this one does not write
        yield
        self._stages[spec.name] = inputs | self._outputs(spec)
        self._write()

    def _write(self) -> None:
        files = {path: entry for path, entry in self._files.items() if Path(path).exists()}
        write_json(self._path, {"stages": self._stages, "files": files})

    def _inputs(self, spec: StageSpec) -> dict[str, Any]:
        return {
            "version": version("concord-eval"),
            "code": _digest([_hash_code(path) for path in spec.code]),
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


def _innermost(names: Sequence[str], separator: str) -> list[str]:
    """Return the names, each once, without those that contain another one."""
    return [
        name
        for name in dict.fromkeys(names)
        if not any(other.startswith(name + separator) for other in names)
    ]


@cache
def _hash_code(path: str) -> str:
    """Return the hash of a file or folder of this package."""
    root = PACKAGE / path
    files = _files_in(root) if root.is_dir() else [root]
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
