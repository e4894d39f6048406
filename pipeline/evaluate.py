"""Stage `evaluate@<model>`: a model's lists and the truth -> users' values, their summary and the DVC metrics."""

import json
import math
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from metrics_core.catalogue import Label
from metrics_core.conventions import Conventions
from metrics_core.panel import Panel
from metrics_core.partition import Task, count_users, evaluated, part_names
from metrics_core.summary import Summary, summarise
from pipeline.checks import refuse
from pipeline.engines import duckdb as duckdb_engine
from pipeline.engines import polars as polars_engine
from pipeline.labels import labels_of, panels_of
from pipeline.outputs import write_json
from pipeline.params import PARAMS, Params, read_params
from pipeline.per_user_file import per_user_writer
from pipeline.stage import run

MADE_NUMBERS = ("concord", "duckdb", "numpy", "polars", "pyarrow", "scipy")


def main() -> None:
    evaluate(read_params(), sys.argv[1])


def evaluate(params: Params, model: str) -> None:
    """Writes the users' values, the summary and the metrics of one model."""
    panels = panels_of(params)
    definitions = [d for panel in panels.values() for d in panel.definitions if d.number]
    task = Task(labels_of(params), params.pinned, definitions=definitions)
    folders = params.results
    files = [Path(folder) / f"{model}.parquet" for folder in (folders.per_user, folders.panel)]
    counts, parts = _write_values(params, model, task, files)
    labels = [(str(label), label, params.pinned) for label in task.labels]
    others = [(d.column, d.label, d.conventions) for d in definitions]
    summaries, of_panel = (
        {
            name: _summary(path, name, label, own, params=params, parts=parts)
            for name, label, own in columns
        }
        for path, columns in zip(files, (labels, others), strict=True)
    )
    write_json(Path(folders.metrics) / f"{model}.json", _metrics(summaries))
    content = _content(params, model, task, summaries, counts) | {
        "panel": {label: _panel(panel, of_panel) for label, panel in panels.items()}
    }
    write_json(Path(folders.summary) / f"{model}.json", content)
    print(f"{model}: {len(task.labels)} metrics for {counts['in_truth']:,} users")


def _panel(panel: Panel, summaries: Mapping[str, Summary]) -> dict[str, Any]:
    """The definitions of a label and what they say of this model; the pinned one stands under `metrics`."""
    return {
        "definitions": [
            {"column": d.column, "presets": d.presets, **_numbers(summaries[d.column])}
            if d.number
            else {"column": str(d.label), "presets": d.presets}
            for d in panel.definitions
        ],
        "left_out": panel.left_out,
    }


def _partitions(params: Params, model: str, task: Task) -> Iterator[pl.DataFrame]:
    lists = Path(params.results.lists) / f"{model}.parquet"
    truth = Path(params.results.data) / "truth.parquet"
    if params.evaluation.engine == "polars":
        return polars_engine.partitions(lists, truth, task)
    return duckdb_engine.partitions(lists, truth, task, params.evaluation.rows_per_partition)


def _write_values(
    params: Params, model: str, task: Task, files: Sequence[Path]
) -> tuple[Counter[str], dict[str, tuple[np.ndarray, ...]]]:
    """Writes the values of labels and definitions; returns the counts and what pooled means are made of."""
    carried = {"model": model, **_pinned(params)}
    partitions = _refusals_named(_partitions(params, model, task))
    first = next(partitions)
    id_type = pa.int64() if first.schema["user"].is_integer() else pa.string()
    counts: Counter[str] = Counter()
    pooled: dict[str, list[pl.DataFrame]] = {}
    names = [[str(label) for label in task.labels], [d.column for d in task.definitions]]
    with (
        per_user_writer(files[0], id_type, names[0], carried) as labels,
        per_user_writer(files[1], id_type, names[1], carried) as definitions,
    ):
        for values in _chain(first, partitions):
            counts.update(count_users(values, task))
            labels.write(evaluated(values, task))
            definitions.write(values.select("user", *names[1]))
            for name in (*names[0], *names[1]):
                if set(part_names(name)) <= set(values.columns):
                    kept = values.filter(pl.col(name).is_not_null()).select(part_names(name))
                    pooled.setdefault(name, []).append(kept)
    return counts, {name: _arrays(frames) for name, frames in pooled.items()}


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


def _summary(
    path: Path,
    name: str,
    label: Label,
    conventions: Conventions,
    *,
    params: Params,
    parts: Mapping[str, tuple[np.ndarray, ...]],
) -> Summary:
    """One column at a time, so that memory does not grow with the number of labels."""
    column = pl.read_parquet(path, columns=[name], glob=False)[name].drop_nulls().to_numpy()
    confidence = params.comparison.confidence
    return summarise(label, column, conventions, confidence=confidence, parts=parts.get(name, ()))


def _numbers(summary: Summary) -> dict[str, float | None]:
    return {name: _or_null(value) for name, value in vars(summary).items()}


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
    metrics = {label: _numbers(summary) for label, summary in summaries.items()}
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
