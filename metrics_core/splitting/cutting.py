"""Where each method cuts: conditions in SQL on the table `kept`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch
from math import ceil

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.splitting.keeping import by_item
from concord.metrics_core.splitting.methods import (
    GAP,
    HISTORY,
    TRAIN,
    TRUTH,
    ColdItems,
    GlobalTime,
    HeldOutUsers,
    LeaveLastOut,
    Method,
)

_DIGITS = 13  # of a hash, as hexadecimals: 52 bits


@dataclass(frozen=True)
class Cut:
    """Where the rows of `kept` go.

    sides  : side, or reason to stand on none -> its rows, as a condition; every row meets one of them
    counts : what was found on the way
    """

    sides: Mapping[str, str]
    counts: Mapping[str, float] = field(default_factory=dict)


def chosen(method: Method, connection: DuckDBPyConnection) -> str:
    """What a method says of users or items before they are in order: a condition on rows of the table `source`."""
    if isinstance(method, HeldOutUsers):
        return _by_hash(connection, "user", method.share, method.seed)
    if not isinstance(method, ColdItems):
        return "FALSE"
    if method.seed is None:
        return _newest(connection, method.share)
    return _by_hash(connection, "item", method.share, method.seed)


@singledispatch
def cut(method: Method, connection: DuckDBPyConnection) -> Cut:
    """The cut of a method through the table `kept`."""
    raise NotImplementedError(method)


@cut.register
def _(method: LeaveLastOut, connection: DuckDBPyConnection) -> Cut:
    is_truth = f"back <= {method.last} AND of_user > {method.last}"
    return Cut({TRAIN: f"NOT ({is_truth})", TRUTH: is_truth}, _at_the_last(connection, method.last))


@cut.register
def _(method: GlobalTime, connection: DuckDBPyConnection) -> Cut:
    at = method.at if method.at is not None else _time_of_share(connection, method.share or 0.0)
    until = at - method.gap
    sides = {
        TRAIN: f"time < {until!r}::DOUBLE",
        GAP: f"time >= {until!r}::DOUBLE AND time < {at!r}::DOUBLE",
        TRUTH: f"time >= {at!r}::DOUBLE",
    }
    return Cut(sides, {"train_before": until, "truth_from": at})


@cut.register
def _(method: HeldOutUsers, connection: DuckDBPyConnection) -> Cut:
    is_truth = f"chosen AND back <= {method.last} AND of_user > {method.last}"
    sides = {TRAIN: "NOT chosen", HISTORY: f"chosen AND NOT ({is_truth})", TRUTH: is_truth}
    at_the_last = _at_the_last(connection, method.last, "chosen")
    return Cut(sides, {**_held_out(connection, "user"), **at_the_last})


@cut.register
def _(method: ColdItems, connection: DuckDBPyConnection) -> Cut:
    counts = _tied_items(connection) if method.newest else _held_out(connection, "item")
    return Cut({TRAIN: "NOT chosen", TRUTH: "chosen"}, counts)


def _held_out(connection: DuckDBPyConnection, column: str) -> dict[str, float]:
    """Return how many users or items a hash chose, and of how many."""
    query = f"SELECT count(DISTINCT {column}) FILTER (chosen), count(DISTINCT {column}) FROM kept"
    chosen_ids, ids = only_row(connection, query)
    return {f"held_out_{column}s": chosen_ids, f"{column}s": ids}


def _at_the_last(
    connection: DuckDBPyConnection, last: int, among: str = "TRUE"
) -> dict[str, float]:
    """Users whose cut lies within a time that ties, and those who have too little for a truth."""
    (tied,) = only_row(
        connection,
        f"""SELECT count(*) FROM (SELECT user FROM kept
            WHERE {among} AND of_user > {last} AND back BETWEEN {last} AND {last} + 1
            GROUP BY user HAVING min(time) = max(time))""",
    )
    query = f"SELECT count(*) FROM kept WHERE {among} AND back = 1 AND of_user <= {last}"
    (too_few,) = only_row(connection, query)
    return {"users_tied_at_the_cut": tied, "users_with_too_few": too_few}


def _time_of_share(connection: DuckDBPyConnection, share: float) -> float:
    """The latest time from which on there is this share of the rows, or more where times tie."""
    (rows,) = only_row(connection, "SELECT count(*) FROM kept")
    before = rows - ceil(Fraction(repr(share)) * rows)
    (time,) = only_row(connection, f"SELECT time FROM kept ORDER BY time LIMIT 1 OFFSET {before}")
    return float(time)


def _by_hash(connection: DuckDBPyConnection, column: str, share: float, seed: int) -> str:
    """Ids of which the first digits of the SHA-256 of `seed:id` are below a share of all."""
    bound = ceil(Fraction(repr(share)) * 16**_DIGITS)
    number = f"sha256('{seed}:' || {column}::VARCHAR)[:{_DIGITS}]"
    connection.execute(
        f"""CREATE TABLE chosen AS SELECT {column} FROM (SELECT DISTINCT {column} FROM source)
        WHERE {number} < '{bound:0{_DIGITS}x}'"""
    )
    return f"{column} IN (SELECT {column} FROM chosen)"


def _newest(connection: DuckDBPyConnection, share: float) -> str:
    """A share of the items, rounded up: those that were taken first latest."""
    born = "SELECT item, min(time) AS time FROM source GROUP BY item"
    (items,) = only_row(connection, "SELECT count(DISTINCT item) FROM source")
    most = ceil(Fraction(repr(share)) * items)
    order = f"time DESC, {by_item(connection, 'source', 'DESC')}"
    connection.execute(f"CREATE TABLE chosen AS SELECT item FROM ({born}) ORDER BY {order} LIMIT {most}")  # fmt: skip
    return "item IN (SELECT item FROM chosen)"


def _tied_items(connection: DuckDBPyConnection) -> dict[str, float]:
    """Items of train that are as new as one of the truth."""
    born = "SELECT chosen, min(time) AS time FROM kept GROUP BY item, chosen"
    (tied,) = only_row(
        connection,
        f"""WITH born AS ({born}) SELECT count(*) FROM born
            WHERE NOT chosen AND time = (SELECT min(time) FROM born WHERE chosen)""",
    )
    return {"items_tied_at_the_cut": tied}
