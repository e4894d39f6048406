"""`python -m benchmarks.many_users [USERS …]`: time and memory of the stage `compare`, by users.

Values, panels, lists and summaries of six models are drawn from a seed in the form that the stage
`evaluate` writes. Two labels are primary, with the panel of their other definitions. The stage runs
in its own process; its files are removed. Writes a section of benchmarks/RESULTS.md.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measured import FOLDER, replace_section, timed
from benchmarks.scale import GIB_4, RESULTS
from benchmarks.tabulated import markdown_table
from concord.metrics_core.evaluation.accumulator import build_panels
from concord.pipeline.params.model import Params
from concord.pipeline.running.outputs import per_user_writer, write_json
from concord.pipeline.stages.compare import main as compare

PRIMARY = ("nDCG@10", "R@10")
USERS = (100_000, 1_000_000, 10_000_000)
AT_ONCE = 500_000  # users
SHARED = 0.7  # of the luck of all models
HEADING = "Comparing many users"


@dataclass(frozen=True)
class Shape:
    """What is compared: names of lists, metrics, cutoffs, and other keys of `comparison`."""

    lists: tuple[str, ...] = tuple(f"model-{n}" for n in range(6))
    metrics: tuple[str, ...] = ("P", "R", "AP", "nDCG", "RR")
    ks: tuple[int, ...] = (1, 5, 10, 20, 50, 100)
    comparison: Mapping[str, Any] = field(default_factory=dict)


SIX = Shape()


def project(folder: Path, shape: Shape = SIX) -> Params:
    """Return the params of the models on these results."""
    from tests.pipeline.stages.compare_project import params_of

    params = params_of(
        folder, shape.lists, metrics=list(shape.metrics), ks=list(shape.ks), resamples=999
    )
    comparison = {"primary": list(PRIMARY), **shape.comparison}
    return params.model_copy(
        update={
            "evaluation": params.evaluation.model_copy(update={"panel": True}),
            "comparison": params.comparison.model_copy(update=comparison),
        }
    )


def make(folder: Path, users: int, shape: Shape = SIX) -> None:
    """Write the results of `load` and `evaluate` for the models."""
    if (folder / "made").exists():
        return
    params = project(folder, shape)
    for number, model in enumerate(shape.lists):
        _make_model(params, model, number, users)
    write_json(Path(params.results.quality) / "truth.json", {"rows": users})
    _make_rows(Path(params.results.data) / "truth.parquet", "grade", pa.float64(), users, [1])
    (folder / "made").touch()


def _make_model(params: Params, model: str, number: int, users: int) -> None:
    folders, config = params.results, params.comparison_config
    labels = [str(label) for label in config.labels]
    panels = build_panels(config.labels, PRIMARY, params.parsed_conventions)
    columns = {text: [d.column for d in panel.definitions[1:]] for text, panel in panels.items()}
    carried = {
        "model": model,
        "conventions": params.parsed_conventions.as_dict(),
        "fingerprint": params.parsed_conventions.fingerprint,
    }
    others = [column for of_label in columns.values() for column in of_label]
    sums = {
        name: _write_values(Path(folder) / f"{model}.parquet", names, carried, number, users)
        for name, folder, names in (
            ("values", folders.per_user, labels),
            ("panel", folders.panel, others),
        )
    }
    _make_rows(Path(folders.lists) / f"{model}.parquet", "rank", pa.int64(), users, [1, 2])
    write_json(
        Path(folders.quality) / f"{model}.json", {"model": model, "rows": 2 * users, "notes": []}
    )
    summary = {
        **carried,
        "metrics": {label: _summary(sums["values"][label], users) for label in labels},
        "panel": {
            text: {"definitions": [{"column": c, "mean": sums["panel"][c] / users} for c in folder]}
            for text, folder in columns.items()
        },
        "users": {"evaluated": users},
        "judged_share": {str(k): 0.5 for k in params.evaluation.ks},
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
    """Write values like those of ranking metrics: many zeros, correlated models; return sums."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sums = dict.fromkeys(names, 0.0)
    with per_user_writer(path, pa.int64(), names, carried) as writer:
        for first, n in _cut(users):
            luck = np.random.default_rng([first, 0]).random(n)
            rng = np.random.default_rng([first, 1 + skill])
            own_luck = np.where(rng.random(n) < SHARED, luck, rng.random(n))
            hit = own_luck < 0.25 + 0.01 * skill
            values = {name: np.where(hit, rng.integers(1, 40, n) / 40, 0.0) for name in names}
            for name, column in values.items():
                sums[name] += float(column.sum())
            writer.write(pl.DataFrame({"user": np.arange(first, first + n), **values}))
    return sums


def _make_rows(path: Path, last: str, kind: pa.DataType, users: int, values: Sequence[int]) -> None:
    """Write one row per user and value, each with another item."""
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
    """Return the cost of `compare`."""
    folder = FOLDER / "data" / f"many-users-{users}"
    make(folder, users)
    command = [sys.executable, "-m", "benchmarks.many_users", "--step", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent)
    cost: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    rmtree(folder)
    print(
        f"{users:>11,} users{cost['seconds']:>9.1f} s{cost['cpu']:>9.1f} s of "
        f"CPU{cost['peak']:>8.0f} MB",
        flush=True,
    )
    return cost


def section(costs: dict[int, dict[str, float]]) -> list[str]:
    """Return the lines of RESULTS.md."""
    words = ("users", "wall, s", "CPU, s", "peak, MB", "at most 4,295 MB")
    return [
        f"Made by `python -m benchmarks.many_users`: the stage `compare` of {len(SIX.lists)} "
        f"models, {len(SIX.metrics) * len(SIX.ks)} labels, all pairs, the panel of",
        f"{' and '.join(PRIMARY)}, 999 resamples.",
        "",
        *markdown_table(
            words,
            (
                (
                    f"{users:,}",
                    f"{c['seconds']:.1f}",
                    f"{c['cpu']:.1f}",
                    f"{c['peak']:.0f}",
                    "met" if c["peak"] <= GIB_4 else "**missed**",
                )
                for users, c in costs.items()
            ),
        ),
    ]


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        params = project(Path(sys.argv[2]))
        print(json.dumps(timed(lambda: compare(params))))
        return
    costs = {users: measure(users) for users in map(int, sys.argv[1:] or map(str, USERS))}
    page = RESULTS.read_text(encoding="utf-8")
    RESULTS.write_text(
        replace_section(page, HEADING, section(costs)), encoding="utf-8", newline="\n"
    )


if __name__ == "__main__":
    main()
