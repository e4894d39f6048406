"""Folders of the project and its repository; the project may be a subfolder."""

import os
import re
import shlex
from pathlib import Path

PARAMS = Path("params.yaml")

_MAX_BYTES = 1_000_000
_MAX_DEPTH = 3  # of subfolders that are searched for a params.yaml


def repository(folder: Path | None = None) -> Path:
    """Return the root of the DVC repository around a folder; the folder itself if there is none.

    Parameters
    ----------
    folder : Path, optional
        Default: the working directory.
    """
    start = (folder or Path.cwd()).resolve()
    return next((root for root in (start, *start.parents) if (root / ".dvc").is_dir()), start)


def original_repository() -> Path:
    """Return the repository; for an experiment of DVC, the repository that it is a copy of."""
    return Path(os.environ.get("DVC_ROOT") or repository())


def original_project() -> Path:
    """Return the project's folder in the original repository: its files outlive an experiment."""
    start = Path.cwd().resolve()
    return original_repository() / start.relative_to(repository(start))


def is_concord_project(folder: Path) -> bool:
    """True if the params.yaml of a folder names the version of Concord that wrote it."""
    path = folder / PARAMS
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return re.search(rb"^concord:", file.read(_MAX_BYTES), re.MULTILINE) is not None
    except OSError:
        return False


def run_hint(folder: Path) -> str:
    """Return the fix for a folder without a params.yaml of Concord."""
    for depth in range(1, _MAX_DEPTH + 1):
        for path in sorted(folder.glob(f"{'*/' * depth}{PARAMS}")):
            if is_concord_project(path.parent):
                subfolder = path.parent.relative_to(folder).as_posix()
                return f"`cd {shlex.quote(subfolder)}`, where Concord's params.yaml is"
    return "run where Concord's dvc.yaml and params.yaml are; `concord init` writes both"
