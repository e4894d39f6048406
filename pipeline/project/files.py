"""The files of a folder that may be tables; a folder of parquet parts is one."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from concord.pipeline.params.repository import is_concords
from concord.pipeline.project.outs import stage_of

MOST_FILES = 20_000  # that are looked at
_PASSED_BY = {"node_modules", "mlruns", "mlartifacts", "dvc_plots", "venv", "env", "site-packages"}
_PART = re.compile(r"(part|chunk|shard|block|data)?[-_.]?[0-9]", re.IGNORECASE)


def files_below(folder: Path, but: Path, outs: Mapping[Path, str]) -> tuple[dict[Path, str], bool]:
    """Files and folders of parts -> the stage that makes them; and whether there are more than are looked at.

    What is an out is found wherever it lies; hidden files, environments and other repositories are passed by.
    """
    found: dict[Path, str] = {}
    for start in (*sorted(outs), folder):
        for path in _below(start, but):
            if len(found) >= MOST_FILES:
                return found, True
            found.setdefault(path, stage_of(path, outs) or "")
    return found, False


def _is_in_parts(folder: Path, folders: Sequence[str], names: Sequence[str]) -> bool:
    """Does a folder hold one table in parts, as Spark and others write them, and not a table a file?"""
    inner, parts = ([n for n in each if not n.startswith(("_", "."))] for each in (folders, names))
    are_parts = all(
        name.endswith(".parquet") and (folder.suffix == ".parquet" or _PART.match(name))
        for name in parts
    )
    return bool(inner or parts) and are_parts and all("=" in name for name in inner)


def _below(start: Path, but: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
    for where, folders, names in os.walk(start):
        here = Path(where)
        if _is_in_parts(here, folders, names):
            folders.clear()
            yield here
            continue
        folders[:] = sorted(name for name in folders if not _passed_by(here / name, but))
        for name in sorted(names):
            path = here / name
            if not name.startswith(".") and path.is_file() and _is_text(name):
                yield path


def _passed_by(path: Path, but: Path) -> bool:
    if path.name.startswith((".", "__")) or path.name in _PASSED_BY or path == but:
        return True
    another = is_concords(path) and path != but.parent  # `--force` looks into its own folder again
    other = (path / "pyvenv.cfg").exists() or (path / ".dvc").is_dir() or another
    return other or not _is_text(path.name)


def _is_text(name: str) -> bool:
    """Bytes of a name that are no text cannot be written into params.yaml."""
    return name.isprintable()
