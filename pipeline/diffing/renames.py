"""Models that a revision knew by another name."""

import os.path
from collections.abc import Mapping, Sequence
from typing import Any

Entries = Mapping[str, Any]  # of `models` in params.yaml


def renamed_lists(now: Entries, then: Entries) -> dict[str, str]:
    """Return new entry of `models` -> the former entry that it continues: by `was`, or as the only two of the same file."""
    new = [name for name in now if name not in then]
    vanished = [name for name in then if name not in now]
    renamed = {name: was for name in new if (was := _value(now[name], "was")) in vanished}
    left = [name for name in vanished if name not in renamed.values()]
    rest = [name for name in new if name not in renamed]
    for name in rest:
        path = _path(now[name])
        same = _of_file(path, then, left)
        if path is not None and len(same) == 1 and len(_of_file(path, now, rest)) == 1:
            renamed[name] = same[0]
    return renamed


def _of_file(path: str | None, entries: Entries, names: Sequence[str]) -> list[str]:
    return [name for name in names if _path(entries[name]) == path]


def _path(entry: Any) -> str | None:
    path = _value(entry, "path")
    return None if path is None else os.path.normpath(path)


def _value(entry: Any, key: str) -> str | None:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else None
