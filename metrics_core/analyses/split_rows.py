"""Rows of a split: sorted interactions without duplicates, the query of each side, the manifest."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from concord.metrics_core.analyses.split_methods import (
    GAP,
    TRAIN,
    TRUTH,
    Cut,
    SplitOptions,
    item_order,
)
from concord.metrics_core.data.arrow_numpy import as_arrow, as_numpy
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.list_batches import ListBatch, list_batches
from concord.metrics_core.data.quality import describe
from concord.metrics_core.data.read_source import Progress, no_progress
from concord.metrics_core.data.relations import only_row, second_cursor
from concord.metrics_core.data.side_data import read_interactions
from concord.metrics_core.errors import refuse

_DUPLICATE, _REPEAT, _REPEAT_IN_TRUTH = "duplicate", "repeat", "repeat_in_truth"
_TIES = (  # stored in the manifest
    "interactions of a user at one time are ordered by item: the shorter id first, "
    "then by its characters"
)
_BATCH_ROWS = 131_072


@dataclass(frozen=True)
class SplitRows:
    """Sides of a split in a database.

    Attributes
    ----------
    queries : dict of str to str
        Query of each side's rows, sorted by user, time and item.
    manifest : dict
        Content of manifest.json without the sentences of `notes`.
    """

    queries: Mapping[str, str]
    manifest: dict[str, Any]


def split_rows(
    connection: DuckDBPyConnection,
    table: InputTable,
    options: SplitOptions,
    *,
    progress: Progress = no_progress,
) -> SplitRows:
    """Read, validate and split interactions.

    Parameters
    ----------
    connection : DuckDBPyConnection
        Database of the result.
    table : InputTable
        Table of interactions.
    options : SplitOptions
        Split method and options.
    progress : Progress
        Progress of reading.

    Returns
    -------
    SplitRows
        Queries of the sides, and the manifest.

    Raises
    ------
    InputError
        If the table is invalid, a date is used but times are not seconds since 1970, or a side is
        empty.
    """
    method = options.method
    source = read_interactions(connection, table, progress=progress)
    input_counts = describe(connection, source)
    has_grade = "grade" in source.columns
    excluded = _order_rows(
        connection,
        has_grade=has_grade,
        is_held_out=method.select_held_out(connection),
        only_first=options.repeats == "first",
    )
    (latest,) = only_row(connection, "SELECT max(time) FROM interactions")
    options.check_unit(latest)
    cut = method.cut(connection)
    queries = _side_queries(connection, cut, has_grade=has_grade)
    files = {side: _count_side(connection, query) for side, query in queries.items()}
    if GAP in cut.conditions:
        excluded[GAP] = _count_rows(connection, cut.conditions[GAP])
    truth_rows = _count_rows(connection, cut.conditions[TRUTH])
    excluded[_REPEAT_IN_TRUTH] = truth_rows - files[TRUTH]["rows"]
    for side in (TRUTH, TRAIN):
        if not files[side]["rows"]:
            has_smaller = side == TRUTH and getattr(method, "last", 1) > 1
            fix = method.empty_fix + (", or lower `last`" if has_smaller else "")
            raise refuse(table.name, f"{method.name} leaves no rows for {side}", fix)
    counts = {**cut.counts, **_count_overlap(connection, queries)}
    manifest = {
        "concord": version("concord-eval"),
        "input": input_counts
        | {"columns": {name: table.original_name(name) for name in source.columns}},
        "method": {"how": method.name, **asdict(method), "repeats": options.repeats},
        "files": {f"{side}.parquet": each for side, each in files.items()},
        "excluded": excluded,
        "counts": {name: _whole(number) for name, number in counts.items()},
        "ties": _TIES,
    }
    return SplitRows(queries, manifest)


def _order_rows(
    connection: DuckDBPyConnection, *, has_grade: bool, is_held_out: str, only_first: bool
) -> dict[str, int]:
    """Replace the table `source` by `interactions` and count the excluded rows by reason.

    `interactions` has the columns user, item, time, grade (if `source` has it) and `held_out`,
    sorted by user, time and item. `rank_from_last` is 1 for a user's last row, and `n_of_user` is
    the number of the user's rows.
    """
    # Adding 0.0 turns -0.0 into 0.0. Of duplicates, the highest grade comes first.
    grade, by_grade = (", grade + 0.0 AS grade", ", grade DESC") if has_grade else ("", "")
    query = f"""SELECT user, item, time + 0.0 AS time{grade}, {is_held_out} AS held_out FROM source
        ORDER BY user, time, {item_order(connection, "source")}{by_grade}"""
    excluded = {_DUPLICATE: 0} | ({_REPEAT: 0} if only_first else {})
    with second_cursor(connection) as cursor:
        reader = cursor.sql(query).to_arrow_reader(_BATCH_ROWS)
        schema = reader.schema
        for name in ("rank_from_last", "n_of_user"):
            schema = schema.append(pa.field(name, pa.int64()))
        batches = (
            batch
            for rows in list_batches(reader)
            for batch in _unique_rows(rows, excluded, only_first=only_first).to_batches()
        )
        connection.register("unique_rows", pa.RecordBatchReader.from_batches(schema, batches))
        connection.execute("CREATE TABLE interactions AS SELECT * FROM unique_rows")
        connection.unregister("unique_rows")
    connection.execute("DROP TABLE source")
    return excluded


def _unique_rows(rows: ListBatch, excluded: dict[str, int], *, only_first: bool) -> pa.Table:
    """Return the rows without duplicates, and add to the counts of `excluded`."""
    is_unique = ~_is_duplicate(rows)
    excluded[_DUPLICATE] += int(len(is_unique) - is_unique.sum())
    if only_first:
        firsts = _first_times(rows, np.flatnonzero(is_unique))
        excluded[_REPEAT] += int(is_unique.sum()) - len(firsts)
        is_unique = np.zeros(len(is_unique), dtype=np.bool_)
        is_unique[firsts] = True
    n_of_user = np.bincount(rows.list_of[is_unique], minlength=len(rows.starts))
    rank_from_last = np.repeat(np.cumsum(n_of_user), n_of_user) - np.arange(n_of_user.sum())
    table = rows.table.take(as_arrow(np.flatnonzero(is_unique)))
    table = table.append_column("rank_from_last", as_arrow(rank_from_last))
    return table.append_column("n_of_user", as_arrow(np.repeat(n_of_user, n_of_user)))


def _is_duplicate(rows: ListBatch) -> NDArray[np.bool_]:
    """Return (rows,) True if the previous row has the same user, item and time."""
    item, time = rows.column("item"), rows.numbers("time")
    is_equal = as_numpy(pc.equal(item[1:], item[:-1])) & (time[1:] == time[:-1])
    return np.append(False, rows.continues_list & is_equal)


def _first_times(rows: ListBatch, candidates: NDArray[Any]) -> NDArray[Any]:
    """Return the candidate row numbers that are a user's first row with an item."""
    items = rows.column("item").dictionary_encode()
    codes = as_numpy(items.indices).astype(np.int64)
    pairs = (rows.list_of * len(items.dictionary) + codes)[candidates]
    return np.sort(candidates[np.unique(pairs, return_index=True)[1]])


def _side_queries(connection: DuckDBPyConnection, cut: Cut, *, has_grade: bool) -> dict[str, str]:
    """Return the query of each side; DuckDB preserves the order of a filtered table."""
    columns = "user, item, time, grade" if has_grade else "user, item, time"
    queries = {
        side: f"SELECT {columns} FROM interactions WHERE {condition}"
        for side, condition in cut.conditions.items()
        if side != GAP
    }
    grade = ", arg_min(grade, time) AS grade" if has_grade else ""
    connection.execute(
        f"""CREATE TABLE truth AS SELECT user, item, min(time) AS time{grade}
        FROM ({queries[TRUTH]}) GROUP BY user, item
        ORDER BY user, time, {item_order(connection, "interactions")}"""
    )
    return {**queries, TRUTH: "SELECT * FROM truth"}


def _count_rows(connection: DuckDBPyConnection, condition: str) -> int:
    query = f"SELECT count(*) FROM interactions WHERE {condition}"
    return int(only_row(connection, query)[0])


def _count_side(connection: DuckDBPyConnection, query: str) -> dict[str, Any]:
    rows, first, last = only_row(
        connection, f"SELECT count(*), min(time), max(time) FROM ({query})"
    )
    (users,) = only_row(connection, f"SELECT count(DISTINCT user) FROM ({query})")
    (items,) = only_row(connection, f"SELECT count(DISTINCT item) FROM ({query})")
    counts = {"rows": rows, "users": users, "items": items}
    return counts | {"first": _whole(first), "last": _whole(last)}


def _count_overlap(connection: DuckDBPyConnection, queries: Mapping[str, str]) -> dict[str, int]:
    """Count users, items and rows of the truth that occur, or do not occur, on other sides."""
    others = " UNION ALL ".join(f"({query})" for side, query in queries.items() if side != TRUTH)
    missing = "SELECT count(DISTINCT {0}), count(*) FROM truth ANTI JOIN ({1}) USING ({0})"
    users, user_rows = only_row(connection, missing.format("user", others))
    items, item_rows = only_row(connection, missing.format("item", queries[TRAIN]))
    repeated = f"SELECT count(*) FROM truth SEMI JOIN ({others}) USING (user, item)"
    late = f"SELECT count(*) FROM ({queries[TRAIN]}) WHERE time >= (SELECT min(time) FROM truth)"
    return {
        "truth_users_without_history": users,
        "truth_rows_of_these_users": user_rows,
        "truth_items_unknown_to_train": items,
        "truth_rows_of_these_items": item_rows,
        "truth_pairs_taken_before": only_row(connection, repeated)[0],
        "train_rows_from_the_first_of_truth_on": only_row(connection, late)[0],
    }


def _whole(number: float | None) -> float | None:
    """Return an integral number as int, other numbers unchanged."""
    return int(number) if number is not None and number == int(number) else number
