"""Loaded files as DuckDB views whose ids can be compared."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from duckdb import DuckDBPyConnection

from metrics_core.checking.id_types import share_id_types
from pipeline.running.connections import reading


@contextmanager
def views_of(files: Mapping[str, Path]) -> Iterator[DuckDBPyConnection]:
    """A view a file; ids are text in all of them where the files' types differ.

    `lists` has a score, null where the file has none, and of several rankings the first.
    """
    with reading(files.values()) as connection:
        for name, path in files.items():
            rows = connection.read_parquet(str(path))
            if name == "lists" and "score" not in rows.columns:
                rows = rows.project("*, NULL::DOUBLE AS score")
            several = name == "lists" and "ranking" in rows.columns
            (rows.filter("ranking = 0") if several else rows).create_view(f"{name}_file")
        share_id_types(connection, {name: f"{name}_file" for name in files})
        yield connection
