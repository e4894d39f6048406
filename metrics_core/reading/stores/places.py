"""A place that can be opened: a path of this machine, or an address of an object store."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.checking.addresses import is_remote
from concord.metrics_core.reading.stores.remote import RemotePath, State

Place: TypeAlias = Path | RemotePath
Asked = TypeVar("Asked", bound=Place)
Found = TypeVar("Found")
AT_ONCE = 16  # objects that are asked for at the same time


def place_of(text: str | os.PathLike[str]) -> Place:
    """The place of a text.

    Raises
    ------
    InputError : an address that holds secrets
    """
    return RemotePath(str(text)) if is_remote(str(text)) else Path(text)


def by_ranges(place: Place) -> pa.NativeFile:
    """Opened to be read here and there."""
    return place.native() if isinstance(place, RemotePath) else pa.memory_map(str(place))


def in_order(place: Place, compression: str | None) -> pa.NativeFile:
    """Opened to be read from its beginning to its end, and unpacked on the way."""
    if isinstance(place, RemotePath):
        return place.stream(compression)
    return pa.input_stream(str(place), compression=compression)


def beginning(place: Place, size: int) -> bytes:
    """The first bytes, as many as there are."""
    if isinstance(place, RemotePath):
        with place.told(), place.native() as opened:
            return opened.read_at(size, 0)
    with place.open("rb") as file:
        return file.read(size)


def parquet(place: Place, **how: Any) -> pq.ParquetFile:
    """A parquet file, of which what is needed is read: of an object a group of rows ahead."""
    if isinstance(place, RemotePath):
        return pq.ParquetFile(place.native(), pre_buffer=True, **how)
    return pq.ParquetFile(place, **how)


def states_of(places: Sequence[Place]) -> dict[RemotePath, State]:
    """By what objects are known.

    Raises
    ------
    InputError : one of them is not there any more
    """
    objects = _objects(places)
    return dict(zip(objects, at_once(RemotePath.state, objects), strict=True))


def states_there(places: Sequence[Place]) -> dict[RemotePath, State]:
    """By what objects are known, of those that are there."""
    objects = _objects(places)
    found = at_once(RemotePath.state_if_there, objects)
    return {place: now for place, now in zip(objects, found, strict=True) if now is not None}


def _objects(places: Sequence[Place]) -> list[RemotePath]:
    return [place for place in places if isinstance(place, RemotePath)]


def at_once(ask: Callable[[Asked], Found], places: Sequence[Asked]) -> list[Found]:
    """What is asked of each place, in their order: of objects many at once, as each answer takes its time."""
    if len(places) < 2 or not isinstance(places[0], RemotePath):  # noqa: PLR2004
        return [ask(place) for place in places]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(ask, places))
