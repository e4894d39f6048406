"""DVC's cache of a project, and the remote behind it."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.errors import refuse
from concord.pipeline.params.repository import repository

FOLDER = ".dir"  # suffix of the hash of a folder, whose file lists its files


class DvcCache:
    """Files by their hash; the content is not checked.

    Raises
    ------
    InputError : the folder is in no DVC repository
    """

    def __init__(self, folder: Path = Path()) -> None:
        from dvc.exceptions import NotDvcRepoError
        from dvc.repo import Repo

        try:
            with Repo(str(repository(folder))) as opened:
                self._repo = opened
        except NotDvcRepoError:
            what = "is in no DVC repository, and its values are read from DVC's cache"
            fix = "`dvc init`, `dvc repro`, and commit dvc.lock"
            raise refuse(folder.resolve().name, what, fix) from None

    def find(self, md5: str) -> Path | None:
        """Return a file; None if the cache lacks it."""
        path = Path(self._repo.cache.local.oid_to_path(md5))
        return path if path.is_file() else None

    def fetch(self, md5: str) -> Path | None:
        """Return a file, from the remote if the cache lacks it; None if neither has it."""
        found = self.find(md5)
        if found is None:
            self._pull(md5)
        return found or self.find(md5)

    def _pull(self, md5: str) -> None:
        """A remote that is missing or fails is told as a file that is missing."""
        from dvc.exceptions import DvcException
        from dvc_data.hashfile.hash_info import HashInfo

        cloud, local = self._repo.cloud, self._repo.cache.local
        with suppress(DvcException, OSError):
            remote = cloud.get_remote_odb(command="fetch")
            cloud.transfer(remote, local, [HashInfo("md5", md5)], cache_odb=local, shallow=False)


def files_of(listing: bytes) -> dict[str, str]:
    """Return name -> hash of the files of a folder, from the list that the cache has of it."""
    files: list[dict[str, Any]] = json.loads(listing)
    return {file["relpath"]: file["md5"] for file in files}


Cached = Callable[[str], Path | None]  # hash -> the file, where the cache has it


def cache() -> Cached:
    """DVC's cache of this project, wherever it lies.

    Raises
    ------
    InputError : this is no DVC repository; later, a file has not the content of its hash
    """
    files = DvcCache()

    def cached(mark: str) -> Path | None:
        path = files.find(mark)
        if path is None:
            return None
        if hash_content(path).md5 != mark.removesuffix(FOLDER):
            what = (
                f"is damaged: delete {os.path.relpath(path)}, whose content is not that of its hash"
            )
            raise refuse("DVC's cache", what, "then `dvc fetch --all-commits`")
        return path

    return cached


def in_folder(cached: Cached, mark: str, name: str) -> Path | None:
    """A file of a folder that the cache holds."""
    listing = cached(mark) if mark.endswith(FOLDER) else None
    if listing is None:
        return None
    found = files_of(listing.read_bytes()).get(name)
    return None if found is None else cached(found)
