"""The columns of a file, from its first line or its footer: no row is checked."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.data.source import FORMATS
from concord.metrics_core.data.text_files import DELIMITERS, first_line

TREC = {"run": ("user", "item", "rank", "score"), "qrels": ("user", "item", "grade")}


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
    except (OSError, ValueError, LookupError, RecursionError, csv.Error, pa.ArrowException):
        return None


def parts_of(path: Path) -> list[Path]:
    """Return the file, or the parquet files of a folder in the order of their paths."""
    if not path.is_dir():
        return [path]
    return sorted(part for part in path.rglob("*.parquet") if part.is_file())


def _form(path: Path) -> str | None:
    if path.is_dir():
        return "parquet"  # in parts
    named = Path(path.stem) if path.suffix == ".gz" else path
    return FORMATS.get(named.suffix.lower())


def _schema(path: Path, form: str) -> Peeked:
    if form == "parquet":
        schema = pq.read_schema(parts_of(path)[0])
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
