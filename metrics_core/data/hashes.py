"""Content hashes of inputs: of a file or a folder of parts; etags of objects in a store."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from concord.metrics_core.data.columnar_files import files_in
from concord.metrics_core.data.delta import is_delta, snapshot
from concord.metrics_core.data.paths import AnyPath, RemotePath, map_paths
from concord.metrics_core.data.row_filter import where_texts

if TYPE_CHECKING:
    import polars as pl

BLOCK = 1 << 20
_ROWS = 1 << 20  # of a column that are hashed at a time
_IDS = ("user", "item")


@dataclass(frozen=True)
class ContentHashes:
    """Hashes of a file; all None for a table in memory.

    Attributes
    ----------
    etag : str, optional
        ETag of an object in a store, whose content is not read.
    delta_version : int, optional
        Version of a Delta table.
    """

    sha256: str | None = None
    md5: str | None = None
    bytes: int | None = None
    etag: str | None = None
    delta_version: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the hashes as in quality files."""
        optional = ("etag", "delta_version")
        return {n: v for n, v in asdict(self).items() if v is not None or n not in optional}

    def of_rows(self, where: Mapping[str, Any]) -> "ContentHashes":
        """Return the hashes of the rows that a filter keeps: of a file's hash and the filter."""
        if not where:
            return self

        def add_filter(content_id: str | None, algorithm: str) -> str | None:
            text = json.dumps([content_id, *where_texts(where)]).encode()
            digest = hashlib.new(algorithm, text, usedforsecurity=False)
            return None if content_id is None else digest.hexdigest()

        return replace(
            self,
            sha256=add_filter(self.sha256, "sha256"),
            md5=add_filter(self.md5, "md5"),
            etag=add_filter(self.etag, "sha256"),
        )


def hash_content(path: AnyPath) -> ContentHashes:
    """Return the hashes of a file; those of a folder follow from the list of its files."""
    if is_delta(path):
        table = snapshot(path)
        return _hash_folder(path, [file for file, _ in table.files], table.version)
    if path.is_dir():
        return _hash_folder(path, files_in(path))
    if isinstance(path, RemotePath):
        state = path.state()
        return ContentHashes(bytes=state.size, etag=state.etag)
    md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            md5.update(block)
            sha256.update(block)
            size += len(block)
    return ContentHashes(sha256.hexdigest(), md5.hexdigest(), size)


def hash_frame(frame: "pl.DataFrame") -> str:
    """Return SHA-256 of the columns of a table that was read, and so is sorted.

    The columns follow one another in the order of their names, `user` and `item` as text. For each:

    1. its name and its class as UTF-8, each with a zero byte after it; the class is `text`,
       `integer` (also times and truth values), `number` or `list`;
    2. one byte a row: 1 if the row is null, else 0;
    3. integers: 64 bits a row, little-endian; numbers: float64, little-endian, null as NaN,
       which has one bit pattern;
    4. text: the number of UTF-8 bytes of each row, as integers, then the bytes of all rows;
    5. lists: the length of each list, as integers, then steps 1 to 5 for all elements, under the
       name of the column.

    So the hash depends neither on the order of rows and columns in a file, nor on its format, nor
    on the width of its integers.

    Examples
    --------
    >>> import polars as pl
    >>> hash_frame(pl.DataFrame({"user": [1, 2], "grade": [1.0, 0.5]}))[:12]
    'e10dadf0c4b9'
    """
    import polars as pl  # takes long to import, and hashes of files do not need it

    digest = hashlib.sha256()
    for name in sorted(frame.columns):
        _hash_column(digest, frame[name].cast(pl.String) if name in _IDS else frame[name])
    return digest.hexdigest()


def _hash_column(digest: "hashlib._Hash", column: "pl.Series") -> None:
    import polars as pl

    kind, numbers = "integer", column.to_physical()
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        kind, column = "text", column.cast(pl.String)
        numbers = column.str.len_bytes()
    elif isinstance(column.dtype, pl.List | pl.Array):
        kind, column = "list", column.cast(pl.List(column.dtype.inner))
        numbers = column.list.len()
    elif column.dtype.is_float():
        kind, numbers = "number", column.fill_nan(None).fill_null(float("nan"))
    dtype = pl.Float64 if kind == "number" else pl.Int64
    values = numbers.fill_null(0).cast(dtype, wrap_numerical=True).to_numpy()
    digest.update(f"{column.name}\0{kind}\0".encode())
    digest.update(column.is_null().to_numpy().tobytes())
    digest.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    if kind == "text":
        for start in range(0, len(column), _ROWS):
            digest.update(column.slice(start, _ROWS).fill_null("").str.join("").item().encode())
    elif kind == "list":
        _hash_column(digest, column.filter(numbers > 0).explode())


def _hash_folder(
    folder: AnyPath, files: Sequence[AnyPath], version: int | None = None
) -> ContentHashes:
    """Return the hashes of the list of files, after the version of a Delta table."""
    head = [] if version is None else [{"version": version}]
    names = [file.relative_to(folder).as_posix() for file in files]
    if isinstance(folder, RemotePath):
        objects = [file for file in files if isinstance(file, RemotePath)]
        states = dict(zip(names, map_paths(RemotePath.state, objects), strict=True))
        entries = [
            {"etag": states[name].etag, "relpath": name, "size": states[name].size}
            for name in sorted(names)
        ]
        digest = hashlib.sha256(json.dumps([*head, *entries]).encode()).hexdigest()
        size = sum(state.size for state in states.values())
        return ContentHashes(bytes=size, etag=f"{digest}.dir", delta_version=version)
    hashes = dict(zip(names, map(hash_content, files), strict=True))
    entries = [{"relpath": name, "sha256": hashes[name].sha256} for name in sorted(names)]
    return ContentHashes(
        hashlib.sha256(json.dumps([*head, *entries]).encode()).hexdigest(),
        folder_md5({name: hashes[name].md5 for name in names}, *head),
        sum(file.bytes or 0 for file in hashes.values()),
        delta_version=version,
    )


def folder_md5(files: Mapping[str, str | None], *head: Mapping[str, Any]) -> str:
    """Return the hash of a folder as in dvc.lock, from the name and MD5 of each file."""
    entries = [{"md5": files[name], "relpath": name} for name in sorted(files)]
    digest = hashlib.md5(json.dumps([*head, *entries]).encode(), usedforsecurity=False).hexdigest()
    return f"{digest}.dir"
