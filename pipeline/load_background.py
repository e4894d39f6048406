"""Stage `load-background@<name>`: train, catalogue or users, checked and sorted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from metrics_core.background import catalogue_of
from metrics_core.row_checks import in_words, only_row
from pipeline.checks import InputError
from pipeline.loading.feature_checks import feature_problems
from pipeline.loading.input_file import InputFile
from pipeline.loading.list_checks import list_checks, value_problems
from pipeline.loading.quality import describe, describe_table, in_numbers
from pipeline.loading.read_table import read_table
from pipeline.loading.sorted_parquet import write_query
from pipeline.loading.sources import format_of, input_path, read_source
from pipeline.loading.truth_checks import time_checks
from pipeline.loading.workspace import workspace
from pipeline.outputs import prepare, write_json
from pipeline.params import Params, read_params
from pipeline.running.unchanged import unchanged
from pipeline.stage import argument, run

SEPARATOR = "|"  # of categories, in text
Quality = dict[str, Any]


def main() -> str:
    params = read_params()
    name = argument(list(params.background), "a file of background")
    prepare(params.results, params.results.data)
    with workspace() as connection:
        return load_background(connection, params, name)


def load_background(connection: DuckDBPyConnection, params: Params, name: str) -> str:
    """Write train, catalogue or users, and beside it what is known of the file; on refusal neither. Says what was read."""
    read, needs, may_have = _READERS[name]
    file = background_file(params, name, needs, may_have)
    with unchanged(file.path):
        quality = read(connection, file, Path(params.results.data) / f"{name}.parquet")
    write_json(Path(params.results.data) / f"{name}.json", quality)
    return in_numbers(quality)


def background_file(
    params: Params, name: str, needs: tuple[str, ...], may_have: tuple[str, ...]
) -> InputFile:
    key, entry = f"background.{name}", params.background[name]  # type: ignore[index]
    path = input_path(key, entry.path, allow_outside=params.input.allow_outside)
    columns = {str(ours): theirs for ours, theirs in entry.columns.items()}
    return InputFile(key, path, format_of(key, path, entry.format), needs, may_have, columns)


def _load_train(connection: DuckDBPyConnection, file: InputFile, into: Path) -> Quality:
    source = read_source(connection, file)
    checks = [*list_checks(source), *time_checks(source)]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)
    times = ", min(time) AS time, max(time) AS last" if "time" in source.columns else ""
    query = f"SELECT user, item{times} FROM source GROUP BY user, item ORDER BY user, item"
    write_query(connection, query, into)
    (again,) = only_row(connection, "SELECT count(*) - count(DISTINCT (user, item)) FROM source")
    note = f"{in_words(again, 'row')} of a user and item that stand there before: each pair counts once"
    return describe(connection, source) | {"repeated": again, "notes": [note] if again else []}


def _load_items(connection: DuckDBPyConnection, file: InputFile, into: Path) -> Quality:
    frame, source = read_table(connection, file)
    if frame.schema.get("categories") == pl.String:
        frame = frame.with_columns(pl.col("categories").str.split(SEPARATOR))
    if problems := feature_problems(source, frame):
        raise InputError(problems)
    catalogue = catalogue_of(frame)
    known = [name for name in ("item", "categories", "vector", "title") if name in frame.columns]
    frame = frame.select(known)
    if "title" in known:
        frame = frame.with_columns(pl.col("title").cast(pl.String))
    connection.register("catalogue", frame.to_arrow())
    write_query(connection, "SELECT * FROM catalogue ORDER BY item", into)
    features = next((name for name in ("categories", "vector") if name in known), None)
    return describe_table(source) | {"features": None if catalogue.features is None else features}


def _load_users(connection: DuckDBPyConnection, file: InputFile, into: Path) -> Quality:
    """All columns that hold one plain value a user: `segments` chooses among them."""
    frame, source = read_table(connection, file)
    # As series: a name such as `^.*$` or `*` would be a pattern.
    plain = [column for column in frame if not column.dtype.is_nested() and column.name != "user"]
    connection.register("users", pl.DataFrame([frame["user"], *plain]).to_arrow())
    write_query(connection, "SELECT * FROM users ORDER BY user", into)
    return describe_table(source)


_READERS: Mapping[str, tuple[Callable[..., Quality], tuple[str, ...], tuple[str, ...]]] = {
    "train": (_load_train, ("user", "item"), ("time",)),
    "items": (_load_items, ("item",), ()),
    "users": (_load_users, ("user",), ()),
}


if __name__ == "__main__":
    run(main)
