"""`python -m benchmarks.many_users [USERS …]`: the stage `compare` of six models, time and memory against users.

Users' values, panels, lists and summaries as the stage `evaluate` writes them, drawn from a seed; two labels are
primary, with the panel of their other definitions. The stage is a process of its own.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.scoring.evaluation import panels_of
from concord.pipeline.comparing.compare import compare
from concord.pipeline.params.asked import asked_of
from concord.pipeline.params.model import Params
from concord.pipeline.running.announce import peak_memory
from concord.pipeline.running.outputs import write_json
from concord.pipeline.running.per_user_file import per_user_writer

MODELS = tuple(f"model-{n}" for n in range(6))
METRICS = ("P", "R", "AP", "nDCG", "RR")
KS = (1, 5, 10, 20, 50, 100)
PRIMARY = ("nDCG@10", "R@10")
USERS = (100_000, 1_000_000, 10_000_000)
AT_ONCE = 500_000  # users
SHARED = 0.7  # of the luck of all models
HERE = Path(__file__).parent


def project(folder: Path) -> Params:
    """The params of six models on these results."""
    from tests.pipeline.comparing.compare_project import params_of

    params = params_of(folder, MODELS, metrics=list(METRICS), ks=list(KS), resamples=999)
    return params.model_copy(
        update={
            "evaluation": params.evaluation.model_copy(update={"panel": True}),
            "comparison": params.comparison.model_copy(update={"primary": list(PRIMARY)}),
        }
    )


def make(folder: Path, users: int) -> None:
    """What `load` and `evaluate` leave of six models."""
    if (folder / "made").exists():
        return
    params = project(folder)
    for number, model in enumerate(MODELS):
        _make_model(params, model, number, users)
    write_json(Path(params.results.quality) / "truth.json", {"rows": users})
    _make_rows(Path(params.results.data) / "truth.parquet", "grade", pa.float64(), users, [1])
    (folder / "made").touch()


def _make_model(params: Params, model: str, number: int, users: int) -> None:
    folders, asked = params.results, asked_of(params)
    labels = [str(label) for label in asked.labels]
    panels = panels_of(asked.labels, PRIMARY, params.pinned)
    columns = {text: [d.column for d in panel.definitions[1:]] for text, panel in panels.items()}
    carried = {"model": model, "conventions": params.pinned.as_dict(), "fingerprint": params.pinned.fingerprint}  # fmt: skip
    others = [column for of_label in columns.values() for column in of_label]
    sums = {
        name: _write_values(Path(of) / f"{model}.parquet", names, carried, number, users)
        for name, of, names in (("values", folders.per_user, labels), ("panel", folders.panel, others))
    }  # fmt: skip
    _make_rows(Path(folders.lists) / f"{model}.parquet", "rank", pa.int64(), users, [1, 2])
    write_json(Path(folders.quality) / f"{model}.json", {"model": model, "rows": 2 * users, "notes": []})  # fmt: skip
    summary = {
        **carried,
        "metrics": {label: _summary(sums["values"][label], users) for label in labels},
        "panel": {
            text: {"definitions": [{"column": c, "mean": sums["panel"][c] / users} for c in of]}
            for text, of in columns.items()
        },
        "users": {"evaluated": users},
        "judged_share": {str(k): 0.5 for k in KS},
        "inputs": {
            "truth": {"path": "truth.parquet", "sha256": "ab" * 32, "md5": "cd" * 16},
            "lists": {"path": f"{model}.parquet", "sha256": "ef" * 32, "md5": "01" * 16},
        },
        "versions": {"concord-eval": "0", "numpy": np.__version__},
    }
    write_json(Path(folders.summary) / f"{model}.json", summary)


def _summary(total: float, users: int) -> dict[str, Any]:
    mean = total / users
    return {"mean": mean, "ci_low": mean, "ci_high": mean, "n_users": users, "n_undefined": 0}


def _write_values(
    path: Path, names: list[str], carried: dict[str, Any], skill: int, users: int
) -> dict[str, float]:
    """Values as ranking metrics have them: zeros for most users, models that hang together. Gives their sums."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sums = dict.fromkeys(names, 0.0)
    with per_user_writer(path, pa.int64(), names, carried) as writer:
        for first, n in _cut(users):
            luck = np.random.default_rng([first, 0]).random(n)
            rng = np.random.default_rng([first, 1 + skill])
            own = np.where(rng.random(n) < SHARED, luck, rng.random(n))
            hit = own < 0.25 + 0.01 * skill
            values = {name: np.where(hit, rng.integers(1, 40, n) / 40, 0.0) for name in names}
            for name, of in values.items():
                sums[name] += float(of.sum())
            writer.write(pl.DataFrame({"user": np.arange(first, first + n), **values}))
    return sums


def _make_rows(path: Path, last: str, kind: pa.DataType, users: int, values: Sequence[int]) -> None:
    """As many rows a user as there are values, each of an item of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema({"user": pa.int64(), "item": pa.int64(), last: kind})
    with pq.ParquetWriter(path, schema) as writer:
        for first, n in _cut(users):
            user = np.repeat(np.arange(first, first + n), len(values))
            item = (user * 7 + np.tile(values, n)) % 20_000
            table = pa.table([user, item, np.tile(values, n)], names=schema.names)
            writer.write_table(table.cast(schema))


def _cut(users: int) -> Iterator[tuple[int, int]]:
    for first in range(0, users, AT_ONCE):
        yield first, min(AT_ONCE, users - first)


def measure(users: int) -> dict[str, float]:
    """Seconds, seconds of CPU and peak memory of `compare`."""
    folder = HERE / "data" / f"many-users-{users}"
    make(folder, users)
    command = [sys.executable, "-m", "benchmarks.many_users", "--step", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    rmtree(folder)
    return found


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        params = project(Path(sys.argv[2]))
        began, cpu = time.perf_counter(), time.process_time()
        compare(params)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mib": peak_memory() / 2**20}))
        return
    for users in map(int, sys.argv[1:] or map(str, USERS)):
        found = measure(users)
        print(f"{users:>11,} users{found['seconds']:>9.1f} s{found['cpu']:>9.1f} s of CPU{found['peak_mib']:>8.0f} MiB", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
