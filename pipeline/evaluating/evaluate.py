"""Stage `evaluate@<model>`: a model's lists and the truth -> users' values, their summary and the DVC metrics."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.checking.known_by import known_of
from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.checking.relations import id_views
from concord.metrics_core.metrics.catalogue import spelled
from concord.metrics_core.scoring.evaluation import (
    Gathered,
    means_of,
    panels_of,
    pinned_content,
    summary_content,
    task_of,
)
from concord.metrics_core.scoring.partition import Part, Task, evaluated
from concord.metrics_core.scoring.ranges import one_ahead
from concord.metrics_core.scoring.validity import validity
from concord.pipeline.evaluating.engines.partitions import partitions
from concord.pipeline.evaluating.grade_fit import refuse_misgraded
from concord.pipeline.evaluating.id_fit import refuse_misfit
from concord.pipeline.params.labels import labels_of
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.connections import reading
from concord.pipeline.running.outputs import prepare, write_json
from concord.pipeline.running.per_user_file import per_user_writer
from concord.pipeline.running.progress import Progress
from concord.pipeline.running.removed_models import remove_background
from concord.pipeline.running.stage import model_argument


def main() -> str:
    params = read_params()
    folders = params.results
    prepare(folders, folders.per_user, folders.panel, folders.summary, folders.metrics)
    return evaluate(params, model_argument(params))


def evaluate(params: Params, model: str) -> str:
    """Writes the users' values, the summary and the metrics of one model; says how many there are."""
    remove_background(params)
    refuse_misgraded(params, model)
    fit = refuse_misfit(params, model)
    _refuse_other_unit(params, model)
    labels, folders = labels_of(params), params.results
    asked = params.comparison.primary if params.evaluation.panel else []
    panels = panels_of(labels, [spelled(text) for text in asked], params.pinned)
    has_users = "users" in params.background
    task = task_of(labels, params.pinned, panels, has_users=has_users)
    files = [Path(folder) / f"{model}.parquet" for folder in (folders.per_user, folders.panel)]
    gathered = _write_values(params, model, task, files)

    def file_of(name: str) -> Path:
        return files[name in gathered.definitions]

    summaries = gathered.summaries(file_of, params.comparison.confidence)
    write_json(Path(folders.metrics) / f"{model}.json", means_of(summaries[0]))
    content = summary_content(
        model,
        gathered,
        summaries,
        panels,
        validity=_validity(params, model, gathered),
        fit=fit,
        inputs={
            "truth": known_of(_truth_quality(params, model)),
            "lists": _input(params, model),
            **{name: _input(params, name) for name in params.background},
        },
    )
    write_json(Path(folders.summary) / f"{model}.json", content)
    return f"{len(task.labels)} metrics for {gathered.counts['in_truth']:,} users"


def _refuse_other_unit(params: Params, model: str) -> None:
    """Lists and truth that were read as those of users are not those of requests, nor the other way round."""
    lists = json.loads((Path(params.results.quality) / f"{model}.json").read_text(encoding="utf-8"))
    read = {"load-truth": _truth_quality(params, model), f"load@{model}": lists}
    for stage, quality in read.items():
        if (known := quality.get("unit", [])) != params.data.unit:
            what = f"is {params.data.unit}, and {quality['path']} was read with {known}"
            fix = f"run `dvc repro --single-item --force {stage}`, then `dvc repro`"
            raise refuse(f"{PARAMS}: data.unit", what, fix)


def _write_values(params: Params, model: str, task: Task, files: Sequence[Path]) -> Gathered:
    """Writes the values of labels and definitions."""
    carried = pinned_content(model, params.pinned)
    gathered = Gathered(task)
    with (
        closing(one_ahead(_refusals_named(partitions(params, model, task)))) as parts,
        Progress(f"evaluate {model}", "users", _users(params, model)) as progress,
        ExitStack() as files_open,
    ):
        first = next(parts)
        id_type = pa.int64() if first.values.schema["user"].is_integer() else pa.string()
        weights = [*task.mean_weights]
        names = ([*map(str, task.per_user), *weights], [*gathered.definitions, *weights])
        labels, definitions = (
            files_open.enter_context(per_user_writer(file, id_type, of, carried))
            for file, of in zip(files, names, strict=True)
        )
        for part in chain([first], parts):
            progress.advance(len(part.values))
            gathered.add(part)
            labels.write(evaluated(part.values, task))
            definitions.write(part.values.select("user", *names[1]))
    return gathered


def _users(params: Params, model: str) -> int | None:
    """How many users the truth knows, where its quality file tells."""
    exists = (Path(params.results.quality) / "truth.json").exists()
    return _truth_quality(params, model).get("users") if exists else None


def _truth_quality(params: Params, model: str) -> dict[str, Any]:
    """What was found in the truth by which a model is judged."""
    path, fold = Path(params.results.quality) / "truth.json", params.models[model].fold
    quality: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return quality if fold is None else quality["folds"][fold]


def _refusals_named(parts: Iterator[Part]) -> Iterator[Part]:
    """What the library refuses under the pinned conventions is for the user to mend in params.yaml."""
    try:
        yield from parts
    except InputError:  # names its place
        raise
    except ValueError as error:
        fix = "change the convention that is named, or the data; train and items are named under `background:`"
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error


def _validity(params: Params, model: str, gathered: Gathered) -> dict[str, Any]:
    data, has_train = Path(params.results.data), "train" in params.background
    files = {
        "lists": Path(params.results.lists) / f"{model}.parquet",
        "truth": params.truth_of(model),
        **({"train": data / "train.parquet"} if has_train else {}),
    }
    has_scores = "score" in pl.read_parquet_schema(files["lists"])
    with reading(files.values()) as connection:
        id_views(connection, files)
        return validity(
            connection,
            gathered.lists,
            has_train=has_train,
            has_scores=has_scores,
            ks=gathered.task.cutoffs,
            of_requests=params.pinned.unit_mean is not None,
        )


def _input(params: Params, name: str) -> dict[str, Any]:
    folder = params.results.data if name in params.background else params.results.quality
    quality = json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))
    return known_of(quality)
