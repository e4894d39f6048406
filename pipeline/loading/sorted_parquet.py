"""Write rows as parquet with the same bytes for the same rows, however many threads ran it."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.data.loaded_tables import Keep
from concord.metrics_core.data.paths import Place
from concord.metrics_core.data.whole_lists import WholeLists
from concord.pipeline.loading.unchanged import unchanged
from concord.pipeline.running.outputs import whole

ROW_GROUP = 131_072
MOST_WAITING = 8  # row groups


def write_query(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    reader = connection.sql(query).to_arrow_reader(ROW_GROUP)
    with whole(path) as beside:
        write_rows(beside, reader.schema, reader)


@contextmanager
def keeping(path: Path, source: Place) -> Iterator[Keep]:
    """What writes rows to a file, which stands there whole when the block ends and the source is what it was when it began."""
    with ExitStack() as opened:
        beside: list[Path] = []

        def keep(schema: pa.Schema, rows: Iterable[WholeLists]) -> None:
            left = (some.table for some in rows)
            first = list(islice(left, 1))  # what is refused before leaves no folder
            if not beside:
                beside.append(opened.enter_context(whole(path)))
            write_rows(beside[0], schema, chain(first, left))

        with unchanged(source):
            yield keep


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
