"""Columnar tables (parquet, Arrow IPC, tables in memory): columns keep their types, lists are unfolded into rows."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from concord.metrics_core.data.arrow_types import (
    ARROW_TYPES,
    convert,
    decode,
    decoded_type,
    is_list,
    kind_of,
    lengths,
)
from concord.metrics_core.data.input_table import (
    LINES,
    PLURAL,
    InputTable,
    Kind,
    RawRows,
    choose_columns,
    is_row_level,
    role_of,
)
from concord.metrics_core.data.numbers import as_arrow
from concord.metrics_core.data.object_stores import has_store_failure
from concord.metrics_core.data.table_files import Batches, Part, damaged_file_problem, open_parts
from concord.metrics_core.errors import (
    MAX_PROBLEMS,
    AffectedRows,
    Problem,
    problem_with_counts,
    raise_problems,
    refuse,
)


@dataclass(frozen=True)
class TableLayout:
    """Where the values are in a table.

    chosen : ours -> theirs
    lists  : does a row hold the whole list of a user?
    within : the column of structs whose fields `chosen` are, but for the user; empty: there is none
    """

    chosen: Mapping[str, str]
    lists: bool = False
    within: str = ""

    @property
    def reads(self) -> list[str]:
        """Columns of the table that are read."""
        if self.within:
            return [
                *(theirs for name, theirs in self.chosen.items() if is_row_level(name)),
                self.within,
            ]
        return list(self.chosen.values())

    def others(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns of the table that are not read."""
        return tuple(name for name in names if name not in self.reads)

    def named(self, name: str) -> str:
        """Return the name in the table of one of our columns."""
        theirs = self.chosen[name]
        return f"{self.within}.{theirs}" if self.within and not is_row_level(name) else theirs

    def type_of(self, schema: pa.Schema, name: str) -> pa.DataType | None:
        """Return the decoded type of a column, inside lists; None if it is missing or has another layout."""
        fields = {field.name: decoded_type(field.type) for field in schema}
        if self.within and not is_row_level(name):
            return _of_field(fields.get(self.within), self.chosen[name])
        kind = fields.get(self.chosen[name])
        if self.lists and not is_row_level(name):
            kind = kind.value_type if kind is not None and is_list(kind) else None
        return kind


def find_layout(file: InputTable, schema: pa.Schema) -> TableLayout:
    """Return the layout of a table with this schema; raise if a column is missing."""
    types = {field.name: decoded_type(field.type) for field in schema}
    item = file.theirs("item")
    if not {"user", "item"} <= set(file.needs):
        return TableLayout(choose_columns(file, schema.names))
    plural = _plurals(file, types)
    if item not in types and item == "item" and "item" in plural:
        item = plural["item"]
    if item in types and not _fields(types[item]):
        lists = is_list(types[item])
        named = replace(file, columns=plural | dict(file.columns)) if lists else file
        return TableLayout(choose_columns(named, schema.names), lists=lists)
    return _in_structs(file, types) or _missing(file, types)


def _plurals(file: InputTable, types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """Return `items` for `item` and so on, if such a column holds lists."""
    return {
        name: many
        for name, many in PLURAL.items()
        if name in file.fields and many in types and is_list(types[many])
    }


def _in_structs(file: InputTable, types: Mapping[str, pa.DataType]) -> TableLayout | None:
    """Return the layout with the one column of lists of structs that have a field for the item."""
    holding = [name for name, kind in types.items() if file.theirs("item") in _fields(kind)]
    if not holding:
        return None
    if len(holding) > 1:
        what = (
            f"the columns {' and '.join(map(repr, holding))} have a field {file.theirs('item')!r}"
        )
        raise refuse(file.name, what, "keep one of them")
    beside = [file.theirs(name) for name in file.needs if is_row_level(name)]
    fields = [name for name in _fields(types[holding[0]]) if name not in beside]
    chosen = choose_columns(file, [*(name for name in beside if name in types), *fields])
    return TableLayout(chosen, lists=True, within=holding[0])


def _missing(file: InputTable, types: Mapping[str, pa.DataType]) -> TableLayout:
    """Raise; the message also names the fields of structs, in which the column may be."""
    listed = [
        f"{name} (lists of {', '.join(fields)})" if (fields := _fields(kind)) else name
        for name, kind in types.items()
    ]
    return TableLayout(choose_columns(file, listed))


def _fields(kind: pa.DataType) -> list[str]:
    """Return the fields of a list of structs; empty for other types."""
    if not is_list(kind) or not pa.types.is_struct(kind.value_type):
        return []
    return [field.name for field in kind.value_type]


def _of_field(kind: pa.DataType | None, name: str) -> pa.DataType | None:
    if kind is None or _fields(kind).count(name) != 1:
        return None
    return decoded_type(kind.value_type.field(name).type)


Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class RowBuilder:
    """Builds our rows from those of a table; `first_rank`: first rank, if ranks follow from the order of a list."""

    shape: TableLayout
    kinds: Mapping[str, Kind]
    first_rank: int | None

    @property
    def schema(self) -> pa.Schema:
        """Our columns, and `position`: number of the row; for lists LINES times it, plus the place."""
        return pa.schema(
            {name: ARROW_TYPES[kind] for name, kind in self.made.items()} | {"position": pa.int64()}
        )

    @property
    def made(self) -> dict[str, Kind]:
        """Kinds of our columns."""
        return dict(self.kinds) | ({} if self.first_rank is None else {"rank": "integer"})

    def of(self, batch: pa.RecordBatch, before: int) -> pa.RecordBatch:
        """Return the rows of a batch; `before`: number of earlier rows."""
        if self.shape.lists:
            found = _unfolded(self.shape, batch, self.kinds)
            values, position = found.columns, (found.rows + before) * LINES + found.places
        else:
            values = {
                name: convert(batch.column(theirs), self.kinds[name])
                for name, theirs in self.shape.chosen.items()
            }
            position = np.arange(before, before + len(batch), dtype=np.int64)
        if self.first_rank is not None:
            values["rank"] = as_arrow(found.places + (self.first_rank - 1))
        values["position"] = as_arrow(position)
        schema = self.schema
        return pa.RecordBatch.from_arrays([values[name] for name in schema.names], schema=schema)


def row_builder(
    file: InputTable, shape: TableLayout, kinds: Mapping[str, Kind], rank_base: int
) -> RowBuilder:
    """Return what builds the rows: the place in a list is the rank, unless the table has ranks."""
    numbered = shape.lists and "rank" in file.fields and "rank" not in kinds
    return RowBuilder(shape, kinds, rank_base if numbered else None)


@dataclass(frozen=True)
class _Unfolded:
    """Values with one row per item; `rows` and `places`: the row (from 0) and place in the list (from 1) of each."""

    columns: dict[str, pa.Array]
    rows: Numbers
    places: Numbers


def _unfolded(shape: TableLayout, batch: pa.RecordBatch, kinds: Mapping[str, Kind]) -> _Unfolded:
    """Return one row per item; `wrong_lists` must find nothing."""
    each = lengths(_lists(shape, batch)["item"])
    rows = np.repeat(np.arange(len(each)), each)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each) + 1
    values = {name: convert(inside, kinds[name]) for name, inside in _inside(shape, batch).items()}
    return _Unfolded(_of_rows(shape, batch, kinds, rows) | values, rows, places)


def _of_rows(
    shape: TableLayout, batch: pa.RecordBatch, kinds: Mapping[str, Kind], rows: Numbers
) -> dict[str, pa.Array]:
    """Return the values that occur once a row, repeated for these rows."""
    return {
        name: convert(batch.column(theirs), kinds[name]).take(as_arrow(rows))
        for name, theirs in shape.chosen.items()
        if is_row_level(name)
    }


def wrong_lists(shape: TableLayout, batch: pa.RecordBatch) -> Iterator[tuple[int, str]]:
    """Yield rows without a list, and rows whose lists differ in length."""
    if not shape.lists:
        return
    given = _lists(shape, batch)
    items = shape.within or shape.chosen["item"]
    for row in np.flatnonzero(np.asarray(given["item"].is_null())):
        yield int(row), f"has no list {items!r}"
    wanted = lengths(given["item"])
    for name, lists in given.items():
        for row in np.flatnonzero(
            (lengths(lists) != wanted) & ~np.asarray(given["item"].is_null())
        ):
            yield int(row), f"{shape.chosen[name]!r} is not as long as {items!r}"


def _lists(shape: TableLayout, batch: pa.RecordBatch) -> dict[str, pa.Array]:
    if shape.within:
        return {"item": batch.column(shape.within)}
    return {
        name: batch.column(theirs)
        for name, theirs in shape.chosen.items()
        if not is_row_level(name)
    }


def _inside(shape: TableLayout, batch: pa.RecordBatch) -> dict[str, pa.Array]:
    lists = _lists(shape, batch)
    if not shape.within:
        return {name: each.flatten() for name, each in lists.items()}
    structs = decode(lists["item"]).flatten()
    return {
        name: pc.struct_field(structs, theirs)
        for name, theirs in shape.chosen.items()
        if not is_row_level(name)
    }


BATCH = 131_072  # rows


def row_number(position: int) -> str:
    """Return `row 1` for position 0."""
    return f"row {position + 1:,}"


SAME_TYPES = "write all parts with the same types"
FOLDED = 2_048  # rows that hold a whole list

_WRITE = {
    "id": "write ids as integers or text",
    "rank": "write it as numbers",
    "number": "write it as numbers",
    "time": "write times as timestamps or numbers",
}


def read_columnar(file: InputTable, rank_base: int) -> RawRows:
    parts = open_parts(file)
    schema = united_schema(parts)
    shape = find_layout(file, schema)
    rows = row_builder(file, shape, _kinds(file, parts, shape), rank_base)
    read: list[int] = []  # rows of each part, as far as they are read
    raw = RawRows(rows.made, _place(file, parts, read, folded=shape.lists))
    raw.others = shape.others(schema.names)
    if not shape.lists:
        raw.rows = sum(part.rows for part in parts if part.rows is not None) or None
    raw.batches = pa.RecordBatchReader.from_batches(
        rows.schema, _batches(file, parts, rows, raw, read)
    )
    return raw


def _batches(
    file: InputTable, parts: list[Part], rows: RowBuilder, raw: RawRows, read: list[int]
) -> Batches:
    """Yield the rows of all parts, of each up to the first that cannot be read; the reason goes to `raw.problems`."""
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
            raw.problems.append(damaged_file_problem(part.path, error))
            if has_store_failure(raw.problems):
                return


def _wrong_lists(
    file: InputTable, part: Part, shape: TableLayout, batch: pa.RecordBatch, before: int
) -> list[Problem]:
    name = file.row_name or row_number
    fix = "write one list a user, and lists of scores, ranks and grades as long as it"
    return [
        problem_with_counts(
            f"{part.path}: {name(before + row)}",
            fix,
            AffectedRows((-1,), (name(before + row),), None, None, what),
        )
        for row, what in islice(wrong_lists(shape, batch), MAX_PROBLEMS)
    ]


def united_schema(parts: list[Part]) -> pa.Schema:
    """Return every column of every part, with the first type that is not null."""
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


def _kinds(file: InputTable, parts: list[Part], shape: TableLayout) -> dict[str, Kind]:
    """Return the kind of each column; raise if parts differ."""
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
    raise_problems(problems)
    return kinds


def _kind(name: str, found: pa.DataType | None) -> Kind | None:
    """Return the kind of a type; None if it cannot be used. A column without values may be of any kind."""
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
