"""Write rows as parquet with the same bytes for the same rows, however many threads ran it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.reading.loaded import Keep
from concord.metrics_core.reading.whole_lists import WholeLists
from concord.pipeline.running.outputs import whole

ROW_GROUP = 131_072
MOST_WAITING = 8  # row groups


def write_query(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    reader = connection.sql(query).to_arrow_reader(ROW_GROUP)
    with whole(path) as beside:
        write_rows(beside, reader.schema, reader)


def keeping(path: Path, refuse_changed: Callable[[], None]) -> Keep:
    """Writes rows to a file that stands there whole, and only where `refuse_changed` lets it."""

    def keep(schema: pa.Schema, rows: Iterable[WholeLists]) -> None:
        left = (some.table for some in rows)
        first = list(islice(left, 1))  # what is refused before leaves no folder
        with whole(path) as beside:
            write_rows(beside, schema, chain(first, left))
            refuse_changed()

    return keep


def described(
    describe: Callable[[], dict[str, Any]], path: Path, refuse_changed: Callable[[], None]
) -> dict[str, Any]:
    """What was found in the rows at `path`; they are removed where the input changed before it was hashed."""
    try:
        found = describe()
        refuse_changed()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return found


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[pa.Table | pa.RecordBatch]) -> None:
    """Writes while the next rows are made."""
    waiting: deque[Future[None]] = deque()
    with pq.ParquetWriter(path, schema) as writer, ThreadPoolExecutor(1) as beside:
        for group in _groups(schema, rows):
            waiting.append(beside.submit(writer.write_table, group, row_group_size=ROW_GROUP))
            if len(waiting) > MOST_WAITING:
                waiting.popleft().result()
        for each in waiting:
            each.result()


def _groups(schema: pa.Schema, rows: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables of ROW_GROUP rows, the last one shorter; how the rows are cut depends on threads."""
    held = pa.Table.from_batches([], schema)
    for some in rows:
        table = some if isinstance(some, pa.Table) else pa.Table.from_batches([some])
        held = pa.concat_tables([held, table])
        while len(held) >= ROW_GROUP:
            yield held.slice(0, ROW_GROUP).combine_chunks()
            held = held.slice(ROW_GROUP)
    if len(held):
        yield held.combine_chunks()
