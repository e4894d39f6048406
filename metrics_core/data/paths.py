"""Paths of tables: local files and objects in a store, with one interface."""

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, TypeAlias, TypeVar

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

BUFFER_BYTES = 1 << 22  # requested at a time when lines are read
MAX_REQUESTS = 16  # objects that are requested at the same time


class ObjectState(NamedTuple):
    """Identity of an object: the etag changes with the content."""

    etag: str
    size: int


class _Listing(NamedTuple):
    """Everything below a folder by key, and the keys in each folder."""

    entries: Mapping[str, fs.FileInfo]
    children: Mapping[str, Sequence[str]]


class RemotePath:
    """An object or folder in a store. A folder is listed once, with everything below it.

    Raises
    ------
    InputError
        If the address contains secrets. Methods that send requests raise it if the store does not
        answer or denies access.
    """

    def __init__(self, address: str | Address, listing: _Listing | None = None):
        self.address = address if isinstance(address, Address) else parse_address(address)
        self._listing = listing  # of the folder above

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
        return self._at(f"{self.key}/{name}")

    @property
    def key(self) -> str:
        """Key for pyarrow: with its bucket."""
        return f"{self.address.bucket}/{self.address.key}"

    def exists(self) -> bool:
        return self._info.type != fs.FileType.NotFound

    def bucket_exists(self) -> bool:
        """True unless the store says that the bucket is missing; it may not allow the question."""
        try:
            info = open_filesystem(self.address).get_file_info(self.address.bucket)
        except (OSError, pa.ArrowException):
            return True
        return info.type != fs.FileType.NotFound

    def is_file(self) -> bool:
        return self._info.type == fs.FileType.File

    def is_dir(self) -> bool:
        return self._info.type == fs.FileType.Directory

    def is_symlink(self) -> bool:
        return False

    @property
    def size(self) -> int:
        return self._info.size

    def iterdir(self) -> Iterator["RemotePath"]:
        return (self._at(key, self._tree) for key in self._tree.children.get(self.key, ()))

    def rglob(self, pattern: str) -> Iterator["RemotePath"]:
        below = (key for key in self._tree.entries if key.startswith(f"{self.key}/"))
        paths = (self._at(key, self._tree) for key in below)
        return (path for path in paths if path._pure.match(pattern))

    def open(self, _: str = "rb") -> IO[bytes]:
        return io.BufferedReader(self.open_random_access(), BUFFER_BYTES)

    def open_random_access(self) -> pa.NativeFile:
        with self.store_errors():
            return open_filesystem(self.address).open_input_file(self.key)

    def open_sequential(self, compression: str | None) -> pa.NativeFile:
        with self.store_errors():
            filesystem = open_filesystem(self.address)
            return filesystem.open_input_stream(self.key, compression, BUFFER_BYTES)

    def state(self) -> ObjectState:
        """Return the current identity of the object.

        Raises
        ------
        InputError
            If the object does not exist any more.
        """
        if (state := self.state_if_exists()) is None:
            fix = "wait until all files are written, and run again"
            raise refuse(str(self), "was removed while it was read", fix)
        return state

    def state_if_exists(self) -> ObjectState | None:
        """Return the current identity; None if the object does not exist any more."""
        with (
            self.store_errors(),
            suppress(FileNotFoundError),
            open_filesystem(self.address).open_input_file(self.key) as file,
        ):
            metadata = {name.lower(): value for name, value in file.metadata().items()}
            return ObjectState(metadata.get("etag", b"").decode().strip('"'), file.size())
        return None

    @cached_property
    def _info(self) -> fs.FileInfo:
        if self._listing is not None:
            return self._listing.entries[self.key]
        refuse_other_servers(self.address)
        with self.store_errors():
            return open_filesystem(self.address).get_file_info(self.key)

    @cached_property
    def _tree(self) -> _Listing:
        """Everything below the folder.

        Folders between this one and its objects are added, as not every store lists them.
        """
        if self._listing is not None:
            return self._listing
        with self.store_errors():
            selector = fs.FileSelector(self.key, recursive=True)
            infos = open_filesystem(self.address).get_file_info(selector)
        folders: dict[str, fs.FileInfo] = {}
        root = PurePosixPath(self.key)
        for info in infos:
            if "//" in info.path:
                message = "has a key with `//`, which pyarrow does not read"
                fix = "copy it to a key without an empty name, or move it out of the folder"
                raise refuse(str(self._at(info.path)), message, fix)
            for folder in PurePosixPath(info.path).parents:
                if root in folder.parents:
                    folders[str(folder)] = fs.FileInfo(str(folder), fs.FileType.Directory)
        entries = dict(sorted(folders.items())) | {info.path: info for info in infos}
        children: dict[str, list[str]] = {}
        for key in entries:
            children.setdefault(key.rpartition("/")[0], []).append(key)
        return _Listing(entries, children)

    def _at(self, key: str, listing: _Listing | None = None) -> "RemotePath":
        """Return the path of a key with its bucket."""
        return RemotePath(replace(self.address, key=key.partition("/")[2]), listing)

    @contextmanager
    def store_errors(self) -> Iterator[None]:
        """Raise errors of the store as InputError."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise InputError([store_problem(str(self), error)]) from None


AnyPath: TypeAlias = Path | RemotePath
PathType = TypeVar("PathType", bound=AnyPath)
Result = TypeVar("Result")


def parse_path(text: str | os.PathLike[str]) -> AnyPath:
    """Return a text as a path or remote path.

    Raises
    ------
    InputError
        If it is an address that contains secrets.
    """
    return RemotePath(str(text)) if is_remote(str(text)) else Path(text)


def open_random_access(path: AnyPath) -> pa.NativeFile:
    """Open for random access."""
    return path.open_random_access() if isinstance(path, RemotePath) else pa.memory_map(str(path))


def open_sequential(path: AnyPath, compression: str | None) -> pa.NativeFile:
    """Open for reading from beginning to end, decompressed."""
    if isinstance(path, RemotePath):
        return path.open_sequential(compression)
    return pa.input_stream(str(path), compression=compression)


def first_bytes(path: AnyPath, size: int) -> bytes:
    """Return the first bytes, as many as there are."""
    if isinstance(path, RemotePath):
        with path.store_errors(), path.open_random_access() as remote_file:
            return remote_file.read_at(size, 0)
    with path.open("rb") as file:
        return file.read(size)


def open_parquet(path: AnyPath, **options: Any) -> pq.ParquetFile:
    """Open a parquet file; the row groups of an object are requested as a whole."""
    if isinstance(path, RemotePath):
        return pq.ParquetFile(path.open_random_access(), pre_buffer=True, **options)
    return pq.ParquetFile(path, **options)


def existing_object_states(paths: Sequence[AnyPath]) -> dict[RemotePath, ObjectState]:
    """Return the identity of the objects that exist."""
    objects = [path for path in paths if isinstance(path, RemotePath)]
    states = map_paths(RemotePath.state_if_exists, objects)
    return {path: state for path, state in zip(objects, states, strict=True) if state is not None}


def map_paths(function: Callable[[PathType], Result], paths: Sequence[PathType]) -> list[Result]:
    """Return the results of `function` in the order of the paths; objects are read in parallel."""
    if len(paths) < 2 or not isinstance(paths[0], RemotePath):  # noqa: PLR2004
        return [function(path) for path in paths]
    with ThreadPoolExecutor(MAX_REQUESTS) as pool:
        return list(pool.map(function, paths))
