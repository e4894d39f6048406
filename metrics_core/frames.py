"""What people hold in their hands (dicts, frames, paths) -> polars frames with fixed columns."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

Data = Any  # polars, pandas or pyarrow frame, path of a parquet or CSV file, or a dict


def lists_frame(recs: Data) -> pl.DataFrame:
    """user, item and rank and/or score, in the order of the rows.

    Raises
    ------
    ValueError : a column is missing, or the data is of no kind that is known
    """
    if isinstance(recs, Mapping):
        return _long(
            (
                (user, item, rank)
                for user, items in recs.items()
                for rank, item in enumerate(items, 1)
            ),
            "rank",
        )
    frame = frame_of(recs, "recs")
    require(frame, "recs", ["user", "item"])
    order = [name for name in ("rank", "score") if name in frame.columns]
    if not order:
        msg = f"recs: there is neither a column 'rank' nor 'score'; found {frame.columns}. Add one of them"
        raise ValueError(msg)
    return frame.select("user", "item", *order)


def truth_frame(truth: Data) -> pl.DataFrame:
    """user, item, grade (1 where none is given); the rows of each user in any order.

    Raises
    ------
    ValueError : a column or value is missing, a pair stands twice, a grade is negative or no number
    """
    if isinstance(truth, Mapping):
        frame = _long(_judgements(truth), "grade")
    else:
        frame = frame_of(truth, "truth")
        require(frame, "truth", ["user", "item"])
        if "grade" not in frame.columns:
            frame = frame.with_columns(grade=pl.lit(1.0))
    frame = frame.select("user", "item", pl.col("grade").cast(pl.Float64))
    _refuse_bad_truth(frame)
    return frame


def known_users(truth: Data, frame: pl.DataFrame) -> pl.DataFrame:
    """Whom the truth knows; in a dict a user may have no judged item."""
    if isinstance(truth, Mapping):
        return pl.DataFrame({"user": ids_of(list(truth))})
    return frame.select("user").unique()


def users_frame(users: Iterable[Any]) -> pl.DataFrame:
    """Who is evaluated: ids, or a frame with a column `user`."""
    if hasattr(users, "columns"):
        return frame_of(users, "users").select("user").unique()
    return pl.DataFrame({"user": ids_of(list(users))}).unique()


def same_id_types(*frames: pl.DataFrame) -> list[pl.DataFrame]:
    """Integers stay integers where all frames have them; otherwise they are compared by their decimal text."""
    for column in ("user", "item"):
        holding = [frame for frame in frames if column in frame.columns]
        if any(not frame.schema[column].is_integer() for frame in holding):
            frames = tuple(_as_text(frame, column) for frame in frames)
    return list(frames)


def _as_text(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.with_columns(pl.col(column).cast(pl.String)) if column in frame.columns else frame


def frame_of(data: Data, what: str) -> pl.DataFrame:
    """A polars frame of any frame or path; `what` names it in the message of a refusal."""
    if isinstance(data, str | Path):
        return _read(Path(data), what)
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pa.Table | pa.RecordBatch):
        return pl.DataFrame(pl.from_arrow(data))
    if type(data).__module__.split(".")[0] == "pandas":
        return pl.from_pandas(data)
    msg = f"{what}: {type(data).__name__} is no frame, path or dict; give a polars, pandas or pyarrow frame"
    raise ValueError(msg)


def _read(path: Path, what: str) -> pl.DataFrame:
    if path.suffix == ".parquet":
        return pl.read_parquet(path, glob=False)
    if path.suffix == ".csv":
        text = pl.read_csv(path, infer_schema=False, glob=False)
        numbers = [name for name in ("rank", "score", "grade") if name in text.columns]
        return text.with_columns(pl.col(numbers).cast(pl.Float64))
    msg = f"{what}: {path} is neither .parquet nor .csv; read it into a frame first"
    raise ValueError(msg)


def require(frame: pl.DataFrame, what: str, names: list[str]) -> None:
    """Refuse a frame that lacks a column."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        msg = f"{what}: column(s) {missing} not found; found {frame.columns}. Rename yours"
        raise ValueError(msg)


def _judgements(truth: Mapping[Any, Any]) -> Iterable[tuple[Any, Any, float]]:
    for user, judged in truth.items():
        pairs = judged.items() if isinstance(judged, Mapping) else ((item, 1) for item in judged)
        yield from ((user, item, grade) for item, grade in pairs)


def _long(rows: Iterable[tuple[Any, Any, Any]], third: str) -> pl.DataFrame:
    held = list(rows)
    users, items, numbers = ([row[n] for row in held] for n in range(3))
    kind = pl.Int64 if third == "rank" else pl.Float64
    return pl.DataFrame(
        {"user": ids_of(users), "item": ids_of(items), third: pl.Series(numbers, dtype=kind)}
    )


def ids_of(ids: list[Any]) -> pl.Series:
    """Ids as one column: all integers, or all text."""
    if all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
        return pl.Series(ids, dtype=pl.Int64)
    other = [one for one in ids if not isinstance(one, str)]
    if other:
        msg = f"ids: {other[0]!r} is neither text nor, like all others, an integer; use one type for all ids"
        raise ValueError(msg)
    return pl.Series(ids, dtype=pl.String)


def _refuse_bad_truth(frame: pl.DataFrame) -> None:
    wrong = frame.filter(
        ~(pl.col("grade") >= 0) | pl.col("grade").is_nan() | pl.any_horizontal(pl.all().is_null())
    )
    if len(wrong):
        msg = f"truth: {len(wrong)} row(s) with a missing id or a grade that is no number >= 0; first: {wrong.row(0)}"
        raise ValueError(msg)
    twice = frame.filter(frame.select("user", "item").is_duplicated())
    if len(twice):
        msg = f"truth: {len(twice)} rows judge the same item for the same user; first: {twice.row(0)}. Keep one each"
        raise ValueError(msg)
