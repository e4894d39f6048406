"""Folders of the project and its repository; params.yaml may be in a folder of a larger DVC repository."""

import os
import re
import shlex
from pathlib import Path

PARAMS = Path("params.yaml")

_MOST_BYTES = 1_000_000
_DEEPEST = 3  # folders that are looked into for an evaluation


def repository(folder: Path | None = None) -> Path:
    """Return the root of the DVC repository around a folder (default: the working directory); without one, the folder."""
    start = (folder or Path.cwd()).resolve()
    return next((at for at in (start, *start.parents) if (at / ".dvc").is_dir()), start)


def original_repository() -> Path:
    """Return the repository that an experiment of DVC is a temporary copy of; without an experiment, the repository."""
    return Path(os.environ.get("DVC_ROOT") or repository())


def original_project() -> Path:
    """Return the folder of params.yaml in the original repository: its files outlive an experiment."""
    start = Path.cwd().resolve()
    return original_repository() / start.relative_to(repository(start))


def is_concord_project(folder: Path) -> bool:
    """True if the params.yaml of a folder names the version of Concord that made it."""
    path = folder / PARAMS
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return re.search(rb"^concord:", file.read(_MOST_BYTES), re.MULTILINE) is not None
    except OSError:
        return False


def run_hint(folder: Path) -> str:
    """Return the fix for a folder without a params.yaml of Concord."""
    for depth in range(1, _DEEPEST + 1):
        for path in sorted(folder.glob(f"{'*/' * depth}{PARAMS}")):
            if is_concord_project(path.parent):
                below = path.parent.relative_to(folder).as_posix()
                return f"`cd {shlex.quote(below)}`, where Concord's params.yaml is"
    return "run where Concord's dvc.yaml and params.yaml are; `concord init` writes both"
