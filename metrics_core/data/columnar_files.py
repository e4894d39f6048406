"""Find, check and open the parquet and Arrow files of a table."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from concord.metrics_core.data.arrow import is_text
from concord.metrics_core.data.delta import LOG, is_delta, snapshot
from concord.metrics_core.data.formats import COPY_AGAIN, format_fix
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.object_stores import is_store_failure, store_problem
from concord.metrics_core.data.paths import (
    AnyPath,
    first_bytes,
    map_paths,
    open_parquet,
    open_random_access,
)
from concord.metrics_core.errors import InputError, Problem, refuse

_ONLY_PARTS = "keep only `*.parquet` files of one table in the folder"
_LAKES = {LOG: "a Delta Lake", ".hoodie": "a Hudi", "metadata": "an Iceberg"}
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_STREAM = b"\xff\xff\xff\xff"  # start of each message of a stream
_END = _STREAM + bytes(4)  # the last message, of no bytes
_PARQUET_BOUNDARY = b"PAR1PAR1"  # between two concatenated parquet files
Batches = Iterator[pa.RecordBatch]
ReadBatches = Callable[[list[str], int], Batches]


@dataclass(frozen=True)
class Part:
    """A file of a table.

    Attributes
    ----------
    path : str
        Path for messages.
    name : str
        Path inside the folder.
    rows : int, optional
        Number of rows, if the file states it.
    batches : callable
        Reads the named columns in batches of at most so many rows.
    """

    path: str
    name: str
    schema: pa.Schema
    rows: int | None
    batches: ReadBatches


def open_parts(file: InputTable) -> list[Part]:
    """Open the table in memory, the file, or each file of the folder with its partition keys."""
    if (table := file.rows) is not None:

        def batches(names: list[str], max_rows: int) -> Batches:
            return iter(table.select(names).to_batches(max_rows))

        return [Part(file.name, file.name, table.schema, len(table), batches)]
    paths = _part_paths(file)
    parts = map_paths(partial(_open_part, file=file), [path for path, _ in paths])
    partitions = (values for _, values in paths)
    return [_add_partition(*pair) for pair in zip(parts, partitions, strict=True)]


def files_in(path: AnyPath) -> list[AnyPath]:
    """Return the file, or all files of the folder; of a Delta table those with current rows."""
    if not path.is_dir():
        return [path]
    if is_delta(path):
        return [file for file, _ in snapshot(path).files]
    return [file for file in path.rglob("*") if file.is_file()]


def _part_paths(file: InputTable) -> Sequence[tuple[AnyPath, Mapping[str, pa.Scalar]]]:
    """Return the file, or all parts of the folder by path, each with its partition values."""
    if not file.path.is_dir():
        return [(file.path, {})]
    if is_delta(file.path):
        if not (files := snapshot(file.path).files):
            raise refuse(file.name, "has no rows", "check what wrote the table")
        return files
    paths = sorted(_parts_in(file, file.path), key=lambda p: p.relative_to(file.path).parts)
    if not paths:
        raise refuse(file.name, "contains no part", _ONLY_PARTS)
    partitions = [_partition_values(file, path) for path in paths]
    are_integers = {
        key: all(
            value is None or _INTEGER.fullmatch(value)
            for value in (values.get(key) for values in partitions)
        )
        for key in {key for values in partitions for key in values}
    }

    def scalar(key: str, value: str | None) -> pa.Scalar:
        if are_integers[key]:
            return pa.scalar(None if value is None else int(value), pa.int64())
        return pa.scalar(value, pa.string())

    return [
        (path, {key: scalar(key, value) for key, value in values.items()})
        for path, values in zip(paths, partitions, strict=True)
    ]


def _parts_in(file: InputTable, folder: AnyPath) -> Iterator[AnyPath]:
    for entry in folder.iterdir():
        name = entry.relative_to(file.path).as_posix()
        _refuse_lake(file, entry)
        if entry.name.startswith(("_", ".")):
            _refuse_hidden(file, entry)
        elif entry.is_dir() and entry.is_symlink():
            message = f"contains {name!r}, a link to a folder, which DVC does not follow"
            fix = "move the folder itself there, or name it as the path"
            raise refuse(file.name, message, fix)
        elif entry.is_dir():
            yield from _parts_in(file, entry)
        elif entry.suffix != ".parquet" or not entry.is_file():
            raise refuse(file.name, f"contains {name!r}, which is not a part", _ONLY_PARTS)
        else:
            yield entry


def _refuse_hidden(file: InputTable, entry: AnyPath) -> None:
    """Raise if a hidden file is a table; others, such as `_SUCCESS` and `.crc`, are skipped."""
    parts = entry.rglob("*.parquet") if entry.is_dir() else [entry]
    if any(part.suffix == ".parquet" for part in parts):
        message = f"contains {entry.name!r} with rows, and readers of folders skip such a name"
        raise refuse(file.name, message, "rename it, or move it out of the folder")


def _refuse_lake(file: InputTable, entry: AnyPath) -> None:
    lake = _LAKES.get(entry.name)
    if lake is None or not entry.is_dir():
        return
    if "Iceberg" in lake and not any(entry.rglob("*.metadata.json")):
        return
    message = f"is {lake} table: its files also contain rows that were deleted or replaced later"
    fix = f"write its current rows as plain parquet with a reader of {lake.partition(' ')[2]}"
    raise refuse(file.name, message, fix)


def _partition_values(file: InputTable, path: AnyPath) -> dict[str, str | None]:
    """Return keys and values of the folders `key=value` that contain a part."""
    values: dict[str, str | None] = {}
    for folder in path.relative_to(file.path).parts[:-1]:
        key, equals, value = folder.partition("=")
        if equals and key:
            values[unquote(key)] = None if value == _MISSING else unquote(value)
    return values


def _add_partition(part: Part, keys: Mapping[str, pa.Scalar]) -> Part:
    """Return the part with its partition values as columns, unless it has such columns itself."""
    values = {key: value for key, value in keys.items() if key not in part.schema.names}
    if not values:
        return part
    schema = part.schema
    for key, value in values.items():
        schema = schema.append(pa.field(key, value.type))

    def batches(names: list[str], max_rows: int) -> Batches:
        for batch in part.batches([name for name in names if name not in values], max_rows):
            for key in values.keys() & set(names):
                batch = batch.append_column(key, pa.repeat(values[key], len(batch)))
            yield batch

    return replace(part, schema=schema, batches=batches)


def _open_part(path: AnyPath, file: InputTable) -> Part:
    try:
        head = first_bytes(path, 60)
    except FileNotFoundError:
        fix = "wait until the table is written, or repair it"
        raise refuse(str(path), "is missing, and its table names it", fix) from None
    if not head:
        raise refuse(str(path), "is empty (0 bytes)", "check what wrote the file")
    is_stream = file.format == "arrow" and head.startswith(_STREAM)
    if not is_stream and not head.startswith(MAGIC[file.format]):
        line = head.split(b"\n")[0].decode("utf-8", errors="replace")
        message = f"is not a valid {file.format} file; it starts with {line!r}"
        raise refuse(str(path), message, f"name it by its format, or {format_fix(file.settings)}")
    rows = None
    try:
        if file.format == "parquet":
            with open_parquet(path) as parquet:
                _refuse_joined_parquet(path, parquet.metadata)
                schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
            text = {field.name for field in schema if is_text(field.type)}
            batches = partial(_parquet_batches, path, text)
        else:
            open_ipc = pyarrow.ipc.open_stream if is_stream else pyarrow.ipc.open_file
            with open_random_access(path) as source:
                schema = open_ipc(source).schema
            if is_stream:
                with open_random_access(path) as source:
                    _refuse_incomplete_stream(path, source)
            batches = partial(_arrow_batches, path, schema, is_stream)
        _ = schema.names  # decodes the names, which may fail
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError([damaged_file_problem(path, error)]) from None
    name = path.relative_to(file.path).as_posix() if path != file.path else path.name
    return Part(str(path), name, schema, rows, batches)


def _parquet_batches(
    path: AnyPath, text: Collection[str], names: list[str], max_rows: int
) -> Batches:
    # Opened only now: a folder may contain more files than a process may have open. Text is read
    # as codes and distinct texts, as parquet stores it: that takes a third of the time.
    encoded = [name for name in names if name in text]
    options = {"page_checksum_verification": True, "read_dictionary": encoded}
    with open_parquet(path, **options) as parquet:
        if isinstance(path, Path):
            yield from parquet.iter_batches(max_rows, columns=names)
            return
        for group in range(parquet.num_row_groups):  # bytes that are read ahead stay in memory
            yield from parquet.iter_batches(max_rows, [group], columns=names)


def _arrow_batches(
    path: AnyPath, schema: pa.Schema, is_stream: bool, names: list[str], max_rows: int
) -> Batches:
    fields = sorted(schema.get_field_index(name) for name in names)
    options = pyarrow.ipc.IpcReadOptions(included_fields=fields)
    with open_random_access(path) as source:
        if is_stream:
            batches = iter(pyarrow.ipc.open_stream(source, options=options))
        else:
            reader = pyarrow.ipc.open_file(source, options=options)
            batches = map(reader.get_batch, range(reader.num_record_batches))
        for batch in batches:
            for start in range(0, len(batch), max_rows):
                yield batch.slice(start, max_rows)


def _refuse_joined_parquet(path: AnyPath, metadata: pq.FileMetaData) -> None:
    """Raise for concatenated parquet files, of which pyarrow and DuckDB may read only the first.

    The last file counts its offsets from its own start. So the size of the others is at most that
    of the gap between the end of its last column, according to its metadata, and its footer.
    """
    with open_random_access(path) as source:
        if (
            int.from_bytes(source.read_at(4, source.size() - 8), "little")
            != metadata.serialized_size
        ):
            return  # columns are encrypted, and pyarrow aborts if it is asked for their offsets
        end = 0
        if metadata.num_row_groups:
            group = metadata.row_group(metadata.num_row_groups - 1)
            for column in (group.column(number) for number in range(group.num_columns)):
                start = column.dictionary_page_offset or column.data_page_offset
                end = max(end, start + column.total_compressed_size)
        gap = source.size() - 8 - metadata.serialized_size - end
        if gap > 0 and _PARQUET_BOUNDARY in source.read_at(gap + len(MAGIC["parquet"]), 0):
            raise _joined_error(path)


def _refuse_incomplete_stream(path: AnyPath, source: pa.NativeFile) -> None:
    """Raise for a stream without its end, and for two concatenated streams."""
    for _ in pyarrow.ipc.MessageReader.open_stream(source):
        pass
    end, size = source.tell(), source.size()
    source.seek(max(end - len(_END), 0))
    if source.read(len(_END)) != _END:
        message = "is an Arrow stream without its end: rows may be lost"
        fix = f"close the writer after the last row, and {COPY_AGAIN}"
        raise refuse(str(path), message, fix)
    if end < size:
        raise _joined_error(path)


def _joined_error(path: AnyPath) -> InputError:
    message = "consists of several concatenated files, of which only one would be read"
    fix = "write the files as one table, or give them as a folder of parts"
    return refuse(str(path), message, fix)


def damaged_file_problem(path: AnyPath | str, error: Exception) -> Problem:
    """Return the problem of a file that cannot be read."""
    if is_store_failure(str(path), error):
        return store_problem(str(path), error)
    detail = " ".join(str(error).split())[:300]
    if "all lists to be of size" in detail:
        message = (
            "has a column of fixed-size lists of which some are missing, "
            "which Arrow cannot read from parquet"
        )
        fix = "write lists of any size (in polars `cast(pl.List(…))`), or leave the column out"
        return Problem(str(path), message, fix)
    return Problem(str(path), f"is damaged or incomplete ({detail})", COPY_AGAIN)
