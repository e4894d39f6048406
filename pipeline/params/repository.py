"""Folders of the project and its repository; the project may be a subfolder."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

PARAMS = Path("params.yaml")
VERSION_KEY = "values_version"  # every params.yaml of Concord has it
FILL_IN = "FILL_IN"  # a value that `concord init` cannot know

_MAX_BYTES = 1_000_000
_MAX_DEPTH = 3  # of subfolders that are searched for a params.yaml
_MARKERS = (".dvc", ".git")  # of the root of a repository; DVC's takes precedence


def repository(folder: Path | None = None) -> Path:
    """Return the root of the DVC repository around a folder, else that of git, else the folder.

    Parameters
    ----------
    folder : Path, optional
        Default: the working directory.
    """
    start = (folder or Path.cwd()).resolve()
    folders = (start, *start.parents)
    roots = (root for name in _MARKERS for root in folders if (root / name).exists())
    return next(roots, start)


def relative_path(path: Path | str, folder: Path | str = ".") -> str:
    """Return the path relative to a folder, with `/`; unchanged if it is on another drive."""
    try:
        path = os.path.relpath(path, folder)
    except ValueError:  # on Windows
        path = str(path)
    return path.replace(os.sep, "/")


def normalized_path(path: str) -> str:
    """Return a path without `.` and `//`, with `/` as dvc.lock has it."""
    return os.path.normpath(path).replace(os.sep, "/")


def has_dvc(folder: Path) -> bool:
    """True if a folder is in a DVC repository."""
    return (repository(folder) / ".dvc").is_dir()


def original_repository() -> Path:
    """Return the repository; for an experiment of DVC, the repository that it is a copy of."""
    return Path(os.environ.get("DVC_ROOT") or repository())


def original_project() -> Path:
    """Return the project's folder in the original repository: its files outlive an experiment."""
    start = Path.cwd().resolve()
    return original_repository() / start.relative_to(repository(start))


def is_concord_project(folder: Path) -> bool:
    """True if the params.yaml of a folder names its version of values: it is Concord's."""
    return _has_key(folder, VERSION_KEY)


def find_evaluation_folder(folder: Path) -> Path | None:
    """Return the folder of the nearest evaluation; None if there is none, or if several are below.

    It is the folder itself, else the nearest parent in the repository, else the only one below.
    """
    root = repository(folder)
    for parent in (folder, *folder.parents):
        if parent.is_relative_to(root) and _is_evaluation(parent):
            return parent
    below = list(_evaluations_below(folder))
    return below[0] if len(below) == 1 else None


def rerun_command(stage: str = "", folder: Path = Path()) -> str:
    """Return the command that evaluates all or a stage: of DVC if the folder has a dvc.yaml."""
    command = "dvc repro" if (folder / "dvc.yaml").is_file() else "concord run"
    return f"{command} {stage}" if stage else command


def run_hint(folder: Path) -> str:
    """Return the fix for a folder without a params.yaml of Concord."""
    below = [shlex.quote(str(path.relative_to(folder))) for path in _evaluations_below(folder)]
    if len(below) == 1:
        return f"`cd {below[0]}`, where Concord's params.yaml is"
    if below:
        return f"name one of the evaluations by `--dir`: {', '.join(below)}"
    return "run where Concord's params.yaml is; `concord init` writes it"


def _evaluations_below(folder: Path) -> Iterator[Path]:
    """Yield the evaluations in subfolders that are not hidden, the highest first."""
    for depth in range(1, _MAX_DEPTH + 1):
        for path in sorted(folder.glob(f"{'[!.]*/' * depth}{PARAMS}")):
            if _is_evaluation(path.parent):
                yield path.parent


def _is_evaluation(folder: Path) -> bool:
    """True if the params.yaml of a folder looks like Concord's; it may lack the version."""
    return _has_key(folder, f"{VERSION_KEY}|conventions")


def _has_key(folder: Path, keys: str) -> bool:
    path = folder / PARAMS
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES)
    except OSError:
        return False
    return re.search(rb"^(%b):" % keys.encode(), text, re.MULTILINE) is not None
