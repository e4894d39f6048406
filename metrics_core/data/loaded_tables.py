"""What is kept of a table once it is read and checked: its rows in order, as a query, and what was found in them.

`Loaded.query` reads tables of the connection: it is run before another table is read.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.list_batches import ListBatch, list_batches
from concord.metrics_core.data.load_lists import read_lists
from concord.metrics_core.data.object_stores import has_store_failure
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.quality import (
    describe,
    describe_lists,
    describe_passed,
    describe_passed_truth,
    describe_table,
    describe_truth,
)
from concord.metrics_core.data.relations import second_cursor
from concord.metrics_core.data.row_checks import only_row
from concord.metrics_core.data.side_data import read_items, read_table, read_train, read_truth
from concord.metrics_core.data.sorted_reader import (
    ListRules,
    ListStatistics,
    NotSortedError,
    ReadRules,
    TruthRules,
    UsersNotSortedError,
    read_grouped,
    read_sorted,
)
from concord.metrics_core.data.source import Progress, Source, no_progress, stream_source
from concord.metrics_core.errors import InputError, in_words

AT_A_TIME = 131_072  # rows
Sink = Callable[[pa.Schema, Iterable[ListBatch]], None]


@dataclass(frozen=True)
class SideData:
    """The rows that are kept, and what was found: counts, hashes and notes."""

    query: str
    quality: dict[str, Any]


@dataclass(frozen=True)
class LoadedTable:
    """A table whose rows were handed on; `describe` counts what was found in them."""

    source: Source
    describe: Callable[[], dict[str, Any]]


def load_recommendations(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    pinned: Conventions,
    keep: Sink,
    *,
    order: str | None = None,
    watch: Progress = no_progress,
) -> LoadedTable:
    """Hands user, item, rank [, score, ranking], by user and rank, to `keep`; tells on demand what was found in them.

    keep : takes their schema, and the rows. It is called again, from the first row, where lists do not go on in the
           order in which they began

    Raises
    ------
    InputError : every problem of the table at once
    """
    wanted = ListRules(pinned.rankings, policies, order)
    base = policies.rank_base
    if gone_by := _passed_on(connection, table, wanted, keep, rank_base=base, watch=watch):
        return LoadedTable(gone_by[0], partial(describe_passed, *gone_by, pinned))
    found = read_lists(connection, table, policies, pinned.rankings, order=order, watch=watch)
    _hand_on(connection, f"SELECT * FROM {found.ranked.relation}", keep)
    return LoadedTable(found.source, partial(describe_lists, connection, found, pinned))


class InMemorySink:
    """What `keep_lists` hands on, as a table."""

    def __init__(self) -> None:
        self.table = pa.table({})

    def keep(self, schema: pa.Schema, rows: Iterable[ListBatch]) -> None:
        tables = (lists.table for lists in rows)
        self.table = pa.concat_tables([pa.Table.from_batches([], schema), *tables])


def load_ground_truth(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    keep: Sink,
    *,
    place: bool,
    may_be_empty: bool = False,
    watch: Progress = no_progress,
) -> LoadedTable:
    """Hands user, item, grade [, time, place, propensity], by user, falling grade and item, to `keep`, as `keep_lists` does.

    place : does the order count in which the rows are given? See `order_counts`
    """
    weighed = "propensity" in table.columns
    wanted = TruthRules(place)
    if not weighed and (gone_by := _passed_on(connection, table, wanted, keep, watch=watch)):
        return LoadedTable(gone_by[0], partial(describe_passed_truth, *gone_by, policies))
    source, changed = read_truth(
        connection, table, policies, may_be_empty=may_be_empty, watch=watch
    )
    grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
    time = ", time" if "time" in source.columns else ""
    given = ", position AS place" if place else ""
    given += ", propensity" if weighed else ""
    query = f"SELECT user, item, {grade}{time}{given} FROM source ORDER BY user, grade DESC, item"
    _hand_on(connection, query, keep)
    return LoadedTable(source, partial(describe_truth, connection, source, changed))


def _hand_on(connection: DuckDBPyConnection, query: str, keep: Sink) -> None:
    with second_cursor(connection) as reading:
        reader = reading.sql(query).to_arrow_reader(AT_A_TIME)
        keep(reader.schema, list_batches(reader))


def _passed_on(
    connection: DuckDBPyConnection,
    table: InputTable,
    wanted: ReadRules,
    keep: Sink,
    *,
    rank_base: int = 1,
    watch: Progress,
) -> tuple[Source, ListStatistics] | None:
    """What a table was, and what was seen of its rows, where they were handed to `keep` in one pass; else None."""
    for pass_on in (
        (read_sorted, read_grouped) if not table.unit else ()
    ):  # their ids are put together first
        passed = ListStatistics()
        try:
            with (
                connection.cursor() as asked,  # rows may be read while what came before is used
                stream_source(connection, table, rank_base=rank_base, watch=watch) as (
                    source,
                    batches,
                ),
            ):
                keep(wanted.schema(source), pass_on(asked, source, batches, wanted, passed))
            return replace(source, rows=passed.rows), passed
        except UsersNotSortedError:
            continue
        except NotSortedError:
            if has_store_failure(source.raw.problems):
                raise InputError(source.raw.problems) from None
            break
    return None


def load_train(
    connection: DuckDBPyConnection, table: InputTable, *, watch: Progress = no_progress
) -> SideData:
    """user, item [, time, last], each pair once; raises as `load_lists`."""
    source = read_train(connection, table, watch=watch)
    times = ", min(time) AS time, max(time) AS last" if "time" in source.columns else ""
    query = f"SELECT user, item{times} FROM source GROUP BY user, item ORDER BY user, item"
    (again,) = only_row(connection, "SELECT count(*) - count(DISTINCT (user, item)) FROM source")
    note = f"{in_words(again, 'row')} of a user and item that stand there before: each pair counts once"
    notes = [*source.notes, *([note] if again else [])]
    return SideData(query, describe(connection, source) | {"repeated": again, "notes": notes})


def load_items(
    connection: DuckDBPyConnection, table: InputTable, *, watch: Progress = no_progress
) -> SideData:
    """Item [, categories, vector, title]; raises as `load_lists`."""
    frame, source = read_items(connection, table, watch=watch)
    if "title" in frame.columns:
        frame = frame.with_columns(pl.col("title").cast(pl.String))
    features = next((name for name in ("categories", "vector") if name in frame.columns), None)
    known = features and any(frame[features].to_list())  # a column of empty cells says nothing
    connection.register("catalogue", frame.to_arrow())
    quality = describe_table(source) | {"features": features if known else None}
    return SideData("SELECT * FROM catalogue ORDER BY item", quality)


def load_users(
    connection: DuckDBPyConnection, table: InputTable, *, watch: Progress = no_progress
) -> SideData:
    """user, and all columns that hold one plain value a user: segments choose among them; raises as `load_lists`."""
    frame, source = read_table(connection, table, watch=watch)
    # As series: a name such as `^.*$` or `*` would be a pattern.
    plain = [column for column in frame if not column.dtype.is_nested() and column.name != "user"]
    connection.register("users", pl.DataFrame([frame["user"], *plain]).to_arrow())
    return SideData("SELECT * FROM users ORDER BY user", describe_table(source))


LOADERS = {"train": load_train, "items": load_items, "users": load_users}


def needs_given_order(conventions: Conventions) -> bool:
    """Does any metric read the truth in the order in which it was given?"""
    return any(own.ideal == "truth_given_order_at_k" for own in conventions.variants)
