"""How the items of a user stand in a table: a row each, in a list, in a list of structs, or in columns by place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.reading.columns.arrow_types import bare_type, is_list
from concord.metrics_core.reading.columns.input_table import (
    PLURAL,
    InputTable,
    choose_columns,
    is_of_row,
    unnamed_grade,
)


@dataclass(frozen=True)
class Shape:
    """Where the values are.

    chosen : ours -> their columns: one, or one a place
    lists  : do these columns hold a list a user?
    placed : does each place of the list have its own columns?
    within : the column of structs whose fields `chosen` are, but for the user; empty: there is none
    """

    chosen: Mapping[str, tuple[str, ...]]
    lists: bool = False
    placed: bool = False
    within: str = ""

    @property
    def folded(self) -> bool:
        """Does a row hold the whole list of a user?"""
        return self.lists or self.placed

    @property
    def reads(self) -> list[str]:
        """The columns of the table that are read."""
        if self.within:
            return [
                *(names[0] for name, names in self.chosen.items() if is_of_row(name)),
                self.within,
            ]
        return [name for names in self.chosen.values() for name in names]

    def named(self, name: str) -> str:
        """What the table calls a column of ours."""
        theirs = self.chosen[name][0]
        return f"{self.within}.{theirs}" if self.within and not is_of_row(name) else theirs

    def types(self, schema: pa.Schema, name: str) -> list[pa.DataType] | None:
        """The bare types of a column of ours, inside lists; None: it is not there, or in another shape."""
        fields = {field.name: bare_type(field.type) for field in schema}
        if self.within and not is_of_row(name):
            return _of_field(fields.get(self.within), self.chosen[name][0])
        found = [fields.get(theirs) for theirs in self.chosen[name]]
        if self.lists and not is_of_row(name):
            found = [
                kind.value_type if kind is not None and is_list(kind) else None for kind in found
            ]
        return None if None in found else found


def shape_of(file: InputTable, schema: pa.Schema) -> Shape:
    """The shape of the table that this schema is of; refuses one that lacks a column."""
    types = {field.name: bare_type(field.type) for field in schema}
    item = file.theirs("item")
    if not {"user", "item"} <= set(file.needs):
        return Shape(_alone(choose_columns(file, schema.names)))
    plural = _plurals(file, types)
    if item not in types and item == "item" and "item" in plural:
        item = plural["item"]
    if item in types and not _fields(types[item]):
        lists = is_list(types[item])
        named = replace(file, columns=plural | dict(file.columns)) if lists else file
        return Shape(_alone(choose_columns(named, schema.names)), lists=lists)
    return _in_structs(file, types) or _by_place(file, schema.names) or _missing(file, types)


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
    return Shape(_alone(chosen), lists=True, within=holding[0])


def _by_place(file: InputTable, names: list[str]) -> Shape | None:
    """Columns such as item_1 … item_n, and score_1 … score_n if there are any."""
    items = _numbered(file, "item", names)
    if not items:
        return None
    first = min(items)
    if first > 1 or sorted(items) != list(range(first, first + len(items))):
        lacking = min(set(range(min(first, 1), max(items))) - set(items))
        where = f"{file.name}: column '{file.theirs('item')}_{lacking}'"
        raise refuse(
            where, f"is missing, and {items[max(items)]!r} is there", "number them without a gap"
        )
    ids = tuple(name for name in file.needs if is_of_row(name))
    of_row = choose_columns(
        replace(file, needs=ids, may_have=(), columns=_only(file, "user")), names
    )
    chosen = _alone(of_row) | {"item": tuple(items[n] for n in sorted(items))}
    for name in file.fields:
        if is_of_row(name) or name == "item":
            continue
        found = _numbered(file, name, names)
        if sorted(found) == sorted(items):
            chosen[name] = tuple(found[n] for n in sorted(items))
        elif found or name in file.columns:
            what = f"there is not one for each of {items[first]!r} to {items[max(items)]!r}"
            raise refuse(
                f"{file.name}: columns '{file.theirs(name)}_…'", what, "give each item its own"
            )
    bare = [re.sub(r"_?\d+$", "", found) for found in names]
    if "grade" not in chosen and (problems := list(unnamed_grade(file, bare))):
        raise InputError(problems)
    return Shape(chosen, placed=True)


def _only(file: InputTable, name: str) -> dict[str, str]:
    return {ours: theirs for ours, theirs in file.columns.items() if ours == name}


def _numbered(file: InputTable, name: str, names: list[str]) -> dict[int, str]:
    """Number -> column, for columns such as item_1, or item1."""
    pattern = re.compile(rf"{re.escape(file.theirs(name))}_?([0-9]{{1,9}})")
    numbered: dict[int, str] = {}
    for column in names:
        if match := pattern.fullmatch(column):
            other = numbered.setdefault(int(match[1]), column)
            if other != column:
                what = f"and {other!r} have the same number"
                raise refuse(f"{file.name}: column {column!r}", what, "keep one of them")
    return numbered


def _missing(file: InputTable, types: Mapping[str, pa.DataType]) -> Shape:
    """Refuses; names the fields of structs too, where the column may be."""
    listed = [
        f"{name} (lists of {', '.join(fields)})" if (fields := _fields(kind)) else name
        for name, kind in types.items()
    ]
    return Shape(_alone(choose_columns(file, listed)))


def _alone(chosen: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: (theirs,) for name, theirs in chosen.items()}


def _fields(kind: pa.DataType) -> list[str]:
    """The fields of a type of lists of structs."""
    if not is_list(kind) or not pa.types.is_struct(kind.value_type):
        return []
    return [field.name for field in kind.value_type]


def _of_field(kind: pa.DataType | None, name: str) -> list[pa.DataType] | None:
    if kind is None or _fields(kind).count(name) != 1:
        return None
    return [bare_type(kind.value_type.field(name).type)]
