"""Tables as people hold them, sound or spoilt, through the library's front door."""

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

ODD: tuple[Any, ...] = (
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
def _held(chance: random.Random) -> Case:
    """Sound data in any form, or data that chance has spoilt; the mean reciprocal rank tells what was read."""
    lists, truth = _data(chance)
    spoilt = chance.choice([True, True, False])
    more: dict[str, Any] = {}
    try:
        recs, judged = _given(chance, lists, truth, spoilt=spoilt)
    except (TypeError, ValueError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError):
        lists, truth = _data(chance)  # the frame itself cannot be made
        recs, judged, spoilt = lists, truth, False
    if spoilt and _half(chance):
        more["users"] = chance.choice([*ODD, [chance.choice(ODD)], {chance.choice("ab")}])
    if spoilt and _half(chance):
        more["items"] = {f"i{n}": chance.choice(ODD) for n in range(3)}

    def read() -> list[Row]:
        how: dict[str, Any] = {"metrics": ["RR"], "conventions": "standard"}
        mean = cc.evaluate(recs, judged, **how, **more)["RR"]
        likely = 0 <= mean <= 1 or math.isnan(mean)
        return [{"RR": "likely" if spoilt and likely else mean}]

    expected = [{"RR": "likely" if spoilt else _expected(lists, truth)}]
    return Case("held", "-", expected, "refused" if spoilt else "", read)


def _given(chance: random.Random, lists: Lists, truth: Truth, *, spoilt: bool) -> tuple[Any, Any]:
    if spoilt and _half(chance):
        _spoil_dict(chance, chance.choice([lists, truth]))
        return lists, truth
    recs, judged = _form(chance, _rows(lists)), _form(chance, _judged_rows(truth))
    return (_spoilt(chance, recs), _spoilt(chance, judged)) if spoilt else (recs, judged)


def _half(chance: random.Random) -> bool:
    return chance.choice([True, False])


def _data(chance: random.Random) -> tuple[Lists, Truth]:
    whole = _half(chance)
    users = [n if whole else f"u{n}" for n in range(chance.randint(1, 5))]
    items = [n if whole else f"i{n}" for n in range(9)]
    lists = {user: chance.sample(items, chance.randint(1, 6)) for user in users}
    truth = {user: dict.fromkeys(chance.sample(items, chance.randint(1, 4)), 1.0) for user in users}
    return lists, truth


def _expected(lists: Lists, truth: Truth) -> float:
    """The mean reciprocal rank."""
    ranks = [
        next((1 / rank for rank, item in enumerate(items, 1) if item in truth[user]), 0.0)
        for user, items in lists.items()
    ]
    return math.fsum(ranks) / len(ranks)


def _rows(lists: Lists) -> dict[str, list[Any]]:
    places = [(u, i, r) for u, items in lists.items() for r, i in enumerate(items, 1)]
    return {
        "user": [p[0] for p in places],
        "item": [p[1] for p in places],
        "rank": [p[2] for p in places],
    }


def _judged_rows(truth: Truth) -> dict[str, list[Any]]:
    pairs = [(u, i, g) for u, grades in truth.items() for i, g in grades.items()]
    return {
        "user": [p[0] for p in pairs],
        "item": [p[1] for p in pairs],
        "grade": [p[2] for p in pairs],
    }


def _by_user(rows: dict[str, list[Any]]) -> Any:
    held: dict[Any, Any] = {}
    for user, item, value in zip(*rows.values(), strict=True):
        if "grade" in rows:
            held.setdefault(user, {})[item] = value
        else:
            held.setdefault(user, []).append(item)
    return held


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


def _form(chance: random.Random, rows: dict[str, list[Any]]) -> Any:
    order = chance.sample(range(len(rows["user"])), len(rows["user"]))
    form = chance.choice(_FORMS)
    if form is not _by_user:
        rows = {name: [values[n] for n in order] for name, values in rows.items()}
    return form(rows)


def _spoil_dict(chance: random.Random, held: dict[Any, Any]) -> None:
    """One odd thing: as an id of a user, as what a user has, or in it."""
    user, odd = chance.choice(list(held)), chance.choice(ODD)
    match chance.randrange(3):
        case 0:
            held[odd] = held.pop(user)
        case 1:
            held[user] = odd
        case _ if isinstance(held[user], dict):
            held[user][chance.choice(list(held[user]))] = odd
        case _:
            held[user][0] = odd


def _spoilt(chance: random.Random, data: Any) -> Any:
    """The frame with an odd value, a column of odd values, or a column less; others as they are."""
    if not isinstance(data, pl.DataFrame | pd.DataFrame):
        return data
    frame = data if isinstance(data, pd.DataFrame) else data.to_pandas()
    name, odd = chance.choice(list(frame.columns)), chance.choice(ODD)
    match chance.randrange(4):
        case 0:
            frame = frame.astype({name: object})
            frame.at[frame.index[0], name] = odd
        case 1:
            frame[name] = [odd] * len(frame)
        case 2:
            frame = frame.drop(columns=[name])
        case _:
            frame = frame.rename(
                columns={name: chance.choice([*frame.columns, "", "User", "rating"])}
            )
    return frame if _half(chance) else pl.from_pandas(frame)
