"""Files in DVC's cache, by their hash."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.reading.hashes import hashes
from concord.pipeline.params.repository import repository

Cached = Callable[[str], Path | None]  # hash -> the file, where the cache has it
_OF_FOLDER = ".dir"


def cache() -> Cached:
    """DVC's cache of this project, wherever it lies.

    Raises
    ------
    InputError : this is no DVC repository; later, a file has not the content of its hash
    """
    from dvc.exceptions import NotDvcRepoError
    from dvc.repo import Repo

    try:
        with Repo(str(repository())) as opened:
            local = opened.cache.local
    except NotDvcRepoError:
        what = "is in no DVC repository, and its values are read from DVC's cache"
        raise refuse(str(Path.cwd().name), what, "`dvc init`, `dvc repro`, and commit dvc.lock") from None  # fmt: skip

    def cached(mark: str) -> Path | None:
        path = Path(local.oid_to_path(mark))
        if not path.is_file():
            return None
        if hashes(path).md5 != mark.removesuffix(_OF_FOLDER):
            what = (
                f"is damaged: delete {os.path.relpath(path)}, whose content is not that of its hash"
            )
            raise refuse("DVC's cache", what, "then `dvc fetch --all-commits`")
        return path

    return cached


def in_folder(cached: Cached, mark: str, name: str) -> Path | None:
    """A file of a folder that the cache holds."""
    listing = cached(mark) if mark.endswith(_OF_FOLDER) else None
    if listing is None:
        return None
    files: list[dict[str, Any]] = json.loads(listing.read_text(encoding="utf-8"))
    found = next((file["md5"] for file in files if file["relpath"] == name), None)
    return None if found is None else cached(found)
