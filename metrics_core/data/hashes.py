"""Content hashes of inputs: of a file or a folder of parts; etags of objects in a store."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from concord.metrics_core.data.columnar_files import files_in
from concord.metrics_core.data.delta import is_delta, snapshot
from concord.metrics_core.data.paths import AnyPath, RemotePath, map_paths

BLOCK = 1 << 20


@dataclass(frozen=True)
class ContentHashes:
    """Hashes of a file; all None for a table in memory.

    Attributes
    ----------
    etag : str, optional
        ETag of an object in a store, whose content is not read.
    delta_version : int, optional
        Version of a Delta table.
    """

    sha256: str | None = None
    md5: str | None = None
    bytes: int | None = None
    etag: str | None = None
    delta_version: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the hashes as in quality files."""
        optional = ("etag", "delta_version")
        return {n: v for n, v in asdict(self).items() if v is not None or n not in optional}

    def of_rows(self, where: Mapping[str, Any]) -> "ContentHashes":
        """Return the hashes of the rows that a filter keeps: of a file's hash and the filter."""
        if not where:
            return self

        def add_filter(content_id: str | None, algorithm: str) -> str | None:
            text = json.dumps([content_id, sorted(where.items())]).encode()
            digest = hashlib.new(algorithm, text, usedforsecurity=False)
            return None if content_id is None else digest.hexdigest()

        return replace(
            self,
            sha256=add_filter(self.sha256, "sha256"),
            md5=add_filter(self.md5, "md5"),
            etag=add_filter(self.etag, "sha256"),
        )


def hash_content(path: AnyPath) -> ContentHashes:
    """Return the hashes of a file; those of a folder follow from the list of its files."""
    if is_delta(path):
        table = snapshot(path)
        return _hash_folder(path, [file for file, _ in table.files], table.version)
    if path.is_dir():
        return _hash_folder(path, files_in(path))
    if isinstance(path, RemotePath):
        state = path.state()
        return ContentHashes(bytes=state.size, etag=state.etag)
    md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            md5.update(block)
            sha256.update(block)
            size += len(block)
    return ContentHashes(sha256.hexdigest(), md5.hexdigest(), size)


def _hash_folder(
    folder: AnyPath, files: Sequence[AnyPath], version: int | None = None
) -> ContentHashes:
    """Return the hashes of the list of files, after the version of a Delta table."""
    head = [] if version is None else [{"version": version}]
    names = [file.relative_to(folder).as_posix() for file in files]
    if isinstance(folder, RemotePath):
        objects = [file for file in files if isinstance(file, RemotePath)]
        states = dict(zip(names, map_paths(RemotePath.state, objects), strict=True))
        entries = [
            {"etag": states[name].etag, "relpath": name, "size": states[name].size}
            for name in sorted(names)
        ]
        digest = hashlib.sha256(json.dumps([*head, *entries]).encode()).hexdigest()
        size = sum(state.size for state in states.values())
        return ContentHashes(bytes=size, etag=f"{digest}.dir", delta_version=version)
    hashes = dict(zip(names, map(hash_content, files), strict=True))
    entries = [{"relpath": name, "sha256": hashes[name].sha256} for name in sorted(names)]
    return ContentHashes(
        hashlib.sha256(json.dumps([*head, *entries]).encode()).hexdigest(),
        folder_md5({name: hashes[name].md5 for name in names}, *head),
        sum(file.bytes or 0 for file in hashes.values()),
        delta_version=version,
    )


def folder_md5(files: Mapping[str, str | None], *head: Mapping[str, Any]) -> str:
    """Return the hash of a folder as in dvc.lock, from the name and MD5 of each file."""
    entries = [{"md5": files[name], "relpath": name} for name in sorted(files)]
    digest = hashlib.md5(json.dumps([*head, *entries]).encode(), usedforsecurity=False).hexdigest()
    return f"{digest}.dir"
