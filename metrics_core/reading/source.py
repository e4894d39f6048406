"""Whatever form a file has -> one table `source`: position, and typed columns under our names."""

import difflib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import duckdb
import pyarrow as pa

from metrics_core.problems import AT_MOST, InputError, Problem, refuse
from metrics_core.reading.columnar import read_columnar
from metrics_core.reading.input_table import InputTable, Kind, Raw
from metrics_core.reading.jsonl import read_jsonl
from metrics_core.reading.settings import Settings
from metrics_core.reading.text import DELIMITERS, read_delimited
from metrics_core.reading.trec import read_trec

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".run": "trec",
    ".qrels": "trec",
}
PACKED = ("csv", "tsv", "jsonl", "trec")  # formats that may be read from `.gz`
EXACT = 2**53  # beyond it a float no longer holds every integer

# What stands for a value that cannot be read is NULL; the text that stood there is kept beside it.
_WHOLE = "floor({x}) = {x} AND abs({x}) < " + str(EXACT)
_ID = {
    "text": "{x}",
    "integer": "CAST({x} AS BIGINT)",
    "unsigned": "TRY_CAST({x} AS BIGINT)",
    "float": f"CASE WHEN {_WHOLE} THEN CAST({{x}} AS BIGINT) END",
    "json": """CASE WHEN starts_with({x}, '"') THEN json_extract_string({x}, '$')
        WHEN regexp_full_match({x}, '-?[0-9]+') THEN CAST({x} AS VARCHAR) END""",
}
_NUMBER = "TRY_CAST({x} AS DOUBLE)"
_NUMBERS = {  # DuckDB would take 1_000 for 1000, true for 1, and round what a double cannot hold
    "text": f"CASE WHEN NOT contains({{x}}, '_') THEN {_NUMBER} END",
    "json": f"CASE WHEN {{x}} NOT IN ('true', 'false') THEN {_NUMBER} END",
    "integer": f"CASE WHEN {{x}} BETWEEN -{EXACT} AND {EXACT} THEN CAST({{x}} AS DOUBLE) END",
    "unsigned": f"CASE WHEN {{x}} <= {EXACT} THEN CAST({{x}} AS DOUBLE) END",
}
# Seconds since 1970, or the number as it is: times are only ever compared with each other.
_TIME = {
    "time": "epoch(CAST({x} AS TIMESTAMP))",
    "text": f"coalesce({_NUMBER}, epoch(TRY_CAST({{x}} AS TIMESTAMP)))",
    "json": "coalesce(TRY_CAST({x} AS DOUBLE), epoch(TRY_CAST(json_extract_string({x}, '$') AS TIMESTAMP)))",
}
_SAFE = {("id", "text"), ("id", "integer"), ("rank", "integer")}
_SAFE |= {
    ("number", "float"),
    ("time", "time"),
    ("time", "integer"),
}  # always readable: nothing to keep beside


Batches: TypeAlias = pa.RecordBatchReader | None
Watch = Callable[[Batches, str, int | None], AbstractContextManager[Batches]]


def unwatched(batches: Batches, _: str, __: int | None) -> AbstractContextManager[Batches]:
    return nullcontext(batches)


@dataclass(frozen=True)
class Source:
    """The table `source` as it was read. unsure: columns with a `<column>_wrong` beside them."""

    file: InputTable
    raw: Raw
    columns: tuple[str, ...]
    unsure: tuple[str, ...]
    rows: int

    def is_text(self, column: str) -> bool:
        return self.raw.kinds[column] in ("text", "json")


def format_of(path: Path, given: str | None, settings: Settings) -> str:
    """The format that is given, or else the one that the file's name tells."""
    suffixes = path.suffixes
    packed = suffixes[-1:] == [".gz"]
    ending = suffixes[-2] if packed and len(suffixes) > 1 else path.suffix
    found = given or ("parquet" if path.is_dir() else FORMATS.get(ending.lower()))
    if found is None or (packed and found not in PACKED):
        what = "cannot be packed with gzip" if found else "the name does not tell the format"
        forms = ", ".join(sorted(FORMATS)) + ", and .gz of the text ones"
        fix = f"set {settings.format()}, or use one of the endings {forms}"
        raise refuse(str(path), what if not found else f"{found} {what}", fix)
    return found


def read_source(
    connection: duckdb.DuckDBPyConnection,
    file: InputTable,
    *,
    rank_base: int = 1,
    may_be_empty: bool = False,
    watch: Watch = unwatched,
) -> Source:
    """Read a file into the table `source` of the connection.

    rank_base    : the first rank, for lists whose order says it
    may_be_empty : is a table without rows read like any other?
    watch        : sees the batches go by: what shows how far the reading is

    Raises
    ------
    InputError : the file cannot be read as a table; values are not judged here
    """
    raw = _read(connection, file, rank_base)
    columns = tuple(name for name in file.fields if name in raw.kinds)
    unsure = tuple(name for name in columns if (_role(name), raw.kinds[name]) not in _SAFE)
    selected = ", ".join(
        ["position", *(_value(name, raw.kinds[name]) for name in columns)]
        + [_wrong(name, raw.kinds[name]) for name in unsure]
        + (["line_wrong"] if raw.marked else [])
    )
    with watch(None if raw.marked else raw.batches, f"read {file.name}", raw.rows) as batches:
        if batches is not None:
            connection.register("raw", batches)
        connection.execute(f"CREATE OR REPLACE TABLE source AS SELECT {selected} FROM raw")
    connection.execute("DROP VIEW raw")  # the next table may be of another format
    _refuse_unreadable(connection, file, raw)
    (rows,) = connection.execute("SELECT count(*) FROM source").fetchall()[0]
    if rows == 0 and not may_be_empty:
        setting = file.settings.input("empty_lists", "keep")
        keep = f", or set {setting}" if "score" in file.may_have else ""
        raise refuse(file.name, "holds no rows", f"check what made it{keep}")
    return Source(file, raw, columns, unsure, rows)


def refuse_missing(path: Path, settings: Settings) -> None:
    """Refuse a path where there is nothing, or an empty file."""
    if not path.exists():
        folder = path.parent
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
        what = "there is no such file" + (f"; near it: {', '.join(near)}" if near else "")
        raise refuse(str(path), what, settings.path())
    if path.is_file() and path.stat().st_size == 0:
        raise refuse(str(path), "is empty (0 bytes)", "check what wrote the file")


def _read(connection: duckdb.DuckDBPyConnection, file: InputTable, rank_base: int) -> Raw:
    if file.format in DELIMITERS:
        return read_delimited(file)
    if file.format == "jsonl":
        return read_jsonl(connection, file, rank_base)
    if file.format == "trec":
        return read_trec(connection, file)
    return read_columnar(file)


def _refuse_unreadable(connection: duckdb.DuckDBPyConnection, file: InputTable, raw: Raw) -> None:
    problems = list(raw.problems)
    if raw.marked:
        query = "SELECT position, line_wrong FROM source WHERE line_wrong IS NOT NULL ORDER BY ALL LIMIT $n"
        problems += [
            Problem(f"{file.name}: {raw.place(position)}", wrong, "mend the line, or remove it")
            for position, wrong in connection.execute(query, {"n": AT_MOST}).fetchall()
        ]
    if problems:
        raise InputError(problems)


def _role(name: str) -> str:
    return {"user": "id", "item": "id", "rank": "rank", "time": "time"}.get(name, "number")


def _readable(name: str, kind: Kind) -> str:
    role = _role(name)
    if role == "id":
        return _ID[kind].format(x=name)
    if role == "time":
        return _TIME.get(kind, _NUMBER).format(x=name)
    number = _NUMBERS.get(kind, _NUMBER).format(x=name)
    if role != "rank":
        return number
    return f"CASE WHEN {_WHOLE.format(x=f'({number})')} THEN CAST({number} AS BIGINT) END"


def _value(name: str, kind: Kind) -> str:
    return f"{_readable(name, kind)} AS {name}"


def _wrong(name: str, kind: Kind) -> str:
    """The text of a value that is there, yet cannot be read."""
    text = f"CAST({name} AS VARCHAR)"
    return f"CASE WHEN {_readable(name, kind)} IS NULL AND trim({text}) <> '' THEN {text} END AS {name}_wrong"
