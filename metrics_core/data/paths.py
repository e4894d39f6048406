"""Paths of tables: local files, and objects in a store, with one interface."""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from concord.metrics_core.data.object_stores import (
    open_filesystem,
    refuse_other_servers,
    store_problem,
)
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.files import Address, is_remote, parse_address

BUFFER = 1 << 22  # bytes that are asked for at a time where lines are read


@dataclass(frozen=True)
class ObjectState:
    """Identity of an object: the store changes the etag with the content."""

    etag: str
    size: int


@dataclass(frozen=True)
class _Listing:
    """Everything below a folder by key; `inside`: the keys in each folder."""

    found: Mapping[str, fs.FileInfo]
    inside: Mapping[str, Sequence[str]]


class RemotePath:
    """An object or folder in a store. A folder is listed once, with everything below it.

    Raises
    ------
    InputError : the address holds secrets; and from whatever asks the store: it does not answer or refuses
    """

    def __init__(self, address: str | Address, listed: _Listing | None = None):
        self.address = address if isinstance(address, Address) else parse_address(address)
        self._listed = listed  # of the folder that this one was found in

    def __str__(self) -> str:
        return str(self.address)

    def __fspath__(self) -> str:
        msg = "is in an object store"
        raise TypeError(msg)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def as_posix(self) -> str:
        return str(self)

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self.address.key)

    @property
    def name(self) -> str:
        return self._pure.name

    @property
    def suffix(self) -> str:
        return self._pure.suffix

    @property
    def suffixes(self) -> list[str]:
        return self._pure.suffixes

    def relative_to(self, other: object) -> PurePosixPath:
        assert isinstance(other, RemotePath)
        return self._pure.relative_to(other._pure)

    def __truediv__(self, name: str) -> "RemotePath":
        return self._at(f"{self.address.key}/{name}")

    @property
    def key(self) -> str:
        """Key for pyarrow: with its bucket."""
        return f"{self.address.bucket}/{self.address.key}"

    def exists(self) -> bool:
        return self._kind != fs.FileType.NotFound

    def bucket_exists(self) -> bool:
        """True if its bucket exists or the store does not tell: who may read objects need not see buckets."""
        try:
            found = open_filesystem(self.address).get_file_info(self.address.bucket)
        except (OSError, pa.ArrowException):
            return True
        return found.type != fs.FileType.NotFound

    def is_file(self) -> bool:
        return self._kind == fs.FileType.File

    def is_dir(self) -> bool:
        return self._kind == fs.FileType.Directory

    def is_symlink(self) -> bool:
        return False

    @property
    def size(self) -> int:
        return self._info.size

    def iterdir(self) -> Iterator["RemotePath"]:
        return self._listed_at(self._tree.inside.get(self.key, ()))

    def rglob(self, pattern: str) -> Iterator["RemotePath"]:
        return (found for found in self._below() if found._pure.match(pattern))

    def glob(self, pattern: str) -> Iterator["RemotePath"]:
        return (found for found in self.iterdir() if found._pure.match(pattern))

    def open(self, _: str = "rb") -> IO[bytes]:
        return io.BufferedReader(self.native(), BUFFER)

    def native(self) -> pa.NativeFile:
        """Open for random access."""
        with self.told():
            return open_filesystem(self.address).open_input_file(self.key)

    def stream(self, compression: str | None) -> pa.NativeFile:
        """Open for reading from beginning to end."""
        with self.told():
            return open_filesystem(self.address).open_input_stream(self.key, compression, BUFFER)

    def state(self) -> ObjectState:
        """Return the current identity of the object.

        Raises
        ------
        InputError : it is not there any more
        """
        if (now := self.state_if_there()) is None:
            fix = "let what writes there finish, and run again"
            raise refuse(str(self), "was removed while it was read", fix)
        return now

    def state_if_there(self) -> ObjectState | None:
        """Return the current identity; None if the object does not exist any more."""
        try:
            with open_filesystem(self.address).open_input_file(self.key) as opened:
                known = {name.lower(): value for name, value in opened.metadata().items()}
                return ObjectState(known.get("etag", b"").decode().strip('"'), opened.size())
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException) as error:
            raise InputError([store_problem(str(self), error)]) from None

    @cached_property
    def _info(self) -> fs.FileInfo:
        if self._listed is not None:
            return self._listed.found[self.key]
        refuse_other_servers(self.address)
        with self.told():
            return open_filesystem(self.address).get_file_info(self.key)

    @property
    def _kind(self) -> fs.FileType:
        return self._info.type

    @cached_property
    def _tree(self) -> _Listing:
        if self._listed is not None:
            return self._listed
        with self.told():
            selected = fs.FileSelector(self.key, recursive=True)
            listed = open_filesystem(self.address).get_file_info(selected)
        for path in (info.path for info in listed if "//" in info.path):
            what = "has a key with `//`, which pyarrow does not read"
            where = str(self._at(path.partition("/")[2]))
            raise refuse(where, what, "copy it to a key without an empty name, or take it out")
        found = self._folders(info.path for info in listed) | {info.path: info for info in listed}
        inside: dict[str, list[str]] = {}
        for path in found:
            inside.setdefault(path.rpartition("/")[0], []).append(path)
        return _Listing(found, inside)

    def _folders(self, paths: Iterable[str]) -> dict[str, fs.FileInfo]:
        """Return the folders between this one and its objects; not every store lists them, as stores hold keys only."""
        above = PurePosixPath(self.key)
        between = {
            str(folder)
            for path in paths
            for folder in PurePosixPath(path).parents
            if above in folder.parents
        }
        return {folder: fs.FileInfo(folder, fs.FileType.Directory) for folder in sorted(between)}

    def _below(self) -> Iterator["RemotePath"]:
        return self._listed_at(path for path in self._tree.found if path.startswith(f"{self.key}/"))

    def _listed_at(self, paths: Iterable[str]) -> Iterator["RemotePath"]:
        return (self._at(path.partition("/")[2], self._tree) for path in paths)

    def _at(self, key: str, listed: _Listing | None = None) -> "RemotePath":
        at = self.address
        return RemotePath(Address(at.scheme, at.bucket, key, at.account), listed)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise errors of the store inside the block as InputError."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise InputError([store_problem(str(self), error)]) from None


Place: TypeAlias = Path | RemotePath
Asked = TypeVar("Asked", bound=Place)
Found = TypeVar("Found")
AT_ONCE = 16  # objects that are asked for at the same time


def parse_place(text: str | os.PathLike[str]) -> Place:
    """Return a text as a path or remote path.

    Raises
    ------
    InputError : an address that holds secrets
    """
    return RemotePath(str(text)) if is_remote(str(text)) else Path(text)


def open_random_access(place: Place) -> pa.NativeFile:
    """Open for random access."""
    return place.native() if isinstance(place, RemotePath) else pa.memory_map(str(place))


def open_sequential(place: Place, compression: str | None) -> pa.NativeFile:
    """Open for reading from beginning to end, decompressed."""
    if isinstance(place, RemotePath):
        return place.stream(compression)
    return pa.input_stream(str(place), compression=compression)


def first_bytes(place: Place, size: int) -> bytes:
    """Return the first bytes, as many as there are."""
    if isinstance(place, RemotePath):
        with place.told(), place.native() as opened:
            return opened.read_at(size, 0)
    with place.open("rb") as file:
        return file.read(size)


def open_parquet(place: Place, **how: Any) -> pq.ParquetFile:
    """Open a parquet file; of an object one row group is read ahead."""
    if isinstance(place, RemotePath):
        return pq.ParquetFile(place.native(), pre_buffer=True, **how)
    return pq.ParquetFile(place, **how)


def object_states(places: Sequence[Place]) -> dict[RemotePath, ObjectState]:
    """Return the identity of objects.

    Raises
    ------
    InputError : one of them is not there any more
    """
    objects = _objects(places)
    return dict(zip(objects, map_places(RemotePath.state, objects), strict=True))


def existing_object_states(places: Sequence[Place]) -> dict[RemotePath, ObjectState]:
    """Return the identity of the objects that exist."""
    objects = _objects(places)
    found = map_places(RemotePath.state_if_there, objects)
    return {place: now for place, now in zip(objects, found, strict=True) if now is not None}


def _objects(places: Sequence[Place]) -> list[RemotePath]:
    return [place for place in places if isinstance(place, RemotePath)]


def map_places(ask: Callable[[Asked], Found], places: Sequence[Asked]) -> list[Found]:
    """Return `ask` of each place in order; many objects are asked at once."""
    if len(places) < 2 or not isinstance(places[0], RemotePath):  # noqa: PLR2004
        return [ask(place) for place in places]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(ask, places))
