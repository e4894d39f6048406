"""Stage `evaluate@<model>`: a model's lists and the truth -> users' values, their summary and the DVC metrics."""

import json
import math
import platform
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from metrics_core.catalogue import Label, is_pooled
from metrics_core.partition import Task, count_users, evaluated, part_names
from metrics_core.summary import Summary, summarise
from pipeline.checks import refuse
from pipeline.engines import duckdb as duckdb_engine
from pipeline.engines import polars as polars_engine
from pipeline.labels import labels_of
from pipeline.outputs import write_json
from pipeline.params import PARAMS, Params, read_params
from pipeline.per_user_file import per_user_writer
from pipeline.stage import run

MADE_NUMBERS = ("concord", "duckdb", "numpy", "polars", "pyarrow", "scipy")


def main() -> None:
    evaluate(read_params(), sys.argv[1])


def evaluate(params: Params, model: str) -> None:
    """Writes the users' values, the summary and the metrics of one model."""
    task = Task(labels_of(params), params.pinned)
    folders = params.results
    per_user = Path(folders.per_user) / f"{model}.parquet"
    counts, parts = _write_values(params, model, task, per_user)
    summaries = {
        str(label): _summary(per_user, label, params, parts.get(str(label), ()))
        for label in task.labels
    }
    write_json(Path(folders.metrics) / f"{model}.json", _metrics(summaries))
    content = _content(params, model, task, summaries, counts)
    write_json(Path(folders.summary) / f"{model}.json", content)
    print(f"{model}: {len(task.labels)} metrics for {counts['in_truth']:,} users")


def _partitions(params: Params, model: str, task: Task) -> Iterator[pl.DataFrame]:
    lists = Path(params.results.lists) / f"{model}.parquet"
    truth = Path(params.results.data) / "truth.parquet"
    if params.evaluation.engine == "polars":
        return polars_engine.partitions(lists, truth, task)
    return duckdb_engine.partitions(lists, truth, task, params.evaluation.rows_per_partition)


def _write_values(
    params: Params, model: str, task: Task, path: Path
) -> tuple[Counter[str], dict[str, tuple[np.ndarray, ...]]]:
    """Writes the values; returns the counts and, for pooled means only, what they are made of."""
    carried = {"model": model, **_pinned(params)}
    partitions = _refusals_named(_partitions(params, model, task))
    first = next(partitions)
    id_type = pa.int64() if first.schema["user"].is_integer() else pa.string()
    counts: Counter[str] = Counter()
    pooled: dict[str, list[pl.DataFrame]] = {}
    with per_user_writer(path, id_type, [str(label) for label in task.labels], carried) as writer:
        for values in _chain(first, partitions):
            counts.update(count_users(values, task))
            writer.write(evaluated(values, task))
            for label in task.labels:
                if is_pooled(label, task.conventions):
                    kept = values.filter(pl.col(str(label)).is_not_null()).select(part_names(label))
                    pooled.setdefault(str(label), []).append(kept)
    return counts, {label: _arrays(frames) for label, frames in pooled.items()}


def _chain(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


def _refusals_named(partitions: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """What the library refuses under the pinned conventions is for the user to mend in params.yaml."""
    try:
        yield from partitions
    except ValueError as error:
        fix = "change the convention that is named, or the data"
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error


def _arrays(frames: list[pl.DataFrame]) -> tuple[np.ndarray, ...]:
    return tuple(column.to_numpy() for column in pl.concat(frames).get_columns())


def _summary(path: Path, label: Label, params: Params, parts: tuple[np.ndarray, ...]) -> Summary:
    """One column at a time, so that memory does not grow with the number of labels."""
    column = pl.read_parquet(path, columns=[str(label)], glob=False)[str(label)].drop_nulls()
    confidence = params.comparison.confidence
    return summarise(label, column.to_numpy(), params.pinned, confidence=confidence, parts=parts)


def _metrics(summaries: dict[str, Summary]) -> dict[str, float | None]:
    return {label: _or_null(summary.mean) for label, summary in summaries.items()}


def _or_null(number: float) -> float | None:
    return None if math.isnan(number) else number


def _pinned(params: Params) -> dict[str, Any]:
    conventions = params.pinned
    return {"conventions": conventions.as_dict(), "fingerprint": conventions.fingerprint}


def _content(
    params: Params, model: str, task: Task, summaries: dict[str, Summary], counts: Counter[str]
) -> dict[str, Any]:
    ks = task.cutoffs
    shares = {str(k): counts[f"judged@{k}"] / max(counts[f"listed@{k}"], 1) for k in ks}
    metrics = {
        label: {name: _or_null(value) for name, value in vars(summary).items()}
        for label, summary in summaries.items()
    }
    return {
        "model": model,
        **_pinned(params),
        "metrics": metrics,
        "users": {
            "evaluated": counts["in_truth"],
            **{name: count for name, count in counts.items() if "@" not in name},
            "shorter_than": {str(k): counts[f"shorter_than@{k}"] for k in ks},
        },
        "judged_share": shares,
        "inputs": {
            "truth": _input(params, "truth"),
            "lists": _input(params, model),
        },
        "versions": {
            **{name: version(name) for name in MADE_NUMBERS},
            "python": ".".join(platform.python_version_tuple()[:2]),
        },
    }


def _input(params: Params, name: str) -> dict[str, str]:
    quality = json.loads(
        (Path(params.results.quality) / f"{name}.json").read_text(encoding="utf-8")
    )
    return {key: quality[key] for key in ("path", "sha256", "md5")}


if __name__ == "__main__":
    run(main)
