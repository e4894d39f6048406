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
from concord.metrics_core.reading.formats.source import Source, Watch, unwatched
from concord.metrics_core.reading.quality import describe
from concord.metrics_core.splitting.asked import Asked, refuse_other_units
from concord.metrics_core.splitting.cutting import KEPT, Cut, cut
from concord.metrics_core.splitting.methods import (
    DUPLICATE,
    GAP,
    HISTORY,
    REPEAT,
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
    left_out = _keep(connection, source, asked.repeats)
    (latest,) = only_row(connection, f"SELECT max(time) FROM {KEPT}")
    refuse_other_units(asked, latest)
    found = cut(method, connection)
    if GAP in found.sides:
        left_out[GAP] = _rows(connection, found.rows, found.sides[GAP])
    sides = _sides(connection, source, found)
    counted = {side: _counted(connection, relation) for side, relation in sides.items()}
    left_out[REPEAT_IN_TRUTH] = (
        _rows(connection, found.rows, found.sides[TRUTH]) - counted[TRUTH]["rows"]
    )
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
    columns = ", ".join(source.columns)
    queries = {
        side: f"SELECT {columns} FROM {relation} ORDER BY user, time, item"
        for side, relation in sides.items()
    }
    return Divided(queries, manifest)


def _keep(connection: DuckDBPyConnection, source: Source, repeats: str) -> dict[str, int]:
    """The table `kept` in the place of `source`; why rows are not in it, with their number."""
    graded = "grade" in source.columns
    best = ", max(grade + 0.0) AS grade" if graded else ""  # -0.0 is 0.0
    connection.execute(f"""CREATE TABLE {KEPT} AS
        SELECT user, item, time + 0.0 AS time{best} FROM source GROUP BY user, item, time + 0.0""")
    connection.execute("DROP TABLE source")
    left_out = {DUPLICATE: source.rows - _rows(connection, KEPT)}
    if repeats == "first":
        before = _rows(connection, KEPT)
        connection.execute(f"ALTER TABLE {KEPT} RENAME TO taken")
        connection.execute(f"CREATE TABLE {KEPT} AS {_first_of('taken', graded=graded)}")
        connection.execute("DROP TABLE taken")
        left_out[REPEAT] = before - _rows(connection, KEPT)
    return left_out


def _first_of(rows: str, *, graded: bool) -> str:
    """Each user and item once, when they first met."""
    grade = ", arg_min(grade, time) AS grade" if graded else ""
    return f"SELECT user, item, min(time) AS time{grade} FROM {rows} GROUP BY user, item"


def _sides(connection: DuckDBPyConnection, source: Source, found: Cut) -> dict[str, str]:
    """Side -> its relation: the truth as a table, since it holds each user and item once."""
    sides = {}
    for side in (TRAIN, HISTORY, TRUTH):
        if side in found.sides:
            rows = f"(SELECT * FROM {found.rows} WHERE {found.sides[side]})"
            query = f"SELECT * FROM {rows}"
            if side == TRUTH:
                query = _first_of(rows, graded="grade" in source.columns)
            kind = "TABLE" if side == TRUTH else "VIEW"
            connection.execute(f"CREATE {kind} {side}_rows AS {query}")
            sides[side] = f"{side}_rows"
    return sides


def _rows(connection: DuckDBPyConnection, relation: str, condition: str = "TRUE") -> int:
    return int(only_row(connection, f"SELECT count(*) FROM {relation} WHERE {condition}")[0])


def _counted(connection: DuckDBPyConnection, relation: str) -> dict[str, Any]:
    rows, first, last = only_row(
        connection, f"SELECT count(*), min(time), max(time) FROM {relation}"
    )
    (users,) = only_row(connection, f"SELECT count(DISTINCT user) FROM {relation}")
    (items,) = only_row(connection, f"SELECT count(DISTINCT item) FROM {relation}")
    return {"rows": rows, "users": users, "items": items, "first": _plain(first), "last": _plain(last)}  # fmt: skip


def _across(connection: DuckDBPyConnection, sides: Mapping[str, str]) -> dict[str, int]:
    """What the truth has in common with the rest, and what it has not."""
    known = " UNION ALL ".join(f"SELECT user FROM {r}" for s, r in sides.items() if s != TRUTH)
    taken = " UNION ALL ".join(f"SELECT user, item FROM {r}" for s, r in sides.items() if s != TRUTH)  # fmt: skip
    truth, train = sides[TRUTH], sides[TRAIN]
    users, rows_of_users = only_row(connection, f"SELECT count(DISTINCT user), count(*) FROM {truth} WHERE user NOT IN (SELECT DISTINCT user FROM ({known}))")  # fmt: skip
    items, rows_of_items = only_row(connection, f"SELECT count(DISTINCT item), count(*) FROM {truth} WHERE item NOT IN (SELECT DISTINCT item FROM {train})")  # fmt: skip
    (pairs,) = only_row(connection, f"SELECT count(*) FROM {truth} SEMI JOIN ({taken}) USING (user, item)")  # fmt: skip
    (late,) = only_row(connection, f"SELECT count(*) FROM {train} WHERE time >= (SELECT min(time) FROM {truth})")  # fmt: skip
    return {
        "truth_users_without_history": users,
        "truth_rows_of_these_users": rows_of_users,
        "truth_items_unknown_to_train": items,
        "truth_rows_of_these_items": rows_of_items,
        "truth_pairs_taken_before": pairs,
        "train_rows_from_the_first_of_truth_on": late,
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
