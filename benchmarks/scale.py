"""`python -m benchmarks.scale [USERS …]`: stages on 10^4 to 10^7 users x 100, time and memory against rows.

Every step is a process of its own: the stages `load`, `load-truth` and `evaluate` with all checks, the panel and users'
values; beside them a bare scan of the lists and the bare join with the truth by DuckDB.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from concord.pipeline.params.model import Params
from concord.pipeline.running.announce import peak_memory

DEPTH, RELEVANT, ITEMS = 100, 15, 20_000
USERS = (10_000, 100_000, 1_000_000, 10_000_000)
AT_ONCE = 50_000  # users
HERE = Path(__file__).parent
STEPS = ("scan", "join", "load-truth", "load", "evaluate")


def make(folder: Path, users: int) -> None:
    """Lists by user and rank, no item twice; truth by user and item. Popular items are wanted and shown more often."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20_26)
    for name, per_user in (("lists", DEPTH), ("truth", RELEVANT)):
        if (folder / f"{name}.parquet").exists():
            continue
        last = "rank" if name == "lists" else "grade"
        schema = pa.schema({"user": pa.int64(), "item": pa.int64(), last: pa.int64()})
        beside = folder / f".{name}.parquet"
        with pq.ParquetWriter(beside, schema) as writer:
            for first in range(0, users, AT_ONCE):
                n = min(AT_ONCE, users - first)
                # Steps of 1 to 199: no item twice in 100, and low items, the popular ones, more often.
                steps = rng.integers(1, 200, (n, per_user), dtype=np.int64)
                items = np.cumsum(steps, axis=1)
                if name == "lists":
                    items = np.take_along_axis(items, rng.random((n, per_user)).argsort(axis=1), axis=1)  # fmt: skip
                user = np.repeat(np.arange(first, first + n), per_user)
                value = np.tile(np.arange(1, per_user + 1), n) if name == "lists" else rng.integers(1, 4, n * per_user)  # fmt: skip
                writer.write_table(pa.table([user, items.ravel(), value], schema=schema))
        beside.replace(folder / f"{name}.parquet")


def project(folder: Path) -> Params:
    """The params of a model on these files."""
    from tests.pipeline.loading.load_project import params_of

    params = params_of(str(folder / "lists.parquet"), allow_outside=True)
    asked = {"metrics": ["P", "R", "AP", "nDCG", "RR"], "ks": [1, 5, 10, 20, 50, 100], "panel": True}  # fmt: skip
    truth = params.data.truth.model_copy(update={"path": str(folder / "truth.parquet")})
    results = {name: str(folder / "results" / name) for name in vars(params.results)}
    return params.model_copy(
        update={
            "evaluation": params.evaluation.model_copy(update={**asked, "rows_per_partition": 5_000_000}),
            "comparison": params.comparison.model_copy(update={"primary": ["nDCG@10"]}),
            "data": params.data.model_copy(update={"truth": truth}),
            "results": params.results.model_copy(update=results),
        }
    )  # fmt: skip


def step(name: str, folder: Path) -> None:
    """One step, in a process of its own."""
    if name in ("scan", "join"):
        import duckdb

        lists, truth = (f"read_parquet('{folder / name}.parquet')" for name in ("lists", "truth"))
        join = f"SELECT count(*) FROM {lists} JOIN {truth} USING (user, item)"
        query = f"SELECT sum(user), sum(item), sum(rank) FROM {lists}" if name == "scan" else join
        with tempfile.TemporaryDirectory() as spill:
            duckdb.execute(f"SET temp_directory = '{spill}'; {query}").fetchall()
        return
    from concord.pipeline.evaluating.evaluate import evaluate
    from concord.pipeline.loading.load import load
    from concord.pipeline.loading.load_truth import load_truth
    from concord.pipeline.running.connections import workspace

    params = project(folder)
    if name == "evaluate":
        evaluate(params, "m")
        return
    with workspace() as connection:
        if name == "load":
            load(connection, params, "m")
        else:
            load_truth(connection, params)


def timed(work: Callable[[], None]) -> dict[str, float]:
    start = time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - start, "peak_mib": peak_memory() / 2**20}


def measure(folder: Path, users: int) -> dict[str, dict[str, float]]:
    """Step -> seconds and peak memory."""
    make(folder, users)
    found = {}
    for name in STEPS:
        command = [sys.executable, "-m", "benchmarks.scale", "--step", name, str(folder)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent)  # fmt: skip
        found[name] = json.loads(done.stdout.splitlines()[-1])
        print(f"{users * DEPTH:>13,} rows  {name:<11}{found[name]['seconds']:>8.1f} s{found[name]['peak_mib']:>8.0f} MiB", flush=True)  # fmt: skip
    return found


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        name, folder = sys.argv[2:]
        print(json.dumps(timed(lambda: step(name, Path(folder)))))
        return
    for users in map(int, sys.argv[1:] or map(str, USERS)):
        measure(HERE / "data" / f"scale-{users}", users)


if __name__ == "__main__":
    main()
