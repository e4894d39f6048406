"""Judged lists: what is kept of them, and for how long."""

import gc
import weakref

import numpy as np
import pytest

from concord.metrics_core.metrics.judged import Judged, per_user


def _judged() -> Judged:
    one = np.array([0])
    return Judged(
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


def test_judged_lists_are_let_go_at_once() -> None:
    judged = _judged()
    assert judged.relevant(1.0, "all") is judged
    judged.relevant(1.0, "retrieved").once(Judged.count, 1)
    seen = weakref.ref(judged)
    gc.disable()
    try:
        del judged
        assert seen() is None
    finally:
        gc.enable()


def test_what_is_made_once_is_made_once_for_each_question_and_changed_by_nobody() -> None:
    made = []

    def summed(lists: Judged, k: int, *, weight: float) -> np.ndarray:
        made.append((k, weight))
        return per_user(lists.hit_user, weight * lists.hit_grade, lists.n_users)

    judged = _judged()
    first = judged.once(summed, 1, weight=2.0)

    assert judged.once(summed, 1, weight=2.0) is first
    assert judged.once(summed, 1, weight=3.0).tolist() == [3.0]
    assert judged.once(summed, 2, weight=2.0).tolist() == [2.0]
    assert made == [(1, 2.0), (1, 3.0), (2, 2.0)]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 5.0
