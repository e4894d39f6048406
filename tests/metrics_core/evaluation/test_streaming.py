"""Lists that are evaluated as they go by give what all lists at once give."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import concord as cc
from concord.metrics_core.data import list_batches as batches
from concord.metrics_core.data import load_tables

METRICS = ["nDCG@2", "P@2", "R", "AP", "RR", "F1@1"]
_MANY = 1 << 20
users = st.integers(0, 12)
rows = st.dictionaries(users, st.lists(st.integers(0, 6), unique=True, max_size=4), max_size=10)
grades = st.dictionaries(
    users, st.dictionaries(st.integers(0, 6), st.integers(0, 40), max_size=3), max_size=10
)


def lists_of(lists: dict[int, list[int]], as_id: Callable[[int], Any]) -> pl.DataFrame:
    results = [
        (as_id(user), as_id(item), rank)
        for user, items in sorted(lists.items(), key=lambda pair: as_id(pair[0]))
        for rank, item in enumerate(items, 1)
    ]
    kind = pl.Int64 if as_id is int else pl.String
    return pl.DataFrame(results, {"user": kind, "item": kind, "rank": pl.Int64}, orient="row")


def in_order(recs: pl.DataFrame, order: str) -> pl.DataFrame:
    if order == "by user":
        return recs
    return recs.sort(
        "rank" if order == "rows in any order" else "user", descending=True, maintain_order=True
    )


def outcome(rows_at_a_time: int, recs: Any, truth: Any, **how: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "MIN_ROWS", rows_at_a_time)
        patch.setattr(load_tables, "BATCH_ROWS", rows_at_a_time)
        try:
            result = cc.evaluate(recs, truth, metrics=METRICS, **how)
        except ValueError as error:
            return str(error)
    return result


@given(
    items=rows,
    truth=grades,
    as_id=st.sampled_from([int, str]),
    shown_as=st.sampled_from([int, str]),
    case=st.sampled_from(["user_no_recs", "user_empty_truth", "user_recs_only"]),
    policy=st.sampled_from(["zero", "drop", "nan", "error"]),
    gain=st.sampled_from(["linear", "exp2"]),
    order=st.sampled_from(["by user", "users in any order", "rows in any order"]),
    selected=st.one_of(st.none(), st.lists(users, min_size=1, unique=True)),
)
def test_it_makes_no_difference_how_many_go_by_at_a_time(
    *,
    items: dict[int, list[int]],
    truth: dict[int, dict[int, int]],
    as_id: Any,
    shown_as: Any,
    case: str,
    policy: str,
    gain: str,
    order: str,
    selected: list[int] | None,
) -> None:
    judged = {
        shown_as(user): {shown_as(item): grade for item, grade in actual.items()}
        for user, actual in truth.items()
    }
    changed: dict[str, Any] = {case: policy, "gain": gain}
    how = {
        "conventions": cc.preset("standard", **changed),
        "users": None if selected is None else [shown_as(user) for user in selected],
        "input": {"empty_lists": "keep"},
    }

    recs = in_order(lists_of(items, as_id), order)

    few, all_ = (outcome(n, recs, judged, **how) for n in (3, _MANY))

    if isinstance(all_, str):
        assert few == all_
        return
    assert_frame_equal(few.values.store.values, all_.values.store.values)
    for counted in ("counts", "lists", "issues"):
        assert getattr(few.values.accumulator, counted) == getattr(all_.values.accumulator, counted)
    assert few.summaries == all_.summaries or repr(few.summaries) == repr(
        all_.summaries
    )  # NaN is no NaN
    assert few.warnings == all_.warnings
