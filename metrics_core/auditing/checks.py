"""The checks: each is a query of the rows that are not as they should be, and the users whom they touch.

A row of train is a pair of user and item, each counted once, from its first to its last time. A user of the truth is
touched by a check if these rows are theirs; of `train_after_truth` the rows may be anybody's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from concord.metrics_core.auditing.tables import Tables
from concord.metrics_core.checking.row_checks import only_row

EXAMPLES = 5


@dataclass(frozen=True)
class Check:
    """Rows (user, item, and `this` and `other` for examples) of a table.

    rows    : SQL of the rows
    of      : the table that they are rows of
    example : how one of them is told, with {user}, {item}, {this} and {other}
    touched : SQL of the touched users; empty: the users of these rows
    repeats : may the same row stand there twice, as of two lists?
    """

    name: str
    rows: str
    of: Literal["truth", "train"]
    example: str
    touched: str = ""
    repeats: bool = False


@dataclass(frozen=True)
class Seen:
    """What a check saw; `touched`: ids of users as text."""

    name: str
    rows: int
    of_rows: int
    items: int
    of_items: int
    touched: pl.Series
    examples: tuple[str, ...]


TIMED = (
    Check(
        "truth_before_train",
        """SELECT user, item, last AS this, began AS other FROM train JOIN begins USING (user) WHERE last > began""",
        "train",
        "user {user}: train has item {item} at {this}, the user's truth begins at {other}",
    ),
    Check(
        "train_after_truth",
        """SELECT user, item, last AS this, (SELECT min(began) FROM begins) AS other FROM train
           WHERE last > (SELECT min(began) FROM begins)""",
        "train",
        "train has item {item} of user {user} at {this}, the truth begins at {other}",
        touched="SELECT user FROM begins WHERE began < (SELECT max(last) FROM train)",
    ),
    Check(
        "items_born_after",
        """SELECT truth.user, item, truth.time AS this, born AS other FROM truth
           JOIN (SELECT item, min(time) AS born FROM train GROUP BY item) USING (item) WHERE truth.time < born""",
        "truth",
        "item {item} is in the truth of user {user} at {this}, and in train from {other} on",
    ),
    Check(
        "users_born_after",
        """SELECT user, truth.item, truth.time AS this, born AS other FROM truth
           JOIN (SELECT user, min(time) AS born FROM train GROUP BY user) USING (user) WHERE truth.time < born""",
        "truth",
        "user {user} is in the truth (item {item}) at {this}, and in train from {other} on",
    ),
)
TRUTH_IN_TRAIN = Check(
    "truth_in_train",
    "SELECT user, item, NULL AS this, NULL AS other FROM truth SEMI JOIN train USING (user, item)",
    "truth",
    "user {user}, item {item}: in train and in the truth",
)
COLD = (
    Check(
        "cold_users",
        "SELECT user, item, NULL AS this, NULL AS other FROM truth ANTI JOIN train USING (user)",
        "truth",
        "train lacks user {user}, who has item {item} in the truth",
    ),
    Check(
        "cold_items",
        "SELECT user, item, NULL AS this, NULL AS other FROM truth ANTI JOIN train USING (item)",
        "truth",
        "train lacks item {item}, which is in the truth of user {user}",
    ),
)


def seen(tables: Tables, check: Check) -> Seen:
    """Counts the rows of a check; nothing depends on the order of rows."""
    c = tables.connection
    c.execute(f"CREATE OR REPLACE TEMP VIEW rows_of_check AS {check.rows}")
    rows, items = only_row(c, "SELECT count(*), count(DISTINCT item) FROM rows_of_check")
    of_rows, of_items = tables.sizes[check.of]
    told = tuple(_examples(tables, check)) if rows else ()
    touched = check.touched or "SELECT DISTINCT user FROM rows_of_check"
    return Seen(check.name, rows, of_rows, items, of_items, users_of(tables, touched), told)


def users_of(tables: Tables, query: str) -> pl.Series:
    """The users of a query, as text."""
    text = f"SELECT CAST(user AS VARCHAR) AS user FROM ({query})"
    return pl.DataFrame(tables.connection.sql(text).to_arrow_table())["user"].cast(pl.String)


def _examples(tables: Tables, check: Check) -> Iterator[str]:
    once = "SELECT DISTINCT * FROM rows_of_check" if check.repeats else "FROM rows_of_check"
    query = f"""SELECT CAST(user AS VARCHAR), CAST(item AS VARCHAR), this, other FROM ({once})
        ORDER BY user, item, this, other LIMIT {EXAMPLES}"""
    for user, item, this, other in tables.connection.execute(query).fetchall():
        yield check.example.format(
            user=repr(user), item=repr(item), this=said(this), other=said(other)
        )


def said(value: object) -> str:
    """A time as a number in full, an id in quotes."""
    return f"{value:.15g}" if isinstance(value, float) else repr(value)


def future_items(tables: Tables, k: int | None) -> Seen:
    """Items in the top k of lists that train first has after the last row of their user in the truth; of all lists."""
    deep = "TRUE" if k is None else f"rank <= {k}"
    found, shown = [], []
    for lists, truth in tables.lists.values():
        first = "ranking = 0 AND" if "ranking" in tables.connection.view(lists).columns else ""
        rows = f"SELECT user, item FROM {lists} WHERE {first} {deep} AND item IS NOT NULL"
        ends = f"SELECT user, max(time) AS ended FROM {truth} GROUP BY user"
        shown.append(f"{rows} AND user IN (SELECT user FROM {truth})")
        found.append(
            f"""SELECT user, item, ended AS this, born AS other FROM ({rows}) JOIN ({ends}) USING (user)
                JOIN (SELECT item, min(time) AS born FROM train GROUP BY item) USING (item) WHERE born > ended"""
        )
    example = (
        "a list of user {user} holds item {item}, which train first has at {other}, "
        "after the user's last row of the truth at {this}"
    )
    everywhere = " UNION ALL ".join(shown)
    every = only_row(tables.connection, f"SELECT count(*), count(DISTINCT item) FROM ({everywhere})")  # fmt: skip
    check = Check("future_items", " UNION ALL ".join(found), "truth", example, repeats=True)
    one = seen(tables, check)
    return Seen(one.name, one.rows, every[0], one.items, every[1], one.touched, one.examples)
