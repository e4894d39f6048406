"""Tables that stages write: per-user values, and CSV cells without formulas."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from concord.pipeline.running.outputs import atomic_write

_FORMULA_START = r"^[=+\-@\t\r]"


def escape_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with a quote before texts that start like a formula, for CSV."""
    texts = [
        pl.when(column.str.contains(_FORMULA_START))
        .then("'" + column)
        .otherwise(column)
        .alias(column.name)
        for column in table
        if column.dtype == pl.String
    ]
    return table.with_columns(texts)


ROWS_PER_GROUP = 32_768  # small, so that most are written during the computation
METADATA_KEY = b"concord"


class PerUserWriter:
    """Writer of frames in row groups of a fixed size, in a separate thread."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._pending = pa.Table.from_batches([], schema)
        self._thread = ThreadPoolExecutor(1)
        self._write: Future[None] | None = None

    def write(self, values: pl.DataFrame) -> None:
        table = values.to_arrow().cast(self._schema)
        self._pending = pa.concat_tables([self._pending, table])
        while len(self._pending) >= ROWS_PER_GROUP:
            self._flush(ROWS_PER_GROUP)

    def close(self) -> None:
        try:
            with self._thread:
                if len(self._pending):
                    self._flush(len(self._pending))
                self._wait()
        finally:
            self._file.close()

    def _flush(self, rows: int) -> None:
        self._wait()
        group, self._pending = self._pending.slice(0, rows), self._pending.slice(rows)
        self._write = self._thread.submit(self._file.write_table, group.combine_chunks())

    def _wait(self) -> None:
        """Wait for the last row group; raise its error."""
        if self._write is not None:
            self._write.result()


@contextmanager
def per_user_writer(
    path: Path, id_type: pa.DataType, labels: list[str], content: dict[str, Any]
) -> Iterator[PerUserWriter]:
    """Yield a writer of user and metrics; `content` becomes the metadata of the file."""
    fields = [pa.field("user", id_type), *(pa.field(label, pa.float64()) for label in labels)]
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    schema = pa.schema(fields, metadata={METADATA_KEY: text.encode()})
    with atomic_write(path) as temporary:
        writer = PerUserWriter(temporary, schema)
        try:
            yield writer
        finally:
            writer.close()


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the metadata that `per_user_writer` wrote."""
    metadata = pq.read_schema(path).metadata or {}
    content: dict[str, Any] = json.loads(metadata[METADATA_KEY])
    return content
