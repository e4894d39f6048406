"""Stage `evaluate@<model>`: a model's lists and the truth -> users' values, their summary and the DVC metrics."""

import json
import math
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from metrics_core.checking.problems import refuse
from metrics_core.conventions.conventions import Conventions
from metrics_core.metrics.catalogue import Label
from metrics_core.metrics.exposure import Exposure
from metrics_core.scoring.panel import Panel
from metrics_core.scoring.partition import Part, Task, count_users, evaluated, part_names
from metrics_core.scoring.summary import Summary, summarise, summarise_catalogue
from pipeline.evaluating.engines.partitions import partitions
from pipeline.evaluating.grade_fit import refuse_misgraded
from pipeline.evaluating.id_fit import refuse_misfit
from pipeline.evaluating.validity import validity
from pipeline.params.labels import labels_of, panels_of
from pipeline.params.model import PARAMS, Params
from pipeline.params.read import read_params
from pipeline.running.orphans import remove_background
from pipeline.running.outputs import prepare, write_json
from pipeline.running.per_user_file import per_user_writer
from pipeline.running.progress import Progress
from pipeline.running.stage import model_argument, run

MADE_NUMBERS = ("concord", "duckdb", "numpy", "polars", "pyarrow", "scipy")


def main() -> str:
    params = read_params()
    folders = params.results
    prepare(folders, folders.per_user, folders.panel, folders.summary, folders.metrics)
    return evaluate(params, model_argument(params))


def evaluate(params: Params, model: str) -> str:
    """Writes the users' values, the summary and the metrics of one model; says how many there are."""
    remove_background(params)
    refuse_misgraded(params)
    fit = refuse_misfit(params, model)
    panels = panels_of(params)
    definitions = [d for panel in panels.values() for d in panel.definitions if d.number]
    task = Task(labels_of(params), params.pinned, definitions=definitions)
    folders = params.results
    files = [Path(folder) / f"{model}.parquet" for folder in (folders.per_user, folders.panel)]
    gathered = _write_values(params, model, task, files)
    confidence = params.comparison.confidence
    labels = {str(label): (label, params.pinned) for label in task.per_user}
    others = {d.column: (d.label, d.conventions) for d in definitions}
    of_users, of_panel = (
        {
            name: _summary(path, name, *how, confidence=confidence, parts=gathered.parts(name))
            for name, how in columns.items()
        }
        for path, columns in zip(files, (labels, others), strict=True)
    )
    of_catalogue = {
        str(label): summarise_catalogue(label, gathered.exposures[str(label)], params.pinned)
        for label in task.labels
        if label.metric.of_catalogue
    }
    summaries = {name: (of_users | of_catalogue)[name] for name in map(str, task.labels)}
    counts = gathered.counts
    write_json(Path(folders.metrics) / f"{model}.json", _metrics(summaries))
    content = _content(params, model, task, summaries, counts) | {
        "fit": fit,
        "panel": {label: _panel(panel, of_panel) for label, panel in panels.items()},
    }
    write_json(Path(folders.summary) / f"{model}.json", content)
    return f"{len(task.labels)} metrics for {counts['in_truth']:,} users"


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


@dataclass
class _Gathered:
    """What is kept of all partitions beside the files."""

    counts: Counter[str] = field(default_factory=Counter)
    pooled: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    exposures: dict[str, Exposure] = field(default_factory=dict)

    def add(self, part: Part, task: Task, names: Sequence[str]) -> None:
        self.counts.update(count_users(part.values, task))
        for name in names:
            if set(part_names(name)) <= set(part.values.columns):
                kept = part.values.filter(pl.col(name).is_not_null()).select(part_names(name))
                self.pooled.setdefault(name, []).append(kept)
        for label, exposure in part.exposures.items():
            before = self.exposures.get(label)
            self.exposures[label] = exposure if before is None else before + exposure

    def parts(self, name: str) -> tuple[np.ndarray, ...]:
        """What the pooled mean of a column is made of; nothing where it is not pooled."""
        frames = self.pooled.get(name)
        if frames is None:
            return ()
        return tuple(column.to_numpy() for column in pl.concat(frames).get_columns())


def _write_values(params: Params, model: str, task: Task, files: Sequence[Path]) -> _Gathered:
    """Writes the values of labels and definitions."""
    carried = {"model": model, **_pinned(params)}
    parts = _refusals_named(partitions(params, model, task))
    first = next(parts)
    id_type = pa.int64() if first.values.schema["user"].is_integer() else pa.string()
    gathered = _Gathered()
    names = [[str(label) for label in task.per_user], [d.column for d in task.definitions]]
    with (
        per_user_writer(files[0], id_type, names[0], carried) as labels,
        per_user_writer(files[1], id_type, names[1], carried) as definitions,
        Progress(f"evaluate {model}", "users", _users(params)) as progress,
    ):
        for part in chain([first], parts):
            progress.advance(len(part.values))
            gathered.add(part, task, [*names[0], *names[1]])
            labels.write(evaluated(part.values, task))
            definitions.write(part.values.select("user", *names[1]))
    return gathered


def _users(params: Params) -> int | None:
    """How many users the truth knows, where its quality file tells."""
    path = Path(params.results.quality) / "truth.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found.get("users")


def _refusals_named(parts: Iterator[Part]) -> Iterator[Part]:
    """What the library refuses under the pinned conventions is for the user to mend in params.yaml."""
    try:
        yield from parts
    except ValueError as error:
        fix = "change the convention that is named, or the data; train and items are named under `background:`"
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error


def _summary(
    path: Path,
    name: str,
    label: Label,
    conventions: Conventions,
    *,
    confidence: float,
    parts: tuple[np.ndarray, ...],
) -> Summary:
    """One column at a time, so that memory does not grow with the number of labels."""
    column = pl.read_parquet(path, columns=[name], glob=False)[name].drop_nulls().to_numpy()
    return summarise(label, column, conventions, confidence=confidence, parts=parts)


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
        "validity": _validity(params, model, ks),
        "inputs": {
            "truth": _input(params, "truth"),
            "lists": _input(params, model),
            **{name: _input(params, name) for name in params.background},
        },
        "versions": {
            **{name: version(name) for name in MADE_NUMBERS},
            "python": ".".join(platform.python_version_tuple()[:2]),
        },
    }


def _validity(params: Params, model: str, ks: Sequence[int]) -> dict[str, Any]:
    data = Path(params.results.data)
    return validity(
        Path(params.results.lists) / f"{model}.parquet",
        data / "truth.parquet",
        data / "train.parquet" if "train" in params.background else None,
        ks=ks,
        threshold=params.pinned.relevance_threshold,
    )


def _input(params: Params, name: str) -> dict[str, str]:
    folder = params.results.data if name in params.background else params.results.quality
    quality = json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))
    return {key: quality[key] for key in ("path", "sha256", "md5")}


if __name__ == "__main__":
    run(main)
