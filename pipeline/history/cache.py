"""Files in DVC's cache, by their hash."""

import os
from collections.abc import Callable
from pathlib import Path

from concord.metrics_core.data.hashes import hashes
from concord.metrics_core.errors import refuse
from concord.pipeline.diffing.dvc_cache import FOLDER, DvcCache, files_of

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
        if hashes(path).md5 != mark.removesuffix(FOLDER):
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
