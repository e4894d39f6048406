"""Check neighbouring rows of sorted lists: repeated ranks, gaps, wrong first ranks, ties, duplicates."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.list_batches import ListBatch
from concord.metrics_core.data.row_checks import RowName, ids_text, only_row
from concord.metrics_core.errors import Affected, Problem, SettingNames, affecting

RANK_REPEATS, ITEM_REPEATS = (1, 1), (3,)  # the rules of `Affected`
LARGEST_FLOAT32 = 3.4028234663852886e38


@dataclass(frozen=True)
class Count:
    """Number of rows, and of their users."""

    rows: int = 0
    users: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.rows + other.rows, self.users + other.users)


@dataclass
class ListStatistics:
    """Counts of the rows of a table.

    order         : what the lists are ordered by: rank, score or file
    ties          : rows with the score of a neighbour; counted if the lists are ordered by score
    duplicates    : rows that repeat an item of the same list; later copies only
    disagreements : rows with a higher score than the row above; counted if the lists are ordered by rank
    lengths       : length of a list -> number of lists
    n_infinite    : infinite scores
    grades        : grade -> rows
    """

    order: str = ""
    ties: Count = Count()
    duplicates: Count = Count()
    disagreements: Count = Count()
    rows: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    n_items: int = 0
    n_infinite: int = 0
    grades: Counter[float] = field(default_factory=Counter)
    items: pa.Array | None = None

    def add(self, batch: ListBatch, distinct: pa.Array) -> None:
        """Count the lists of a batch and its distinct items."""
        self.rows += batch.table.num_rows
        counted = map(np.ndarray.tolist, np.unique(batch.lengths, return_counts=True))
        self.lengths.update(dict(zip(*counted, strict=True)))
        known = [distinct] if self.items is None else [self.items, distinct]
        self.items = pc.unique(pa.chunked_array(known))
        self.n_items = len(self.items)

    @property
    def n_users(self) -> int:
        """Number of lists."""
        return self.lengths.total()

    @property
    def length_summary(self) -> tuple[int, float, int]:
        """Minimum, median and maximum of the lengths; 0 without lists."""
        if not self.lengths:
            return 0, 0, 0
        lengths = sorted(self.lengths)
        ends = np.cumsum([self.lengths[length] for length in lengths])
        low, high = (
            lengths[np.searchsorted(ends, n, side="right")]
            for n in ((self.n_users - 1) // 2, self.n_users // 2)
        )
        return lengths[0], (low + high) / 2, lengths[-1]


@dataclass(frozen=True)
class ListTable:
    """A relation of lists and how to rank it into the table `into`.

    source   : relation with user, item, position, rank and/or score; position is ascending in the order of the rows
    order    : rank | score | file
    place    : returns the name of the row at a position for messages
    nan_last : is NaN a score below all others? Else it is an error
    settings : names of the settings of these lists in fixes
    """

    connection: duckdb.DuckDBPyConnection
    source: str
    into: str
    order: str
    has_score: bool
    rank_base: int
    ranking: Ranking
    place: RowName
    nan_last: bool
    settings: SettingNames

    @property
    def key(self) -> str:
        """SQL of what scores are compared by; a score beyond single precision becomes infinite, as in C."""
        if self.ranking.score_dtype == "float64":
            return "score"
        beyond = "CAST(sign(score) * 'Infinity'::DOUBLE AS FLOAT)"
        return f"CASE WHEN abs(score) > {LARGEST_FLOAT32!r} THEN {beyond} ELSE CAST(score AS FLOAT) END"


def neighbours_of(lists: ListTable) -> str:
    """Return SQL of each row with rank and score of the rows above and below it in the same list."""
    key = f"{lists.key} AS key" if lists.has_score else "NULL AS key"
    if lists.nan_last and lists.has_score:  # NaN ties with nothing and disagrees with no rank
        key = f"CASE WHEN NOT isnan(score) THEN {lists.key} END AS key"
    return f"""(
        SELECT user, rank, key, n,
            CASE WHEN user = user_above THEN rank_above END AS rank_above,
            CASE WHEN user = user_above THEN key_above END AS key_above,
            CASE WHEN user = user_below THEN key_below END AS key_below
        FROM (
            SELECT user, rank, key, row_number() OVER () AS n,
                lag(user) OVER () AS user_above, lead(user) OVER () AS user_below,
                lag(rank) OVER () AS rank_above,
                lag(key) OVER () AS key_above, lead(key) OVER () AS key_below
            FROM (SELECT user, rank, {key} FROM {lists.into})))"""


_RANK_RULES = (
    (
        "rank_above IS NULL AND rank <> 1",
        "the list starts at rank {rank}, not at {base}",
        "start every list at rank {base}, or set {input} to {other} if all lists start there",
    ),
    (
        "rank = rank_above",
        "rank {rank} occurs twice in the list",
        "give each item of a list its own rank, or {other_order}",
    ),
    (
        "rank > rank_above + 1",
        "rank {above} is followed by rank {rank}",
        "number the ranks of a list without gaps, or {other_order}",
    ),
)


def rank_problems(lists: ListTable) -> list[Problem]:
    """Return the problems of ranks that start wrongly, repeat or leave a gap."""
    if lists.order != "rank":
        return []
    neighbours = neighbours_of(lists)
    totals = ", ".join(f"count(*) FILTER ({wrong})" for wrong, _, _ in _RANK_RULES)
    counts = only_row(lists.connection, f"SELECT {totals} FROM {neighbours}")
    return [
        _rank_problem(lists, neighbours, number) for number, count in enumerate(counts) if count
    ]


def _rank_problem(lists: ListTable, neighbours: str, number: int) -> Problem:
    wrong, what, fix = _RANK_RULES[number]
    users = f"SELECT count(DISTINCT user) FROM {neighbours} WHERE {wrong}"
    first = f"SELECT user, rank, rank_above FROM {neighbours} WHERE {wrong} ORDER BY n LIMIT 1"
    (affected,) = only_row(lists.connection, users)
    user, rank, above = only_row(lists.connection, first)
    shift = lists.rank_base - 1  # back to the numbers that stand in the file
    words: dict[str, Any] = {"rank": rank + shift, "above": (above or 0) + shift}
    settings = lists.settings
    words |= {
        "input": settings.input("rank_base"),
        "other_order": settings.other_order(has_score=lists.has_score),
    }
    words |= {"base": lists.rank_base, "other": 1 - lists.rank_base}
    where = _places(lists, "user = $user AND rank = $value", {"user": user, "value": rank + shift})
    said = what.format(**words)
    found = Affected((1, number), (user, rank), rows=None, users=affected, said=said)
    return affecting(f"{where}, column 'rank'{ids_text(user, None)}", fix.format(**words), found)


def tie_problems(lists: ListTable, tied: Count) -> list[Problem]:
    """Return the problem of ties, if the policy is `error`."""
    if not (tied.rows and lists.ranking.ties == "error"):
        return []
    neighbours = neighbours_of(lists)
    first = f"SELECT user, key FROM {neighbours} WHERE key = key_above ORDER BY n LIMIT 1"
    user, key = only_row(lists.connection, first)
    where = _places(lists, f"user = $user AND {lists.key} = $value", {"user": user, "value": key})
    said = f"score {key!r} occurs more than once in the list"
    other = lists.settings.conventions("ties", "another policy")
    fix = f"make the scores of a list differ, or {other}"
    found = Affected((2,), (user,), tied.rows, tied.users, said)
    return [affecting(f"{where}, column 'score'{ids_text(user, None)}", fix, found)]


def duplicate_problems(lists: ListTable, repeated: Count) -> list[Problem]:
    """Return the problem of items that occur twice in a list, if the policy is `error`."""
    if not (repeated.rows and lists.ranking.duplicates == "error"):
        return []
    first = (
        f"SELECT user, item FROM {lists.into} GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    )
    user, item = only_row(lists.connection, first)
    where = _places(lists, "user = $user AND item = $value", {"user": user, "value": item})
    said = "the item occurs more than once in the list"
    other = lists.settings.conventions("duplicates", "keep, first or drop")
    fix = f"list each item once where the table is made, or {other}"
    found = Affected(ITEM_REPEATS, (user, item), repeated.rows, repeated.users, said)
    return [affecting(f"{where}{ids_text(user, item)}", fix, found)]


def _places(lists: ListTable, condition: str, values: dict[str, Any]) -> str:
    """Return the first rows that meet a condition, such as `row 3` or `row 3 and row 7`."""
    query = f"SELECT position FROM {lists.source} WHERE {condition} ORDER BY position LIMIT 2"
    found = lists.connection.execute(query, values).fetchall()
    return " and ".join(lists.place(position) for (position,) in found)
