"""Find, check and open the files of a table."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from concord.metrics_core.data.delta import LOG, is_delta, snapshot
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.object_stores import is_store_failure, store_problem
from concord.metrics_core.data.paths import (
    Place,
    first_bytes,
    map_places,
    open_parquet,
    open_random_access,
)
from concord.metrics_core.errors import InputError, Problem, refuse

_FIX = "keep nothing but `*.parquet` files of one table in the folder"
_LAKES = {LOG: "Delta Lake", ".hoodie": "Hudi", "metadata": "Iceberg"}
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def part_paths(file: InputTable) -> Sequence[tuple[Place, Mapping[str, pa.Scalar]]]:
    """Return the file, or all parts of the folder by path, each with the partition values of its rows."""
    if not file.path.is_dir():
        return [(file.path, {})]
    if is_delta(file.path):
        found = snapshot(file.path).files
        if not found:
            raise refuse(file.name, "holds no rows", "check what wrote the table")
        return found
    paths = _paths(file)
    partitions = [_partition_of(file, path) for path in paths]
    whole = _whole_keys(partitions)
    return [
        (path, {key: _scalar(value, whole=key in whole) for key, value in keys.items()})
        for path, keys in zip(paths, partitions, strict=True)
    ]


def files_in(place: Place) -> list[Place]:
    """Return the file, or all files of the folder; for a Delta table those with its current rows."""
    if not place.is_dir():
        return [place]
    if is_delta(place):
        return [path for path, _ in snapshot(place).files]
    return [each for each in place.rglob("*") if each.is_file()]


def _paths(file: InputTable) -> list[Place]:
    found = sorted(_parts(file, file.path), key=lambda part: part.relative_to(file.path).parts)
    if not found:
        raise refuse(file.name, "holds no part", _FIX)
    return found


def part_name(file: InputTable, path: Place) -> str:
    """Return the name of a part for messages: its path inside the folder."""
    return path.relative_to(file.path).as_posix() if path != file.path else path.name


def _parts(file: InputTable, folder: Place) -> Iterator[Place]:
    for entry in folder.iterdir():
        _refuse_lake(file, entry)
        if entry.name.startswith(("_", ".")):
            _refuse_hidden(file, entry)
            continue
        name = entry.relative_to(file.path).as_posix()
        if entry.is_dir() and entry.is_symlink():
            what = f"holds {name!r}, a link to a folder, which DVC does not follow"
            raise refuse(file.name, what, "put the folder itself there, or name it as the path")
        if entry.is_dir():
            yield from _parts(file, entry)
        elif entry.suffix != ".parquet" or not entry.is_file():
            raise refuse(file.name, f"holds {name!r}, which is not a part", _FIX)
        else:
            yield entry


def _refuse_hidden(file: InputTable, entry: Place) -> None:
    """Raise if a hidden file is a table; other files that writers leave (`_SUCCESS`, `.crc`) are skipped."""
    parts = entry.rglob("*.parquet") if entry.is_dir() else [entry]
    if any(part.suffix == ".parquet" for part in parts):
        what = f"holds {entry.name!r}, a name that readers of folders skip, with rows in it"
        raise refuse(file.name, what, "rename it, or take it out of the folder")


def _refuse_lake(file: InputTable, entry: Place) -> None:
    lake = _LAKES.get(entry.name)
    if lake is None or not entry.is_dir():
        return
    if lake == "Iceberg" and not any(entry.glob("*.metadata.json")):
        return
    article = "an" if lake == "Iceberg" else "a"
    what = (
        f"is {article} {lake} table: its files also hold rows that were deleted or replaced since"
    )
    raise refuse(file.name, what, f"write its current rows as plain parquet with what reads {lake}")


def _partition_of(file: InputTable, path: Place) -> dict[str, str | None]:
    """Return keys and values of the folders `key=value` that contain a part."""
    found: dict[str, str | None] = {}
    for folder in path.relative_to(file.path).parts[:-1] if path != file.path else ():
        key, equals, value = folder.partition("=")
        if equals and key:
            found[unquote(key)] = None if value == _MISSING else unquote(value)
    return found


def _whole_keys(partitions: Sequence[Mapping[str, str | None]]) -> set[str]:
    """Return the keys whose values are all integers."""
    keys = {key for values in partitions for key in values}
    return {
        key
        for key in keys
        if all(
            value is None or _INTEGER.fullmatch(value)
            for values in partitions
            for value in [values.get(key)]
        )
    }


def _scalar(value: str | None, *, whole: bool) -> pa.Scalar:
    if whole:
        return pa.scalar(None if value is None else int(value), pa.int64())
    return pa.scalar(value, pa.string())


MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}
_STREAM = b"\xff\xff\xff\xff"  # each message of a stream begins with it
_END = _STREAM + bytes(4)  # and its end is a message of no bytes
_JOINT = b"PAR1PAR1"  # where one parquet file ends and another begins
_AGAIN = "write or copy the file again"


def is_stream(path: Place) -> bool:
    """True if the file is an Arrow stream, not the Arrow file format."""
    return first_bytes(path, len(_STREAM)) == _STREAM


def refuse_other_content(path: Place, file: InputTable) -> None:
    """Refuse a file that does not begin as its format does."""
    begins = first_bytes(path, 60)
    if not begins:
        raise refuse(str(path), "is empty (0 bytes)", "check what wrote the file")
    if begins.startswith(MAGIC[file.format]) or (
        file.format == "arrow" and begins.startswith(_STREAM)
    ):
        return
    line = begins.split(b"\n")[0].decode("utf-8", errors="replace")
    what = f"is not a valid {file.format} file; it begins with {line!r}"
    raise refuse(str(path), what, f"name it by its format, or set {file.settings.format()}")


def refuse_part_of_arrow(path: Place) -> None:
    """Refuse a stream without its end, two files in one, and one with a hole."""
    if is_stream(path):
        _refuse_open_stream(path)
        return
    with open_random_access(path) as held:
        _refuse_other_end(path, held)


def refuse_joined(path: Place, metadata: pq.FileMetaData) -> None:
    """Refuse parquet files in one, of which pyarrow and DuckDB may read the first alone.

    The last of them counts its places from its own beginning. So what the others take is not more
    than what lies between the end of its last column, as it says, and its footer.
    """
    with open_random_access(path) as held:
        if int.from_bytes(held.read_at(4, held.size() - 8), "little") != metadata.serialized_size:
            return  # columns are encrypted, and pyarrow aborts where it is asked for their places
        others = held.size() - 8 - metadata.serialized_size - _end_of_columns(metadata)
        if others > 0 and _JOINT in held.read_at(others + len(MAGIC["parquet"]), 0):
            raise _joined(path)


def _end_of_columns(metadata: pq.FileMetaData) -> int:
    """Return where the columns of the last row group end."""
    if not metadata.num_row_groups:
        return 0
    group = metadata.row_group(metadata.num_row_groups - 1)
    columns = [group.column(number) for number in range(group.num_columns)]
    return max(
        (
            (column.dictionary_page_offset or column.data_page_offset)
            + column.total_compressed_size
            for column in columns
        ),
        default=0,
    )


def _refuse_open_stream(path: Place) -> None:
    with open_random_access(path) as source:
        reader = pyarrow.ipc.MessageReader.open_stream(source)
        for _ in reader:
            pass
        end, size = source.tell(), source.size()
        source.seek(max(end - len(_END), 0))
        closed = source.read(len(_END)) == _END
    if not closed:
        what = "is an Arrow stream without its end: what follows is lost"
        raise refuse(str(path), what, f"close the writer when all is written; {_AGAIN}")
    if end < size:
        raise _joined(path)


def _refuse_other_end(path: Place, held: pa.NativeFile) -> None:
    """Raise unless exactly the end of a stream is between the last block of an Arrow file and its footer."""
    tail = held.size() - len(MAGIC["arrow"]) - 4
    footer = tail - int.from_bytes(held.read_at(4, tail), "little")
    blocks = sorted(_blocks(held.read_at(held.size() - footer, footer)))
    if not blocks:
        return
    last, end = blocks[-1]
    mark = _END if held.read_at(len(_STREAM), last) == _STREAM else _END[4:]  # before 2019
    found = held.read_at(min(footer - end, len(mark) + 1), end) if footer > end else b""
    if len(found) > len(mark):
        raise _joined(path)
    if found != mark:
        what = "is damaged or not complete (its last block does not end where its footer says)"
        raise refuse(str(path), what, _AGAIN)


def _blocks(footer: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each block of the file begins and ends.

    The footer is a flatbuffer: a table of version, schema, dictionaries, record batches; a block is its offset, the
    length of its description and that of its content.
    """

    def number(form: str, at: int) -> int:
        (found,) = struct.unpack_from(f"<{form}", footer, at)
        return int(found)

    table = number("I", 0)
    fields = table - number("i", table)
    for slot in range(8, min(number("H", fields), 12), 2):  # dictionaries and record batches
        if field := number("H", fields + slot):
            vector = table + field + number("I", table + field)
            for nth in range(number("I", vector)):
                begins, described, content = struct.unpack_from(
                    "<qi4xq", footer, vector + 4 + 24 * nth
                )
                yield begins, begins + described + content


def _joined(path: Place) -> InputError:
    what = "goes on after its end: it is several files in one, of which one would be read"
    return refuse(
        str(path), what, "write the files as one table, or give them as a folder of parts"
    )


def damaged_file_problem(path: Place | str, error: Exception) -> Problem:
    """Return the problem of a file that cannot be read."""
    if is_store_failure(str(path), error):
        return store_problem(str(path), error)
    message = " ".join(str(error).split())[:300]
    if "all lists to be of size" in message:
        what = "holds lists of a fixed size of which some are missing, which Arrow does not read from parquet"
        fix = "write lists of any size (in polars `cast(pl.List(…))`), or leave the column out"
        return Problem(str(path), what, fix)
    return Problem(str(path), f"is damaged or not complete ({message})", _AGAIN)


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


def open_parts(file: InputTable) -> list[Part]:
    """Open the file, or each file of the folder with its partition keys; or the table in memory."""
    if file.held is not None:
        return [_of_table(file.name, file.held)]
    found = part_paths(file)
    opened = map_places(partial(_opened, file=file), [path for path, _ in found])
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
        raise refuse(
            str(path), what, "let what writes the table finish, or repair the table"
        ) from None
    try:
        schema, rows, batches = _parquet(path) if file.format == "parquet" else _arrow(path)
        _ = schema.names  # decoded as they are asked for
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError([damaged_file_problem(path, error)]) from None
    return Part(str(path), part_name(file, path), schema, rows, batches)


_Opened = tuple[pa.Schema, int | None, Callable[[list[str], int], Batches]]


def _parquet(path: Place) -> _Opened:
    def batches(names: list[str], at_a_time: int) -> Batches:
        # A file of a folder of thousands is open only while it is read.
        with open_parquet(path, page_checksum_verification=True) as opened:
            if isinstance(path, Path):
                yield from opened.iter_batches(at_a_time, columns=names)
                return
            for group in range(opened.num_row_groups):  # what is asked for ahead is held in memory
                yield from opened.iter_batches(at_a_time, [group], columns=names)

    with open_parquet(path) as opened:
        refuse_joined(path, opened.metadata)
        return opened.schema_arrow, opened.metadata.num_rows, batches


def _arrow(path: Place) -> _Opened:
    read = _stream_batches if is_stream(path) else _file_batches
    with open_random_access(path) as source:
        opened = (
            pyarrow.ipc.open_stream(source) if is_stream(path) else pyarrow.ipc.open_file(source)
        )
        schema = opened.schema
    refuse_part_of_arrow(path)

    def batches(names: list[str], at_a_time: int) -> Batches:
        places = sorted(schema.get_field_index(name) for name in names)
        options = pyarrow.ipc.IpcReadOptions(included_fields=places)
        with open_random_access(path) as source:
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
    """Return the part with its partition values as columns, unless it has such columns itself."""
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
