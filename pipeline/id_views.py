"""Loaded files as DuckDB views whose ids can be compared."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from duckdb import DuckDBPyConnection

from pipeline.reading import reading

_IDS = ("user", "item")


@contextmanager
def views_of(files: Mapping[str, Path]) -> Iterator[DuckDBPyConnection]:
    """A view a file; ids are text in all of them where the files' types differ.

    `lists` has a score, null where the file has none, and of several rankings the first.
    """
    with reading(files.values()) as connection:
        read = {name: connection.read_parquet(str(path)) for name, path in files.items()}
        kinds = [dict(zip(r.columns, map(str, r.types), strict=True)) for r in read.values()]
        texts = [c for c in _IDS if len({kind[c] for kind in kinds if c in kind}) > 1]
        for name, relation in read.items():
            columns = [
                f"CAST({c} AS VARCHAR) AS {c}" if c in texts else f'"{c}"' for c in relation.columns
            ]
            if name == "lists" and "score" not in relation.columns:
                columns.append("NULL::DOUBLE AS score")
            kept = relation.project(", ".join(columns))
            several = name == "lists" and "ranking" in relation.columns
            (kept.filter("ranking = 0") if several else kept).create_view(name)
        yield connection
