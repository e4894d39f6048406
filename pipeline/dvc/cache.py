"""A project's DVC cache and remote; every file is checked against its hash."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.errors import refuse
from concord.pipeline.params.repository import relative_path, repository

_FOLDER_SUFFIX = ".dir"  # of the hash of a folder; its file lists the files in the folder
FindFile = Callable[[str], Path | None]  # hash -> file; None if it is missing


class DvcCache:
    """Files by their hash.

    Raises
    ------
    InputError
        If the folder is not in a DVC repository; in methods, if a file does not match its hash.
    """

    def __init__(self, folder: Path = Path()) -> None:
        from dvc.exceptions import NotDvcRepoError
        from dvc.repo import Repo

        try:
            with Repo(str(repository(folder))) as repo:
                self._repo = repo
        except NotDvcRepoError:
            problem = "is not in a DVC repository, and its values are read from DVC's cache"
            fix = (
                "`dvc init`, `concord init --upgrade`, `dvc repro`, and commit dvc.lock; "
                "`concord gate` compares with the baseline without DVC"
            )
            raise refuse(folder.resolve().name, problem, fix) from None

    def find(self, md5: str) -> Path | None:
        """Return the file of a hash; None if it is not in the cache."""
        path = Path(self._repo.cache.local.oid_to_path(md5))
        if not path.is_file():
            return None
        if hash_content(path).md5 != md5.removesuffix(_FOLDER_SUFFIX):
            problem = "is damaged: its content does not match its hash"
            fix = f"delete {relative_path(path)}; then `dvc fetch --all-commits`"
            raise refuse("DVC's cache", problem, fix)
        return path

    def fetch(self, md5: str) -> Path | None:
        """Return the file of a hash, from the cache or the remote; None if it is in neither."""
        path = self.find(md5)
        if path is None:
            self._pull(md5)
            path = self.find(md5)
        return path

    def _pull(self, md5: str) -> None:
        """Copy a file from the remote; do nothing if the remote is missing or fails."""
        from dvc.exceptions import DvcException
        from dvc_data.hashfile.hash_info import HashInfo

        cloud, local = self._repo.cloud, self._repo.cache.local
        with suppress(DvcException, OSError):
            remote = cloud.get_remote_odb(command="fetch")
            cloud.transfer(remote, local, [HashInfo("md5", md5)], cache_odb=local, shallow=False)


def hash_in_folder(find: FindFile, folder_hash: str | None, name: str) -> str | None:
    """Return the hash of a file in a tracked folder; None if it is not listed there."""
    listing = find(folder_hash) if folder_hash and folder_hash.endswith(_FOLDER_SUFFIX) else None
    files: list[dict[str, Any]] = [] if listing is None else json.loads(listing.read_bytes())
    return next((file["md5"] for file in files if file["relpath"] == name), None)
