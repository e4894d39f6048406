"""Stage `load-background@<name>`: train, catalogue or users, checked and sorted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from metrics_core.checking.row_checks import in_words, only_row
from metrics_core.reading.background import read_items, read_train
from metrics_core.reading.columns.input_table import InputTable
from metrics_core.reading.table import read_table
from pipeline.loading.input_files import background_file
from pipeline.loading.quality import describe, describe_table, in_numbers
from pipeline.loading.sorted_parquet import write_query
from pipeline.loading.unchanged import unchanged
from pipeline.params.model import Params
from pipeline.params.read import read_params
from pipeline.running.connections import workspace
from pipeline.running.outputs import prepare, write_json
from pipeline.running.progress import counted
from pipeline.running.stage import argument, run

Quality = dict[str, Any]


def main() -> str:
    params = read_params()
    name = argument(list(params.background), "a file of background")
    prepare(params.results, params.results.data)
    with workspace() as connection:
        return load_background(connection, params, name)


def load_background(connection: DuckDBPyConnection, params: Params, name: str) -> str:
    """Write train, catalogue or users, and beside it what is known of the file; on refusal neither. Says what was read."""
    table = background_file(params, name)
    with unchanged(table.path):
        quality = _READERS[name](connection, table, Path(params.results.data) / f"{name}.parquet")
    write_json(Path(params.results.data) / f"{name}.json", quality)
    return in_numbers(quality)


def _load_train(connection: DuckDBPyConnection, table: InputTable, into: Path) -> Quality:
    source = read_train(connection, table, watch=counted)
    times = ", min(time) AS time, max(time) AS last" if "time" in source.columns else ""
    query = f"SELECT user, item{times} FROM source GROUP BY user, item ORDER BY user, item"
    write_query(connection, query, into)
    (again,) = only_row(connection, "SELECT count(*) - count(DISTINCT (user, item)) FROM source")
    note = f"{in_words(again, 'row')} of a user and item that stand there before: each pair counts once"
    notes = [*source.notes, *([note] if again else [])]
    return describe(connection, source) | {"repeated": again, "notes": notes}


def _load_items(connection: DuckDBPyConnection, table: InputTable, into: Path) -> Quality:
    frame, source = read_items(connection, table, watch=counted)
    if "title" in frame.columns:
        frame = frame.with_columns(pl.col("title").cast(pl.String))
    features = next((name for name in ("categories", "vector") if name in frame.columns), None)
    connection.register("catalogue", frame.to_arrow())
    write_query(connection, "SELECT * FROM catalogue ORDER BY item", into)
    known = features and any(frame[features].to_list())  # a column of empty cells says nothing
    return describe_table(source) | {"features": features if known else None}


def _load_users(connection: DuckDBPyConnection, table: InputTable, into: Path) -> Quality:
    """All columns that hold one plain value a user: `segments` chooses among them."""
    frame, source = read_table(connection, table, watch=counted)
    # As series: a name such as `^.*$` or `*` would be a pattern.
    plain = [column for column in frame if not column.dtype.is_nested() and column.name != "user"]
    connection.register("users", pl.DataFrame([frame["user"], *plain]).to_arrow())
    write_query(connection, "SELECT * FROM users ORDER BY user", into)
    return describe_table(source)


_READERS: Mapping[str, Callable[[DuckDBPyConnection, InputTable, Path], Quality]] = {
    "train": _load_train,
    "items": _load_items,
    "users": _load_users,
}


if __name__ == "__main__":
    run(main)
