"""Parquet (a file, or a folder of parts) and Arrow IPC: columns keep their types."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from metrics_core.problems import InputError, Problem, refuse
from metrics_core.reading.input_table import InputTable, Kind, Raw, choose_columns, with_positions

BATCH = 131_072  # rows
MAGIC = {"parquet": b"PAR1", "arrow": b"ARROW1"}


@dataclass(frozen=True)
class Part:
    path: Path
    schema: pa.Schema
    rows: int
    batches: Callable[[list[str]], Iterator[pa.RecordBatch]]


def read_columnar(file: InputTable) -> Raw:
    parts = opened_parts(file)
    chosen = choose_columns(file, parts[0].schema.names)
    types = {name: _plain(parts[0].schema.field(theirs).type) for name, theirs in chosen.items()}
    _refuse_mixed(parts, chosen, types)
    kinds = _kinds(file, types)
    schema = pa.schema(types)

    raw = Raw(kinds, _place(parts), rows=sum(part.rows for part in parts))

    def batches() -> Iterator[pa.RecordBatch]:
        for part in parts:
            for batch in _sound(part, list(chosen.values()), raw.problems):
                columns = [
                    batch.column(theirs).cast(types[name]) for name, theirs in chosen.items()
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    raw.batches = with_positions(schema, batches())
    return raw


def _sound(part: Part, names: list[str], problems: list[Problem]) -> Iterator[pa.RecordBatch]:
    """The batches up to the first that cannot be read; why it cannot goes to `problems`."""
    try:
        for batch in part.batches(names):
            batch.validate(
                full=True
            )  # damaged text would pass for another id, or crash what reads it
            yield batch
    except (pa.ArrowException, OSError) as error:
        problems.append(_damaged(part.path, error))


def _damaged(path: Path, error: Exception) -> Problem:
    what = f"is damaged or not complete ({' '.join(str(error).split())[:300]})"
    return Problem(str(path), what, "write or copy the file again")


def opened_parts(file: InputTable) -> list[Part]:
    """The file, or each file of the folder, with its schema; a table in memory is one part."""
    if file.held is not None:
        return [_held(file.path, file.held)]
    return [_opened(path, file) for path in _paths(file)]


def _held(name: Path, table: pa.Table) -> Part:
    return Part(
        name,
        table.schema,
        len(table),
        lambda names: iter(table.select(names).to_batches(BATCH)),
    )


def _paths(file: InputTable) -> list[Path]:
    if not file.path.is_dir():
        return [file.path]
    found = sorted(
        p for p in file.path.iterdir() if p.is_file() and not p.name.startswith(("_", "."))
    )
    other = [part for part in found if part.suffix != ".parquet"]
    if not found or other:
        what = f"holds {other[0].name!r}, which is no part" if other else "holds no part"
        raise refuse(
            file.name, what, "keep nothing but `*.parquet` files of one table in the folder"
        )
    return found


def _opened(path: Path, file: InputTable) -> Part:
    _refuse_other_content(path, file)
    try:
        part = _parquet(path) if file.format == "parquet" else _arrow(path)
        _ = part.schema.names  # decoded as they are asked for
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError([_damaged(path, error)]) from None
    return part


def _refuse_other_content(path: Path, file: InputTable) -> None:
    with path.open("rb") as opened:
        begins = opened.read(60)
    if begins.startswith(MAGIC[file.format]) or (
        file.format == "arrow" and begins[:4] == b"\xff" * 4
    ):
        return
    line = begins.split(b"\n")[0].decode("utf-8", errors="replace")
    what = f"is no {file.format} file; it begins with {line!r}"
    raise refuse(str(path), what, f"name it by its format, or set {file.settings.format()}")


def _parquet(path: Path) -> Part:
    opened = pq.ParquetFile(path, page_checksum_verification=True)  # where the file has checksums
    rows = opened.metadata.num_rows
    return Part(
        path, opened.schema_arrow, rows, lambda names: opened.iter_batches(BATCH, columns=names)
    )


def _arrow(path: Path) -> Part:
    opened = pa.memory_map(str(path))
    try:
        reader = pyarrow.ipc.open_file(opened)
    except pa.ArrowInvalid:
        table = pyarrow.ipc.open_stream(opened).read_all()
        return _held(path, table)
    numbers = range(reader.num_record_batches)
    rows = sum(reader.get_batch(number).num_rows for number in numbers)
    return Part(
        path,
        reader.schema,
        rows,
        lambda names: (reader.get_batch(n).select(names) for n in numbers),
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type without its encoding: dictionaries and the kinds of text are one."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)  # in UTC, whatever the zone of the column or of the machine
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def _refuse_mixed(parts: list[Part], chosen: dict[str, str], types: dict[str, pa.DataType]) -> None:
    problems = []
    for part in parts[1:]:
        for name, theirs in chosen.items():
            index = part.schema.get_field_index(theirs)
            found = _plain(part.schema.field(index).type) if index >= 0 else None
            if found != types[name]:
                here = "is missing" if found is None else f"is {found}"
                what = f"{here}, but {types[name]} in {parts[0].path.name}"
                problems.append(
                    Problem(
                        f"{part.path}: column {theirs!r}",
                        what,
                        "write all parts with the same types",
                    )
                )
    if problems:
        raise InputError(problems)


def _kinds(file: InputTable, types: dict[str, pa.DataType]) -> dict[str, Kind]:
    kinds = {name: _kind(name, found) for name, found in types.items()}
    problems = [
        Problem(
            f"{file.name}: column {file.theirs(name)!r}",
            f"is of type {types[name]}",
            "write ids as integers or text" if name in ("user", "item") else "write it as numbers",
        )
        for name, kind in kinds.items()
        if kind is None
    ]
    if problems:
        raise InputError(problems)
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _kind(name: str, found: pa.DataType) -> Kind | None:
    if pa.types.is_uint64(found):
        return "unsigned"
    if pa.types.is_integer(found):
        return "integer"
    is_decimal = pa.types.is_decimal128(found) and name not in ("user", "item")
    if is_decimal or (pa.types.is_floating(found) and not pa.types.is_float16(found)):
        return "float"
    if pa.types.is_string(found):
        return "text"
    if name == "time" and (pa.types.is_timestamp(found) or pa.types.is_date(found)):
        return "time"
    return None


def _place(parts: list[Part]) -> Callable[[int], str]:
    starts = [0, *accumulate(part.rows for part in parts)]

    def place(position: int) -> str:
        part = bisect_right(starts, position) - 1
        row = f"row {position - starts[part] + 1:,}"
        return row if len(parts) == 1 else f"{parts[part].path.name}, {row}"

    return place
