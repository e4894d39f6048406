"""Run one piece of work on the two files of a workload; print its cost as JSON.

    python -m benchmarks.contestant NAME LISTS TRUTH

The cost includes all work from the files to the means, without imports. Peers: benchmarks/peers.py.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measured import timed
from benchmarks.workload import KS, METRICS

Paths = tuple[str, str]  # of lists and truth
SHORT = 20  # items in the lists of a small call


def join(paths: Paths) -> Callable[[], float]:
    """Return the number of hits by DuckDB, through an open connection: the bare work."""
    import duckdb

    lists, truth = (f"read_parquet('{path}')" for path in paths)
    connection = duckdb.connect()
    query = f"SELECT count(*) FROM {lists} JOIN {truth} USING (user, item)"

    def work() -> float:
        (hits,) = connection.execute(query).fetchone() or (0,)
        return float(hits)

    return work


def evaluate(paths: Paths) -> Callable[[], float]:
    """Return `concord.evaluate` of the files, 30 labels."""
    from concord import evaluate

    labels = [f"{name}@{k}" for name in METRICS for k in KS]
    lists, truth = map(Path, paths)
    return lambda: evaluate(lists, truth, metrics=labels, conventions="standard")["nDCG@10"]


def first_call(paths: Paths) -> Callable[[], float]:
    """Return the first call in a process, on frames.

    Its value is the growth of memory by it, in MB.
    """
    call = _small_call(paths)

    def work() -> float:
        before = _memory()
        call()
        return _memory() - before

    return work


def second_call(paths: Paths) -> Callable[[], float]:
    """Return the same call when it is no longer the first."""
    call = _small_call(paths)
    call()
    return call


def _small_call(paths: Paths) -> Callable[[], float]:
    import polars as pl

    from concord import evaluate

    lists, truth = (pl.read_parquet(path) for path in paths)
    recs = lists.filter(pl.col("rank") <= SHORT)
    labels = ["nDCG@10", "R@20"]
    return lambda: evaluate(recs, truth, metrics=labels, conventions="standard")["nDCG@10"]


def _memory() -> float:
    """Return the resident memory of this process in MB; 0 if the system does not say it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    return int(status.read_text().partition("VmRSS:")[2].split()[0]) * 1024 / 1e6


CONTESTANTS = {
    "join": join,
    "evaluate": evaluate,
    "first call": first_call,
    "second call": second_call,
}


def main() -> None:
    name, lists, truth = sys.argv[1:]
    work = CONTESTANTS[name]((lists, truth))
    values: list[float] = []
    cost = timed(lambda: values.append(work()))
    print(json.dumps({**cost, "value": values[0]}))


if __name__ == "__main__":
    main()
