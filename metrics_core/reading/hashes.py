"""The hashes by which an input is known: of a file, or of a folder of parts."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

BLOCK = 1 << 20


@dataclass(frozen=True)
class Hashes:
    """None of a table that is no file."""

    md5: str | None
    sha256: str | None
    bytes: int | None


def hashes(path: Path) -> Hashes:
    """The hashes of a file; those of a folder are taken of the list of its files, as `dvc.lock` has them."""
    return _of_folder(path) if path.is_dir() else _of_file(path)


def _of_file(path: Path) -> Hashes:
    md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            md5.update(block)
            sha256.update(block)
            size += len(block)
    return Hashes(md5.hexdigest(), sha256.hexdigest(), size)


def _of_folder(path: Path) -> Hashes:
    parts = {
        part.relative_to(path).as_posix(): _of_file(part)
        for part in path.rglob("*")
        if part.is_file()
    }
    names = sorted(parts)
    md5 = json.dumps([{"md5": parts[name].md5, "relpath": name} for name in names])
    sha256 = json.dumps([{"relpath": name, "sha256": parts[name].sha256} for name in names])
    return Hashes(
        hashlib.md5(md5.encode(), usedforsecurity=False).hexdigest() + ".dir",
        hashlib.sha256(sha256.encode()).hexdigest(),
        sum(part.bytes or 0 for part in parts.values()),
    )
