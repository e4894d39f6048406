"""Files of a project at a revision: text from git; results from DVC's cache or a remote, checked by their hashes."""

import os
import subprocess
from pathlib import Path

from concord.metrics_core.checking.problems import Problem, refuse
from concord.metrics_core.reading.hashes import folder_md5, hashes
from concord.pipeline.params.repository import repository

PLACE = "command line"


class RevisionFiles:
    """Files of the project in a folder, at a revision.

    Raises
    ------
    InputError : there is no such revision
    """

    def __init__(self, revision: str, folder: Path = Path()) -> None:
        self.where = PLACE if folder == Path() else str(folder)
        _refuse_unknown(revision, folder, self.where)
        from dvc.api import DVCFileSystem

        self.revision = revision
        root = repository(folder)
        self._below = folder.resolve().relative_to(root)
        self._files = DVCFileSystem(str(root), rev=revision)

    def read_text(self, name: str) -> str:
        """Return the text of a file; raise OSError or UnicodeDecodeError if it cannot be read."""
        text: str = self._files.read_text(self._path(Path(name)), encoding="utf-8")
        return text

    def fetch(self, path: Path, into: Path) -> Problem | None:
        """Copy a result; return the problem if it is lost, or is not the file that DVC knows by its hash."""
        try:
            known = self._files.info(self._path(path))
            self._files.get_file(self._path(path), str(into))
        except FileNotFoundError:
            return self._lost(path)
        if known.get("dvc_info") is None or hashes(into).md5 == known.get("md5"):
            return None  # what git has is checked by git
        return self._damaged(path, known.get("md5"))

    def fetch_from_folder(self, folder: Path, name: str, into: Path) -> Problem | None:
        """The same for a file of a folder that is one output: DVC knows the hash of the list of its files."""
        from dvc_data.index import DataIndexDirError

        below = Path("/", self._path(folder))
        try:
            known = self._files.info(str(below))
        except FileNotFoundError:
            return self._lost(folder)
        md5 = known.get("md5")
        try:
            found = self._files.find(str(below), detail=True)
        except DataIndexDirError:  # the list of files
            return self._damaged(folder, md5) if self._cached(md5) else self._lost(folder)
        names = {Path("/", path).relative_to(below).as_posix(): path for path in found}
        listed = {name: found[path].get("md5") for name, path in names.items()}
        if known.get("dvc_info") is not None and folder_md5(listed) != md5:
            return self._damaged(folder, md5)
        return self.fetch(folder / name, into)

    def _path(self, path: Path) -> str:
        return (self._below / path).as_posix()

    def _lost(self, path: Path) -> Problem:
        what = f"belongs to {self.revision}, and neither the cache of DVC nor a remote has it"
        return Problem(str(path), what, f"`dvc fetch --all-commits`, or {self._again}")

    def _damaged(self, path: Path, md5: str | None) -> Problem:
        what = f"is damaged: its content is not that of the hash in dvc.lock of {self.revision}"
        cached = self._cached(md5)
        fix = self._again
        if cached is not None:
            fix = f"delete {os.path.relpath(cached)}; then `dvc fetch --all-commits`, or {fix}"
        return Problem(f"{path} of {self.revision}", what, fix)

    @property
    def _again(self) -> str:
        return f"check out {self.revision}, run `dvc repro` and come back"

    def _cached(self, md5: str | None) -> Path | None:
        """Return the file of DVC's cache that should have this hash, if there is one."""
        path = None if md5 is None else Path(self._files.repo.cache.local.oid_to_path(md5))
        return path if path is not None and path.is_file() else None


def _refuse_unknown(revision: str, folder: Path, where: str) -> None:
    command = ["git", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}"]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        what = f"{revision!r} is no revision of a git repository here"
        fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
        raise refuse(where, what, fix)
