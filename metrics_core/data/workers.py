"""Work on all cores, with results in order."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain, islice
from typing import TypeVar

THREADS_VARIABLE = "CONCORD_THREADS"
MOST_CORES = 16  # each holds a few items, and one thread reads for all
Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """Return the number of cores that work is spread over: those of the process, or fewer."""
    limit = os.environ.get(THREADS_VARIABLE, "")  # the pipeline refuses other texts
    most = min(int(limit), MOST_CORES) if limit.isdecimal() and int(limit) else MOST_CORES
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, most)


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], *, cores: int | None = None
) -> Generator[Result]:
    """Yield the result for each item, in the order of the items.

    Results are computed on all cores before they are used: NumPy, Arrow and DuckDB release the
    lock of Python. One item for each core is held, and one more while it is read. When closed, and
    after an error, the generator waits for what is being computed and closes the generator of the
    items. On one core everything is done in the calling thread.
    """
    cores, iterator = cores or count_cores(), iter(items)
    pending: deque[Future[Result]] = deque()
    with ExitStack() as stack:
        if isinstance(items, Generator):
            stack.callback(items.close)
        first = list(islice(iterator, min(cores, 2)))
        if len(first) < 2:  # noqa: PLR2004 - no thread is worth its start
            yield from map(function, chain(first, iterator))
            return
        pool = stack.enter_context(ThreadPoolExecutor(cores))
        stack.callback(lambda: [each.cancel() for each in pending])
        for item in chain(first, iterator):
            pending.append(pool.submit(function, item))
            if len(pending) >= cores:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
