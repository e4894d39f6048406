"""Lists that are evaluated while they are read give what all lists at once give."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import concord as cc
from concord.metrics_core.data import list_batches as batches
from concord.metrics_core.data import load_tables, read_columnar, workers
from concord.metrics_core.evaluation.dataset import Dataset
from concord.metrics_core.evaluation.model_result import ModelResult

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


def outcome(rows_at_a_time: int, cores: int, recs: Any, truth: Any, **how: Any) -> Any:
    """Return the evaluation and the results of the model, or the message of an error."""
    evaluate, models = Dataset.evaluate, []

    def recorded(*arguments: Any, **options: Any) -> ModelResult:
        models.append(evaluate(*arguments, **options))
        return models[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "MIN_ROWS", rows_at_a_time)
        patch.setattr(workers, "count_cores", lambda: cores)
        patch.setattr(read_columnar, "BATCH_ROWS", rows_at_a_time)
        patch.setattr(load_tables, "BATCH_ROWS", rows_at_a_time)
        patch.setattr(Dataset, "evaluate", recorded)
        try:
            result = cc.evaluate(recs, truth, metrics=METRICS, **how)
        except ValueError as error:
            return str(error)
    return result, models[0]


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
    cores=st.sampled_from([1, 2, 8]),
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
    cores: int,
) -> None:
    judged = {
        shown_as(user): {shown_as(item): grade for item, grade in actual.items()}
        for user, actual in truth.items()
    }
    changed: dict[str, Any] = {case: policy, "gain": gain}
    how: dict[str, Any] = {
        "conventions": cc.preset("standard", **changed),
        "only_users": None if selected is None else [shown_as(user) for user in selected],
        "input": {"empty_lists": "keep"},
    }

    recs = in_order(lists_of(items, as_id), order)

    few, at_once = (outcome(*each, recs, judged, **how) for each in ((3, cores), (_MANY, 1)))

    if isinstance(at_once, str):
        assert few == at_once
        return
    (few, streamed), (at_once, in_memory) = few, at_once
    assert_frame_equal(streamed.values, in_memory.values)
    for each in (streamed, in_memory):
        del each.summary["validity"]["users"]  # which only comparisons read
    assert streamed.summary == in_memory.summary
    assert repr(few.summaries) == repr(at_once.summaries)  # NaN is not equal to NaN
    assert few.warnings == at_once.warnings
