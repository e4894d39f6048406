"""Tables that stages write: per-user values partition by partition, and text that no spreadsheet runs."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from concord.pipeline.running.outputs import whole

_BEGINS = r"^[=+\-@\t\r]"


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """The table as it goes into a CSV; numbers stay numbers. Parquet keeps every text as it is."""
    texts = [
        pl.when(column.str.contains(_BEGINS))
        .then("'" + column)
        .otherwise(column)
        .alias(column.name)
        for column in table
        if column.dtype == pl.String
    ]
    return table.with_columns(texts)


ROWS_PER_GROUP = 32_768  # few, so that most are written while others are computed
KEY = b"concord"


class PerUserWriter:
    """Gathers frames and writes them in row groups of a fixed size, beside what is computed meanwhile."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._waiting = pa.Table.from_batches([], schema)
        self._beside = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None

    def write(self, values: pl.DataFrame) -> None:
        table = values.to_arrow().cast(self._schema)
        self._waiting = pa.concat_tables([self._waiting, table])
        while len(self._waiting) >= ROWS_PER_GROUP:
            self._flush(ROWS_PER_GROUP)

    def close(self) -> None:
        try:
            with self._beside:
                if len(self._waiting):
                    self._flush(len(self._waiting))
                self._written()
        finally:
            self._file.close()

    def _flush(self, rows: int) -> None:
        self._written()
        group, self._waiting = self._waiting.slice(0, rows), self._waiting.slice(rows)
        self._writing = self._beside.submit(self._file.write_table, group.combine_chunks())

    def _written(self) -> None:
        """Waits; raises what the last row group met."""
        if self._writing is not None:
            self._writing.result()


@contextmanager
def per_user_writer(
    path: Path, id_type: pa.DataType, labels: list[str], carried: dict[str, Any]
) -> Iterator[PerUserWriter]:
    """A writer of user and labels; `carried` (model, conventions, fingerprint) travels in the file's metadata."""
    fields = [pa.field("user", id_type), *(pa.field(label, pa.float64()) for label in labels)]
    text = json.dumps(carried, ensure_ascii=False, allow_nan=False)
    schema = pa.schema(fields, metadata={KEY: text.encode()})
    with whole(path) as beside:
        writer = PerUserWriter(beside, schema)
        try:
            yield writer
        finally:
            writer.close()


def read_carried(path: Path) -> dict[str, Any]:
    """What `per_user_writer` put into the metadata."""
    metadata = pq.read_schema(path).metadata or {}
    carried: dict[str, Any] = json.loads(metadata[KEY])
    return carried
