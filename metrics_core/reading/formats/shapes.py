"""How the items of a user stand in a table: a row each, in a list, or in a list of structs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.reading.columns.arrow_types import bare_type, is_list
from concord.metrics_core.reading.columns.input_table import (
    PLURAL,
    InputTable,
    choose_columns,
    is_of_row,
)


@dataclass(frozen=True)
class Shape:
    """Where the values are.

    chosen : ours -> theirs
    lists  : does a row hold the whole list of a user?
    within : the column of structs whose fields `chosen` are, but for the user; empty: there is none
    """

    chosen: Mapping[str, str]
    lists: bool = False
    within: str = ""

    @property
    def reads(self) -> list[str]:
        """The columns of the table that are read."""
        if self.within:
            return [
                *(theirs for name, theirs in self.chosen.items() if is_of_row(name)),
                self.within,
            ]
        return list(self.chosen.values())

    def others(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of the table that are not read."""
        return tuple(name for name in names if name not in self.reads)

    def named(self, name: str) -> str:
        """What the table calls a column of ours."""
        theirs = self.chosen[name]
        return f"{self.within}.{theirs}" if self.within and not is_of_row(name) else theirs

    def type_of(self, schema: pa.Schema, name: str) -> pa.DataType | None:
        """The bare type of a column of ours, inside lists; None: it is not there, or in another shape."""
        fields = {field.name: bare_type(field.type) for field in schema}
        if self.within and not is_of_row(name):
            return _of_field(fields.get(self.within), self.chosen[name])
        kind = fields.get(self.chosen[name])
        if self.lists and not is_of_row(name):
            kind = kind.value_type if kind is not None and is_list(kind) else None
        return kind


def shape_of(file: InputTable, schema: pa.Schema) -> Shape:
    """The shape of the table that this schema is of; refuses one that lacks a column."""
    types = {field.name: bare_type(field.type) for field in schema}
    item = file.theirs("item")
    if not {"user", "item"} <= set(file.needs):
        return Shape(choose_columns(file, schema.names))
    plural = _plurals(file, types)
    if item not in types and item == "item" and "item" in plural:
        item = plural["item"]
    if item in types and not _fields(types[item]):
        lists = is_list(types[item])
        named = replace(file, columns=plural | dict(file.columns)) if lists else file
        return Shape(choose_columns(named, schema.names), lists=lists)
    return _in_structs(file, types) or _missing(file, types)


def _plurals(file: InputTable, types: Mapping[str, pa.DataType]) -> dict[str, str]:
    """`items` for `item` and so on, where such a column holds lists."""
    return {
        name: many
        for name, many in PLURAL.items()
        if name in file.fields and many in types and is_list(types[many])
    }


def _in_structs(file: InputTable, types: Mapping[str, pa.DataType]) -> Shape | None:
    """The one column with lists of structs that have a field for the item."""
    holding = [name for name, kind in types.items() if file.theirs("item") in _fields(kind)]
    if not holding:
        return None
    if len(holding) > 1:
        what = (
            f"the columns {' and '.join(map(repr, holding))} have a field {file.theirs('item')!r}"
        )
        raise refuse(file.name, what, "keep one of them")
    beside = [file.theirs(name) for name in file.needs if is_of_row(name)]
    fields = [name for name in _fields(types[holding[0]]) if name not in beside]
    chosen = choose_columns(file, [*(name for name in beside if name in types), *fields])
    return Shape(chosen, lists=True, within=holding[0])


def _missing(file: InputTable, types: Mapping[str, pa.DataType]) -> Shape:
    """Refuses; names the fields of structs too, where the column may be."""
    listed = [
        f"{name} (lists of {', '.join(fields)})" if (fields := _fields(kind)) else name
        for name, kind in types.items()
    ]
    return Shape(choose_columns(file, listed))


def _fields(kind: pa.DataType) -> list[str]:
    """The fields of a type of lists of structs."""
    if not is_list(kind) or not pa.types.is_struct(kind.value_type):
        return []
    return [field.name for field in kind.value_type]


def _of_field(kind: pa.DataType | None, name: str) -> pa.DataType | None:
    if kind is None or _fields(kind).count(name) != 1:
        return None
    return bare_type(kind.value_type.field(name).type)
