"""`python -m benchmarks.scale [USERS …]`: time and memory of stages on 10^4 to 10^7 users x 100.

`make bench-scale` runs it too. Every step is its own process: the stages `load`, `load-truth` and
`evaluate` with all checks, the panel and users' values; beside them a scan of the lists and a join
with the truth by DuckDB. Measurements are kept in benchmarks/scale.json, from which the page and
its charts are made; a run that was cut off goes on. 10^7 users (2 GB of lists, as much of results)
run only on request.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measured import FOLDER, timed
from benchmarks.tabulated import Row, markdown_table
from concord.pipeline.params.model import Params

DEPTH, RELEVANT, ITEMS = 100, 15, 20_000
USERS = (10_000, 100_000, 1_000_000, 10_000_000)
AT_ONCE = 50_000  # users
LONGEST, MOST_MEMORY = 120, 2_500  # s and MB of all stages at a billion rows
GIB_4 = 4 * 1024**3 / 1e6  # MB
DATA = FOLDER / "data"
KNOWN = FOLDER / "scale.json"  # committed, as the charts need it
RESULTS = FOLDER / "RESULTS.md"
HEADING = "A billion rows on one machine"
STEPS = ("scan", "join", "load-truth", "load", "evaluate")


def make(folder: Path, users: int) -> None:
    """Write lists by user and rank, and truth by user and item; popular items occur more often."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20_26)
    for name, per_user in (("lists", DEPTH), ("truth", RELEVANT)):
        if (folder / f"{name}.parquet").exists():
            continue
        last = "rank" if name == "lists" else "grade"
        schema = pa.schema({"user": pa.int64(), "item": pa.int64(), last: pa.int64()})
        temporary = folder / f".{name}.parquet"
        with pq.ParquetWriter(temporary, schema) as writer:
            for first in range(0, users, AT_ONCE):
                n = min(AT_ONCE, users - first)
                # Steps of 1 to 199: no item twice in 100, and popular (low) items more often.
                steps = rng.integers(1, 200, (n, per_user), dtype=np.int64)
                items = np.cumsum(steps, axis=1)
                if name == "lists":
                    items = np.take_along_axis(
                        items, rng.random((n, per_user)).argsort(axis=1), axis=1
                    )
                user = np.repeat(np.arange(first, first + n), per_user)
                value = (
                    np.tile(np.arange(1, per_user + 1), n)
                    if name == "lists"
                    else rng.integers(1, 4, n * per_user)
                )
                writer.write_table(pa.table([user, items.ravel(), value], schema=schema))
        temporary.replace(folder / f"{name}.parquet")


def project(folder: Path) -> Params:
    """Return the params of a model on these files."""
    from tests.pipeline.stages.load_project import params_of

    params = params_of(str(folder / "lists.parquet"), allow_outside=True)
    evaluation = {
        "metrics": ["P", "R", "AP", "nDCG", "RR"],
        "ks": [1, 5, 10, 20, 50, 100],
        "panel": True,
    }
    truth = params.data.truth.model_copy(update={"path": str(folder / "truth.parquet")})
    results = {name: str(folder / "results" / name) for name in vars(params.results)}
    return params.model_copy(
        update={
            "evaluation": params.evaluation.model_copy(
                update={**evaluation, "rows_per_partition": 5_000_000}
            ),
            "comparison": params.comparison.model_copy(update={"primary": ["nDCG@10"]}),
            "data": params.data.model_copy(update={"truth": truth}),
            "results": params.results.model_copy(update=results),
        }
    )


def step(name: str, folder: Path) -> None:
    """Run one step in this process."""
    if name in ("scan", "join"):
        import duckdb

        lists, truth = (f"read_parquet('{folder / name}.parquet')" for name in ("lists", "truth"))
        join = f"SELECT count(*) FROM {lists} JOIN {truth} USING (user, item)"
        query = f"SELECT sum(user), sum(item), sum(rank) FROM {lists}" if name == "scan" else join
        with tempfile.TemporaryDirectory() as spill:
            duckdb.execute(f"SET temp_directory = '{spill}'; {query}").fetchall()
        return
    from concord.pipeline.running.connections import isolated_connection
    from concord.pipeline.stages.evaluate import evaluate
    from concord.pipeline.stages.load import load, load_truth

    params = project(folder)
    if name == "evaluate":
        evaluate(params, "m")
        return
    with isolated_connection() as connection:
        if name == "load":
            load(connection, params, "m")
        else:
            load_truth(connection, params)


def measure(users: int) -> None:
    """Measure the steps; those that were measured before a run was cut off are kept."""
    costs, folder = measured(), DATA / f"scale-{users}"
    if not folder.exists():
        costs = {key: cost for key, cost in costs.items() if not key.startswith(f"{users} ")}
    make(folder, users)
    for name in STEPS:
        if f"{users} {name}" in costs:
            continue
        command = [sys.executable, "-m", "benchmarks.scale", "--step", name, str(folder)]
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent
        )
        cost = costs[f"{users} {name}"] = json.loads(done.stdout.splitlines()[-1])
        KNOWN.write_text(json.dumps(costs, indent=1, sort_keys=True) + "\n")
        print(
            f"{users * DEPTH:>13,} rows  {name:<11}{cost['seconds']:>8.1f} s{cost['cpu']:>8.1f} s "
            f"of CPU{cost['peak']:>8.0f} MB",
            flush=True,
        )
    shutil.rmtree(folder)


def measured() -> dict[str, dict[str, float]]:
    """Return `<users> <step>` -> its cost, from this and earlier runs."""
    return json.loads(KNOWN.read_text()) if KNOWN.exists() else {}


def section(costs: dict[str, dict[str, float]]) -> list[str]:
    """Return the lines of RESULTS.md."""
    sizes = sorted({int(key.split()[0]) for key in costs})
    known = [users for users in sizes if all(f"{users} {name}" in costs for name in STEPS)]
    words = ("rows", "step", "wall, s", "CPU, s", "peak, MB", "x the tenth of it")
    pictures = ("time", "memory")
    return [
        "\n".join(
            f"![Lines of {name} by rows](../docs/images/bench-{name}.svg)" for name in pictures
        ),
        "",
        "Made by `make bench-scale` (`python -m benchmarks.scale 10000000` for the last decade): "
        "users x lists of 100 and 15 rows",
        "of truth each; P, R, AP, nDCG, RR at six cutoffs, users' values kept, all checks, the "
        "panel of nDCG@10. A process a step.",
        "",
        *markdown_table(words, _rows(costs, known), text_columns=0),
        "",
        *markdown_table(
            ("promise", "figure", "bound", ""), _promises(costs, known), text_columns=1
        ),
        "",
        f"The stages of the largest size take {_cpu(costs, known[-1]):.0f} s of CPU, the scan and "
        f"the join of DuckDB {_cpu(costs, known[-1], STEPS[:2]):.0f} s: the time left is bound by "
        "the number of cores.",
    ]


def _cpu(costs: dict[str, dict[str, float]], users: int, steps: Sequence[str] = STEPS[2:]) -> float:
    return sum(costs[f"{users} {name}"]["cpu"] for name in steps)


def _rows(costs: dict[str, dict[str, float]], known: list[int]) -> Iterator[Row]:
    for users in known:
        for name in STEPS:
            cost, before = costs[f"{users} {name}"], costs.get(f"{users // 10} {name}")
            times = f"{cost['seconds'] / before['seconds']:.1f}" if before else ""
            yield (
                f"{users * DEPTH:,}",
                name,
                f"{cost['seconds']:.1f}",
                f"{cost['cpu']:.1f}",
                f"{cost['peak']:.0f}",
                times,
            )


def _promises(costs: dict[str, dict[str, float]], known: list[int]) -> Iterator[Row]:
    """Yield the promises for the largest size."""
    users = known[-1]
    stages, rows = ("load-truth", "load", "evaluate"), f"{users * DEPTH:,} rows"
    seconds = {n: sum(costs[f"{n} {name}"]["seconds"] for name in stages) for n in known}
    if users == USERS[-1]:
        peak = max(costs[f"{users} {name}"]["peak"] for name in stages)
        yield _ratio_row(f"{rows}: all stages, s", seconds[users], LONGEST)
        yield _ratio_row(f"{rows}: peak of all stages, MB", peak, MOST_MEMORY)
    if users // 10 in known:
        times = seconds[users] / seconds[users // 10]
        yield _ratio_row(f"{rows}: times the time of a tenth", times, 11)


def _ratio_row(description: str, figure: float, bound: float) -> Row:
    return (
        description,
        f"{figure:.3g}",
        f"at most {bound:g}",
        "met" if figure <= bound else "**missed**",
    )


def main() -> None:
    from benchmarks import page

    if sys.argv[1:2] == ["--step"]:
        name, folder = sys.argv[2:]
        print(json.dumps(timed(lambda: step(name, Path(folder)))))
        return
    for users in map(int, sys.argv[1:] or map(str, USERS[:-1])):
        measure(users)
    page.main()


if __name__ == "__main__":
    main()
