"""Train and catalogue as they were left: checked, in the table `source` and as a frame."""

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.formats.source import Source, Watch, read_source, unwatched
from concord.metrics_core.reading.rules.feature_checks import feature_problems
from concord.metrics_core.reading.rules.truth_checks import time_checks
from concord.metrics_core.reading.rules.value_checks import id_checks, list_checks, value_problems
from concord.metrics_core.reading.table import read_table

SEPARATOR = "|"  # of categories, in text
TRAIN_COLUMNS = (("user", "item"), ("time",))  # must be there, may be there
ITEMS_COLUMNS = (("item",), ("categories", "vector", "title"))


def read_train(
    connection: DuckDBPyConnection,
    table: InputTable,
    *,
    may_be_empty: bool = False,
    watch: Watch = unwatched,
) -> Source:
    """Read and check interactions into the table `source`.

    Raises
    ------
    InputError : every problem of the table at once
    """
    source = read_source(connection, table, may_be_empty=may_be_empty, watch=watch)
    checks = [*list_checks(source), *time_checks(source)]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)
    return source


def read_items(
    connection: DuckDBPyConnection, table: InputTable, *, watch: Watch = unwatched
) -> tuple[pl.DataFrame, Source]:
    """The catalogue: item, and of categories, vector and title what there is.

    Raises
    ------
    InputError : every problem of the table at once
    """
    frame, source = read_table(connection, table, watch=watch)
    if frame.schema.get("categories") == pl.String:
        text = pl.col("categories")
        blank = text.str.strip_chars() == ""
        frame = frame.with_columns(pl.when(~blank).then(text.str.split(SEPARATOR)))
    if frame.schema.get("categories") == pl.List(pl.String):
        stripped = pl.col("categories").list.eval(pl.element().str.strip_chars())
        frame = frame.with_columns(stripped)
    if problems := feature_problems(source, frame):
        raise InputError(problems)
    known = [name for name in ("item", "categories", "vector", "title") if name in frame.columns]
    return frame.select(known), source


def read_users(connection: DuckDBPyConnection, table: InputTable) -> None:
    """Read and check ids of users into the table `source`; they may repeat.

    Raises
    ------
    InputError : an id is missing or cannot be read
    """
    source = read_source(connection, table, may_be_empty=True)
    connection.execute("ALTER TABLE source ADD COLUMN item VARCHAR")
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)
