"""Rows of a split: unique interactions, the query of each side, the manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.metadata import version
from math import ceil
from typing import Any, Literal, get_args

from duckdb import DuckDBPyConnection

from concord.metrics_core.analyses.split.result import is_in_seconds
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.quality import describe
from concord.metrics_core.data.read_source import Progress, no_progress
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.side_data import read_interactions
from concord.metrics_core.errors import Problem, raise_problems, refuse

TRAIN, TRUTH, GAP = "train", "truth", "gap"
SplitMethodName = Literal["random", "leave-last-out", "global-time", "user-time"]
Repeats = Literal["keep", "first"]
REPEATS: tuple[Repeats, ...] = get_args(Repeats)
METHOD_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "random": ("share", "seed"),
    "leave-last-out": ("last",),
    "global-time": ("at", "share", "gap"),
    "user-time": ("share",),
}
_EMPTY_FIX = "choose another cut; leave-last-out and user-time need users with several interactions"
_HASH_DIGITS = 13  # hexadecimal: 52 bits
_MAX_DENOMINATOR = 10**9  # of a share


@dataclass(frozen=True)
class SplitOptions:
    """A split method and its options; `dates` are the texts of options that are dates."""

    method: str
    last: int = 1
    at: float | None = None
    share: float | None = None
    gap: float = 0.0
    seed: int = 0
    repeats: str = "first"
    dates: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the method and the options that it has."""
        options = {name: getattr(self, name) for name in METHOD_OPTIONS[self.method]}
        return {"how": self.method, **options, "repeats": self.repeats}


def split_rows(
    connection: DuckDBPyConnection,
    table: InputTable,
    options: SplitOptions,
    *,
    progress: Progress = no_progress,
) -> tuple[dict[str, str], dict[str, Any]]:
    """Read, validate and split interactions in the database of a connection.

    Returns
    -------
    queries : dict of str to str
        Query of each side's rows, sorted by user, time and item.
    manifest : dict
        Content of manifest.json.

    Raises
    ------
    InputError
        If the table is invalid, a date is used but times are not seconds since 1970, or a side is
        empty.
    """
    source = read_interactions(connection, table, progress=progress)
    input_counts = describe(connection, source)
    names = [name for name in ("user", "item", "time", "grade") if name in source.columns]
    excluded = _order_rows(connection, names, only_first=options.repeats == "first")
    _check_unit(connection, options)
    conditions, counts = _cut(connection, options)
    columns, truth = ", ".join(names), f"interactions WHERE {conditions[TRUTH]}"
    queries = {
        TRAIN: f"SELECT {columns} FROM interactions WHERE {conditions[TRAIN]}",
        TRUTH: f"SELECT {columns} FROM truth",
    }
    connection.execute(
        f"""CREATE TABLE truth AS {_first_of_pairs(truth, names)}
        ORDER BY user, time, {_item_order(connection, "interactions")}"""
    )
    files = {side: _count_side(connection, query) for side, query in queries.items()}
    if GAP in conditions:
        excluded[GAP] = _count(connection, f"interactions WHERE {conditions[GAP]}")
    excluded["repeat_in_truth"] = _count(connection, truth) - files[TRUTH]["rows"]
    for side in (TRUTH, TRAIN):
        if not files[side]["rows"]:
            raise refuse(table.name, f"{options.method} leaves no rows for {side}", _EMPTY_FIX)
    counts |= _count_overlap(connection, queries[TRAIN])
    manifest = {
        "concord": version("concord-eval"),
        "input": input_counts
        | {"columns": {name: table.original_name(name) for name in source.columns}},
        "method": options.to_dict(),
        "files": {f"{side}.parquet": each for side, each in files.items()},
        "excluded": excluded,
        "counts": {name: _whole(number) for name, number in counts.items()},
    }
    return queries, manifest


def _order_rows(
    connection: DuckDBPyConnection, columns: Sequence[str], *, only_first: bool
) -> dict[str, int]:
    """Replace the table `source` by `interactions` and count the excluded rows by reason.

    `interactions` is sorted by user, time and item. `rank_from_last` is 1 for a user's last row,
    and `n_of_user` is the number of the user's rows.
    """
    best = ", max(grade + 0.0) AS grade" if "grade" in columns else ""
    # Adding 0.0 turns -0.0 into 0.0.
    unique = f"SELECT user, item, time + 0.0 AS time{best} FROM source GROUP BY ALL"
    steps = {"duplicate": unique}
    if only_first:
        steps["repeat"] = _first_of_pairs("source", columns)
    excluded = {}
    for reason, query in steps.items():
        n_before = _count(connection, "source")
        connection.execute(f"CREATE OR REPLACE TABLE source AS {query}")
        excluded[reason] = n_before - _count(connection, "source")
    connection.execute(
        f"""CREATE TABLE interactions AS SELECT *,
            row_number() OVER (PARTITION BY user ORDER BY time DESC,
                {_item_order(connection, "source", "DESC")}) AS rank_from_last,
            count(*) OVER (PARTITION BY user) AS n_of_user
        FROM source ORDER BY user, time, {_item_order(connection, "source")}"""
    )
    connection.execute("DROP TABLE source")
    return excluded


def _first_of_pairs(table: str, columns: Sequence[str]) -> str:
    """Return the query of the first row of each pair of user and item."""
    grade = ", arg_min(grade, time) AS grade" if "grade" in columns else ""
    return f"SELECT user, item, min(time) AS time{grade} FROM {table} GROUP BY user, item"


def _item_order(connection: DuckDBPyConnection, table: str, direction: str = "") -> str:
    """Return the ORDER BY terms of items: by length of the id, then by its characters.

    For ids that are non-negative integers, this is their numerical order.
    """
    (kind,) = only_row(connection, f"SELECT any_value(typeof(item)) FROM {table}")
    if kind == "BIGINT" and only_row(connection, f"SELECT min(item) >= 0 FROM {table}")[0]:
        return f"item {direction}"
    text = "item::VARCHAR"
    return f"strlen({text}) {direction}, {text} {direction}"


def _check_unit(connection: DuckDBPyConnection, options: SplitOptions) -> None:
    """Raise an InputError if dates are used, but times are not in seconds since 1970."""
    (latest,) = only_row(connection, "SELECT max(time) FROM interactions")
    if options.dates and not is_in_seconds(latest):
        problem = f"requires times in seconds since 1970, but the latest time is {latest:,.15g}"
        fix = "write a number in the unit of the times"
        raise_problems(
            Problem(name, f"{text!r} {problem}", fix) for name, text in options.dates.items()
        )


def _cut(
    connection: DuckDBPyConnection, options: SplitOptions
) -> tuple[dict[str, str], dict[str, float]]:
    """Return the SQL condition of each side and of the gap, and counts of the method."""
    share = Fraction(repr(options.share or 0.0)).limit_denominator(_MAX_DENOMINATOR)
    if options.method == "global-time":
        at = _time_of_share(connection, share) if options.at is None else options.at
        train_end = at - options.gap
        conditions = {
            TRAIN: f"time < {train_end!r}::DOUBLE",
            GAP: f"time >= {train_end!r}::DOUBLE AND time < {at!r}::DOUBLE",
            TRUTH: f"time >= {at!r}::DOUBLE",
        }
        return conditions, {"train_before": train_end, "truth_from": at}
    if options.method == "random":
        bound = ceil(share * 16**_HASH_DIGITS)
        digits = f"sha256('{options.seed}:' || user || ':' || item)[:{_HASH_DIGITS}]"
        is_truth = f"{digits} < '{bound:0{_HASH_DIGITS}x}'"
        return {TRAIN: f"NOT ({is_truth})", TRUTH: is_truth}, {}
    if options.method == "leave-last-out":
        is_truth = f"rank_from_last <= {options.last} AND n_of_user > {options.last}"
    else:  # the share is rounded up, but the first row stays in train
        n_truth = f"n_of_user * {share.numerator}"
        is_truth = (
            f"(rank_from_last - 1) * {share.denominator} < {n_truth} AND rank_from_last < n_of_user"
        )
    return {TRAIN: f"NOT ({is_truth})", TRUTH: is_truth}, _count_cuts(connection, is_truth)


def _time_of_share(connection: DuckDBPyConnection, share: Fraction) -> float:
    """Return the latest time with at least this share of the rows from it."""
    rows = _count(connection, "interactions")
    n_before = rows - ceil(share * rows)
    query = f"SELECT time FROM interactions ORDER BY time LIMIT 1 OFFSET {n_before}"
    return float(only_row(connection, query)[0])


def _count_cuts(connection: DuckDBPyConnection, is_truth: str) -> dict[str, float]:
    """Count users with equal times on both sides of their cut, and users without truth."""
    tied, without_truth = only_row(
        connection,
        f"""SELECT count(*) FILTER (last_train = first_truth),
            count(*) FILTER (first_truth IS NULL)
        FROM (SELECT max(time) FILTER (NOT ({is_truth})) AS last_train,
            min(time) FILTER ({is_truth}) AS first_truth FROM interactions GROUP BY user)""",
    )
    return {"users_tied_at_the_cut": tied, "users_with_too_few": without_truth}


def _count(connection: DuckDBPyConnection, table: str) -> int:
    return int(only_row(connection, f"SELECT count(*) FROM {table}")[0])


def _count_side(connection: DuckDBPyConnection, query: str) -> dict[str, Any]:
    rows, first, last, users, items = only_row(
        connection,
        f"""SELECT count(*), min(time), max(time), count(DISTINCT user), count(DISTINCT item)
        FROM ({query})""",
    )
    counts = {"rows": rows, "users": users, "items": items}
    return counts | {"first": _whole(first), "last": _whole(last)}


def _count_overlap(connection: DuckDBPyConnection, train: str) -> dict[str, int]:
    """Count users, items and rows of the truth that occur, or do not occur, in train."""
    missing = f"SELECT count(DISTINCT {{0}}), count(*) FROM truth ANTI JOIN ({train}) USING ({{0}})"
    users, user_rows = only_row(connection, missing.format("user"))
    items, item_rows = only_row(connection, missing.format("item"))
    repeated = f"truth SEMI JOIN ({train}) USING (user, item)"
    late = f"({train}) WHERE time >= (SELECT min(time) FROM truth)"
    return {
        "truth_users_without_history": users,
        "truth_rows_of_these_users": user_rows,
        "truth_items_unknown_to_train": items,
        "truth_rows_of_these_items": item_rows,
        "truth_pairs_taken_before": _count(connection, repeated),
        "train_rows_from_the_first_of_truth_on": _count(connection, late),
    }


def _whole(number: float | None) -> float | None:
    """Return an integral number as int, other numbers unchanged."""
    return int(number) if number is not None and number == int(number) else number
