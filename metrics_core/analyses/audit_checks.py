"""The checks of an audit: each is a query of the rows that should not be there, and of the users whom they touch.

A row of train is a pair of user and item, counted once, from its first to its last time. A user of the truth is
touched by a check if such rows are theirs; for `train_after_truth` the rows may be anybody's.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.relations import Table, files, schema, view
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.comparing.evidence.evaluated import Ground, Models, lists_of
from concord.metrics_core.results.audit import Example

MAX_EXAMPLES = 5


@dataclass(frozen=True)
class AuditTables:
    """Views `train` (user, item [, time, last]), `truth` (user, item, grade [, time]; of all folds), maybe `items`.

    Ids have one type in all of them.

    Attributes
    ----------
    has_times : bool
        True if train and truth have times. Then there is a table `begins`: user, `began` and `ended` of their truth.
    copy_columns : tuple of str
        Columns of `items` by which copies are found.
    lists : dict
        Maps the name of lists to their view, and to the view of the truth that they are judged by.
    """

    connection: DuckDBPyConnection
    has_times: bool
    copy_columns: tuple[str, ...]
    lists: Mapping[str, tuple[str, str]]

    @cached_property
    def sizes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and items of `truth` and `train`."""
        return {name: _size(self.connection, name) for name in ("truth", "train")}

    @cached_property
    def n_users(self) -> int:
        """Users of the truth."""
        return int(only_row(self.connection, "SELECT count(DISTINCT user) FROM truth")[0])


def _size(connection: DuckDBPyConnection, relation: str) -> tuple[int, int]:
    rows, items = only_row(connection, f"SELECT count(*), count(DISTINCT item) FROM {relation}")
    return rows, items


@contextmanager
def open_tables(models: Models, ground: Ground) -> Iterator[AuditTables]:
    """Open the tables for as long as the block lasts; `ground` has a train."""
    assert ground.train is not None, "refused before"
    truths = dict(ground.folds) or {"": ground.truth}
    truth_views = {fold: f"truth_{n}" for n, fold in enumerate(truths)}
    singles = lists_of(models)
    list_views = {name: f"lists_{n}" for n, name in enumerate(singles)}
    tables: dict[str, Table] = {"train": ground.train}
    tables |= {truth_views[fold]: truth for fold, truth in truths.items()}
    tables |= {list_views[name]: single.lists for name, single in singles.items()}
    if ground.items is not None:
        tables["items"] = ground.items
    with ground.connecting(files(tables.values())) as connection:
        for name, table in tables.items():
            view(connection, f"{name}_table", table)
        share_id_types(connection, {name: f"{name}_table" for name in tables})
        every = " UNION ALL BY NAME ".join(f"FROM {name}" for name in truth_views.values())
        connection.execute(f"CREATE TEMP VIEW truth AS {every}")
        has_times = all("time" in schema(table) for table in (ground.train, *truths.values()))
        if has_times:
            connection.execute(
                "CREATE TEMP TABLE begins AS "
                "SELECT user, min(time) AS began, max(time) AS ended FROM truth GROUP BY user"
            )
        views = {
            name: (list_views[name], truth_views[single.quality["fold"] if ground.folds else ""])
            for name, single in singles.items()
        }
        columns = () if ground.items is None else schema(ground.items)
        copy_columns = tuple(name for name in ("title", "vector") if name in columns)
        yield AuditTables(connection, has_times, copy_columns, views)


@dataclass(frozen=True)
class RowQuery:
    """A query of the rows that a check looks for.

    Parameters
    ----------
    rows : str
        SQL of user, item, and further columns for examples.
    table : {'truth', 'train'}
        The table whose rows they are.
    touched : str
        SQL of the touched users. Default: the users of these rows.
    may_repeat : bool
        True if the same row may occur twice, as in two lists.
    """

    name: str
    rows: str
    table: Literal["truth", "train"]
    touched: str = "SELECT DISTINCT user FROM rows_of_check"
    may_repeat: bool = False


@dataclass(frozen=True)
class CheckedRows:
    """The rows that a query found, of how many; `touched` holds ids of users as text."""

    name: str
    rows: int
    of_rows: int
    items: int
    of_items: int
    touched: pl.Series
    examples: tuple[Example, ...]

    @property
    def users(self) -> int:
        """Number of touched users."""
        return len(self.touched)


TRUTH_BEFORE_TRAIN = RowQuery(
    "truth_before_train",
    """SELECT user, item, last AS train_time, began AS truth_time
       FROM train JOIN begins USING (user) WHERE last > began""",
    "train",
)
TRAIN_AFTER_TRUTH = RowQuery(
    "train_after_truth",
    """SELECT user, item, last AS train_time, (SELECT min(began) FROM begins) AS truth_time FROM train
       WHERE last > (SELECT min(began) FROM begins)""",
    "train",
    touched="SELECT user FROM begins WHERE began < (SELECT max(last) FROM train)",
)
ITEMS_BORN_AFTER = RowQuery(
    "items_born_after",
    """SELECT truth.user, item, truth.time AS truth_time, born AS train_time FROM truth
       JOIN (SELECT item, min(time) AS born FROM train GROUP BY item) USING (item) WHERE truth.time < born""",
    "truth",
)
USERS_BORN_AFTER = RowQuery(
    "users_born_after",
    """SELECT user, truth.item, truth.time AS truth_time, born AS train_time FROM truth
       JOIN (SELECT user, min(time) AS born FROM train GROUP BY user) USING (user) WHERE truth.time < born""",
    "truth",
)
TRUTH_IN_TRAIN = RowQuery(
    "truth_in_train", "SELECT user, item FROM truth SEMI JOIN train USING (user, item)", "truth"
)
COLD_USERS = RowQuery(
    "cold_users", "SELECT user, item FROM truth ANTI JOIN train USING (user)", "truth"
)
COLD_ITEMS = RowQuery(
    "cold_items", "SELECT user, item FROM truth ANTI JOIN train USING (item)", "truth"
)


def find_rows(tables: AuditTables, query: RowQuery) -> CheckedRows:
    """Run a query and count its rows; the order of rows changes nothing."""
    tables.connection.execute(f"CREATE OR REPLACE TEMP VIEW rows_of_check AS {query.rows}")
    rows, items = _size(tables.connection, "rows_of_check")
    of_rows, of_items = tables.sizes[query.table]
    text = f"SELECT CAST(user AS VARCHAR) AS user FROM ({query.touched})"
    touched = pl.DataFrame(tables.connection.sql(text).to_arrow_table())["user"].cast(pl.String)
    examples = tuple(_examples(tables.connection, query)) if rows else ()
    return CheckedRows(query.name, rows, of_rows, items, of_items, touched, examples)


def _examples(connection: DuckDBPyConnection, query: RowQuery) -> Iterator[Example]:
    """Yield the first rows by user, item and the further columns."""
    columns = connection.view("rows_of_check").columns
    rows = "SELECT DISTINCT * FROM rows_of_check" if query.may_repeat else "FROM rows_of_check"
    as_text = "CAST(r.user AS VARCHAR) AS user, CAST(r.item AS VARCHAR) AS item"
    order = ", ".join(f"r.{column}" for column in columns)
    first = (
        f"SELECT r.* REPLACE ({as_text}) FROM ({rows}) AS r ORDER BY {order} LIMIT {MAX_EXAMPLES}"
    )
    for row in connection.execute(first).fetchall():
        yield dict(zip(columns, row, strict=True))


def find_future_items(tables: AuditTables, k: int | None) -> CheckedRows:
    """Find items in the top k of lists that train first has after the last row of their user in the truth.

    They are counted of all items that are shown.
    """
    ranks = "TRUE" if k is None else f"rank <= {k}"
    future, shown = [], []
    for lists, truth in tables.lists.values():
        first = "ranking = 0 AND" if "ranking" in tables.connection.view(lists).columns else ""
        top = f"SELECT user, item FROM {lists} WHERE {first} {ranks} AND item IS NOT NULL"
        ends = f"SELECT user, max(time) AS ended FROM {truth} GROUP BY user"
        shown.append(f"{top} AND user IN (SELECT user FROM {truth})")
        future.append(
            f"""SELECT user, item, ended AS truth_time, born AS train_time FROM ({top}) JOIN ({ends}) USING (user)
                JOIN (SELECT item, min(time) AS born FROM train GROUP BY item) USING (item) WHERE born > ended"""
        )
    query = RowQuery("future_items", " UNION ALL ".join(future), "truth", may_repeat=True)
    of_rows, of_items = _size(tables.connection, f"({' UNION ALL '.join(shown)})")
    return replace(find_rows(tables, query), of_rows=of_rows, of_items=of_items)
