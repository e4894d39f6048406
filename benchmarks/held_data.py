"""Cases with Python objects as tables, valid or damaged, through `concord.evaluate`."""

import math
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import concord as cc
from benchmarks.fuzz_cases import Case, Row, kind

Lists = dict[Any, list[Any]]
Truth = dict[Any, dict[Any, float]]

ODD_VALUES: tuple[Any, ...] = (
    None,
    math.nan,
    math.inf,
    -math.inf,
    -1,
    0,
    True,
    2**53 + 1,
    2**63 - 1,
    2**64,
    -(2**70),
    0.5,
    "",
    " ",
    "x ",
    "\u3000x",
    "e\u0301",
    "\ud800",
    "a\0b",
    "1.0",
    "1e3",
    "٣",
    b"x",
    b"",
    Decimal("1.5"),
    Decimal("NaN"),
    datetime(2026, 1, 1, tzinfo=UTC),
    date(2026, 1, 1),
    timedelta(1),
    UUID(int=1),
    ["a"],
    ("a", 0.5),
    {"a"},
    {"a": 1},
    frozenset(),
    object(),
    np.float32(0.1),
    np.int8(3),
    np.array([1, 2]),
    pl.Series(["a"]),
    1j,
    range(2),
)


@kind
def _stored_data(rng: random.Random) -> Case:
    """Return valid or damaged data in any form; the mean reciprocal rank shows what was read."""
    lists, truth = _data(rng)
    is_damaged = rng.choice([True, True, False])
    tables: dict[str, Any] = {}
    try:
        recs, judged = _random_input(rng, lists, truth, is_damaged=is_damaged)
    except (TypeError, ValueError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError):
        lists, truth = _data(rng)  # the frame itself cannot be made
        recs, judged, is_damaged = lists, truth, False
    if is_damaged and _coin(rng):
        tables["users"] = rng.choice([*ODD_VALUES, [rng.choice(ODD_VALUES)], {rng.choice("ab")}])
    if is_damaged and _coin(rng):
        tables["items"] = {f"i{n}": rng.choice(ODD_VALUES) for n in range(3)}

    def read() -> list[Row]:
        arguments: dict[str, Any] = {"metrics": ["RR"], "conventions": "standard"}
        mean = cc.evaluate(recs, judged, **arguments, **tables)["RR"]
        is_plausible = 0 <= mean <= 1 or math.isnan(mean)
        return [{"RR": "plausible" if is_damaged and is_plausible else mean}]

    expected = [{"RR": "plausible" if is_damaged else _expected(lists, truth)}]
    return Case("held", "-", expected, "refused" if is_damaged else "", read)


def _random_input(
    rng: random.Random, lists: Lists, truth: Truth, *, is_damaged: bool
) -> tuple[Any, Any]:
    if is_damaged and _coin(rng):
        _damage_dict(rng, rng.choice([lists, truth]))
        return lists, truth
    recs, judged = _form(rng, _rows(lists)), _form(rng, _judged_rows(truth))
    return (
        (_damaged_frame(rng, recs), _damaged_frame(rng, judged)) if is_damaged else (recs, judged)
    )


def _coin(rng: random.Random) -> bool:
    return rng.choice([True, False])


def _data(rng: random.Random) -> tuple[Lists, Truth]:
    is_numeric = _coin(rng)
    users = [n if is_numeric else f"u{n}" for n in range(rng.randint(1, 5))]
    items = [n if is_numeric else f"i{n}" for n in range(9)]
    lists = {user: rng.sample(items, rng.randint(1, 6)) for user in users}
    truth = {user: dict.fromkeys(rng.sample(items, rng.randint(1, 4)), 1.0) for user in users}
    return lists, truth


def _expected(lists: Lists, truth: Truth) -> float:
    """Return the mean reciprocal rank."""
    ranks = [
        next((1 / rank for rank, item in enumerate(items, 1) if item in truth[user]), 0.0)
        for user, items in lists.items()
    ]
    return math.fsum(ranks) / len(ranks)


def _rows(lists: Lists) -> dict[str, list[Any]]:
    rows = [(u, i, r) for u, items in lists.items() for r, i in enumerate(items, 1)]
    return {
        "user": [p[0] for p in rows],
        "item": [p[1] for p in rows],
        "rank": [p[2] for p in rows],
    }


def _judged_rows(truth: Truth) -> dict[str, list[Any]]:
    pairs = [(u, i, g) for u, grades in truth.items() for i, g in grades.items()]
    return {
        "user": [p[0] for p in pairs],
        "item": [p[1] for p in pairs],
        "grade": [p[2] for p in pairs],
    }


def _by_user(rows: dict[str, list[Any]]) -> Any:
    nested: dict[Any, Any] = {}
    for user, item, value in zip(*rows.values(), strict=True):
        if "grade" in rows:
            nested.setdefault(user, {})[item] = value
        else:
            nested.setdefault(user, []).append(item)
    return nested


def _file(ending: str, write: Callable[[pl.DataFrame, str], object]) -> Callable[[Any], Any]:
    def written(rows: dict[str, list[Any]]) -> Path:
        path = Path(f"{'truth' if 'grade' in rows else 'recs'}.{ending}")
        write(pl.DataFrame(rows), str(path))
        return path

    return written


_FORMS: tuple[Callable[[Any], Any], ...] = (
    _by_user,
    pl.DataFrame,
    pl.LazyFrame,
    pa.table,
    pd.DataFrame,
    lambda rows: pd.DataFrame(rows).convert_dtypes(),
    lambda rows: pd.DataFrame(rows).astype({"item": "category"}),
    lambda rows: pd.DataFrame({name: np.array(values) for name, values in rows.items()}),
    lambda rows: pl.DataFrame(rows).with_columns(pl.col("item").cast(pl.String)),
    lambda rows: pl.DataFrame(rows).cast({pl.Int64: pl.Float64}),
    lambda rows: pl.DataFrame(rows).cast({pl.Int64: pl.UInt16}),
    lambda rows: pl.DataFrame(rows).cast(pl.String),
    _file("parquet", lambda frame, path: frame.write_parquet(path)),
    _file("csv", lambda frame, path: frame.write_csv(path)),
    _file("arrow", lambda frame, path: frame.write_ipc(path)),
    _file("jsonl", lambda frame, path: frame.write_ndjson(path)),
)


def _form(rng: random.Random, rows: dict[str, list[Any]]) -> Any:
    order = rng.sample(range(len(rows["user"])), len(rows["user"]))
    form = rng.choice(_FORMS)
    if form is not _by_user:
        rows = {name: [values[n] for n in order] for name, values in rows.items()}
    return form(rows)


def _damage_dict(rng: random.Random, nested: dict[Any, Any]) -> None:
    """Insert an odd value as a user's id, as a user's list, or as an item of it."""
    user, value = rng.choice(list(nested)), rng.choice(ODD_VALUES)
    match rng.randrange(3):
        case 0:
            nested[value] = nested.pop(user)
        case 1:
            nested[user] = value
        case _ if isinstance(nested[user], dict):
            nested[user][rng.choice(list(nested[user]))] = value
        case _:
            nested[user][0] = value


def _damaged_frame(rng: random.Random, data: Any) -> Any:
    """Return a frame with an odd value, an odd, missing or renamed column; others unchanged."""
    if not isinstance(data, pl.DataFrame | pd.DataFrame):
        return data
    frame = data if isinstance(data, pd.DataFrame) else data.to_pandas()
    name, value = rng.choice(list(frame.columns)), rng.choice(ODD_VALUES)
    match rng.randrange(4):
        case 0:
            frame = frame.astype({name: object})
            frame.at[frame.index[0], name] = value
        case 1:
            frame[name] = [value] * len(frame)
        case 2:
            frame = frame.drop(columns=[name])
        case _:
            frame = frame.rename(columns={name: rng.choice([*frame.columns, "", "User", "rating"])})
    return frame if _coin(rng) else pl.from_pandas(frame)
