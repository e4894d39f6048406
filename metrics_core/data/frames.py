"""Convert Python frames and dicts to Arrow tables."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.data.column_names import guess_columns
from concord.metrics_core.data.input_table import duplicate_names
from concord.metrics_core.data.model import Model
from concord.metrics_core.errors import InputError, refuse

_INVALID = (pa.ArrowException, OverflowError, TypeError, ValueError)  # raised for values
_FIX = "give every column values of one type; ids as text or as 64-bit integers"


def table_from_frame(data: Any, name: str) -> pa.Table:
    """Return a frame as an Arrow table.

    Parameters
    ----------
    name : str
        Name of the table in messages.

    Raises
    ------
    InputError
        If the data is not a frame, or Arrow cannot represent it.
    """
    try:
        if isinstance(data, pl.LazyFrame):
            data = data.collect()
        if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
            return pa.Table.from_pandas(data, preserve_index=False)
        if isinstance(data, pl.DataFrame):
            _refuse_objects(data, name)
            return data.to_arrow()
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
    except InputError:
        raise
    except (*_INVALID, pl.exceptions.PolarsError) as error:
        if "non-struct" not in str(error):  # of a series, which is not a frame
            raise _frame_error(data, name, error) from None
    message = f"{type(data).__name__} is not a frame, path or dict"
    fix = "give a polars, pandas or pyarrow frame, the path of a file, or a dict"
    if isinstance(data, Model):
        fix = "give its `lists`: only `compare` reads values next to lists"
    raise refuse(name, message, fix)


def refuse_index(data: Any, name: str, columns: Mapping[str, str]) -> None:
    """Raise an InputError if the index of a pandas frame holds one of the columns.

    Parameters
    ----------
    columns : mapping of str to str
        Our names and original names of the columns that the frame must have.
    """
    index = [str(each) for each in getattr(getattr(data, "index", None), "names", ())]
    known = guess_columns(map(str, getattr(data, "columns", ()))) if index else {}
    missing = {our: column for our, column in columns.items() if index and column not in data}
    missing = {our: column for our, column in missing.items() if our not in known}
    held = [
        each for each in index if each in missing.values() or {*missing} & {*guess_columns([each])}
    ]
    if held:
        message = f"the index holds {' and '.join(map(repr, held))}"
        raise refuse(name, message, "give `frame.reset_index()`, whose index is columns")


def _frame_error(data: Any, name: str, error: Exception) -> InputError:
    """Return the error for an invalid column of a pandas frame, else the message of Arrow."""
    columns = list(data.columns) if type(data).__module__.startswith("pandas") else []
    if problems := duplicate_names(name, [str(column) for column in columns]):
        return InputError(problems)
    for column in columns:
        try:
            pa.array(data[column], from_pandas=True)
        except _INVALID:
            return column_error(name, str(column), data[column].tolist())
    detail = " ".join(str(error).split())[:200]
    return refuse(name, f"cannot be read as a table ({type(error).__name__}: {detail})", _FIX)


def column_error(name: str, column: str, values: Sequence[Any], fix: str = _FIX) -> InputError:
    """Return the error for values that do not fit in one column."""
    location = f"{name}: column {column!r}"
    types = sorted({type(value).__name__ for value in values})
    if types == ["int"]:
        return refuse(location, "has integers beyond 64 bits", _FIX)
    return refuse(location, f"has values that do not fit in one column: {', '.join(types)}", fix)


def _refuse_objects(frame: pl.DataFrame, name: str) -> None:
    for column in frame:
        if column.dtype == pl.Object:
            raise column_error(name, column.name, column.to_list())


_LIST_FIX = "give a list, best first, or {item: score}"
_ID_FIX = "write all of them as text, or all as 64-bit integers"
_ID_COLUMNS = ("user", "item")


def lists_table(recs: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {user: [item, …]}, best first, to user, item, rank.

    Convert {user: {item: score}} to user, item, score.
    """
    has_scores = [isinstance(values, Mapping) for values in recs.values()]
    if any(has_scores) and not all(has_scores):
        message = "some users have a list and some have {item: score}"
        raise refuse(name, message, "give all users the same form")
    if any(has_scores):
        scores = [score for values in recs.values() for score in values.values()]
        return _long_table(recs, [list(values) for values in recs.values()], name, score=scores)
    lists = [_ordered_values(values, f"{name}[{user!r}]") for user, values in recs.items()]
    ranks = [np.arange(1, len(items) + 1, dtype=np.int64) for items in lists]
    return _long_table(recs, lists, name, rank=np.concatenate([np.empty(0, np.int64), *ranks]))


def truth_table(truth: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {user: {item: grade}}, or {user: [item, …]} with grade 1, to user, item, grade."""
    lists: list[Sequence[Any]] = []
    grades: list[Any] = []
    for user, values in truth.items():
        if isinstance(values, Mapping):
            lists.append(list(values))
            grades += list(values.values())
        else:
            lists.append(_values(values, f"{name}[{user!r}]"))
            grades += [1] * len(lists[-1])
    return _long_table(truth, lists, name, grade=grades)


def train_table(train: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {user: [item, …]} to user, item."""
    lists = [_values(values, f"{name}[{user!r}]") for user, values in train.items()]
    return _long_table(train, lists, name)


def items_table(items: Mapping[Any, Any], name: str) -> pa.Table:
    """Convert {item: [category, …]} or {item: "category|category"} to item, categories.

    Convert {item: [number, …]} to item, vector.
    """
    features: list[Any] = list(items.values())
    if not all(values is None or isinstance(values, str) for values in features):
        features = [
            None if values is None else _values(values, f"{name}[{item!r}]")
            for item, values in items.items()
        ]
    has_text = any(isinstance(value, str) for values in features for value in values or ())
    column = "categories" if has_text else "vector"
    return pa.table({"item": _column(items, name, "item"), column: _column(features, name, column)})


def ids_table(ids: Iterable[Any], name: str, column: str) -> pa.Table:
    """Convert ids to a table of one column."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise _not_a_list_error(ids, name)
    return pa.table({column: _column(ids, name, column)})


def _long_table(
    users: Iterable[Any], lists: Sequence[Sequence[Any]], name: str, **values: Any
) -> pa.Table:
    """Return a table with one row for each item of each user, and columns of `values`."""
    rows = np.repeat(np.arange(len(lists)), [len(items) for items in lists])
    columns = {
        "user": _column(users, name, "user").take(pa.array(rows)),
        "item": _column((item for items in lists for item in items), name, "item"),
    }
    columns |= {column: _column(cells, name, column) for column, cells in values.items()}
    return pa.table(columns)


def _column(values: Iterable[Any], name: str, column: str) -> pa.Array:
    """Return an Arrow column of one type; text if there are no values."""
    cells = values if isinstance(values, np.ndarray) else list(values)
    is_id = column in _ID_COLUMNS
    try:
        array = pa.array(cells)
    except _INVALID:
        fix = _ID_FIX if is_id else "write all of them as numbers"
        if any(isinstance(value, tuple) for value in cells):
            fix = _LIST_FIX
        raise column_error(name, column, list(cells), fix) from None
    if is_id and pa.types.is_nested(array.type):
        message = f"has {reprlib.repr(cells[0])}, which is not an id"
        fix = _LIST_FIX if name == "recs" else _ID_FIX
        raise refuse(f"{name}: column {column!r}", message, fix)
    return array.cast(pa.string()) if len(array) == 0 else array


def _ordered_values(collection: Any, location: str) -> Sequence[Any]:
    """Return the values of an ordered collection."""
    if isinstance(collection, set | frozenset):
        raise refuse(location, "is a set, which has no order", _LIST_FIX)
    return _values(collection, location)


def _values(collection: Any, location: str) -> Sequence[Any]:
    """Return the values of a collection; a set is sorted by its text."""
    if isinstance(collection, set | frozenset):
        return sorted(collection, key=str)
    if isinstance(collection, list | tuple):
        return collection
    for name in ("tolist", "to_list", "to_pylist"):  # NumPy, pandas, polars, Arrow
        if method := getattr(collection, name, None):
            values = method()
            if isinstance(values, list):
                return values
    raise _not_a_list_error(collection, location)


def _not_a_list_error(value: Any, location: str) -> InputError:
    message = f"is {reprlib.repr(value)}, which is not a list"
    return refuse(location, message, _LIST_FIX if location.startswith("recs") else "give a list")
