"""The parts of a comparison as polars frames: typed by their fields, so that no type depends on what happens to be null."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import polars as pl


def frame_of(kind: type[Any], rows: Iterable[Any]) -> "pl.DataFrame":
    """One row a part, one column a field; without those that are left out where no part has a value."""
    import polars as pl  # 0.1 s that only those who want frames spend

    schema = schema_of(kind)  # type: ignore[arg-type] # a class can be hashed
    frame = pl.DataFrame([vars(row) for row in rows], schema=schema)
    optional = (field.name for field in fields(kind) if field.metadata)
    return frame.drop(name for name in optional if frame[name].is_null().all())


@cache
def schema_of(kind: type[Any]) -> "dict[str, type[pl.DataType]]":
    """Field -> type of its column, for parts whose fields hold one plain value each."""
    import polars as pl

    types: Mapping[Any, type[pl.DataType]] = {
        str: pl.String,
        float: pl.Float64,
        int: pl.Int64,
        bool: pl.Boolean,
    }
    hints = get_type_hints(kind)
    return {field.name: types[_plain(hints[field.name])] for field in fields(kind)}


def _plain(hint: Any) -> Any:
    """`float` of `float | None`, `str` of a Literal."""
    if get_origin(hint) is Literal:
        return str
    known = [each for each in get_args(hint) if each is not NoneType]
    return _plain(known[0]) if known else hint
