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
from concord.metrics_core.files import is_address, load_json
from concord.pipeline.running.outputs import write_json
from concord.pipeline.stages.specs import StageSpec

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
        self._write()

    def _write(self) -> None:
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
