"""Parquet (a file, or a folder of parts), Arrow IPC, and tables in memory: columns keep their types."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, islice

import pyarrow as pa

from concord.metrics_core.checking.problems import AT_MOST, Affected, InputError, Problem, affecting
from concord.metrics_core.checking.row_checks import row_number
from concord.metrics_core.reading.columns.arrow_types import kind_of
from concord.metrics_core.reading.columns.input_table import LINES, InputTable, Kind, Raw, role_of
from concord.metrics_core.reading.files.parts import Batches, Part, opened_parts
from concord.metrics_core.reading.files.whole_files import damaged
from concord.metrics_core.reading.formats.shapes import Shape, shape_of
from concord.metrics_core.reading.formats.unfolding import Rows, rows_of, wrong_lists
from concord.metrics_core.reading.stores.failures import is_told

BATCH = 131_072  # rows
SAME_TYPES = "write all parts with the same types"
FOLDED = 2_048  # rows that hold a whole list

_WRITE = {
    "id": "write ids as integers or text",
    "rank": "write it as numbers",
    "number": "write it as numbers",
    "time": "write times as timestamps or numbers",
}


def read_columnar(file: InputTable, rank_base: int) -> Raw:
    parts = opened_parts(file)
    schema = united(parts)
    shape = shape_of(file, schema)
    rows = rows_of(file, shape, _kinds(file, parts, shape), rank_base)
    read: list[int] = []  # rows of each part, as far as they are read
    raw = Raw(rows.made, _place(file, parts, read, folded=shape.lists))
    raw.others = shape.others(schema.names)
    if not shape.lists:
        raw.rows = sum(part.rows for part in parts if part.rows is not None) or None
    raw.batches = pa.RecordBatchReader.from_batches(
        rows.schema, _batches(file, parts, rows, raw, read)
    )
    return raw


def _batches(file: InputTable, parts: list[Part], rows: Rows, raw: Raw, read: list[int]) -> Batches:
    """The rows of all parts; those of a part up to the first that cannot be read: why goes to `raw.problems`."""
    for part in parts:
        read.append(0)
        try:
            for batch in part.batches(rows.shape.reads, FOLDED if rows.shape.lists else BATCH):
                batch.validate(
                    full=True
                )  # damaged text would pass for another id, or crash its reader
                if wrong := _wrong_lists(file, part, rows.shape, batch, read[-1]):
                    raw.problems += wrong
                else:
                    yield rows.of(batch, sum(read))
                read[-1] += len(batch)
        except (pa.ArrowException, OSError) as error:
            raw.problems.append(damaged(part.path, error))
            if is_told(raw.problems):
                return


def _wrong_lists(
    file: InputTable, part: Part, shape: Shape, batch: pa.RecordBatch, before: int
) -> list[Problem]:
    name = file.row_name or row_number
    fix = "write one list a user, and lists of scores, ranks and grades as long as it"
    return [
        affecting(
            f"{part.path}: {name(before + row)}",
            fix,
            Affected((-1,), (name(before + row),), None, None, what),
        )
        for row, what in islice(wrong_lists(shape, batch), AT_MOST)
    ]


def united(parts: list[Part]) -> pa.Schema:
    """Every column of every part, with the first type that says something."""
    fields = list(parts[0].schema)
    places = {field.name: place for place, field in enumerate(fields)}
    for part in parts[1:]:
        for field in part.schema:
            place = places.setdefault(field.name, len(fields))
            if place == len(fields):
                fields.append(field)
            elif pa.types.is_null(fields[place].type):
                fields[place] = field
    return pa.schema(fields)


def _kinds(file: InputTable, parts: list[Part], shape: Shape) -> dict[str, Kind]:
    """The kind of each column of ours, on which all parts have to agree."""
    kinds: dict[str, Kind] = {}
    problems: list[Problem] = []
    for name in shape.chosen:
        types = [shape.type_of(part.schema, name) for part in parts]
        known = [
            n for n, found in enumerate(types) if found is not None and not pa.types.is_null(found)
        ]
        first = known[0] if known else 0
        kind = _kind(name, types[first])
        kinds[name] = kind or "text"
        where = f"{file.name}: column {shape.named(name)!r}"
        if kind is None:
            problems.append(Problem(where, _unusable(types[first]), _WRITE[role_of(name)]))
            continue
        for part, found in zip(parts, types, strict=True):
            if found is None or not (pa.types.is_null(found) or _kind(name, found) == kind):
                here = "is missing" if found is None else f"is {found}"
                what = f"{here}, but {types[first] or 'there'} in {parts[first].name}"
                where = f"{part.path}: column {shape.named(name)!r}"
                problems.append(Problem(where, what, SAME_TYPES))
    if problems:
        raise InputError(problems)
    return kinds


def _kind(name: str, found: pa.DataType | None) -> Kind | None:
    """The kind of a type, None: it is not used; without a value any would do."""
    if found is None:
        return None
    if pa.types.is_null(found):
        return "text" if role_of(name) == "id" else "float"
    return kind_of(name, found)


def _unusable(found: pa.DataType | None) -> str:
    if found is None:
        return "holds one value a row, and the items stand in lists"
    return f"is of type {found}"


def _place(
    file: InputTable, parts: list[Part], read: list[int], *, folded: bool
) -> Callable[[int], str]:
    name = file.row_name or row_number

    def place(position: int) -> str:
        starts = [0, *accumulate(read)]
        before, within = divmod(position, LINES) if folded else (position, 0)
        part = bisect_right(starts, before, hi=len(read)) - 1
        row = name(before - starts[part]) + (f", place {within}" if folded else "")
        return row if len(parts) == 1 else f"{parts[part].name}, {row}"

    return place
