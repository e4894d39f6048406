"""Stage `evaluate`: per-user values and a summary of one model, by ranges of users in DuckDB or on Spark."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.id_matching import IdMatchContext
from concord.metrics_core.data.relations import (
    Table,
    connect,
    create_view,
    file_paths,
    only_row,
    share_id_types,
)
from concord.metrics_core.errors import InputError, ParamsKeys, refuse
from concord.metrics_core.evaluation.accumulator import panels_of, pinned_content, task_of
from concord.metrics_core.evaluation.evaluate_model import (
    Executor,
    ModelData,
    check_ids,
    evaluate_model,
    execute_in_memory,
)
from concord.metrics_core.evaluation.grade_fit import grade_problems
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    evaluated,
    judge_partition,
    one_ahead,
    put_range,
    score_partition,
)
from concord.metrics_core.evaluation.score import names_users
from concord.metrics_core.evaluation.side_data import with_items
from concord.metrics_core.files import content_ids, load_json
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.label import canonical_label
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.connections import duckdb_settings, read_only_connection
from concord.pipeline.running.messages import Progress
from concord.pipeline.running.outputs import (
    RERUN_FIX,
    prepare_folders,
    remove_background,
    spill_folder,
    write_json,
)
from concord.pipeline.running.stage import model_argument
from concord.pipeline.running.tables import PerUserWriter, per_user_writer


def executor_of(params: Params) -> Executor:
    """Return the function that yields users' values, partition by partition."""
    if params.evaluation.engine == "polars":
        return execute_in_memory
    rows = params.evaluation.rows_per_partition
    if params.evaluation.engine == "spark":
        from concord.pipeline.stages.spark_executor import execute_on_spark

        return partial(execute_on_spark, rows_per_partition=rows)
    return partial(execute_by_ranges, rows_per_partition=rows)


_KNOWN = "CREATE OR REPLACE TEMP VIEW known AS SELECT user FROM truth"


def execute_by_ranges(data: ModelData, task: Task, rows_per_partition: int) -> Generator[Part]:
    """Yield the values of one range of users after the other, in the order of the users."""
    # Every query that matters names its order; without the order of the files DuckDB is faster.
    task = data.background.with_item_columns(task)
    tables = {"lists": data.lists, "truth": data.truth}
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
            put_range(connection, ["lists"], None, None)
            task = with_items(connection, task, data.background)
        cuts = _cuts(connection, data.lists, rows_per_partition)

        def judged() -> Iterator[dict[int, Judged]]:
            for low, high in zip([None, *cuts], [*cuts, None], strict=True):
                put_range(connection, [*tables], low, high)
                if data.users is None:
                    connection.execute(_KNOWN)
                yield judge_partition(connection, task)

        if task.needs_items:  # whole lists of a range are read while it is scored
            yield from (score_partition(ranked, task, connection) for ranked in judged())
        else:
            with closing(one_ahead(judged())) as ahead:  # no query goes on after a refusal
                yield from (score_partition(ranked, task) for ranked in ahead)


def _cuts(connection: DuckDBPyConnection, lists: Table, rows_per_partition: int) -> list[Any]:
    """First users of the second, third … range: the file is sorted by user, its row groups say where they begin."""
    query = """
        SELECT row_group_num_rows, min(user) FROM (
            SELECT row_group_id, row_group_num_rows, stats_min_value AS user
            FROM parquet_metadata(?) WHERE path_in_schema = 'user')
        GROUP BY row_group_id, row_group_num_rows ORDER BY row_group_id
    """
    integer = str(connection.view("all_lists").select("user").types[0]) == "BIGINT"
    cuts, rows = [], 0
    for in_group, first in connection.execute(query, [str(lists)]).fetchall():
        if rows + in_group > rows_per_partition and rows:
            cuts.append(int(first) if integer else first)
            rows = 0
        rows += in_group
    return sorted(set(cuts))


def model_data(params: Params, model: str) -> ModelData:
    """Return the files of a model and of the data it is evaluated on."""
    folder = Path(params.results.data)
    train, items, users = (
        folder / f"{name}.parquet" if name in params.background else None
        for name in ("train", "items", "users")
    )
    return ModelData(
        model=model,
        lists=Path(params.results.lists) / f"{model}.parquet",
        truth=params.truth_of(model),
        train=train,
        items=items,
        users=users if names_users(params.pinned) else None,
        connect=read_only_connection,
    )


def check_model_ids(params: Params, model: str) -> dict[str, Any]:
    """Return what a model's ids have in common with those of ground truth and catalogue; see `fit_of`.

    Raises
    ------
    InputError
        As `fit_of`.
    """
    entry, catalogue = params.models[model], params.background.get("items")
    met = IdMatchContext(
        entry.path,
        {str(ours): theirs for ours, theirs in entry.columns.items()},
        catalogue.path if catalogue else None,
        params.input.unknown_items,
        ParamsKeys(f"models.{model}"),
    )
    return check_ids(model_data(params, model), met, of_requests=bool(params.data.unit))


def check_grades(params: Params, model: str) -> None:
    """Raise an InputError if no grade reaches the threshold, or one is above what ERR takes; see `misgraded`."""
    truth = params.truth_of(model)
    with read_only_connection([truth]) as connection:
        connection.read_parquet(str(truth)).create_view("truth")
        (highest,) = only_row(connection, "SELECT max(grade) FROM truth")
    name, settings = params.data.truth.path, ParamsKeys("data.truth")
    if problems := list(grade_problems(highest, params.labels, params.pinned, name, settings)):
        raise InputError(problems)


def main() -> str:
    params = read_params()
    folders = params.results
    prepare_folders(folders, folders.per_user, folders.panel, folders.summary, folders.metrics)
    return evaluate(params, model_argument(params))


def evaluate(params: Params, model: str) -> str:
    """Write the users' values, the summary and the metrics of one model; return how many there are."""
    remove_background(params)
    check_grades(params, model)
    fit = check_model_ids(params, model)
    _check_unit(params, model)
    labels, folders = params.labels, params.results
    primary = params.comparison.primary if params.evaluation.panel else []
    panels = panels_of(labels, [canonical_label(text) for text in primary], params.pinned)
    task = task_of(labels, params.pinned, panels, has_users="users" in params.background)
    with _value_files(params, model, task) as store:
        execute = _ahead(executor_of(params))
        evaluation = evaluate_model(model_data(params, model), task, execute, store, fit=fit)
        content = evaluation.content(
            store,
            panels,
            confidence=params.comparison.confidence,
            inputs={
                "truth": content_ids(_truth_quality(params, model)),
                "lists": content_ids(_quality(params, model)),
                **{name: content_ids(_quality(params, name)) for name in params.background},
            },
        )
    means = {label: numbers["mean"] for label, numbers in content["metrics"].items()}
    write_json(Path(folders.metrics) / f"{model}.json", means)
    write_json(Path(folders.summary) / f"{model}.json", content)
    return f"{len(task.labels)} metrics for {content['users']['in_truth']:,} users"


def _check_unit(params: Params, model: str) -> None:
    """Refuse lists or ground truth that were read as those of users where requests are evaluated, or the reverse."""
    read = {"load-truth": _truth_quality(params, model), f"load@{model}": _quality(params, model)}
    for stage, quality in read.items():
        if (unit := quality.get("unit", [])) != params.data.unit:
            problem = f"is {params.data.unit}, and {quality['path']} was read with {unit}"
            fix = f"run `dvc repro --single-item --force {stage}`, then `dvc repro`"
            raise refuse(f"{PARAMS}: data.unit", problem, fix)


def _quality(params: Params, name: str) -> dict[str, Any]:
    """Return the quality file of a model or a table."""
    folder = params.results.data if name in params.background else params.results.quality
    return load_json(Path(folder) / f"{name}.json", RERUN_FIX)


def _truth_quality(params: Params, model: str) -> dict[str, Any]:
    """Return the quality of the ground truth that a model is evaluated on."""
    quality, fold = _quality(params, "truth"), params.models[model].fold
    return quality if fold is None else quality["folds"][fold]


def _ahead(execute: Executor) -> Executor:
    """Compute the next partition while one is written; an error of a convention names params.yaml."""

    def execute_ahead(data: ModelData, task: Task) -> Generator[Part]:
        with closing(one_ahead(_located_errors(execute(data, task)))) as parts:
            yield from parts

    return execute_ahead


def _located_errors(parts: Iterator[Part]) -> Generator[Part]:
    try:
        yield from parts
    except InputError:  # has a location
        raise
    except ValueError as error:
        fix = "change the convention that is named, or the data; train and items are named under `background:`"
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error


class _ValueFiles:
    """Parquet files of users' values: one of the labels, one of the panel's other definitions."""

    def __init__(self, params: Params, model: str, task: Task, progress: Progress) -> None:
        self.task, self.progress = task, progress
        folders = (params.results.per_user, params.results.panel)
        self.files = [Path(folder) / f"{model}.parquet" for folder in folders]
        self.metadata = pinned_content(model, params.pinned)
        self.open_files = ExitStack()
        self.writers: Sequence[PerUserWriter] = ()
        weights = [*task.mean_weights]
        self.definitions = [definition.column for definition in task.definitions]
        self.columns = [[*map(str, task.per_user), *weights], [*self.definitions, *weights]]

    def write(self, part: Part) -> None:
        """Write the values of a partition."""
        if not self.writers:
            is_integer = part.values.schema["user"].is_integer()
            id_type = pa.int64() if is_integer else pa.string()
            self.writers = [
                self.open_files.enter_context(
                    per_user_writer(file, id_type, columns, self.metadata)
                )
                for file, columns in zip(self.files, self.columns, strict=True)
            ]
        labels, definitions = self.writers
        self.progress.advance(len(part.values))
        labels.write(evaluated(part.values, self.task))
        definitions.write(part.values.select("user", *self.columns[1]))

    def close(self) -> None:
        """Put the files in place."""
        self.open_files.close()

    def table_of(self, column: str) -> Path:
        """Return the file of a column."""
        return self.files[column in self.definitions]


@contextmanager
def _value_files(params: Params, model: str, task: Task) -> Iterator[_ValueFiles]:
    n_users = None
    if (Path(params.results.quality) / "truth.json").exists():
        n_users = _truth_quality(params, model).get("users")
    with Progress(f"evaluate {model}", "users", n_users) as progress:
        store = _ValueFiles(params, model, task, progress)
        with store.open_files:  # an error removes what was written
            yield store
