"""The join of lists and ground truth gives what two loops over the rows give."""

import gc
import weakref
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.data.list_batches import list_batch
from concord.metrics_core.data.sorted_reader import has_repeated_items
from concord.metrics_core.evaluation.block import Block, SortedFile, SortedRows
from concord.metrics_core.evaluation.join_truth import join_truth
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.judged import Judged

KEEPING = cc.preset("standard", duplicates="keep")
users = st.integers(0, 6)
rows = st.lists(st.tuples(users, st.one_of(st.none(), st.integers(0, 5))), max_size=30)
grades = st.dictionaries(st.tuples(users, st.integers(0, 5)), st.integers(0, 3), max_size=20)


def as_ids(frame: pl.DataFrame, kind: Any) -> pa.Table:
    return frame.with_columns(pl.col("user", "item").cast(kind)).to_arrow()


@given(
    rows=rows,
    grades=grades,
    kinds=st.tuples(*[st.sampled_from([pl.Int64, pl.String])] * 2),
    only_known=st.booleans(),
    named=st.one_of(st.none(), st.lists(users, unique=True)),
)
def test_hits_are_those_of_two_loops(
    *,
    rows: list[tuple[int, int | None]],
    grades: dict[tuple[int, int], int],
    kinds: tuple[Any, Any],
    only_known: bool,
    named: list[int] | None,
) -> None:
    ordered = sorted(rows, key=lambda row: row[0])
    ranks: dict[int, int] = {}
    listed = []
    for user, item in ordered:
        ranks[user] = ranks.get(user, 0) + 1
        listed.append((user, item, ranks[user]))
    schema = {"user": pl.Int64, "item": pl.Int64}
    lists = pl.DataFrame(listed, {**schema, "rank": pl.Int64}, orient="row")
    pairs = sorted((user, item, float(grade)) for (user, item), grade in grades.items())
    truth = pl.DataFrame(pairs, {**schema, "grade": pl.Float64}, orient="row")
    ids = pl.Series(named, dtype=pl.Int64).cast(kinds[1])
    known = None if named is None else pa.table({"user": ids})

    block = Block.from_tables(as_ids(lists, kinds[0]), as_ids(truth, kinds[1]), known)
    judged = join_truth(block, Task((), KEEPING, only_known=only_known))

    evaluated = {user for user, _ in grades} if named is None else {*named}
    expected_users = sorted(evaluated if only_known else evaluated | {*ranks})  # one digit each
    assert [int(user) for user in judged.users] == expected_users
    assert judged.known.tolist() == [user in evaluated for user in expected_users]
    assert judged.n_listed.tolist() == [ranks.get(user, 0) for user in expected_users]
    number = {user: n for n, user in enumerate(expected_users)}
    seen: set[tuple[int, int]] = set()
    hits = []
    for user, item, rank in listed:
        if user in number and item is not None and (user, item) in grades:
            hits.append((number[user], rank, grades[user, item], (user, item) not in seen))
            seen.add((user, item))
    columns = judged.hit_user, judged.hit_rank, judged.hit_grade, judged.hit_first
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == hits
    best_first = sorted((number[u], -grade) for (u, _), grade in grades.items() if u in number)
    truth_rows = zip(judged.truth_user.tolist(), (-judged.truth_grade).tolist(), strict=True)
    assert list(truth_rows) == best_first


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=12), min_size=1, max_size=8))
def test_an_item_that_occurs_twice_in_a_list_is_found(lists: list[list[int]]) -> None:
    pairs = [(user, item) for user, items in enumerate(lists) for item in items]
    table = pl.DataFrame(pairs, ["user", "item"], orient="row").to_arrow()

    repeats = any(len({*items}) < len(items) for items in lists)
    assert has_repeated_items(list_batch(table)) == repeats


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_ranges_of_a_file_have_every_row_once(kind: Any, tmp_path: Any) -> None:
    users = [user for user in range(10, 40) for _ in range(user % 7)]
    frame = pl.DataFrame({"user": users, "row": range(len(users))}).cast({"user": kind})
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=9)

    for table in (SortedFile(tmp_path / "t.parquet", frame.columns), SortedRows(frame.to_arrow())):
        starts = table.starts(20)
        bounds = list(zip([None, *starts], [*starts, None], strict=True))
        parts = [pl.DataFrame(table.between(*each)) for each in bounds]
        assert len(parts) > 3
        assert pl.concat(parts).equals(frame)
        for before, after in pairwise(parts):
            assert before["user"][-1] < after["user"][0]


def test_judged_lists_are_freed_at_once() -> None:
    one = np.array([0])
    judged = Judged(
        users=np.array(["u"], dtype=object),
        known=np.array([True]),
        n_listed=np.array([3]),
        hit_user=one,
        hit_rank=np.array([2]),
        hit_grade=np.array([1.0]),
        hit_first=np.array([True]),
        truth_user=one,
        truth_grade=np.array([1.0]),
    )
    assert judged.relevant(1.0, "all") is judged
    judged.relevant(1.0, "retrieved").cached(Judged.count, 1)
    reference = weakref.ref(judged)
    gc.disable()
    try:
        del judged
        assert reference() is None
    finally:
        gc.enable()
