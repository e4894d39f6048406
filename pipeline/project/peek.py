"""The columns of a file, from its first line or its footer: no row is checked."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.reading.formats.source import FORMATS
from concord.metrics_core.reading.formats.text import DELIMITERS, first_line

TREC = {"run": ("user", "item", "rank", "score"), "qrels": ("user", "item", "grade")}
_SCANNED = 1 << 30  # bytes; of larger files nothing is counted


@dataclass(frozen=True)
class Peeked:
    """A file that may be a table: its format, its columns, and those that hold a list in each row."""

    path: Path
    form: str
    columns: tuple[str, ...]
    lists: tuple[str, ...] = ()


def peeked(path: Path) -> Peeked | None:
    """None where the file has no form that Concord reads, or nothing can be seen in it."""
    form = _form(path)
    if form is None:
        return None
    try:
        return _READ[form](path, form)
    except (OSError, ValueError, InputError, pa.ArrowException):
        return None


def _form(path: Path) -> str | None:
    if path.is_dir():
        parts = [part for part in path.iterdir() if part.is_file()]
        return "parquet" if parts and all(part.suffix == ".parquet" for part in parts) else None
    named = Path(path.stem) if path.suffix == ".gz" else path
    return FORMATS.get(named.suffix.lower())


def _schema(path: Path, form: str) -> Peeked:
    if form == "parquet":
        part = min(path.iterdir()) if path.is_dir() else path
        schema = pq.read_schema(part)
    else:
        with pa.memory_map(str(path)) as file:
            schema = pa.ipc.open_file(file).schema
    lists = [f.name for f in schema if pa.types.is_list(f.type) or pa.types.is_large_list(f.type)]
    return Peeked(path, form, tuple(schema.names), tuple(lists))


def _header(path: Path, form: str) -> Peeked:
    (names,) = csv.reader([first_line(path)], delimiter=DELIMITERS[form])
    return Peeked(path, form, tuple(name.lstrip("\ufeff") for name in names))


def _keys(path: Path, form: str) -> Peeked:
    row = json.loads(first_line(path))
    if not isinstance(row, dict):
        return Peeked(path, form, ())
    lists = [name for name, value in row.items() if isinstance(value, list | dict)]
    return Peeked(path, form, tuple(row), tuple(lists))


def _trec(path: Path, form: str) -> Peeked:
    kind = "qrels" if ".qrels" in path.suffixes else "run"
    return Peeked(path, form, TREC[kind])


_READ: dict[str, Callable[[Path, str], Peeked]] = {
    "parquet": _schema,
    "arrow": _schema,
    "csv": _header,
    "tsv": _header,
    "jsonl": _keys,
    "trec": _trec,
}


def list_length(table: Peeked, user: str) -> float | None:
    """Rows a user; None where that is not seen at once."""
    frame = _scanned(table)
    if frame is None or table.lists:
        return None
    rows, users = frame.select(pl.len(), pl.col(user).n_unique().alias("users")).collect().row(0)
    return rows / users if users else None


def value_range(table: Peeked, column: str) -> tuple[float, float] | None:
    """The smallest and the largest number of a column; None where that is not seen at once."""
    frame = _scanned(table)
    if frame is None or column in table.lists:
        return None
    value = pl.col(column).cast(pl.Float64, strict=False)
    low, high = frame.select(value.min().alias("low"), value.max().alias("high")).collect().row(0)
    return None if low is None else (low, high)


def _scanned(table: Peeked) -> pl.LazyFrame | None:
    path = table.path
    if path.is_dir() or path.stat().st_size > _SCANNED:
        return None
    if table.form == "parquet":
        return pl.scan_parquet(path, glob=False)
    if table.form in DELIMITERS and path.suffix != ".gz":
        return pl.scan_csv(path, separator=DELIMITERS[table.form], infer_schema=False, glob=False)
    return None
