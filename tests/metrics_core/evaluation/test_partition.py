"""Work and memory end with whoever needs them."""

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.evaluation.join_truth import fetch
from concord.metrics_core.evaluation.partition import prefetch
from concord.metrics_core.metrics.judged import Judged


def test_after_an_error_nothing_is_made_any_more_and_what_made_it_is_closed() -> None:
    making, closed = threading.Event(), []

    def parts() -> Iterator[int]:
        try:
            for number in range(5):
                making.set()
                time.sleep(0.05)
                making.clear()
                yield number
        finally:
            closed.append(making.is_set())

    def use() -> None:
        with closing(prefetch(parts())) as ahead:
            for part in ahead:
                making.wait()
                raise ValueError(part)

    with pytest.raises(ValueError, match="0"):
        use()

    assert closed == [False]  # after the part that was being made


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


def test_null_is_nan_in_numbers_and_none_in_other_columns() -> None:
    query = "SELECT unnest([1, NULL]) AS number, unnest(['a', NULL]) AS text, unnest([1, 2]) AS n"
    with registered_only() as connection:
        columns = fetch(connection, query)
    np.testing.assert_array_equal(columns["number"], [1.0, np.nan])
    assert columns["text"].tolist() == ["a", None]
    assert columns["n"].tolist() == [1, 2]
