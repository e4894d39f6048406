"""Convert Python frames and dicts to Arrow tables."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.data.input_table import duplicate_names
from concord.metrics_core.errors import InputError, refuse

_FIX = "give every column values of one type; ids as text or as 64-bit integers"
Data = Any  # polars, pandas or pyarrow frame, whatever speaks Arrow, a path, or a dict


def table_from_frame(data: Data, name: str) -> pa.Table:
    """Return a frame as an Arrow table.

    Raises
    ------
    InputError : the data is no frame, or one that Arrow cannot hold; `name` is what the message calls it
    """
    try:
        if isinstance(data, pl.LazyFrame):
            data = data.collect()
        if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
            return pa.Table.from_pandas(data, preserve_index=False)
        if isinstance(data, pl.DataFrame):
            return _without_objects(data, name).to_arrow()
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        if isinstance(data, pa.Table):
            return data
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
    except InputError:
        raise
    except (
        pa.ArrowException,
        pl.exceptions.PolarsError,
        TypeError,
        ValueError,
        OverflowError,
    ) as error:
        if "non-struct" not in str(error):  # a column alone is no frame
            raise _unreadable(data, name, error) from None
    what = f"{type(data).__name__} is not a frame, path or dict"
    raise refuse(
        name, what, "give a polars, pandas or pyarrow frame, the path of a file, or a dict"
    )


def _unreadable(data: Data, name: str, error: Exception) -> InputError:
    """Return what is wrong with a frame: its column, if pandas tells it, else the message of Arrow."""
    columns = list(data.columns) if type(data).__module__.startswith("pandas") else []
    if problems := duplicate_names(name, [str(column) for column in columns]):
        return InputError(problems)
    for column in columns:
        try:
            pa.array(data[column], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return column_error(name, str(column), data[column].tolist())
    said = " ".join(str(error).split())[:200]
    return refuse(name, f"cannot be read as a table ({type(error).__name__}: {said})", _FIX)


def column_error(name: str, column: str, values: Sequence[Any], fix: str = _FIX) -> InputError:
    """Return the error for values that do not make one column."""
    where = f"{name}: column {column!r}"
    kinds = sorted({type(value).__name__ for value in values})
    if kinds == ["int"]:
        return refuse(where, "holds integers beyond 64 bits", _FIX)
    return refuse(where, f"holds values that do not make one column: {', '.join(kinds)}", fix)


def _without_objects(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the frame; refuse columns of Python objects."""
    for column in frame:
        if column.dtype == pl.Object:
            raise column_error(name, column.name, column.to_list())
    return frame


_LIST = "give a list, best first, or {item: score}"
_FIXES = dict.fromkeys(("user", "item"), "write all of them as text, or all as 64-bit integers")


def lists_table(recs: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {user: [item, …]}, best first, to user, item, rank; {user: {item: score}} to user, item, score."""
    scored = [isinstance(held, Mapping) for held in recs.values()]
    if any(scored) and not all(scored):
        what = "some users have a list and some have {item: score}"
        raise refuse(name, what, "give all users the same form")
    if any(scored):
        values = [score for held in recs.values() for score in held.values()]
        return _long(recs, [list(held) for held in recs.values()], name, score=values)
    items = [_listed(held, f"{name}[{user!r}]") for user, held in recs.items()]
    ranks = [np.arange(1, len(held) + 1, dtype=np.int64) for held in items]
    return _long(recs, items, name, rank=np.concatenate([np.empty(0, np.int64), *ranks]))


def truth_table(truth: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {user: {item: grade}}, or {user: [item, …]} with grade 1, to user, item, grade."""
    items: list[Sequence[Any]] = []
    grades: list[Any] = []
    for user, held in truth.items():
        if isinstance(held, Mapping):
            items.append(list(held))
            grades += list(held.values())
        else:
            items.append(_members(held, f"{name}[{user!r}]"))
            grades += [1] * len(items[-1])
    return _long(truth, items, name, grade=grades)


def train_table(train: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {user: [item, …]} to user, item."""
    items = [_members(held, f"{name}[{user!r}]") for user, held in train.items()]
    return _long(train, items, name)


def items_table(items: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {item: [category, …]}, {item: "category|category"} or {item: [number, …]} to item, categories or vector."""
    features: list[Any] = list(items.values())
    if not all(held is None or isinstance(held, str) for held in features):
        features = [
            None if held is None else _members(held, f"{name}[{item!r}]")
            for item, held in items.items()
        ]
    words = any(isinstance(value, str) for held in features for value in held or ())
    column = "categories" if words else "vector"
    return pa.table({"item": _column(items, name, "item"), column: _column(features, name, column)})


def ids_table(ids: Iterable[Any], name: str, column: str) -> pa.Table:
    """Convert ids to a table of one column."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise _no_collection(ids, name)
    return pa.table({column: _column(ids, name, column)})


def _long(
    by_user: Mapping[Any, Any], items: Sequence[Sequence[Any]], name: str, **values: Any
) -> pa.Table:
    """Return one row for each item of each user."""
    users = _column(by_user, name, "user")
    rows = np.repeat(np.arange(len(items)), [len(held) for held in items])
    columns = {
        "user": users.take(pa.array(rows)),
        "item": _column((item for held in items for item in held), name, "item"),
    }
    return pa.table(
        columns | {column: _column(held, name, column) for column, held in values.items()}
    )


def _column(values: Iterable[Any], name: str, column: str) -> pa.Array:
    """Return an Arrow column of one type; text if there are no values."""
    held = values if isinstance(values, np.ndarray) else list(values)
    try:
        found = pa.array(held)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pairs = any(isinstance(value, tuple) for value in held)
        fix = _LIST if pairs else _FIXES.get(column, "write all of them as numbers")
        raise column_error(name, column, list(held), fix) from None
    if column in _FIXES and pa.types.is_nested(found.type):
        what = f"holds {reprlib.repr(held[0])}, which is not an id"
        raise refuse(
            f"{name}: column {column!r}", what, _LIST if name == "recs" else _FIXES[column]
        )
    return found.cast(pa.string()) if len(found) == 0 else found


def _listed(held: Any, where: str) -> Sequence[Any]:
    """Return the items of an ordered collection."""
    if isinstance(held, set | frozenset):
        raise refuse(where, "is a set, which has no order", _LIST)
    return _members(held, where)


def _members(held: Any, where: str) -> Sequence[Any]:
    """Return the values of a collection; a set is sorted by its text."""
    if isinstance(held, set | frozenset):
        return sorted(held, key=str)
    if isinstance(held, list | tuple):
        return held
    for name in ("tolist", "to_list", "to_pylist"):  # NumPy, pandas, polars, Arrow
        if method := getattr(held, name, None):
            found = method()
            if isinstance(found, list):
                return found
    raise _no_collection(held, where)


def _no_collection(held: Any, where: str) -> InputError:
    what = f"is {reprlib.repr(held)}, which is not a list"
    return refuse(where, what, _LIST if where.startswith("recs") else "give a list")
