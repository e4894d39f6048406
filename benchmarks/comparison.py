"""Time of the differences of all pairs of six models: 138,000 users x 12 metrics, from files.

Imports do not count. With the argument `scipy`, the same pairs are tested by SciPy. Prints JSON.
"""

import json
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.differences import compare_pairs
from concord.metrics_core.comparison.families import decide_differences
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.errors import argument_names
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.metrics.label import expand
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.running.outputs import per_user_writer

USERS = 138_000
MODELS = tuple(f"model-{n}" for n in range(6))
METRICS = ("nDCG", "R", "P", "AP", "RR", "Hit")
KS = (10, 20)
SHARED = 0.7  # share of the draws that all models have in common
DATA = Path(__file__).parent / "data" / "comparison"


def main() -> None:
    labels = expand(METRICS, KS)
    paths = {model: DATA / f"{model}.parquet" for model in MODELS}
    _make_files(paths, [str(label) for label in labels])
    start = time.perf_counter()
    count = _scipy(paths, labels) if sys.argv[1:] == ["scipy"] else _concord(paths, labels)
    print(json.dumps({"seconds": time.perf_counter() - start, "comparisons": count}))


def _make_files(paths: dict[str, Path], labels: list[str]) -> None:
    """Write values like those of ranking metrics: mostly zeros, correlated between models."""
    if all(path.exists() for path in paths.values()):
        return
    rng = np.random.default_rng(138)
    luck = rng.random(USERS)
    for skill, path in enumerate(paths.values()):
        draws = np.where(rng.random(USERS) < SHARED, luck, rng.random(USERS))
        hit = draws < 0.25 + 0.01 * skill
        columns = {label: np.where(hit, rng.integers(1, 40, USERS) / 40, 0.0) for label in labels}
        metadata = {"model": path.stem, "conventions": {}, "fingerprint": ""}
        with per_user_writer(path, pa.int64(), labels, metadata) as writer:
            writer.write(pl.DataFrame({"user": np.arange(USERS), **columns}))


def _concord(paths: dict[str, Path], labels: list[Any]) -> int:
    summaries = {str(label): {"mean": 0.1} for label in labels}
    no_file = Path("-")
    models = {
        model: ModelResult(path, no_file, no_file, {"metrics": summaries}, {})
        for model, path in paths.items()
    }
    config = ComparisonConfig(
        title="",
        conventions=preset("standard"),
        labels=labels,
        primary=[str(label) for label in labels[:2]],
        min_effect=0.005,
        baseline=MODELS[0],
        resamples=999,
        settings=argument_names(""),
    )
    data = EvaluationData(truth=no_file, connect=read_only_connection)
    tests = compare_pairs(ComparisonInput(config, models, data))
    return len(decide_differences(config, tests, len(models)))


def _scipy(paths: dict[str, Path], labels: list[Any]) -> int:
    """Run `ttest_rel` with its interval, all metrics of a pair at once."""
    from scipy.stats import ttest_rel

    columns = [str(label) for label in labels]
    values = {m: pl.read_parquet(p, columns=columns).to_numpy() for m, p in paths.items()}
    count = 0
    for a, b in combinations(MODELS, 2):
        result = ttest_rel(values[a], values[b], axis=0)
        count += len(result.confidence_interval(0.95).low)
    return count


if __name__ == "__main__":
    main()
