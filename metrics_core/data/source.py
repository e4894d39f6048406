"""Read a table of any format into the table `source`, with typed columns. An id such as `1.0` is read as 1."""

import difflib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import UNIT_PREFIX, InputTable, RawRows, role_of
from concord.metrics_core.data.jsonl import read_jsonl
from concord.metrics_core.data.object_stores import missing_bucket
from concord.metrics_core.data.parse_values import is_sure, value, wrong
from concord.metrics_core.data.paths import AnyPath, RemotePath
from concord.metrics_core.data.read_columnar import read_columnar
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.text_files import DELIMITERS, read_delimited, read_trec
from concord.metrics_core.data.units import unit_sql
from concord.metrics_core.errors import (
    MAX_PROBLEMS,
    InputError,
    Problem,
    SettingNames,
    format_count,
    raise_problems,
    refuse,
)
from concord.metrics_core.files import STORES, is_address, redact_address, refuse_special

# As a float writes them; one of more digits may be another number than was meant.
_WHOLE = "(0|-?[1-9][0-9]{0,14})[.]0"
# Ids that the column holds with `.0` and without.
_BOTH = """
WITH ids AS (SELECT DISTINCT {text} AS id FROM source),
     whole AS (SELECT id, id[:-3] AS short FROM ids WHERE {is_whole})
SELECT count(*), arg_min(whole.id, (length(whole.id), whole.id)) FROM whole JOIN ids ON ids.id = whole.short
"""


@dataclass(frozen=True)
class RewrittenIds:
    """Number of rows of a column whose ids were read without `.0`, and the first of these ids."""

    column: str
    rows: int
    example: str

    @property
    def note(self) -> str:
        """Text of the change."""
        rows, read = format_count(self.rows, "row"), self.example[:-2]
        return (
            f"{rows}: {self.column} {self.example!r} and the like are read as {read!r} and the like"
        )


def strip_float_suffix(
    connection: DuckDBPyConnection,
    columns: Sequence[str],
    unsure: Sequence[str],
    where: Callable[[str], str],
) -> tuple[RewrittenIds, ...]:
    """Strip `.0` from whole numbers in columns of text of the table `source`; return what was changed.

    where : column -> what messages call it

    Raises
    ------
    InputError : a column holds an id with `.0` and without, so that two ids would become one
    """
    texts = {
        name: f"coalesce({name}, {name}_wrong)" if name in unsure else name for name in columns
    }
    if not texts:
        return ()
    counts = ", ".join(
        f"count(*) FILTER (WHERE {is_float_id_sql(text)})" for text in texts.values()
    )
    rows_of = dict(zip(texts, only_row(connection, f"SELECT {counts} FROM source"), strict=True))
    changed = {name: texts[name] for name, rows in rows_of.items() if rows}
    problems = [
        problem
        for name, text in changed.items()
        for problem in _written_both_ways(connection, text, where(name))
    ]
    raise_problems(problems)
    return tuple(
        _settled(connection, name, text, rows_of[name], unsure=name in unsure)
        for name, text in changed.items()
    )


def is_float_id_sql(given: str) -> str:
    """Return SQL that is true if a text is an integer written as a float."""
    return f"(ends_with({given}, '.0') AND regexp_full_match({given}, '{_WHOLE}'))"


def _written_both_ways(connection: DuckDBPyConnection, text: str, where: str) -> Iterator[Problem]:
    query = _BOTH.format(text=text, is_whole=is_float_id_sql("id"))
    count, example = only_row(connection, query)
    if count:
        more = f", and {format_count(count - 1, 'id')} more in both forms" if count > 1 else ""
        yield Problem(
            where,
            f"holds both {example!r} and {example[:-2]!r}{more}; whole numbers are read without `.0`, "
            "so these would become one id",
            "write each id in one form; where they are two ids, rename one of them in all tables",
        )


def _settled(
    connection: DuckDBPyConnection, column: str, text: str, rows: int, *, unsure: bool
) -> RewrittenIds:
    query = f"SELECT arg_min({text}, position) FROM source WHERE {is_float_id_sql(text)}"
    (first,) = only_row(connection, query)
    forget = f", {column}_wrong = NULL" if unsure else ""
    change = f"UPDATE source SET {column} = {text}[:-3]{forget} WHERE {is_float_id_sql(text)}"
    connection.execute(change)
    return RewrittenIds(column, rows, first)


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
_AT_A_TIME = 131_072  # rows
PACKED = ("csv", "tsv", "jsonl", "trec")  # formats that may be read from `.gz`

Batches: TypeAlias = pa.RecordBatchReader | None
Progress = Callable[[Batches, str, int | None], AbstractContextManager[Batches]]


def no_progress(batches: Batches, _: str, __: int | None) -> AbstractContextManager[Batches]:
    return nullcontext(batches)


@dataclass(frozen=True)
class Source:
    """The table `source` as it was read.

    unsure    : columns with a `<column>_wrong` beside them
    rewritten : ids that were read otherwise than they are written
    notes     : what else was, and these, in words
    """

    file: InputTable
    raw: RawRows
    columns: tuple[str, ...]
    unsure: tuple[str, ...]
    rows: int
    rewritten: tuple[RewrittenIds, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that hold ids; those that identify a session in place of the user's."""
        return tuple(name for name in self.columns if role_of(name) == "id")

    def is_text(self, column: str) -> bool:
        return self.raw.kinds[column] in ("text", "json")


def detect_format(path: AnyPath, given: str | None, settings: SettingNames) -> str:
    """Return the given format, or else that of the file's name."""
    suffixes = path.suffixes
    packed = suffixes[-1:] == [".gz"]
    ending = suffixes[-2] if packed and len(suffixes) > 1 else path.suffix
    found = given or ("parquet" if path.is_dir() else FORMATS.get(ending.lower()))
    if found is None or (packed and found not in PACKED):
        what = "cannot be packed with gzip" if found else "the name does not tell the format"
        forms = ", ".join(sorted(FORMATS)) + ", and .gz of the text ones"
        fix = f"set {settings.format()}; the endings that tell it are {forms}"
        raise refuse(str(path), what if not found else f"{found} {what}", fix)
    if path.is_dir() and found != "parquet":
        what = f"is a folder, and {found} is not read in parts"
        raise refuse(str(path), what, "write one file, or parts in parquet")
    return found


def read_source(
    connection: duckdb.DuckDBPyConnection,
    file: InputTable,
    *,
    rank_base: int = 1,
    may_be_empty: bool = False,
    progress: Progress = no_progress,
) -> Source:
    """Read a file into the table `source` of the connection.

    rank_base    : the first rank, for lists whose order says it
    may_be_empty : is a table without rows read like any other?
    progress     : wraps the batches to show how far the reading is

    Raises
    ------
    InputError : the file cannot be read as a table; values are not judged here
    """
    source, query = _opened(connection, file, rank_base)
    with _with_progress(source, progress) as batches:
        if batches is not None:
            connection.register("raw", batches)
        connection.execute(f"CREATE OR REPLACE TABLE source AS {query}")
    connection.execute("DROP VIEW raw")  # the next table may be of another format
    _refuse_unreadable(connection, file, source.raw)
    (rows,) = connection.execute("SELECT count(*) FROM source").fetchall()[0]
    if rows == 0 and not may_be_empty:
        setting = file.settings.input("empty_lists", "keep")
        keep = f", or set {setting}" if "score" in file.optional else ""
        raise refuse(file.name, "has no rows", f"check what wrote it{keep}")
    ids = [name for name in source.ids if source.is_text(name)]
    rewritten = strip_float_suffix(
        connection,
        ids,
        source.unsure,
        lambda name: f"{file.name}: column {file.original_name(name)!r}",
    )
    found = replace(
        source, rows=rows, rewritten=rewritten, notes=tuple(each.note for each in rewritten)
    )
    return _of_requests(connection, found) if file.unit else found


def _of_requests(connection: duckdb.DuckDBPyConnection, source: Source) -> Source:
    """Replace `user` by the ids of sessions; NULL if one of their columns is."""
    first, kinds = f"{UNIT_PREFIX}0", source.raw.kinds
    columns = [f"user AS {first}", f"{unit_sql(['user', *source.file.unit])} AS user"]
    columns += [f"user_wrong AS {first}_wrong"] if "user" in source.unsure else []
    gone = ", ".join(["user", *(["user_wrong"] if "user" in source.unsure else [])])
    query = f"SELECT {', '.join(columns)}, * EXCLUDE ({gone}) FROM source"
    connection.execute(f"CREATE OR REPLACE TABLE source AS {query}")
    source.raw.kinds = {**kinds, first: kinds["user"], "user": "text"}

    def named(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(first if name == "user" else name for name in columns)

    file = replace(
        source.file, columns={first: source.file.original_name("user"), **source.file.columns}
    )
    return replace(source, file=file, columns=named(source.columns), unsure=named(source.unsure))


@contextmanager
def stream_source(
    connection: duckdb.DuckDBPyConnection, file: InputTable, *, rank_base: int, progress: Progress
) -> Iterator[tuple[Source, Iterator[pa.RecordBatch]]]:
    """Stream the rows of a file in order, with typed columns, without storing them.

    What could not be read of it stands in `Source.raw` when they have gone by, and `rows` is not counted.

    Raises
    ------
    InputError : the file cannot be read as a table
    """
    with connection.cursor() as reading:  # others may ask while its result is open
        source, query = _opened(reading, file, rank_base)
        with _with_progress(source, progress) as batches:
            if batches is not None and source.unsure:
                reading.register("raw", batches)
            if batches is None or source.unsure:
                batches = reading.sql(query).to_arrow_reader(_AT_A_TIME)
            yield source, iter(batches)


def _with_progress(source: Source, progress: Progress) -> AbstractContextManager[Batches]:
    raw = source.raw
    return progress(
        None if raw.has_line_errors else raw.batches, f"read {source.file.name}", raw.rows
    )


def _opened(
    connection: duckdb.DuckDBPyConnection, file: InputTable, rank_base: int
) -> tuple[Source, str]:
    """Open a file; return it with a query of its typed columns from the relation `raw`."""
    raw = _read(connection, file, rank_base)
    columns = tuple(name for name in file.fields if name in raw.kinds)
    unsure = tuple(name for name in columns if not is_sure(name, raw.kinds[name]))
    selected = ", ".join(
        ["position", *(value(name, raw.kinds[name]) for name in columns)]
        + [wrong(name, raw.kinds[name]) for name in unsure]
        + (["line_error"] if raw.has_line_errors else [])
    )
    return Source(file, raw, columns, unsure, rows=0), f"SELECT {selected} FROM raw"


def check_path(path: AnyPath, settings: SettingNames) -> None:
    """Refuse a path where there is nothing, or an empty file."""
    if isinstance(path, RemotePath):
        _refuse_missing_object(path, settings)
        return
    try:
        is_there = path.exists()
    except OSError as error:
        what = f"cannot be a path: {error.strerror}"
        raise refuse(f"{str(path)[:60]}…", what, settings.path) from None
    if not is_there:
        if is_address(str(path)):
            stores = ", ".join(f"{scheme}://" for scheme in STORES)
            fix = f"download it first, and {settings.path}; {stores} are read where they are"
            raise refuse(redact_address(str(path)), "is an address, not a local file", fix)
        folder = path.parent
        names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
        what = "there is no such file" + (f"; near it: {', '.join(near)}" if near else "")
        above = Path("..") / path
        if not path.is_absolute() and above.exists():
            raise refuse(
                str(path), "there is no such file below this folder", f"write {str(above)!r}"
            )
        raise refuse(str(path), what, settings.path)
    refuse_special(path, f"write its content to a file, and {settings.path}")
    if path.is_file() and path.stat().st_size == 0:
        raise refuse(str(path), "is empty (0 bytes)", "check what wrote the file")


def _refuse_missing_object(path: RemotePath, settings: SettingNames) -> None:
    if not path.exists():
        if not path.bucket_exists():
            raise InputError([missing_bucket(str(path))])
        fix = f"{settings.path}, and check the key"
        raise refuse(str(path), "there is no such object, nor a folder of that name", fix)
    if path.is_file() and path.size == 0:
        raise refuse(str(path), "is empty (0 bytes)", "check what wrote the file")


def _read(connection: duckdb.DuckDBPyConnection, file: InputTable, rank_base: int) -> RawRows:
    if file.format in DELIMITERS:
        return read_delimited(file, rank_base)
    if file.format == "jsonl":
        return read_jsonl(connection, file, rank_base)
    if file.format == "trec":
        return read_trec(connection, file)
    return read_columnar(file, rank_base)


def _refuse_unreadable(
    connection: duckdb.DuckDBPyConnection, file: InputTable, raw: RawRows
) -> None:
    problems = list(raw.problems)
    if raw.has_line_errors:
        query = "SELECT position, line_error FROM source WHERE line_error IS NOT NULL ORDER BY ALL LIMIT $n"
        problems += [
            Problem(f"{file.name}: {raw.row_name(position)}", wrong, "fix the line, or remove it")
            for position, wrong in connection.execute(query, {"n": MAX_PROBLEMS}).fetchall()
        ]
    raise_problems(problems)
