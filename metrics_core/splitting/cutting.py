"""Where each method cuts, in SQL over the interactions that are kept.

Interactions of a user at one time are taken in the order of their items: the shorter id first, then by its characters,
so that whole numbers stand in their order and ids are ordered alike as numbers and as text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch
from math import ceil

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.row_checks import only_row
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

KEPT = "kept"  # user, item, time [, grade], each once
_DIGITS = 13  # of a hash, as hexadecimals: 52 bits, which a float holds


@dataclass(frozen=True)
class Cut:
    """Where the rows of a relation go.

    rows   : the relation
    sides  : side, or reason to stand in none -> the rows, as a condition; every row meets one of them
    counts : what was found on the way
    """

    rows: str
    sides: Mapping[str, str]
    counts: Mapping[str, float] = field(default_factory=dict)


@singledispatch
def cut(method: Method, connection: DuckDBPyConnection) -> Cut:
    """The cut of a method through the table `kept`."""
    raise NotImplementedError(method)


@cut.register
def _(method: LeaveLastOut, connection: DuckDBPyConnection) -> Cut:
    _number_from_the_last(connection, KEPT)
    is_truth = f"back <= {method.last} AND of_user > {method.last}"
    sides = {TRAIN: f"NOT ({is_truth})", TRUTH: is_truth}
    return Cut("numbered", sides, _around_the_last(connection, method.last))


@cut.register
def _(method: GlobalTime, connection: DuckDBPyConnection) -> Cut:
    at = method.at if method.at is not None else _time_of_share(connection, method.share or 0.0)
    until = at - method.gap
    sides = {
        TRAIN: f"time < {until!r}::DOUBLE",
        GAP: f"time >= {until!r}::DOUBLE AND time < {at!r}::DOUBLE",
        TRUTH: f"time >= {at!r}::DOUBLE",
    }
    return Cut(KEPT, sides, {"train_before": until, "truth_from": at})


@cut.register
def _(method: HeldOutUsers, connection: DuckDBPyConnection) -> Cut:
    users = f"SELECT user FROM (SELECT DISTINCT user FROM {KEPT})"
    chosen = _chosen("user", method.share, method.seed)
    connection.execute(f"CREATE TABLE held_out AS {users} WHERE {chosen}")
    _number_from_the_last(connection, f"{KEPT} SEMI JOIN held_out USING (user)")
    connection.execute(
        f"INSERT INTO numbered SELECT *, 0, 0 FROM {KEPT} ANTI JOIN held_out USING (user)"
    )
    is_truth = f"back BETWEEN 1 AND {method.last} AND of_user > {method.last}"
    sides = {TRAIN: "back = 0", HISTORY: f"back > 0 AND NOT ({is_truth})", TRUTH: is_truth}
    return Cut("numbered", sides, _around_the_last(connection, method.last))


@cut.register
def _(method: ColdItems, connection: DuckDBPyConnection) -> Cut:
    counts: dict[str, float] = {}
    if method.newest:
        counts["items_tied_at_the_cut"] = _take_newest(connection, method.share)
    else:
        items = f"SELECT item FROM (SELECT DISTINCT item FROM {KEPT})"
        chosen = _chosen("item", method.share, method.seed or 0)
        connection.execute(f"CREATE TABLE cold AS {items} WHERE {chosen}")
    is_cold = "item IN (SELECT item FROM cold)"
    return Cut(KEPT, {TRAIN: f"NOT ({is_cold})", TRUTH: is_cold}, counts)


def _number_from_the_last(connection: DuckDBPyConnection, rows: str) -> None:
    """The table `numbered`: the rows with `back`, 1 for a user's last one, and how many are `of_user`."""
    order = f"time DESC, {_by_item(connection, 'DESC')}"
    connection.execute(f"""CREATE TABLE numbered AS SELECT *,
        (row_number() OVER (PARTITION BY user ORDER BY {order}))::INTEGER AS back,
        (count(*) OVER (PARTITION BY user))::INTEGER AS of_user FROM {rows}""")


def _by_item(connection: DuckDBPyConnection, direction: str = "") -> str:
    """What orders items that tie, faster where it is the order of numbers."""
    (kind,) = only_row(connection, f"SELECT any_value(typeof(item)) FROM {KEPT}")
    if kind == "BIGINT" and only_row(connection, f"SELECT min(item) >= 0 FROM {KEPT}")[0]:
        return f"item {direction}"
    text = "item::VARCHAR"
    return f"strlen({text}) {direction}, {text} {direction}"


def _around_the_last(connection: DuckDBPyConnection, last: int) -> dict[str, float]:
    """Users whose cut lies within a time that ties, and those who have too little for a truth."""
    tied, too_few = only_row(
        connection,
        f"""SELECT count(*) FILTER (n > {last} AND a = b), count(*) FILTER (n <= {last}) FROM (
            SELECT of_user AS n, max(time) FILTER (back = {last}) AS a, max(time) FILTER (back = {last} + 1) AS b
            FROM numbered WHERE back > 0 GROUP BY user, of_user)""",
    )
    return {"users_tied_at_the_cut": tied, "users_with_too_few": too_few}


def _chosen(column: str, share: float, seed: int) -> str:
    """Is an id chosen? As the first digits of the SHA-256 of `seed:id` are below a share of all."""
    bound = ceil(Fraction(repr(share)) * 16**_DIGITS)
    text = f"sha256('{seed}:' || {column}::VARCHAR)"
    return f"{text}[:{_DIGITS}] < '{bound:0{_DIGITS}x}'"


def _time_of_share(connection: DuckDBPyConnection, share: float) -> float:
    """The latest time from which on there is this share of the rows, or more where times tie."""
    (rows,) = only_row(connection, f"SELECT count(*) FROM {KEPT}")
    before = rows - ceil(Fraction(repr(share)) * rows)
    query = f"SELECT time FROM {KEPT} ORDER BY time LIMIT 1 OFFSET {before}"
    return float(only_row(connection, query)[0])


def _take_newest(connection: DuckDBPyConnection, share: float) -> int:
    """The table `cold` of a share of the items, rounded up; how many of the others are as new as one of them."""
    connection.execute(
        f"CREATE TABLE born AS SELECT item, min(time) AS time FROM {KEPT} GROUP BY item"
    )
    (items,) = only_row(connection, "SELECT count(*) FROM born")
    most = ceil(Fraction(repr(share)) * items)
    order = f"time DESC, {_by_item(connection, 'DESC')}"
    connection.execute(f"CREATE TABLE cold AS SELECT * FROM born ORDER BY {order} LIMIT {most}")
    query = "SELECT count(*) FROM born ANTI JOIN cold USING (item) WHERE time = (SELECT min(time) FROM cold)"
    return int(only_row(connection, query)[0])
