"""Write a DuckDB query as parquet with the same bytes for the same rows, however many threads ran it."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from concord.pipeline.running.outputs import whole

ROW_GROUP = 131_072


def write_query(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    reader = connection.sql(query).to_arrow_reader(ROW_GROUP)
    with whole(path) as beside, pq.ParquetWriter(beside, reader.schema) as writer:
        for group in _groups(reader):
            writer.write_table(group, row_group_size=ROW_GROUP)


def _groups(batches: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Tables of ROW_GROUP rows, the last one shorter; how the batches are cut depends on threads."""
    held = batches.schema.empty_table()
    for batch in batches:
        held = pa.concat_tables([held, pa.Table.from_batches([batch])])
        while len(held) >= ROW_GROUP:
            yield held.slice(0, ROW_GROUP)
            held = held.slice(ROW_GROUP)
    if len(held):
        yield held
