"""Work on all cores, with results in order."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result]:
    """Yield the result for each item, in the order of the items.

    Results are computed on all cores before they are used: NumPy, Arrow and DuckDB release the
    lock of Python. At most one item more than there are cores is held. When closed, and after an
    error, the generator waits for what is being computed and closes the generator of the items.
    """
    cores = count_cores()
    pending: deque[Future[Result]] = deque()
    with _closing(items), ThreadPoolExecutor(cores) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > cores:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for each in pending:
                each.cancel()


@contextmanager
def _closing(items: Iterable[Item]) -> Iterator[None]:
    """Close the generator of the items, if they have one, when the block ends."""
    try:
        yield
    finally:
        if isinstance(items, Generator):
            items.close()
