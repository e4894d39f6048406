"""Work done one ahead ends with whoever asked for it."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from concord.metrics_core.scoring.ranges import one_ahead


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
        with closing(one_ahead(parts())) as ahead:
            for part in ahead:
                making.wait()
                raise ValueError(part)

    with pytest.raises(ValueError, match="0"):
        use()

    assert closed == [False]  # after the part that was being made
