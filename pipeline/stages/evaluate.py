"""Stage `evaluate`: per-user values and summary of one model; means of other definitions."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.conventions.display_words import plural
from concord.metrics_core.data.id_matching import IdMatchContext
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.tables import Table, scan
from concord.metrics_core.data.value_files import USER
from concord.metrics_core.errors import InputError, params_keys, raise_problems, refuse
from concord.metrics_core.evaluation.accumulator import (
    build_panels,
    build_task,
    pinned_content,
)
from concord.metrics_core.evaluation.config import grade_problems
from concord.metrics_core.evaluation.evaluate_block import Part, select_evaluated
from concord.metrics_core.evaluation.evaluate_model import check_ids, evaluate_model
from concord.metrics_core.evaluation.executors import (
    Executor,
    execute_by_ranges,
    execute_in_memory,
)
from concord.metrics_core.evaluation.model_result import EvaluationData, summarise_values
from concord.metrics_core.evaluation.score import uses_user_table
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.evaluation.ties import has_equal_scores
from concord.metrics_core.evaluation.values_of_users import join_values, summarise_joined
from concord.metrics_core.files import content_ids, load_json
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import (
    ModelFiles,
    side_data_file,
    truth_file,
    truth_quality_file,
)
from concord.pipeline.params.read import refuse_other_metrics
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.running.messages import Progress
from concord.pipeline.running.outputs import (
    PerUserWriter,
    per_user_writer,
    prepare_folders,
    remove_background,
    rerun_fix,
    write_json,
)


def choose_executor(params: Params) -> Executor:
    """Return the function that yields per-user values, block by block."""
    if params.evaluation.engine == "polars":
        return execute_in_memory
    rows = params.evaluation.rows_per_partition
    if params.evaluation.engine == "spark":
        from concord.pipeline.stages.spark_executor import execute_on_spark

        return partial(execute_on_spark, rows_per_block=rows)
    return partial(execute_by_ranges, rows_per_block=rows)


def model_data(params: Params, model: str) -> EvaluationData:
    """Return the files of the data that a model is evaluated on."""
    return EvaluationData(
        truth=truth_file(params, params.models[model].fold),
        train=side_data_file(params, "train"),
        items=side_data_file(params, "items"),
        users=side_data_file(params, "users")
        if uses_user_table(params.parsed_conventions)
        else None,
        connect=read_only_connection,
    )


def check_model_ids(params: Params, model: str, data: EvaluationData) -> dict[str, Any]:
    """Return how a model's ids overlap with ground truth and catalogue.

    Raises
    ------
    InputError
        If `match_ids` refuses the ids.
    """
    entry, catalogue = params.models[model], params.background.get("items")
    columns = {str(column): name for column, name in entry.columns.items() if name is not None}
    names = IdMatchContext(
        InputTable(entry.path, "", (), (), columns, params_keys(f"models.{model}")),
        catalogue.path if catalogue else None,
        params.input.unknown_items,
    )
    lists = ModelFiles.of_model(params.results, model).lists
    return check_ids(lists, data, names, of_requests=bool(params.data.unit))


def check_grades(params: Params, data: EvaluationData) -> None:
    """Raise InputError if no grade reaches the threshold, or one is above ERR's highest grade."""
    highest = scan(data.truth).select(pl.col("grade").max()).collect().item()
    path, settings = params.data.truth.path, params_keys("data.truth")
    conventions = params.parsed_conventions
    raise_problems(grade_problems(highest, params.list_labels, conventions, path, settings))


def main(params: Params, model: str) -> str:
    folders = params.results
    prepare_folders(folders, folders.per_user, folders.panel, folders.summary, folders.metrics)
    return evaluate_values(params, model) if params.has_values else evaluate(params, model)


def evaluate(params: Params, model: str) -> str:
    """Write the per-user values, summary and metrics of a model; return counts as text."""
    remove_background(params)
    if params.own_metrics is not None:
        loaded = load_json(Path(params.results.data) / "metrics.json", rerun_fix())
        refuse_other_metrics(params, loaded)
    data, files = model_data(params, model), ModelFiles.of_model(params.results, model)
    check_grades(params, data)
    id_match = check_model_ids(params, model, data)
    lists_quality = load_json(files.quality, rerun_fix())
    truth_quality = load_json(truth_quality_file(params), rerun_fix())
    if (fold := params.models[model].fold) is not None:
        truth_quality = truth_quality["folds"][fold]
    _check_unit(params, (truth_quality, lists_quality))
    primary = params.primary if params.evaluation.panel else []
    conventions = params.resolved_conventions
    labels, has_users = params.list_labels, "users" in params.background
    panels = build_panels(labels, primary, conventions)
    task = build_task(labels, conventions, panels, has_users=has_users)
    task = replace(task, has_equal_scores=has_equal_scores(lists_quality, files.lists))
    users = plural(truth_quality.get("words", {}).get("user", "user"))
    with (
        Progress(f"evaluate {model}", users, truth_quality.get("users")) as progress,
        ExitStack() as open_files,  # removes unfinished files after an error
    ):
        pinned = pinned_content(model, conventions)
        values = pl.read_parquet(files.values, glob=False) if params.metrics else None
        store = _ValueFiles(files, task, pinned, progress, open_files, values)
        execute = partial(execute_located, execute=choose_executor(params))
        accumulator = evaluate_model(files.lists, data, task, execute, store)
        content = accumulator.content(
            model,
            store.table_of,
            panels,
            id_match=id_match,
            confidence=params.comparison.confidence,
            inputs={
                "truth": content_ids(truth_quality),
                "lists": content_ids(lists_quality),
                **{
                    name: content_ids(
                        load_json(Path(params.results.data) / f"{name}.json", rerun_fix())
                    )
                    for name in params.background
                },
            },
        )
    if values is not None:
        content["inputs"]["values"] = content_ids(lists_quality["values"])
        _add_values(params, files.per_user, content, values)
    means = {label: summary["mean"] for label, summary in content["metrics"].items()}
    write_json(files.metrics, means)
    write_json(files.summary, content)
    return f"{len(params.labels)} metrics for {content['users']['in_truth']:,} users"


def _add_values(
    params: Params, per_user: Path, content: dict[str, Any], values: pl.DataFrame
) -> None:
    """Add the means of the values next to a model's lists, and counts of users, to its summary."""
    confidence, location = params.comparison.confidence, content["inputs"]["values"]["path"]
    users = pl.read_parquet(per_user, columns=values.columns, glob=False)
    metrics, content["values"] = summarise_joined(
        users, values, params.value_labels, confidence=confidence, location=location
    )
    content["metrics"] |= metrics


def evaluate_values(params: Params, model: str) -> str:
    """Write the per-user values, summary and means of a model; return counts as text."""
    files, labels = ModelFiles.of_model(params.results, model), params.labels
    pinned = pinned_content(model, params.resolved_conventions)
    table = pl.read_parquet(files.lists, glob=False)
    summary = summarise_values(table, labels, confidence=params.comparison.confidence)
    quality = load_json(files.quality, rerun_fix())
    names = list(map(str, labels))
    with per_user_writer(files.per_user, pa.string(), names, pinned) as writer:
        writer.write(table.select(USER, *names))
    write_json(files.metrics, {label: each["mean"] for label, each in summary["metrics"].items()})
    write_json(files.summary, {**pinned, **summary, "inputs": {"values": content_ids(quality)}})
    return f"{len(labels)} metrics for {table.height:,} users"


def _check_unit(params: Params, qualities: Iterable[Mapping[str, Any]]) -> None:
    """Raise InputError for lists or ground truth that were loaded with another `data.unit`."""
    for quality in qualities:
        if (unit := quality.get("unit", [])) != params.data.unit:
            problem = f"is {params.data.unit}, and {quality['path']} was read with {unit}"
            fix = f"run `{rerun_command()}`, which reads it again"
            raise refuse(f"{PARAMS}: data.unit", problem, fix)


def execute_located(
    lists: Table, data: EvaluationData, task: Task, execute: Executor
) -> Generator[Part]:
    """Yield the parts; locate errors of conventions in params.yaml."""
    try:
        with closing(execute(lists, data, task)) as parts:
            yield from parts
    except InputError:  # has a location
        raise
    except ValueError as error:
        fix = (
            "change the convention that is named, or the data; "
            "train and items are named under `background:`"
        )
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error


@dataclass
class _ValueFiles:
    """Parquet files of per-user values: labels in one, the panel's other definitions in another.

    `values` of another tool are further columns of the labels.
    """

    files: ModelFiles
    task: Task
    metadata: dict[str, Any]
    progress: Progress
    open_files: ExitStack
    values: pl.DataFrame | None = None
    writers: Sequence[PerUserWriter] = ()

    @cached_property
    def definitions(self) -> list[str]:
        """Columns of the panel's other definitions."""
        return [definition.column for definition in self.task.definitions]

    def write(self, part: Part) -> None:
        """Write the values of a block."""
        weights = [*self.task.mean_weights]
        if not self.writers:
            is_integer = part.values.schema["user"].is_integer()
            id_type = pa.int64() if is_integer else pa.string()
            labels = [*map(str, self.task.per_user), *self.task.tie_columns, *weights]
            labels += [] if self.values is None else self.values.columns[1:]
            self.writers = [
                self.open_files.enter_context(
                    per_user_writer(file, id_type, columns, self.metadata)
                )
                for file, columns in (
                    (self.files.per_user, labels),
                    (self.files.panel, [*self.definitions, *weights]),
                )
            ]
        evaluated, definitions = self.writers
        self.progress.advance(len(part.values))
        users = select_evaluated(part.values, self.task)
        evaluated.write(users if self.values is None else join_values(users, self.values))
        definitions.write(part.values.select("user", *self.definitions, *weights))

    def close(self) -> None:
        """Move the files to their final names."""
        self.open_files.close()

    def table_of(self, column: str) -> Path:
        """Return the file that holds a column."""
        return self.files.panel if column in self.definitions else self.files.per_user
