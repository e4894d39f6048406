"""The files of a table, opened: their columns, and how their rows are read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.files.folders import part_name, paths_of
from concord.metrics_core.reading.files.whole_files import (
    damaged,
    is_stream,
    refuse_joined,
    refuse_other_content,
    refuse_part_of_arrow,
)
from concord.metrics_core.reading.stores.places import Place, at_once, by_ranges, parquet

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Part:
    """A file of a table.

    path    : as messages name it; `name`: as it is called inside its folder
    rows    : how many there are, where the file tells it
    batches : reads the columns of these names, so many rows at most at a time
    """

    path: str
    name: str
    schema: pa.Schema
    rows: int | None
    batches: Callable[[list[str], int], Batches]


def opened_parts(file: InputTable) -> list[Part]:
    """The file, or each file of the folder with the keys of its partition; or the table that is held."""
    if file.held is not None:
        return [_of_table(file.name, file.held)]
    found = paths_of(file)
    opened = at_once(partial(_opened, file=file), [path for path, _ in found])
    return [_with_keys(part, keys) for part, (_, keys) in zip(opened, found, strict=True)]


def _of_table(name: str, table: pa.Table) -> Part:
    def batches(names: list[str], at_a_time: int) -> Batches:
        return iter(table.select(names).to_batches(at_a_time))

    return Part(name, name, table.schema, len(table), batches)


def _opened(path: Place, file: InputTable) -> Part:
    try:
        refuse_other_content(path, file)
    except FileNotFoundError:
        what = "is not there, and its table names it"
        raise refuse(str(path), what, "let what writes the table finish, or mend it") from None
    try:
        schema, rows, batches = _parquet(path) if file.format == "parquet" else _arrow(path)
        _ = schema.names  # decoded as they are asked for
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError([damaged(path, error)]) from None
    return Part(str(path), part_name(file, path), schema, rows, batches)


_Opened = tuple[pa.Schema, int | None, Callable[[list[str], int], Batches]]


def _parquet(path: Place) -> _Opened:
    def batches(names: list[str], at_a_time: int) -> Batches:
        # A file of a folder of thousands is open only while it is read.
        with parquet(path, page_checksum_verification=True) as opened:
            if isinstance(path, Path):
                yield from opened.iter_batches(at_a_time, columns=names)
                return
            for group in range(opened.num_row_groups):  # what is asked for ahead is held in memory
                yield from opened.iter_batches(at_a_time, [group], columns=names)

    with parquet(path) as opened:
        refuse_joined(path, opened.metadata)
        return opened.schema_arrow, opened.metadata.num_rows, batches


def _arrow(path: Place) -> _Opened:
    read = _stream_batches if is_stream(path) else _file_batches
    with by_ranges(path) as source:
        opened = (
            pyarrow.ipc.open_stream(source) if is_stream(path) else pyarrow.ipc.open_file(source)
        )
        schema = opened.schema
    refuse_part_of_arrow(path)

    def batches(names: list[str], at_a_time: int) -> Batches:
        places = sorted(schema.get_field_index(name) for name in names)
        options = pyarrow.ipc.IpcReadOptions(included_fields=places)
        with by_ranges(path) as source:
            for batch in read(source, options):
                for start in range(0, len(batch), at_a_time):
                    yield batch.slice(start, at_a_time)

    return schema, None, batches


def _stream_batches(source: pa.NativeFile, options: pyarrow.ipc.IpcReadOptions) -> Batches:
    return iter(pyarrow.ipc.open_stream(source, options=options))


def _file_batches(source: pa.NativeFile, options: pyarrow.ipc.IpcReadOptions) -> Batches:
    reader = pyarrow.ipc.open_file(source, options=options)
    return (reader.get_batch(number) for number in range(reader.num_record_batches))


def _with_keys(part: Part, keys: Mapping[str, pa.Scalar]) -> Part:
    """The part with what its folders, or the log of its table, say of all its rows as columns, unless it has such columns itself."""
    values = {key: keys[key] for key in keys if key not in part.schema.names}
    if not values:
        return part
    schema = part.schema
    for key, value in values.items():
        schema = schema.append(pa.field(key, value.type))

    def batches(names: list[str], at_a_time: int) -> Batches:
        own = [name for name in names if name not in values]
        for batch in part.batches(own, at_a_time):
            for key in values.keys() & set(names):
                batch = batch.append_column(key, pa.repeat(values[key], len(batch)))
            yield batch

    return replace(part, schema=schema, batches=batches)
