"""Content ids of inputs: hashes of a file or of a folder of parts, etags of objects in a store."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.data.delta import Snapshot, is_delta, snapshot
from concord.metrics_core.data.paths import Place, RemotePath, object_states
from concord.metrics_core.data.table_files import files_in

BLOCK = 1 << 20


@dataclass(frozen=True)
class ContentHashes:
    """Hashes of a file; `etag` of an object in a store, whose content is not read for it; all None for a table in memory."""

    md5: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    etag: str | None = None
    version: int | None = None  # of a Delta table

    def described(self) -> dict[str, Any]:
        """Return the hashes as quality files hold them."""
        known: dict[str, Any] = {"sha256": self.sha256, "md5": self.md5, "bytes": self.bytes}
        if self.etag is not None:
            known["etag"] = self.etag
        if self.version is not None:
            known["delta_version"] = self.version
        return known


def hash_content(path: Place) -> ContentHashes:
    """Return the hashes of a file; those of a folder are computed from the list of its files, as in `dvc.lock`."""
    if is_delta(path):
        return _of_delta(path, snapshot(path))
    if isinstance(path, RemotePath):
        return _of_objects(path, files_in(path)) if path.is_dir() else _of_object(path)
    return _of_folder(path, files_in(path)) if path.is_dir() else _of_file(path)


def _of_delta(path: Place, now: Snapshot) -> ContentHashes:
    """Return the hashes of the version and of the files with its rows."""
    files = [file for file, _ in now.files]
    version = {"version": now.version}
    if isinstance(path, RemotePath):
        return _of_objects(path, files, version)
    return replace(_of_folder(path, files, version), version=now.version)


def _of_object(path: RemotePath) -> ContentHashes:
    state = path.state()
    return ContentHashes(bytes=state.size, etag=state.etag)


def _of_objects(
    path: RemotePath, files: Sequence[Place], *head: Mapping[str, Any]
) -> ContentHashes:
    """Return the hash of the list of objects with etags and sizes."""
    states = object_states(files)
    listed = [
        {
            "etag": states[file].etag,
            "relpath": file.relative_to(path).as_posix(),
            "size": states[file].size,
        }
        for file in sorted(states, key=str)
    ]
    digest = hashlib.sha256(json.dumps([*head, *listed]).encode()).hexdigest()
    size = sum(state.size for state in states.values())
    return ContentHashes(
        bytes=size, etag=f"{digest}.dir", version=head[0]["version"] if head else None
    )


def _of_file(path: Path) -> ContentHashes:
    md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            md5.update(block)
            sha256.update(block)
            size += len(block)
    return ContentHashes(md5.hexdigest(), sha256.hexdigest(), size)


def _of_folder(path: Path, files: Sequence[Place], *head: Mapping[str, Any]) -> ContentHashes:
    parts = {
        part.relative_to(path).as_posix(): _of_file(part)
        for part in files
        if isinstance(part, Path)
    }
    names = sorted(parts)
    sha256 = json.dumps(
        [*head] + [{"relpath": name, "sha256": parts[name].sha256} for name in names]
    )
    return ContentHashes(
        folder_md5({name: parts[name].md5 for name in names}, *head),
        hashlib.sha256(sha256.encode()).hexdigest(),
        sum(part.bytes or 0 for part in parts.values()),
    )


def folder_md5(files: Mapping[str, str | None], *head: Mapping[str, Any]) -> str:
    """Return the hash of a folder as dvc.lock has it, from the name and MD5 of each file."""
    listed = [{"md5": files[name], "relpath": name} for name in sorted(files)]
    text = json.dumps([*head, *listed])
    return f"{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}.dir"
