"""Parts of results as polars frames; column types are those of the fields, even if all are null."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import polars as pl


def frame_of(kind: type[Any], rows: Iterable[Any]) -> "pl.DataFrame":
    """Return one row per part and one column per field.

    Fields that are marked `OMIT_IF_NONE` are omitted if no part has a value.
    """
    import polars as pl  # takes 0.1 s

    schema = schema_of(kind)  # type: ignore[arg-type] # a class can be hashed
    frame = pl.DataFrame([vars(row) for row in rows], schema=schema)
    optional = (field.name for field in fields(kind) if field.metadata)
    return frame.drop(name for name in optional if frame[name].is_null().all())


@cache
def schema_of(kind: type[Any]) -> "dict[str, type[pl.DataType]]":
    """Return field -> type of its column, for parts whose fields are scalars."""
    import polars as pl

    types: Mapping[Any, type[pl.DataType]] = {
        str: pl.String,
        float: pl.Float64,
        int: pl.Int64,
        bool: pl.Boolean,
    }
    hints = get_type_hints(kind)
    return {field.name: types[_scalar_type(hints[field.name])] for field in fields(kind)}


def _scalar_type(hint: Any) -> Any:
    """Return `float` for `float | None`, `str` for a Literal."""
    if get_origin(hint) is Literal:
        return str
    options = [each for each in get_args(hint) if each is not NoneType]
    return _scalar_type(options[0]) if options else hint
