"""Train and catalogue as they were left: checked, in the table `source` and as a frame."""

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.checking.row_checks import RowCheck
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.formats.source import Source, Watch, read_source, unwatched
from concord.metrics_core.reading.rules.feature_checks import (
    as_number,
    feature_problems,
    number_problems,
)
from concord.metrics_core.reading.rules.policies import Policies
from concord.metrics_core.reading.rules.truth_checks import time_checks, truth_checks
from concord.metrics_core.reading.rules.value_checks import (
    DROP,
    id_checks,
    list_checks,
    value_problems,
)
from concord.metrics_core.reading.table import read_table

SEPARATOR = "|"  # of categories, in text
TRAIN_COLUMNS = (("user", "item"), ("time",))  # must be there, may be there
ITEMS_COLUMNS = (("item",), ("categories", "vector", "title", "group"))
INTERACTIONS_COLUMNS = (("user", "item", "time"), ("grade",))


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


def read_interactions(
    connection: DuckDBPyConnection, table: InputTable, *, watch: Watch = unwatched
) -> Source:
    """Read and check interactions with times, and grades if there are any, into the table `source`; they may repeat.

    Raises
    ------
    InputError : every problem of the table at once
    """
    source = read_source(connection, table, watch=watch)
    endless = RowCheck("time", "isinf(time)", "is infinite", f"give every row a time, or {DROP}")
    checks = [*truth_checks(source, Policies(negative_grade="zero")), endless]
    if problems := value_problems(connection, source, checks):
        raise InputError(problems)
    return source


def read_items(
    connection: DuckDBPyConnection, table: InputTable, *, watch: Watch = unwatched
) -> tuple[pl.DataFrame, Source]:
    """The catalogue: item, of categories, vector and title what there is, group and the columns of numbers if they are named.

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
    if "group" in table.columns and not frame.schema["group"].is_nested():
        group = pl.col("group").cast(pl.String).str.strip_chars()
        frame = frame.with_columns(pl.when(group != "").then(group).alias("group"))
    numbers = [name for name in table.columns if name not in (*table.needs, *ITEMS_COLUMNS[1])]
    frame = frame.with_columns(as_number(frame, name) for name in numbers)
    if problems := [*feature_problems(source, frame), *number_problems(source, frame, numbers)]:
        raise InputError(problems)
    known: list[str] = [
        name for name in ("item", "categories", "vector", "title") if name in frame.columns
    ]
    known += ["group"] if "group" in table.columns else []
    return frame.select(*known, *numbers), source


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
