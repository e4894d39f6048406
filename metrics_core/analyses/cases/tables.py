"""DuckDB queries of an error analysis."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.data.tables import (
    Table,
    create_view,
    file_paths,
    schema_of,
    share_id_types,
)
from concord.metrics_core.data.units import user_sql
from concord.metrics_core.evaluation.list_overlap import SharedItems
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.metrics.judged import Bools, Ints
from concord.metrics_core.metrics.label import Label

Row = tuple[Any, ...]
SIDES = ("a", "b")

_POOL = """
CREATE OR REPLACE TEMP TABLE pool AS
SELECT user, CAST(number AS INTEGER) AS number
FROM evaluated JOIN selected USING (number) WHERE is_selected
"""
# Each item once, at its first rank. Positions are ranks without gaps.
_TOP = """
CREATE OR REPLACE TEMP TABLE top_{side} AS
SELECT number, item, CAST({position} AS INTEGER) AS position
FROM {ranked} JOIN pool USING (user) WHERE rank <= {k}
"""
_DEDUPLICATE = " GROUP BY number, item"
_POSITION = "row_number() OVER (PARTITION BY number ORDER BY min(rank))"
_LENGTHS = "SELECT number, count(*) AS length FROM top_{side} GROUP BY number"
_SHARED = """
SELECT number, greatest(top_a.position, top_b.position) AS depth
FROM top_a JOIN top_b USING (number, item) ORDER BY number, depth
"""
_ITEMS = """
WITH relevant_items AS (
         SELECT number, item FROM truth JOIN pool USING (user) WHERE {is_relevant}),
     relevant AS (SELECT item, count(*) AS n FROM relevant_items GROUP BY item),
     hits_a AS (SELECT item, count(*) AS n
                FROM top_a SEMI JOIN relevant_items USING (number, item) GROUP BY item),
     hits_b AS (SELECT item, count(*) AS n
                FROM top_b SEMI JOIN relevant_items USING (number, item) GROUP BY item),
     lists_a AS (SELECT item, count(*) AS n FROM top_a GROUP BY item),
     lists_b AS (SELECT item, count(*) AS n FROM top_b GROUP BY item),
     item_counts AS (
         SELECT item, coalesce(relevant.n, 0) AS n_relevant,
                coalesce(hits_a.n, 0) AS hits_a, coalesce(hits_b.n, 0) AS hits_b,
                coalesce(lists_a.n, 0) AS lists_a, coalesce(lists_b.n, 0) AS lists_b
         FROM relevant FULL JOIN lists_a USING (item) FULL JOIN lists_b USING (item)
         LEFT JOIN hits_a USING (item) LEFT JOIN hits_b USING (item))
SELECT CAST(item AS VARCHAR), n_relevant, hits_a, hits_b, lists_a, lists_b FROM item_counts
WHERE {condition} ORDER BY hits_a - hits_b, n_relevant DESC, item_counts.item LIMIT {n}
"""
_USERS_OF_ITEM = """
SELECT DISTINCT number FROM evaluated JOIN (
    SELECT user FROM truth WHERE CAST(item AS VARCHAR) = $item
    UNION ALL SELECT user FROM {a} WHERE CAST(item AS VARCHAR) = $item AND rank <= {k}
    UNION ALL SELECT user FROM {b} WHERE CAST(item AS VARCHAR) = $item AND rank <= {k}) USING (user)
"""
_EXAMPLES = """
CREATE OR REPLACE TEMP TABLE examples AS
SELECT user, number FROM evaluated JOIN example_numbers USING (number)
"""
_EXAMPLE_LIST = """
CREATE OR REPLACE TEMP TABLE list_{side} AS
SELECT number, item, min(rank) AS rank
FROM {ranked} JOIN examples USING (user) GROUP BY number, item
"""
_EXAMPLE_TRUTH = """
CREATE OR REPLACE TEMP TABLE example_truth AS
SELECT number, item, grade FROM truth JOIN examples USING (user) WHERE grade >= 0
"""
_JUDGED = """
SELECT number, CAST(item AS VARCHAR), grade, list_a.rank, list_b.rank
FROM example_truth LEFT JOIN list_a USING (number, item) LEFT JOIN list_b USING (number, item)
ORDER BY number, grade DESC, item
"""
_RANKED_ITEMS = """
SELECT number, rank, CAST(item AS VARCHAR), grade
FROM list_{side} LEFT JOIN example_truth USING (number, item)
WHERE rank <= {k} ORDER BY number, rank
"""
_ROWS_OF_EXAMPLES = "SELECT {table}.* FROM {table} JOIN examples USING (user)"
_TITLES = """
SELECT CAST(item AS VARCHAR), any_value(title) FROM items
WHERE title IS NOT NULL AND CAST(item AS VARCHAR) IN (SELECT item FROM example_items) GROUP BY ALL
"""
_TRAIN = """
SELECT number, count(*) FROM train JOIN examples ON CAST(train.user AS VARCHAR) = {owner}
GROUP BY number
"""
_NO_CUTOFF = 1 << 62


@dataclass(frozen=True)
class Tables:
    """Database of an error analysis.

    The views are all_a, all_b, truth, evaluated and, if there are such tables, train and items.
    Ids have the same type in all of them.

    Attributes
    ----------
    connection : DuckDBPyConnection
        Connection to the database.
    ranked : mapping of str to str
        SQL of each side's lists as a label ranks them: user, item, rank.
    has_duplicates : bool
        True if an item may occur several times in a list.
    owner : str
        SQL of the user, as text, of a row of `examples`.
    k : int
        Cutoff of the lists.
    """

    connection: DuckDBPyConnection
    ranked: Mapping[str, str]
    has_duplicates: bool
    owner: str
    k: int

    def select_pool(self, is_selected: Bools) -> None:
        """Select the users of the overlap and of `items`; creates the tables of their top k."""
        numbers = pl.DataFrame({"number": np.arange(len(is_selected)), "is_selected": is_selected})
        self.connection.register("selected", numbers.to_arrow())
        self.connection.execute(_POOL)
        position, suffix = (_POSITION, _DEDUPLICATE) if self.has_duplicates else ("rank", "")
        for side in SIDES:
            top = _TOP.format(side=side, position=position, ranked=self.ranked[side], k=self.k)
            self.connection.execute(top + suffix)

    def has_item(self, item: str, n_users: int) -> Bools:
        """Return (users,) True if the item is in the user's ground truth or in a top k."""
        query = _USERS_OF_ITEM.format(**self.ranked, k=self.k)
        numbers = self.connection.execute(query, {"item": item}).fetchnumpy()["number"]
        return np.isin(np.arange(n_users), numbers)

    def shared_items(self, n_users: int) -> SharedItems:
        """Return the items in the top k of both lists of each user."""
        rows = self.connection.sql(_SHARED).pl()
        number, depth = rows["number"].to_numpy(), rows["depth"].to_numpy()
        length_a, length_b = (self._lengths(side, n_users) for side in SIDES)
        return SharedItems(length_a, length_b, number, depth)

    def _lengths(self, side: str, n_users: int) -> Ints:
        rows = self.connection.sql(_LENGTHS.format(side=side)).pl()
        lengths = np.zeros(n_users, dtype=np.int64)
        lengths[rows["number"].to_numpy()] = rows["length"].to_numpy()
        return lengths

    def items(self, threshold: float | None, n: int, item: str | None) -> list[Row]:
        """Return the counts of one item, or of n items that a hits less often than b.

        A row has the item, its number of relevant users, and its hits of a and b and lists of a
        and b.
        """
        is_relevant = f"grade >= {threshold or 0.0!r}"
        condition = "hits_a < hits_b" if item is None else "CAST(item AS VARCHAR) = $item"
        query = _ITEMS.format(is_relevant=is_relevant, condition=condition, n=n)
        parameters = None if item is None else {"item": item}
        return self.connection.execute(query, parameters).fetchall()

    def select_examples(self, numbers: Ints) -> None:
        """Select the example users; creates the tables of their lists and ground truth."""
        frame = pl.DataFrame({"number": numbers})
        self.connection.register("example_numbers", frame.to_arrow())
        self.connection.execute(_EXAMPLES)
        self.connection.execute(_EXAMPLE_TRUTH)
        for side in SIDES:
            self.connection.execute(_EXAMPLE_LIST.format(side=side, ranked=self.ranked[side]))

    def judged(self) -> dict[int, list[Row]]:
        """Return each example user's ground truth as (item, grade, rank in a, rank in b)."""
        return _by_user(self.connection.execute(_JUDGED).fetchall())

    def ranked_items(self, side: str) -> dict[int, list[Row]]:
        """Return each example user's list as (rank, item, grade)."""
        query = _RANKED_ITEMS.format(side=side, k=self.k)
        return _by_user(self.connection.execute(query).fetchall())

    def rows_of_examples(self, table: str) -> pl.DataFrame:
        """Return the rows of a table that belong to the example users."""
        return self.connection.sql(_ROWS_OF_EXAMPLES.format(table=table)).pl()

    def n_train(self) -> dict[int, int] | None:
        """Return the number of each example user's rows in train; None without train."""
        if not self._has("train"):
            return None
        return dict(self.connection.execute(_TRAIN.format(owner=self.owner)).fetchall())

    def titles(self, items: Sequence[str]) -> dict[str, str]:
        """Return the titles of items that have one."""
        if not self._has("items") or "title" not in self.connection.view("items").columns:
            return {}
        frame = pl.DataFrame({"item": items}, schema={"item": pl.String})
        self.connection.register("example_items", frame.to_arrow())
        return dict(self.connection.execute(_TITLES).fetchall())

    def _has(self, table: str) -> bool:
        query = "SELECT count(*) FROM duckdb_views() WHERE view_name = ?"
        return bool(self.connection.execute(query, [table]).fetchall()[0][0])


@contextmanager
def open_tables(
    inputs: ComparisonInput, lists: Mapping[str, ModelResult], label: Label, k: int | None
) -> Iterator[Tables]:
    """Open the tables of two models, {"a": …, "b": …}, with lists as `label` ranks them.

    Both must have the same ground truth.
    """
    data, conventions = inputs.data, inputs.config.conventions
    tables: dict[str, Table | None] = {
        **{f"all_{side}": each.lists for side, each in lists.items()},
        "truth": data.truth_of(lists["a"]),
        "train": data.train,
        "items": data.items,
        "evaluated": inputs.aligned.users.to_frame("user").with_row_index("number"),
    }
    present = {name: table for name, table in tables.items() if table is not None}
    with data.connect(file_paths(present.values())) as connection:
        for name, table in present.items():
            create_view(connection, f"{name}_file", table)
        share_id_types(connection, {name: f"{name}_file" for name in present})
        number = label.ranking_number(conventions)
        ranked = {side: _ranked(side, present[f"all_{side}"], number) for side in SIDES}
        has_duplicates = label.conventions(conventions).duplicates != "error"
        user = "CAST(examples.user AS VARCHAR)"
        owner = user if conventions.unit_mean is None else user_sql(user)
        yield Tables(connection, ranked, has_duplicates, owner, _NO_CUTOFF if k is None else k)


def _ranked(side: str, lists: Table, number: int) -> str:
    condition = f" AND ranking = {number}" if "ranking" in schema_of(lists) else ""
    return f"(SELECT user, item, rank FROM all_{side} WHERE item IS NOT NULL{condition})"


def _by_user(rows: Sequence[Row]) -> dict[int, list[Row]]:
    users: dict[int, list[Row]] = {}
    for number, *row in rows:
        users.setdefault(number, []).append(tuple(row))
    return users
