"""What people hold in Python -> Arrow tables."""

from typing import Any

import polars as pl
import pyarrow as pa

from metrics_core.problems import InputError, refuse

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
            return _narrowed(data, name).to_arrow()
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
        raise _unreadable(name, error) from None
    what = f"{type(data).__name__} is no frame, path or dict"
    raise refuse(
        name, what, "give a polars, pandas or pyarrow frame, the path of a file, or a dict"
    )


def _narrowed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame with integers of 128 bits as those of 64, which Arrow has."""
    wide = [column for column in frame if column.dtype in (pl.Int128, pl.UInt128)]
    for column in wide:
        try:
            frame = frame.with_columns(column.cast(pl.Int64))
        except pl.exceptions.PolarsError:
            what = "holds integers beyond 64 bits"
            where = f"{name}: column {column.name!r}"
            raise refuse(where, what, "write them as text, or as 64-bit integers") from None
    return frame


def _unreadable(name: str, error: Exception) -> InputError:
    said = " ".join(str(error).split())[:200]
    fix = "give every column values of one type; ids as text or as 64-bit integers"
    return refuse(name, f"cannot be read as a table ({type(error).__name__}: {said})", fix)
