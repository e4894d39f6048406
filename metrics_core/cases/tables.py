"""What the data say of the users of two lists: read by DuckDB, from files or frames, as far as it is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.cases.overlap import Shared
from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.relations import Table, files, schema, view
from concord.metrics_core.checking.units import owner_sql
from concord.metrics_core.comparing.evidence.evaluated import Evaluated
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Bools, Ints

Row = tuple[Any, ...]
SIDES = ("a", "b")

# The users who are asked about, and the top of their lists: each item once, at its first rank. Where copies were taken
# out or stand further below, places close up.
_POOL = """
CREATE OR REPLACE TEMP TABLE pool AS
SELECT user, CAST(number AS INTEGER) AS number FROM people JOIN which USING (number) WHERE kept
"""
_TOP = """
CREATE OR REPLACE TEMP TABLE top_{side} AS
SELECT number, item, CAST({place} AS INTEGER) AS place FROM {ranked} JOIN pool USING (user) WHERE rank <= {k}
"""
_ONCE = " GROUP BY number, item"
_PLACE = "row_number() OVER (PARTITION BY number ORDER BY min(rank))"
_LENGTHS = "SELECT number, count(*) AS length FROM top_{side} GROUP BY number"
_SHARED = """
SELECT number, greatest(top_a.place, top_b.place) AS depth
FROM top_a JOIN top_b USING (number, item) ORDER BY number, depth
"""
_ITEMS = """
WITH wanted AS (SELECT number, item FROM truth JOIN pool USING (user) WHERE {relevant}),
     wanting AS (SELECT item, count(*) AS n FROM wanted GROUP BY item),
     found_a AS (SELECT item, count(*) AS n FROM top_a SEMI JOIN wanted USING (number, item) GROUP BY item),
     found_b AS (SELECT item, count(*) AS n FROM top_b SEMI JOIN wanted USING (number, item) GROUP BY item),
     shown_a AS (SELECT item, count(*) AS n FROM top_a GROUP BY item),
     shown_b AS (SELECT item, count(*) AS n FROM top_b GROUP BY item),
     counted AS (
         SELECT item, coalesce(wanting.n, 0) AS n_wanted, coalesce(found_a.n, 0) AS a, coalesce(found_b.n, 0) AS b,
                coalesce(shown_a.n, 0) AS by_a, coalesce(shown_b.n, 0) AS by_b
         FROM wanting FULL JOIN shown_a USING (item) FULL JOIN shown_b USING (item)
         LEFT JOIN found_a USING (item) LEFT JOIN found_b USING (item))
SELECT CAST(item AS VARCHAR), n_wanted, a, b, by_a, by_b FROM counted
WHERE {which} ORDER BY a - b, n_wanted DESC, counted.item LIMIT {most}
"""
_TOUCHED = """
SELECT DISTINCT number FROM people JOIN (
    SELECT user FROM truth WHERE CAST(item AS VARCHAR) = $item
    UNION ALL SELECT user FROM {a} WHERE CAST(item AS VARCHAR) = $item AND rank <= {k}
    UNION ALL SELECT user FROM {b} WHERE CAST(item AS VARCHAR) = $item AND rank <= {k}) USING (user)
"""
_CHOSEN = (
    "CREATE OR REPLACE TEMP TABLE chosen AS SELECT user, number FROM people JOIN few USING (number)"
)
_MINE = """
CREATE OR REPLACE TEMP TABLE mine_{side} AS
SELECT number, item, min(rank) AS rank FROM {ranked} JOIN chosen USING (user) GROUP BY number, item
"""
_KNOWN = "CREATE OR REPLACE TEMP TABLE known AS SELECT number, item, grade FROM truth JOIN chosen USING (user)"
_JUDGED = """
SELECT number, CAST(item AS VARCHAR), grade, mine_a.rank, mine_b.rank
FROM known LEFT JOIN mine_a USING (number, item) LEFT JOIN mine_b USING (number, item)
ORDER BY number, grade DESC, item
"""
_LISTED = """
SELECT number, rank, CAST(item AS VARCHAR), grade
FROM mine_{side} LEFT JOIN known USING (number, item) WHERE rank <= {k} ORDER BY number, rank
"""
_OWN = "SELECT {table}.* FROM {table} JOIN chosen USING (user)"
_TITLES = """
SELECT CAST(item AS VARCHAR), any_value(title) FROM items
WHERE title IS NOT NULL AND CAST(item AS VARCHAR) IN (SELECT item FROM named) GROUP BY ALL
"""
_TRAIN = "SELECT number, count(*) FROM train JOIN chosen ON CAST(train.user AS VARCHAR) = {owner} GROUP BY number"
_ALL = 1 << 62  # a cutoff below which everything stands


@dataclass(frozen=True)
class Tables:
    """A connection with the views all_a, all_b, truth, people [, train, items]: ids of one type in all of them.

    ranked : side -> SQL of the lists as a label ranks them: user, item, rank
    copies : may an item stand in a list more than once?
    owner  : SQL of the user, as text, whom a row of `chosen` is of
    """

    connection: DuckDBPyConnection
    ranked: Mapping[str, str]
    copies: bool
    owner: str
    k: int

    def restrict(self, kept: Bools) -> None:
        """Ask about these users from now on; keeps the top of their lists at hand."""
        numbers = pl.DataFrame({"number": np.arange(len(kept)), "kept": kept})
        self.connection.register("which", numbers.to_arrow())
        self.connection.execute(_POOL)
        place, once = (_PLACE, _ONCE) if self.copies else ("rank", "")
        for side in SIDES:
            top = _TOP.format(side=side, place=place, ranked=self.ranked[side], k=self.k)
            self.connection.execute(top + once)

    def touched_by(self, item: str, n_users: int) -> Bools:
        """(users,) does the truth of the user, or the top of a list, hold the item?"""
        query = _TOUCHED.format(**self.ranked, k=self.k)
        found = np.zeros(n_users, dtype=bool)
        found[_numbers(self.connection.execute(query, {"item": item}).fetchall())] = True
        return found

    def shared(self, n_users: int) -> Shared:
        """The tops of both lists, users numbered as they are."""
        both = self.connection.sql(_SHARED).pl()
        number, depth = both["number"].to_numpy(), both["depth"].to_numpy()
        length_a, length_b = (self._lengths(side, n_users) for side in SIDES)
        return Shared(length_a, length_b, number, depth)

    def _lengths(self, side: str, n_users: int) -> Ints:
        rows = self.connection.sql(_LENGTHS.format(side=side)).pl()
        lengths = np.zeros(n_users, dtype=np.int64)
        lengths[rows["number"].to_numpy()] = rows["length"].to_numpy()
        return lengths

    def items(self, least: float | None, most: int, item: str | None) -> list[Row]:
        """(item, n_wanted, found_a, found_b, shown_a, shown_b) of one item, or of those that a finds less often than b."""
        relevant = "TRUE" if least is None else f"grade >= {least!r}"
        which = "a < b" if item is None else "CAST(item AS VARCHAR) = $item"
        query = _ITEMS.format(relevant=relevant, which=which, most=most)
        given = None if item is None else {"item": item}
        return self.connection.execute(query, given).fetchall()

    def choose(self, numbers: Ints) -> None:
        """The users who are told about one by one."""
        self.connection.register("few", pl.DataFrame({"number": numbers}).to_arrow())
        self.connection.execute(_CHOSEN)
        self.connection.execute(_KNOWN)
        for side in SIDES:
            self.connection.execute(_MINE.format(side=side, ranked=self.ranked[side]))

    def judged(self) -> dict[int, list[Row]]:
        """Chosen user -> (item, grade, rank by a, rank by b), best grade first."""
        return _grouped(self.connection.execute(_JUDGED).fetchall())

    def listed(self, side: str) -> dict[int, list[Row]]:
        """Chosen user -> (rank, item, grade) down to the cutoff."""
        query = _LISTED.format(side=side, k=self.k)
        return _grouped(self.connection.execute(query).fetchall())

    def own(self, table: str) -> pl.DataFrame:
        """The rows of the chosen users."""
        return self.connection.sql(_OWN.format(table=table)).pl()

    def n_train(self) -> dict[int, int] | None:
        """Chosen user -> interactions in the train, of requests those of their user; None where there is none."""
        if not self._has("train"):
            return None
        return dict(self.connection.execute(_TRAIN.format(owner=self.owner)).fetchall())

    def titles(self, items: Sequence[str]) -> dict[str, str]:
        """Item -> title, where there is one."""
        if not self._has("items") or "title" not in self.connection.view("items").columns:
            return {}
        named = pl.DataFrame({"item": items}, schema={"item": pl.String})
        self.connection.register("named", named.to_arrow())
        return dict(self.connection.execute(_TITLES).fetchall())

    def _has(self, table: str) -> bool:
        found = self.connection.execute(
            "SELECT count(*) FROM duckdb_views() WHERE view_name = ?", [table]
        )
        return bool(found.fetchall()[0][0])


@contextmanager
def opened(
    evidence: Evidence, lists: Mapping[str, Evaluated], label: Label, k: int | None
) -> Iterator[Tables]:
    """The tables behind two lists, {"a": …, "b": …}, as `label` ranks them; both are judged by one truth."""
    ground, pinned = evidence.ground, evidence.asked.conventions
    tables: dict[str, Table | None] = {
        **{f"all_{side}": each.lists for side, each in lists.items()},
        "truth": ground.truth_of(lists["a"]),
        "train": ground.train,
        "items": ground.items,
        "people": evidence.aligned.users.to_frame("user").with_row_index("number"),
    }
    known = {name: table for name, table in tables.items() if table is not None}
    with ground.connecting(files(known.values())) as connection:
        for name, table in known.items():
            view(connection, f"{name}_file", table)
        share_id_types(connection, {name: f"{name}_file" for name in known})
        number = label.ranking_number(pinned)
        ranked = {side: _ranked(side, known[f"all_{side}"], number) for side in SIDES}
        copies = label.conventions(pinned).duplicates != "error"
        user = "CAST(chosen.user AS VARCHAR)"
        owner = user if pinned.unit_mean is None else owner_sql(user)
        yield Tables(connection, ranked, copies, owner, _ALL if k is None else k)


def _ranked(side: str, lists: Table, number: int) -> str:
    own = f" AND ranking = {number}" if "ranking" in schema(lists) else ""
    return f"(SELECT user, item, rank FROM all_{side} WHERE item IS NOT NULL{own})"


def _numbers(rows: Sequence[Row]) -> Ints:
    return np.array([number for (number,) in rows], dtype=np.int64)


def _grouped(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for number, *row in rows:
        found.setdefault(number, []).append(tuple(row))
    return found
