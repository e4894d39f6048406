"""Interactions in order, each once: the table `kept`, which every method cuts.

It holds user, item, time [, grade] by user, time and item, and of each row: `back`, its place from the user's last one,
which is 1; how many are `of_user`; and `chosen`, what a method says of its user or item beforehand.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from concord.metrics_core.checking.locked import beside
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.reading.columns.numbers import as_arrow, as_numpy
from concord.metrics_core.reading.whole_lists import WholeLists, whole_lists
from concord.metrics_core.splitting.methods import DUPLICATE, REPEAT

AT_A_TIME = 131_072  # rows
Flags = NDArray[np.bool_]


def by_item(connection: DuckDBPyConnection, rows: str, direction: str = "") -> str:
    """The order of items that tie: the shorter id first, then by its characters, as numbers where it is theirs too."""
    (kind,) = only_row(connection, f"SELECT any_value(typeof(item)) FROM {rows}")
    if kind == "BIGINT" and only_row(connection, f"SELECT min(item) >= 0 FROM {rows}")[0]:
        return f"item {direction}"
    text = "item::VARCHAR"
    return f"strlen({text}) {direction}, {text} {direction}"


def keep(
    connection: DuckDBPyConnection, *, graded: bool, chosen: str, only_first: bool
) -> dict[str, int]:
    """The table `kept` in the place of `source`; how many rows are not in it, by the reason.

    chosen     : a condition on user or item
    only_first : does a user's item count the first time only?
    """
    grade, best = (", grade + 0.0 AS grade", ", grade DESC") if graded else ("", "")
    query = f"""SELECT user, item, time + 0.0 AS time{grade}, {chosen} AS chosen FROM source
        ORDER BY user, time, {by_item(connection, "source")}{best}"""  # -0.0 becomes 0.0
    left_out = {DUPLICATE: 0} | ({REPEAT: 0} if only_first else {})
    with beside(connection) as reading:
        reader = reading.sql(query).to_arrow_reader(AT_A_TIME)
        schema = reader.schema
        for name in ("back", "of_user"):
            schema = schema.append(pa.field(name, pa.int64()))
        tables = (_once(each, left_out, only_first=only_first) for each in whole_lists(reader))
        batches = (batch for table in tables for batch in table.to_batches())
        connection.register("once", pa.RecordBatchReader.from_batches(schema, batches))
        connection.execute("CREATE TABLE kept AS SELECT * FROM once")
        connection.unregister("once")
    connection.execute("DROP TABLE source")
    return left_out


def _once(rows: WholeLists, left_out: dict[str, int], *, only_first: bool) -> pa.Table:
    kept = ~_same_as_above(rows)
    left_out[DUPLICATE] += int(len(kept) - kept.sum())
    if only_first:
        firsts = _first_times(rows, np.flatnonzero(kept))
        left_out[REPEAT] += int(kept.sum()) - len(firsts)
        kept = np.zeros(len(kept), dtype=np.bool_)
        kept[firsts] = True
    of_user = np.bincount(rows.list_of[kept], minlength=len(rows.starts))
    back = np.repeat(np.cumsum(of_user), of_user) - np.arange(of_user.sum())
    table = rows.table.take(as_arrow(np.flatnonzero(kept)))
    table = table.append_column("back", as_arrow(back))
    return table.append_column("of_user", as_arrow(np.repeat(of_user, of_user)))


def _same_as_above(rows: WholeLists) -> Flags:
    """Is a row that of the user, item and time above it?"""
    item, time = rows.column("item"), rows.numbers("time")
    same = rows.above & as_numpy(pc.equal(item[1:], item[:-1])) & (time[1:] == time[:-1])
    return np.append(False, same)


def _first_times(rows: WholeLists, among: NDArray[Any]) -> NDArray[Any]:
    """Those of some rows, in order, on which a user meets an item first."""
    items = rows.column("item").dictionary_encode()
    codes = as_numpy(items.indices).astype(np.int64)
    pairs = (rows.list_of * len(items.dictionary) + codes)[among]
    return np.sort(among[np.unique(pairs, return_index=True)[1]])
