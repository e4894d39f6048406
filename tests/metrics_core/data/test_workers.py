"""Work is done in several threads, and its results keep their order."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from concord.metrics_core.data.workers import (
    MOST_CORES,
    THREADS_VARIABLE,
    count_cores,
    map_in_order,
)


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
        with closing(map_in_order(abs, parts())) as ahead:
            for part in ahead:
                raise ValueError(part)

    with pytest.raises(ValueError, match="0"):
        use()

    assert closed == [False]  # after the part that was being made


def test_results_keep_the_order_of_the_items_whichever_is_ready_first() -> None:
    def slow(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number

    assert list(map_in_order(slow, iter(range(20)))) == list(range(20))


def test_an_error_comes_in_its_place_and_stops_the_work() -> None:
    started: list[int] = []

    def fail(number: int) -> int:
        started.append(number)
        if number == 1:
            raise ValueError(number)
        return number

    results = map_in_order(fail, iter(range(1000)))
    assert next(results) == 0
    with pytest.raises(ValueError, match="1"):
        next(results)
    assert max(started) < 100


@pytest.mark.parametrize(("limit", "cores"), [("1", 1), ("3", 3), ("99", MOST_CORES), ("", 40)])
def test_an_environment_variable_bounds_the_threads(
    limit: str, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(40)}, raising=False)
    monkeypatch.setenv(THREADS_VARIABLE, limit)
    assert count_cores() == min(cores, MOST_CORES)


def test_on_one_core_everything_is_done_in_the_calling_thread() -> None:
    threads = map_in_order(lambda _: threading.get_ident(), range(5), cores=1)
    assert {*threads} == {threading.get_ident()}
