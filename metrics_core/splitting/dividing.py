"""Interactions as they were left -> the rows of train, truth and history as queries, and the manifest of the split."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.reading.background import read_interactions
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.formats.source import Watch, unwatched
from concord.metrics_core.reading.quality import describe
from concord.metrics_core.splitting.asked import Asked, refuse_other_units
from concord.metrics_core.splitting.cutting import Cut, chosen, cut
from concord.metrics_core.splitting.keeping import by_item, keep
from concord.metrics_core.splitting.methods import (
    GAP,
    REPEAT_IN_TRUTH,
    TRAIN,
    TRUTH,
    Method,
    described,
)
from concord.metrics_core.splitting.words import notes_of

TIES = "interactions of a user at one time are ordered by item: the shorter id first, then by its characters"


@dataclass(frozen=True)
class Divided:
    """Side -> its rows by user, time and item, as a query of the connection; and the manifest."""

    queries: Mapping[str, str]
    manifest: dict[str, Any]


def divide(
    connection: DuckDBPyConnection,
    table: InputTable,
    asked: Asked,
    *,
    watch: Watch = unwatched,
) -> Divided:
    """Read, check and split interactions.

    Raises
    ------
    InputError : what is wrong with the table; dates are asked of times that are none; a side would be empty
    """
    method = asked.method
    source = read_interactions(connection, table, watch=watch)
    read = describe(connection, source)
    graded = "grade" in source.columns
    marked = chosen(method, connection)
    left_out = keep(connection, graded=graded, chosen=marked, only_first=asked.repeats == "first")
    (latest,) = only_row(connection, "SELECT max(time) FROM kept")
    refuse_other_units(asked, latest)
    found = cut(method, connection)
    sides = _sides(connection, found, graded=graded)
    counted = {side: _counted(connection, relation) for side, relation in sides.items()}
    if GAP in found.sides:
        left_out[GAP] = _rows(connection, found.sides[GAP])
    left_out[REPEAT_IN_TRUTH] = _rows(connection, found.sides[TRUTH]) - counted[TRUTH]["rows"]
    _refuse_empty(table, method, counted)
    counts = {**found.counts, **_across(connection, sides)}
    manifest = {
        "concord": version("concord-eval"),
        "input": read | {"columns": {name: table.theirs(name) for name in source.columns}},
        "method": {**described(method), "repeats": asked.repeats},
        "files": {f"{side}.parquet": each for side, each in counted.items()},
        "left_out": left_out,
        "counts": {name: _plain(number) for name, number in counts.items()},
        "ties": TIES,
    }
    manifest["notes"] = list(notes_of(method, manifest))
    return Divided(sides, manifest)


def _sides(connection: DuckDBPyConnection, found: Cut, *, graded: bool) -> dict[str, str]:
    """Side -> its rows, in order, as a query: DuckDB keeps the order of a table through a condition."""
    columns = "user, item, time, grade" if graded else "user, item, time"
    sides = {
        side: f"SELECT {columns} FROM kept WHERE {condition}"
        for side, condition in found.sides.items()
        if side != GAP
    }
    grade = ", arg_min(grade, time) AS grade" if graded else ""
    firsts = f"SELECT user, item, min(time) AS time{grade} FROM ({sides[TRUTH]}) GROUP BY user, item"  # fmt: skip
    order = f"user, time, {by_item(connection, 'kept')}"
    connection.execute(f"CREATE TABLE truth AS {firsts} ORDER BY {order}")
    return {**sides, TRUTH: "SELECT * FROM truth"}


def _rows(connection: DuckDBPyConnection, condition: str) -> int:
    return int(only_row(connection, f"SELECT count(*) FROM kept WHERE {condition}")[0])


def _counted(connection: DuckDBPyConnection, query: str) -> dict[str, Any]:
    rows, first, last = only_row(connection, f"SELECT count(*), min(time), max(time) FROM ({query})")  # fmt: skip
    (users,) = only_row(connection, f"SELECT count(DISTINCT user) FROM ({query})")
    (items,) = only_row(connection, f"SELECT count(DISTINCT item) FROM ({query})")
    return {"rows": rows, "users": users, "items": items, "first": _plain(first), "last": _plain(last)}  # fmt: skip


def _across(connection: DuckDBPyConnection, sides: Mapping[str, str]) -> dict[str, int]:
    """What the truth has in common with the rest, and what it has not."""
    others = " UNION ALL ".join(f"({query})" for side, query in sides.items() if side != TRUTH)
    lacking = "SELECT count(DISTINCT {0}), count(*) FROM truth ANTI JOIN ({1}) USING ({0})"
    users, rows_of_users = only_row(connection, lacking.format("user", others))
    items, rows_of_items = only_row(connection, lacking.format("item", sides[TRAIN]))
    taken = f"SELECT count(*) FROM truth SEMI JOIN ({others}) USING (user, item)"
    late = f"SELECT count(*) FROM ({sides[TRAIN]}) WHERE time >= (SELECT min(time) FROM truth)"
    return {
        "truth_users_without_history": users,
        "truth_rows_of_these_users": rows_of_users,
        "truth_items_unknown_to_train": items,
        "truth_rows_of_these_items": rows_of_items,
        "truth_pairs_taken_before": only_row(connection, taken)[0],
        "train_rows_from_the_first_of_truth_on": only_row(connection, late)[0],
    }


def _plain(number: float | None) -> float | None:
    return int(number) if number is not None and number == int(number) else number


_MORE = {
    "leave-last-out": "every user has too few interactions: lower `last`, or use global-time",
    "global-time": "move the cut, or shorten the gap",
    "users": "choose another share, or lower `last`",
    "cold-items": "choose another share",
}


def _refuse_empty(
    table: InputTable, method: Method, counted: Mapping[str, Mapping[str, Any]]
) -> None:
    for side in (TRUTH, TRAIN):
        if not counted[side]["rows"]:
            raise refuse(table.name, f"{method.how} leaves nothing for {side}", _MORE[method.how])
