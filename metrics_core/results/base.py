"""The base class of all results, and parts of results as polars frames."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from concord.metrics_core.results.rendering import render, render_document, write_document

if TYPE_CHECKING:
    import polars as pl


MAX_REPR_LINES = 20
OMIT_IF_NONE: Mapping[str, bool] = {"omit_if_none": True}  # metadata of a field


class BaseResult:
    """Base class of results.

    A result is a frozen dataclass of codes and numbers; `concord.reports` renders its sentences.
    """

    defined_in: ClassVar[str]  # its module; `__module__` of a public class is `concord`

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.defined_in = cls.__module__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain Python values that `json.dumps` accepts; NaN becomes None."""
        return dict(to_plain(self))

    def to_frame(self) -> "pl.DataFrame":
        """Return the main table as a polars frame; `.to_pandas()` converts it."""
        raise NotImplementedError

    @property
    def summary(self) -> str:
        """The result as text."""
        return render(self, "text")

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        lines = self.summary.splitlines()
        if len(lines) > MAX_REPR_LINES:
            lines = [
                *lines[: MAX_REPR_LINES - 1],
                f"… {len(lines) - MAX_REPR_LINES + 1} more lines",
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return render(self, "html")


class PageResult(BaseResult):
    """Base class of results with a page."""

    @overload
    def to_html(self, path: None = None) -> str: ...
    @overload
    def to_html(self, path: str | Path) -> Path: ...
    def to_html(self, path: str | Path | None = None) -> str | Path:
        """Return the page as text, or write it to `path` and return the path."""
        return write_document(render_document(self, "page"), path)


class FiniteNumbers:
    """Base class of parts of results: NaN and infinity become None, which is null in JSON."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, float) and not math.isfinite(value):
                object.__setattr__(self, name, None)


def to_plain(value: Any) -> Any:
    """Return dataclasses, mappings and frames as dicts and lists; NaN becomes None.

    Unlike `dataclasses.asdict`, it does not copy every value, and it omits fields that are None or
    empty and marked `OMIT_IF_NONE`.
    """
    if is_dataclass(value) and not isinstance(value, type):
        items = ((field, getattr(value, field.name)) for field in fields(value))
        return {
            field.name: to_plain(item)
            for field, item in items
            if not field.metadata or item not in (None, ())
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value.to_dicts() if hasattr(value, "to_dicts") else value


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
        Any: pl.String,  # an id
    }
    hints = get_type_hints(kind)
    return {field.name: types[_scalar_type(hints[field.name])] for field in fields(kind)}


def _scalar_type(hint: Any) -> Any:
    """Return `float` for `float | None`, `str` for a Literal."""
    if get_origin(hint) is Literal:
        return str
    options = [each for each in get_args(hint) if each is not NoneType]
    return _scalar_type(options[0]) if options else hint
