"""Work on all cores, with results in order."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, islice
from typing import TypeVar

MOST_CORES = 16  # each holds a few items, and one thread reads for all
Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """Return the number of cores that work is spread over."""
    if hasattr(os, "sched_getaffinity"):  # which may be fewer than the machine has
        return min(len(os.sched_getaffinity(0)), MOST_CORES)
    return min(os.cpu_count() or 1, MOST_CORES)


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result]:
    """Yield the result for each item, in the order of the items.

    Results are computed on all cores before they are used: NumPy, Arrow and DuckDB release the
    lock of Python. At most as many items as there are cores are held. When closed, and after an
    error, the generator waits for what is being computed and closes the generator of the items.
    """
    cores, iterator = count_cores(), iter(items)
    pending: deque[Future[Result]] = deque()
    with ExitStack() as stack:
        if isinstance(items, Generator):
            stack.callback(items.close)
        first = list(islice(iterator, 2))
        if len(first) < 2:  # noqa: PLR2004 - no thread is worth its start
            yield from map(function, first)
            return
        pool = stack.enter_context(ThreadPoolExecutor(cores))
        stack.callback(lambda: [each.cancel() for each in pending])
        for item in chain(first, iterator):
            pending.append(pool.submit(function, item))
            if len(pending) >= cores:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
