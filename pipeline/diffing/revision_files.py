"""Files of a project at a revision: text from git; results from DVC's cache, git or a remote, checked by their hashes."""

import os
from functools import cached_property
from pathlib import Path

from concord.metrics_core.data.hashes import hashes
from concord.metrics_core.errors import Problem, refuse
from concord.pipeline.diffing.dvc_cache import FOLDER, DvcCache, files_of
from concord.pipeline.diffing.dvc_lock import LOCK, DvcLock
from concord.pipeline.diffing.git import REPAIR, UNREADABLE, blobs_at, commit_of, files_at

PLACE = "command line"


class RevisionFiles:
    """Files of the project in a folder, at a revision.

    Raises
    ------
    InputError : there is no such revision
    """

    def __init__(self, revision: str, folder: Path = Path()) -> None:
        self.where = PLACE if folder == Path() else str(folder)
        self.revision = revision
        commit = commit_of(revision, folder)
        if commit is None:
            what = f"{revision!r} is no revision of a git repository here"
            fix = "name a commit, a branch or a tag: `git log --oneline`, `git tag`"
            raise refuse(self.where, what, fix)
        self._commit, self._folder, self._cache = commit, folder, DvcCache(folder)

    @cached_property
    def lock(self) -> DvcLock:
        """Return dvc.lock; an empty one if the revision has none.

        Raises
        ------
        InputError : it cannot be read
        """
        lock = DvcLock(self.read_text(LOCK) or "")
        if lock.fault is not None:
            fix = "name a revision whose results were committed after `dvc repro`"
            raise refuse(f"{LOCK} of {self.revision}", lock.fault, fix)
        return lock

    def read_text(self, name: str) -> str | None:
        """Return the text of a file of git; None if there is none.

        Raises
        ------
        InputError : git cannot read it
        """
        (file,) = files_at([self._commit], name, self._folder)
        if file.is_unreadable:
            raise refuse(f"{name} of {self.revision}", UNREADABLE, REPAIR)
        return file.text

    def fetch(self, path: Path, into: Path) -> Problem | None:
        """Copy a result; return the problem if it is lost, or is not the file that dvc.lock names by its hash."""
        return self._fetch(path, self.lock.output(path), into)

    def fetch_from_folder(self, folder: Path, name: str, into: Path) -> Problem | None:
        """The same for a file of a folder that is one output: dvc.lock names the hash of the list of its files."""
        md5 = self.lock.output(folder)
        listing = None if md5 is None else self._cache.fetch(md5)
        if md5 is None or listing is None:
            return self._fetch(folder / name, None, into)
        if hashes(listing).md5 != md5.removesuffix(FOLDER):
            return self._damaged(folder, listing)
        return self._fetch(folder / name, files_of(listing.read_bytes()).get(name), into)

    def _fetch(self, path: Path, md5: str | None, into: Path) -> Problem | None:
        """Copy a file that DVC knows by its hash, or that git has."""
        cached = None if md5 is None else self._cache.fetch(md5)
        if cached is None:
            (blob,) = blobs_at([self._commit], path.as_posix(), self._folder)
            if blob is None:
                return self._lost(path)
            into.write_bytes(blob)
        else:
            into.symlink_to(cached.resolve())
        if md5 is None or hashes(into).md5 == md5:
            return None
        return self._damaged(path, cached)

    def _lost(self, path: Path) -> Problem:
        what = f"belongs to {self.revision}, and neither the cache of DVC nor a remote has it"
        return Problem(str(path), what, f"`dvc fetch --all-commits`, or {self._again}")

    def _damaged(self, path: Path, cached: Path | None) -> Problem:
        what = f"is damaged: its content is not that of the hash in {LOCK} of {self.revision}"
        fix = self._again
        if cached is not None:
            fix = f"delete {os.path.relpath(cached)}; then `dvc fetch --all-commits`, or {fix}"
        return Problem(f"{path} of {self.revision}", what, fix)

    @property
    def _again(self) -> str:
        return f"check out {self.revision}, run `dvc repro` and come back"
