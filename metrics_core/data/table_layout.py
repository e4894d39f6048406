"""Layout of Arrow tables: a row has one item, or lists of items that are unnested into rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from concord.metrics_core.data.arrow import (
    ARROW_TYPES,
    ENCODED_TEXT,
    as_arrow,
    convert,
    convert_encoded,
    decode,
    decoded_type,
    is_list,
    lengths,
    take_rows,
)
from concord.metrics_core.data.column_names import guess_columns
from concord.metrics_core.data.input_table import (
    PLURALS,
    ROW_STRIDE,
    InputTable,
    Kind,
    choose_columns,
    find_aliases,
    is_row_level,
    without_absent,
)
from concord.metrics_core.data.lists_as_text import refuse_lists_as_text
from concord.metrics_core.data.row_filter import RowFilter
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class TableLayout:
    """Where the values are in a table.

    Attributes
    ----------
    columns : mapping of str to str
        Our name -> original name of the column, or of the field of `struct_column`.
    has_lists : bool
        True if a row holds the whole list of a user.
    struct_column : str
        Column of lists of structs, whose fields hold all values that are not row-level; empty if
        there is none.
    aliases : mapping of str to str
        Columns that were recognised by names of search.
    filter_columns : tuple of str
        Original names of the columns that a filter reads.
    """

    columns: Mapping[str, str]
    has_lists: bool = False
    struct_column: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    filter_columns: tuple[str, ...] = ()

    @property
    def read_columns(self) -> list[str]:
        """Columns of the table that are read."""
        if not self.struct_column:
            return [*self.columns.values(), *self.filter_columns]
        row_level = (original for name, original in self.columns.items() if is_row_level(name))
        return [*row_level, self.struct_column, *self.filter_columns]

    def unread_columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the columns of the table that are not read."""
        return tuple(name for name in names if name not in self.read_columns)

    def original_name(self, name: str) -> str:
        """Return the name in the table of one of our columns; `column.field` for a struct."""
        original = self.columns[name]
        in_struct = self.struct_column and not is_row_level(name)
        return f"{self.struct_column}.{original}" if in_struct else original

    def type_of(self, schema: pa.Schema, name: str) -> pa.DataType | None:
        """Return the decoded type of a column, inside lists.

        None if the column is missing or has another layout.
        """
        types = {field.name: decoded_type(field.type) for field in schema}
        if self.struct_column and not is_row_level(name):
            return _field_type(types.get(self.struct_column), self.columns[name])
        kind = types.get(self.columns[name])
        if self.has_lists and not is_row_level(name):
            kind = kind.value_type if kind is not None and is_list(kind) else None
        return kind


def find_layout(
    file: InputTable, schema: pa.Schema, row: Mapping[str, Any] | None = None
) -> TableLayout:
    """Return the layout of a table with this schema; `row` is its first row, if it is known.

    Raises
    ------
    InputError
        If a column is missing, duplicate or ambiguous, or holds lists as text.
    """
    row = row or dict.fromkeys(schema.names)
    holds_items = {"user", "item"} <= {*file.required}
    names = _value_names(schema)
    aliases = find_aliases(file, names)
    mapped = without_absent(replace(file, columns={**file.columns, **aliases}), names)
    try:
        layout = _find_layout(mapped, schema)
    except InputError:
        if holds_items:
            refuse_lists_as_text(file, row, None)
        raise
    if holds_items:
        refuse_lists_as_text(file, row, layout.columns)
    raise_problems(_filter_problems(file, layout, schema))
    return replace(layout, aliases=aliases, filter_columns=tuple(file.where))


def _filter_problems(file: InputTable, layout: TableLayout, schema: pa.Schema) -> Iterator[Problem]:
    """Yield a problem for each column of the filter that cannot be one."""
    for name in file.where:
        location = f"{file.name}: column {name!r}"
        fix = f"name another column in {file.settings.of_table('where')}"
        if name not in schema.names:
            yield Problem(location, f"is missing; the columns are: {', '.join(schema.names)}", fix)
        elif name in layout.read_columns:
            fix += ", or filter the table before"
            yield Problem(location, "is read as data and cannot be a filter, too", fix)
        elif pa.types.is_nested(decoded_type(schema.field(name).type)):
            yield Problem(location, "holds lists or structs, not single values", fix)


def filter_rows(
    layout: TableLayout, batch: pa.RecordBatch, rows: RowFilter
) -> tuple[pa.RecordBatch, Numbers]:
    """Return the rows that the filter keeps, all without a filter, and their indices."""
    columns = {name: decode(batch.column(name)) for name in layout.filter_columns}
    kept = rows.kept_rows(columns, len(batch))
    return (batch if len(kept) == len(batch) else take_rows(batch, kept)), kept


def _find_layout(file: InputTable, schema: pa.Schema) -> TableLayout:
    types = {field.name: decoded_type(field.type) for field in schema}
    item = file.original_name("item")
    if not {"user", "item"} <= set(file.required):
        return TableLayout(choose_columns(file, schema.names))
    plurals = _plurals(file, types)
    if item not in types and item == "item" and "item" in plurals:
        item = plurals["item"]
    if item in types and not _struct_fields(types[item]):
        has_lists = is_list(types[item])
        mapped = replace(file, columns=plurals | dict(file.columns)) if has_lists else file
        return TableLayout(
            choose_columns(mapped, schema.names, has_lists=has_lists), has_lists=has_lists
        )
    return _struct_layout(file, types) or TableLayout(choose_columns(file, _value_names(schema)))


def _plurals(file: InputTable, types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """Return `items` for `item` and so on, if such a column holds lists."""
    return {
        name: plural
        for name, plural in PLURALS.items()
        if name in file.fields and plural in types and is_list(types[plural])
    }


def _struct_layout(file: InputTable, types: Mapping[str, pa.DataType]) -> TableLayout | None:
    """Return the layout with the one column of lists of structs that have a field for the item."""
    item = file.original_name("item")
    candidates = [name for name, kind in types.items() if item in _struct_fields(kind)]
    if not candidates:
        return None
    if len(candidates) > 1:
        names = " and ".join(map(repr, candidates))
        raise refuse(file.name, f"the columns {names} have a field {item!r}", "keep one of them")
    row_level = [file.original_name(name) for name in file.required if is_row_level(name)]
    fields = [name for name in _struct_fields(types[candidates[0]]) if name not in row_level]
    names_of_values = [*(name for name in row_level if name in types), *fields]
    columns = choose_columns(file, names_of_values, has_lists=True)
    return TableLayout(columns, has_lists=True, struct_column=candidates[0])


def _value_names(schema: pa.Schema) -> list[str]:
    """Return the names of columns; of lists of structs those of their fields."""
    names = (_struct_fields(decoded_type(column.type)) or [column.name] for column in schema)
    return list(dict.fromkeys(chain.from_iterable(names)))


def _struct_fields(kind: pa.DataType) -> list[str]:
    """Return the fields of a list of structs; empty for other types."""
    if not is_list(kind) or not pa.types.is_struct(kind.value_type):
        return []
    return [field.name for field in kind.value_type]


def _field_type(kind: pa.DataType | None, name: str) -> pa.DataType | None:
    if kind is None or _struct_fields(kind).count(name) != 1:
        return None
    return decoded_type(kind.value_type.field(name).type)


@dataclass(frozen=True)
class RowBuilder:
    """Builds our rows from those of a table.

    Attributes
    ----------
    first_rank : int, optional
        Rank of the first item, if ranks follow from the order of a list.
    encoded : collection of str
        Columns of text that become codes and distinct texts.
    """

    layout: TableLayout
    kinds: Mapping[str, Kind]
    first_rank: int | None = None
    encoded: Collection[str] = ()

    @property
    def schema(self) -> pa.Schema:
        """Our columns, and `position`: number of the row; in lists see `ROW_STRIDE`."""
        types = {name: ARROW_TYPES[kind] for name, kind in self.output_kinds.items()}
        types |= dict.fromkeys(self.encoded, ENCODED_TEXT)
        return pa.schema(types | {"position": pa.int64()})

    @property
    def output_kinds(self) -> dict[str, Kind]:
        """Kinds of our columns."""
        return dict(self.kinds) | ({} if self.first_rank is None else {"rank": "integer"})

    def build(self, batch: pa.RecordBatch, row_numbers: Numbers) -> pa.RecordBatch:
        """Return the rows of a batch, whose numbers in the table count from 0."""
        if self.layout.has_lists:
            unnested = _unnest(self.layout, batch, self.kinds)
            values = unnested.columns
            position = row_numbers[unnested.rows] * ROW_STRIDE + unnested.list_index
            if self.first_rank is not None:
                values["rank"] = as_arrow(unnested.list_index + (self.first_rank - 1))
        else:
            values = {
                name: convert_encoded(batch.column(original))
                if name in self.encoded
                else convert(batch.column(original), self.kinds[name])
                for name, original in self.layout.columns.items()
            }
            position = row_numbers
        values["position"] = as_arrow(position)
        schema = self.schema
        return pa.RecordBatch.from_arrays([values[name] for name in schema.names], schema=schema)


def is_ranked_by_index(file: InputTable, layout: TableLayout, schema: pa.Schema) -> bool:
    """True if the index in a list is the rank of an item: no rank, no score may decide.

    Numbers of items that may be ranks or scores under another name need `columns`, as in rows of
    single items.
    """
    if not layout.has_lists or "rank" not in file.fields:
        return False
    if layout.struct_column:
        names = _struct_fields(decoded_type(schema.field(layout.struct_column).type))
    else:
        names = [column.name for column in schema if is_list(decoded_type(column.type))]
    unread = {*names} - {*layout.columns.values()}
    likely = guess_columns([*unread, *(name.removesuffix("s") for name in unread)])
    return not ({"rank", "score"} & {*layout.columns} or {"rank", "score", "grade"} & {*likely})


@dataclass(frozen=True)
class _UnnestedRows:
    """Values with one row per item; row (from 0) and index in its list (from 1) of each item."""

    columns: dict[str, pa.Array]
    rows: Numbers
    list_index: Numbers


def _unnest(layout: TableLayout, batch: pa.RecordBatch, kinds: Mapping[str, Kind]) -> _UnnestedRows:
    """Return one row per item; the lists must be valid, see `list_errors`."""
    lists = _lists(layout, batch)
    n_items = lengths(lists["item"])
    rows = np.repeat(np.arange(len(n_items)), n_items)
    list_index = np.arange(len(rows)) - np.repeat(np.cumsum(n_items) - n_items, n_items) + 1
    row_level = {
        name: convert(batch.column(original), kinds[name]).take(as_arrow(rows))
        for name, original in layout.columns.items()
        if is_row_level(name)
    }
    if layout.struct_column:
        structs = decode(lists["item"]).flatten()
        values = {
            name: pc.struct_field(structs, original)
            for name, original in layout.columns.items()
            if not is_row_level(name)
        }
    else:
        values = {name: column.flatten() for name, column in lists.items()}
    converted = {name: convert(array, kinds[name]) for name, array in values.items()}
    return _UnnestedRows(row_level | converted, rows, list_index)


def count_empty_lists(layout: TableLayout, batch: pa.RecordBatch) -> int:
    """Return the number of rows whose list has no items."""
    return int((lengths(_lists(layout, batch)["item"]) == 0).sum()) if layout.has_lists else 0


def list_errors(layout: TableLayout, batch: pa.RecordBatch) -> Iterator[tuple[int, str]]:
    """Yield rows without a list, and rows whose lists differ in length, each with a message."""
    if not layout.has_lists:
        return
    lists = _lists(layout, batch)
    items = layout.struct_column or layout.columns["item"]
    is_missing = np.asarray(lists["item"].is_null())
    for row in np.flatnonzero(is_missing):
        yield int(row), f"has no list {items!r}"
    n_items = lengths(lists["item"])
    for name, column in lists.items():
        for row in np.flatnonzero((lengths(column) != n_items) & ~is_missing):
            yield int(row), f"{layout.columns[name]!r} is not as long as {items!r}"


def _lists(layout: TableLayout, batch: pa.RecordBatch) -> dict[str, pa.Array]:
    if layout.struct_column:
        return {"item": batch.column(layout.struct_column)}
    return {
        name: batch.column(original)
        for name, original in layout.columns.items()
        if not is_row_level(name)
    }
