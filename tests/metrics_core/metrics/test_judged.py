"""How long judged lists stay in memory."""

import gc
import weakref

import numpy as np

from concord.metrics_core.metrics.judged import Judged


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
    judged.relevant(1.0, "retrieved").once(Judged.count, 1)
    reference = weakref.ref(judged)
    gc.disable()
    try:
        del judged
        assert reference() is None
    finally:
        gc.enable()
