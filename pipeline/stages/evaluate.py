"""Stage `evaluate`: per-user values and summary of one model; means of other definitions."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.display_words import plural
from concord.metrics_core.data.id_matching import IdMatchContext
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.tables import Table, create_view, file_paths, scan, share_id_types
from concord.metrics_core.data.value_files import USER
from concord.metrics_core.errors import InputError, params_keys, raise_problems, refuse
from concord.metrics_core.evaluation.accumulator import (
    build_panels,
    build_task,
    pinned_content,
)
from concord.metrics_core.evaluation.config import grade_problems
from concord.metrics_core.evaluation.evaluate_model import (
    Executor,
    check_ids,
    evaluate_model,
    execute_in_memory,
)
from concord.metrics_core.evaluation.model_result import EvaluationData, summarise_values
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    create_range_views,
    judge_partition,
    prefetch,
    score_partition,
    select_evaluated,
)
from concord.metrics_core.evaluation.score import uses_user_table
from concord.metrics_core.evaluation.side_data import with_items
from concord.metrics_core.evaluation.ties import has_equal_scores
from concord.metrics_core.evaluation.values_of_users import join_values, summarise_joined
from concord.metrics_core.files import content_ids, load_json
from concord.metrics_core.metrics.judged import Judged
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import (
    ModelFiles,
    side_data_file,
    truth_file,
    truth_quality_file,
)
from concord.pipeline.params.read import refuse_other_metrics
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.running.connections import duckdb_settings, read_only_connection
from concord.pipeline.running.messages import Progress
from concord.pipeline.running.outputs import (
    PerUserWriter,
    per_user_writer,
    prepare_folders,
    remove_background,
    rerun_fix,
    spill_folder,
    write_json,
)


def choose_executor(params: Params) -> Executor:
    """Return the function that yields per-user values, partition by partition."""
    if params.evaluation.engine == "polars":
        return execute_in_memory
    rows = params.evaluation.rows_per_partition
    if params.evaluation.engine == "spark":
        from concord.pipeline.stages.spark_executor import execute_on_spark

        return partial(execute_on_spark, rows_per_partition=rows)
    return partial(execute_by_ranges, rows_per_partition=rows)


_KNOWN_USERS = "CREATE OR REPLACE TEMP VIEW known AS SELECT user FROM truth"


def execute_by_ranges(
    lists: Table, data: EvaluationData, task: Task, rows_per_partition: int
) -> Generator[Part]:
    """Yield the values of ranges of users, in the order of users."""
    # All queries sort where order matters; DuckDB is faster if it may ignore the files' order.
    task = data.with_item_columns(task)
    tables = {"lists": lists, "truth": data.truth}
    if data.users is not None:
        tables["known"] = data.users
    with (
        spill_folder() as spill,
        connect(
            reads=file_paths(tables.values()),
            config=duckdb_settings(spill) | {"preserve_insertion_order": False},
        ) as connection,
    ):
        for name, table in tables.items():
            create_view(connection, f"{name}_file", table)
        share_id_types(connection, {f"all_{name}": f"{name}_file" for name in tables})
        if task.needs_items:
            create_range_views(connection, ["lists"], None, None)
            task = with_items(connection, task, data)
        starts = range_starts(connection, lists, rows_per_partition)

        def judged() -> Iterator[dict[int, Judged]]:
            for low, high in zip([None, *starts], [*starts, None], strict=True):
                create_range_views(connection, [*tables], low, high)
                if data.users is None:
                    connection.execute(_KNOWN_USERS)
                yield judge_partition(connection, task)

        if task.needs_items:  # whole lists of a range are read while it is scored
            yield from (score_partition(ranked, task, connection) for ranked in judged())
        else:
            with closing(prefetch(judged())) as partitions:  # an error stops the query that runs
                yield from (score_partition(ranked, task) for ranked in partitions)


def range_starts(
    connection: DuckDBPyConnection, lists: Table, rows_per_partition: int
) -> list[Any]:
    """Return the first user of each range but the first, from the row groups of the sorted file."""
    query = """
        SELECT row_group_num_rows, min(user) FROM (
            SELECT row_group_id, row_group_num_rows, stats_min_value AS user
            FROM parquet_metadata(?) WHERE path_in_schema = 'user')
        GROUP BY row_group_id, row_group_num_rows ORDER BY row_group_id
    """
    is_integer = str(connection.view("all_lists").select("user").types[0]) == "BIGINT"
    starts, n_rows = [], 0
    for n_group_rows, first in connection.execute(query, [str(lists)]).fetchall():
        if n_rows + n_group_rows > rows_per_partition and n_rows:
            starts.append(int(first) if is_integer else first)
            n_rows = 0
        n_rows += n_group_rows
    return sorted(set(starts))


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
        execute = partial(execute_ahead, execute=choose_executor(params))
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


def execute_ahead(
    lists: Table, data: EvaluationData, task: Task, execute: Executor
) -> Generator[Part]:
    """Compute the next partition while one is written; locate errors of conventions."""
    try:
        with closing(prefetch(execute(lists, data, task))) as parts:
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
        """Write the values of a partition."""
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
