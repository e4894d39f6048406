"""What people hold in Python -> Arrow tables."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.reading.columns.input_table import repeated_names

_FIX = "give every column values of one type; ids as text or as 64-bit integers"
Data = Any  # polars, pandas or pyarrow frame, whatever speaks Arrow, a path, or a dict


def table_of(data: Data, name: str) -> pa.Table:
    """The Arrow table of a frame.

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
    what = f"{type(data).__name__} is no frame, path or dict"
    raise refuse(
        name, what, "give a polars, pandas or pyarrow frame, the path of a file, or a dict"
    )


def _unreadable(data: Data, name: str, error: Exception) -> InputError:
    """What is wrong with a frame: a column of it, where pandas can be asked, else what Arrow says."""
    columns = list(data.columns) if type(data).__module__.startswith("pandas") else []
    if problems := repeated_names(name, [str(column) for column in columns]):
        return InputError(problems)
    for column in columns:
        try:
            pa.array(data[column], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return no_column(name, str(column), data[column].tolist())
    said = " ".join(str(error).split())[:200]
    return refuse(name, f"cannot be read as a table ({type(error).__name__}: {said})", _FIX)


def no_column(name: str, column: str, values: Sequence[Any], fix: str = _FIX) -> InputError:
    """The refusal of values that do not make one column."""
    where = f"{name}: column {column!r}"
    kinds = sorted({type(value).__name__ for value in values})
    if kinds == ["int"]:
        return refuse(where, "holds integers beyond 64 bits", _FIX)
    return refuse(where, f"holds values that do not make one column: {', '.join(kinds)}", fix)


def _without_objects(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the frame; refuse columns of Python objects."""
    for column in frame:
        if column.dtype == pl.Object:
            raise no_column(name, column.name, column.to_list())
    return frame
