"""Stages `load`, `load-truth` and `load-background`: check and sort input files."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.formats import UNNAMED, check_path, detect_format
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.data.input_table import (
    ITEMS_COLUMNS,
    LIST_COLUMNS,
    TRAIN_COLUMNS,
    TRUTH_COLUMNS,
    InputTable,
    resolve_columns,
)
from concord.metrics_core.data.list_batches import ListBatch
from concord.metrics_core.data.load_tables import (
    LOADERS,
    Sink,
    load_ground_truth,
    load_recommendations,
    needs_file_order,
)
from concord.metrics_core.data.paths import AnyPath, parse_path
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.quality import describe_folds, size_text
from concord.metrics_core.data.side_data import read_excluded_pairs
from concord.metrics_core.errors import (
    InputError,
    SettingNames,
    as_params_line,
    format_count,
    params_keys,
)
from concord.metrics_core.files import NO_FOLD
from concord.pipeline.params.model import (
    BackgroundFile,
    ListsFile,
    ListValues,
    Params,
    TruthFile,
    ValuesFile,
)
from concord.pipeline.params.paths import ModelFiles, check_inside, truth_file, truth_quality_file
from concord.pipeline.params.read import check_metric_file, refuse_other_metrics, refuse_values
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.running.inputs import refuse_changes
from concord.pipeline.running.messages import count_rows
from concord.pipeline.running.outputs import (
    atomic_write,
    prepare_folders,
    remove_path,
    write_json,
    write_parquet,
)

if TYPE_CHECKING:
    import polars as pl

ROW_GROUP = 131_072
MAX_PENDING = 8  # row groups


def write_query(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write the rows of a query to parquet."""
    reader = connection.sql(query).to_arrow_reader(ROW_GROUP)
    write_rows(path, reader.schema, reader)


@contextmanager
def file_sink(path: Path, source: AnyPath) -> Iterator[Sink]:
    """Yield a sink that writes rows to a file; the file appears only if the source is unchanged."""
    with ExitStack() as stack:
        temporary: list[Path] = []

        def write(schema: pa.Schema, rows: Iterable[ListBatch]) -> None:
            tables = (batch.table for batch in rows)
            first = list(islice(tables, 1))  # an error in the first batch leaves no folder
            if not temporary:
                temporary.append(stack.enter_context(atomic_write(path)))
            write_rows(temporary[0], schema, chain(first, tables))

        with refuse_changes(source):
            yield write


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[pa.Table | pa.RecordBatch]) -> None:
    """Write rows to parquet in a second thread, while the next rows are computed."""
    pending: deque[Future[None]] = deque()
    with pq.ParquetWriter(path, schema) as writer, ThreadPoolExecutor(1) as pool:
        for group in _row_groups(schema, rows):
            pending.append(pool.submit(writer.write_table, group, row_group_size=ROW_GROUP))
            if len(pending) > MAX_PENDING:
                pending.popleft().result()
        for write in pending:
            write.result()


def _row_groups(schema: pa.Schema, rows: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of ROW_GROUP rows, the last one shorter: sizes of batches vary by threads."""
    remaining = pa.Table.from_batches([], schema)
    for batch in rows:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        remaining = pa.concat_tables([remaining, table])
        while len(remaining) >= ROW_GROUP:
            yield remaining.slice(0, ROW_GROUP).combine_chunks()
            remaining = remaining.slice(ROW_GROUP)
    if len(remaining):
        yield remaining.combine_chunks()


Columns = tuple[tuple[str, ...], tuple[str, ...]]  # required, optional
BACKGROUND: Mapping[str, Columns] = {
    "train": TRAIN_COLUMNS,
    "items": ITEMS_COLUMNS,
    "users": (("user",), ()),
}


def lists_file(params: Params, model: str, entry: ListsFile) -> InputTable:
    """Return the table of a model's lists.

    Raises
    ------
    InputError
        If the file is missing, empty or outside the repository, or if its format is unknown.
    """
    table = replace(_table(params, f"models.{model}", entry, LIST_COLUMNS), order=entry.order)
    with suppress(InputError):  # the ground truth has its own messages
        table = replace(table, truth=truth_files(params).get(entry.fold or NO_FOLD))
    return table.with_unit(params.data.unit)


def truth_files(params: Params) -> dict[str, InputTable]:
    """Return the ground truth of each fold, or of NO_FOLD; raises as `lists_file`."""
    entry = params.data.truth
    files = {fold: f"{entry.path}/{file}" for fold, file in entry.folds.items()}
    return {
        fold: replace(
            _table(params, "data.truth", entry.model_copy(update={"path": path}), TRUTH_COLUMNS),
            words=params.data.words,
        ).with_unit(params.data.unit)
        for fold, path in (files or {NO_FOLD: entry.path}).items()
    }


def additional_files(params: Params) -> list[InputTable]:
    """Return the files with more judgements, in our column names; raises as `lists_file`."""
    tables = (
        _table(params, "data.truth.additional", BackgroundFile(path=path), TRUTH_COLUMNS)
        for path in params.data.truth.additional
    )
    return [replace(table, columns={}).with_unit(params.data.unit) for table in tables]


def background_file(params: Params, name: str) -> InputTable:
    """Return a table of side data; raises as `lists_file`."""
    entry = params.background[name]  # type: ignore[index]
    return _table(params, f"background.{name}", entry, BACKGROUND[name])


def read_conventions(params: Params) -> Conventions:
    """Return the conventions, with the pairs that `data.exclude` names; raises as `lists_file`."""
    conventions, file = params.parsed_conventions, params.excluded_file
    if file is None:
        return conventions
    table = _table(params, "data.exclude", file, TRAIN_COLUMNS)
    with refuse_changes(table.path), isolated_connection() as connection:
        return replace(conventions, exclude=read_excluded_pairs(connection, table))


def input_policies(params: Params) -> Policies:
    """Return the policies of the section `input`."""
    return Policies(**params.input.model_dump(exclude={"allow_outside"}))


def _table(
    params: Params, key: str, entry: TruthFile | ListsFile | BackgroundFile, columns: Columns
) -> InputTable:
    path, settings = parse_path(entry.path), params_keys(key)
    check_inside(key, path, allow_outside=params.input.allow_outside)
    check_path(path, settings)
    form = detect_format(path, entry.format, settings)
    own_names = {str(column): name for column, name in entry.columns.items()}
    shared_names = {
        str(column): name
        for column, name in params.data.columns.items()
        if column in columns[0] and column not in own_names and form not in UNNAMED
    }
    resolved = resolve_columns(columns, shared_names | own_names)
    return InputTable(str(path), form, *resolved, settings, where=entry.where)


def main(params: Params, model: str) -> str:
    prepare_folders(params.results, params.results.lists, params.results.quality)
    with isolated_connection() as connection:
        return load(connection, params, model)


def load(connection: DuckDBPyConnection, params: Params, model: str) -> str:
    """Write a model's ranked lists and data quality, or neither; return counts as text.

    Values of another tool are written as they are.
    """
    entry, files = params.models[model], ModelFiles.of_model(params.results, model)
    if isinstance(entry, ValuesFile):
        settings = SettingNames(("models", model), as_params_line, path="values")
        values, quality = _read_values(connection, params, entry, settings)
        write_parquet(files.lists, values)
        write_json(files.quality, {"model": model, **quality})
        return size_text(quality)
    values_of_users = None
    if entry.values:
        settings = SettingNames(("models", model, "values"), as_params_line)
        values_of_users = _read_values(connection, params, entry.values, settings)
    table = lists_file(params, model, entry)
    with file_sink(files.lists, table.path) as sink:
        loaded = load_recommendations(
            connection,
            table,
            input_policies(params),
            read_conventions(params),
            sink,
            progress=count_rows,
        )
        names = {"model": model} if entry.fold is None else {"model": model, "fold": entry.fold}
        quality = names | loaded.describe()  # hashes are known once the rows are written
    files.values.unlink(missing_ok=True)  # of an earlier params.yaml
    if values_of_users:
        write_parquet(files.values, values_of_users[0])
        quality["values"] = values_of_users[1]
    write_json(files.quality, quality)
    return size_text(quality)


def _read_values(
    connection: DuckDBPyConnection,
    params: Params,
    entry: ValuesFile | ListValues,
    settings: SettingNames,
) -> tuple["pl.DataFrame", dict[str, Any]]:
    """Return values of another tool, and the description of their file."""
    from concord.metrics_core.data.value_files import USER, read_value_file

    key, path = ".".join(settings.table), parse_path(entry.path)
    check_inside(key, path, allow_outside=params.input.allow_outside, part=settings.path)
    check_path(path, settings)
    form = detect_format(path, entry.format, settings)
    columns = {name: name for name in params.metrics} | entry.columns
    table = InputTable(str(path), form, (USER,), tuple(params.metrics), columns, settings)
    bounds = {name: metric.range for name, metric in params.metrics.items()}
    with refuse_changes(table.path):
        return read_value_file(connection, table, bounds, progress=count_rows)


def main_background(params: Params, name: str) -> str:
    prepare_folders(params.results, params.results.data)
    with isolated_connection() as connection:
        return load_background(connection, params, name)


def load_background(connection: DuckDBPyConnection, params: Params, name: str) -> str:
    """Write a table of side data and its data quality, or neither; return counts as text."""
    if name == "metrics":
        return _load_metrics(params)
    table = background_file(params, name)
    with refuse_changes(table.path):
        side_data = LOADERS[name](connection, table, progress=count_rows)
    data = Path(params.results.data)
    with atomic_write(data / f"{name}.parquet") as temporary:
        write_query(connection, side_data.query, temporary)
    write_json(data / f"{name}.json", side_data.quality)
    return size_text(side_data.quality)


def _load_metrics(params: Params) -> str:
    """Write the text of the user's own metrics, so that DVC sees every change."""
    import polars as pl

    file, data = Path(params.background["metrics"].path), Path(params.results.data)
    check_metric_file(params, file)
    with refuse_changes(file):
        quality = {"path": file.as_posix(), "format": "py", **hash_content(file).to_dict()}
        lines = file.read_text(encoding="utf-8").splitlines()
    refuse_other_metrics(params, quality)
    write_parquet(data / "metrics.parquet", pl.DataFrame({"line": lines}))
    write_json(data / "metrics.json", quality | {"rows": len(lines)})
    return format_count(len(lines), "line")


def main_truth(params: Params) -> str:
    refuse_values(params)
    prepare_folders(params.results, params.results.data, params.results.quality)
    target = truth_file(params)
    if target.is_dir() or params.data.truth.folds:  # other folds, or none, were there before
        remove_path(target)
    with isolated_connection() as connection:
        return load_truth(connection, params)


def load_truth(connection: DuckDBPyConnection, params: Params) -> str:
    """Write the ground truth and its data quality, or neither; return counts as text."""
    conventions = read_conventions(params)
    folds: dict[str, dict[str, Any]] = {}
    additional = additional_files(params)
    for fold, table in truth_files(params).items():
        with ExitStack() as stack:
            for each in additional:
                stack.enter_context(refuse_changes(each.path))
            path = truth_file(params, fold or None)  # NO_FOLD is empty
            sink = stack.enter_context(file_sink(path, table.path))
            loaded = load_ground_truth(
                connection,
                table,
                input_policies(params),
                sink,
                with_place=needs_file_order(conventions),
                additional=additional,
                exclude=conventions.exclude,
                progress=count_rows,
            )
            folds[fold] = loaded.describe()
    quality = folds[NO_FOLD] if NO_FOLD in folds else describe_folds(folds)
    write_json(truth_quality_file(params), quality)
    return size_text(quality)
