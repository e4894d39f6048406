"""Read a table of any format into the table `source`, with typed columns."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.columnar_files import open_parts
from concord.metrics_core.data.formats import DELIMITERS, UNNAMED
from concord.metrics_core.data.input_table import (
    ROW_STRIDE,
    UNIT_PREFIX,
    InputTable,
    RawRows,
    role_of,
)
from concord.metrics_core.data.json_files import read_json
from concord.metrics_core.data.jsonl import first_object, read_jsonl
from concord.metrics_core.data.parse_values import (
    RewrittenIds,
    invalid_sql,
    is_always_valid,
    strip_float_suffix,
    value_sql,
)
from concord.metrics_core.data.read_columnar import read_columnar, unite_schemas
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.row_filter import RowFilter, where_texts
from concord.metrics_core.data.text_files import (
    filled_lines,
    read_delimited,
    read_header,
    read_trec,
)
from concord.metrics_core.data.units import unit_sql
from concord.metrics_core.errors import MAX_PROBLEMS, Problem, raise_problems, refuse

BATCH_ROWS = 131_072
MAX_SHOWN = 10  # values of a column in a message
Batches: TypeAlias = pa.RecordBatchReader | None
Progress = Callable[[Batches, str, int | None], AbstractContextManager[Batches]]


def no_progress(batches: Batches, _: str, __: int | None) -> AbstractContextManager[Batches]:
    return nullcontext(batches)


@dataclass(frozen=True)
class Source:
    """The table `source` as it was read.

    Attributes
    ----------
    columns : tuple of str
        Our names of the columns that were read.
    parsed : tuple of str
        Columns that were parsed; each has a column `<column>_invalid` with the text of values that
        could not be parsed.
    rewritten : tuple of RewrittenIds
        Ids that were read differently from how they are written.
    notes : tuple of str
        Text about all that was read differently.
    """

    file: InputTable
    raw: RawRows
    columns: tuple[str, ...]
    parsed: tuple[str, ...]
    rows: int
    rewritten: tuple[RewrittenIds, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns of ids; for sessions the columns that identify them, instead of the user."""
        return tuple(name for name in self.columns if role_of(name) == "id")

    @property
    def judged(self) -> tuple[str, ...]:
        """Columns that identify a judgement."""
        return ("user", "item", *(["subtopic"] if "subtopic" in self.columns else []))

    def is_text(self, column: str) -> bool:
        return self.raw.kinds[column] in ("text", "json")


def read_source(
    connection: DuckDBPyConnection,
    file: InputTable,
    *,
    rank_base: int = 1,
    may_be_empty: bool = False,
    progress: Progress = no_progress,
) -> Source:
    """Read a table into the table `source` of the connection.

    Parameters
    ----------
    rank_base : int
        The first rank, for lists whose order is the rank.
    may_be_empty : bool
        True if the table may have no rows.
    progress : callable
        Wraps the batches to show the progress of reading.

    Raises
    ------
    InputError
        If the file cannot be read as a table; values are checked later.
    """
    source, query = _open_source(connection, file, rank_base)
    with _with_progress(source, progress) as batches:
        if batches is not None:
            connection.register("raw", batches)
        connection.execute(f"CREATE OR REPLACE TABLE source AS {query}")
    connection.execute("DROP VIEW raw")  # the next table may be of another format
    if source.raw.marks_empty:
        deleted = f"DELETE FROM source WHERE position % {ROW_STRIDE} = 0"
        (source.raw.n_empty,) = only_row(connection, deleted)
    raise_problems([*source.raw.problems, *_line_problems(connection, source)])
    if file.where and not source.raw.filter.n_kept:
        _refuse_empty_filter(source)
    (rows,) = only_row(connection, "SELECT count(*) FROM source")
    if rows == 0 and not may_be_empty:
        setting = file.settings.name("input", "empty_lists", value="keep")
        keep = f", or set {setting}" if "score" in file.optional else ""
        raise refuse(file.name, "has no rows", f"check what wrote it{keep}")
    text_ids = [name for name in source.ids if source.is_text(name)]
    rewritten = strip_float_suffix(connection, text_ids, source.parsed, source.file.location)
    notes = (*source.notes, *(ids.note for ids in rewritten))
    source = replace(source, rows=rows, rewritten=rewritten, notes=notes)
    return _combine_unit(connection, source) if file.unit else source


def _refuse_empty_filter(source: Source) -> None:
    """Raise an InputError that names the values of the columns: a filter keeps no row."""
    file, seen = source.file, source.raw.filter.values
    setting = file.settings.of_table("where")
    texts = where_texts(file.where)
    absent = [(name, text) for name, text in texts if text not in seen[name]]
    raise_problems(
        Problem(
            f"{file.name}: column {name!r}",
            f"no row has {file.where[name]!r}",
            f"set {setting} to one of its values: {some_values(seen[name])}",
        )
        for name, _ in absent
    )
    values = " and ".join(f"{value!r} in {name!r}" for name, value in file.where.items())
    raise refuse(file.name, f"no row has {values}", f"change {setting}")


def some_values(values: Collection[str | None]) -> str:
    """Return the first values of a column, and how many there are if there are more."""
    texts = sorted(text for text in values if text)
    more = f", … ({len(texts):,} in all)" if len(texts) > MAX_SHOWN else ""
    return f"{', '.join(texts[:MAX_SHOWN])}{more}"


def column_values(file: InputTable, name: str) -> list[str]:
    """Return the distinct values of a column as `value_text`, sorted; "" for a missing value.

    Raises
    ------
    InputError
        If the column is missing or has no single values, or the table is damaged.
    """
    table = replace(file, required=(), optional=(), columns={}, unit={}, where={name: ""})
    if file.format in UNNAMED or name not in column_names(file):
        names = ", ".join(column_names(file))
        fix = f"name another column in {file.settings.of_table('where')}"
        raise refuse(f"{file.name}: column {name!r}", f"is missing; the columns are: {names}", fix)
    seen = RowFilter(table.where)
    if file.format == "jsonl":
        with closing(filled_lines(file.path)) as lines:
            for line in lines:
                seen.keeps_line(line)
    else:
        raw = read_delimited(table) if file.format in DELIMITERS else read_columnar(table, 1)
        seen = raw.filter
        for _ in raw.batches or ():
            pass
        raise_problems(raw.problems)
    return sorted({text or "" for text in seen.values[name]})


def _combine_unit(connection: DuckDBPyConnection, source: Source) -> Source:
    """Replace `user` by the ids of sessions; NULL if one of their columns is."""
    first, kinds = f"{UNIT_PREFIX}0", source.raw.kinds
    columns = [f"user AS {first}", f"{unit_sql(['user', *source.file.unit])} AS user"]
    columns += [f"user_invalid AS {first}_invalid"] if "user" in source.parsed else []
    replaced = ", ".join(["user", *(["user_invalid"] if "user" in source.parsed else [])])
    query = f"SELECT {', '.join(columns)}, * EXCLUDE ({replaced}) FROM source"
    connection.execute(f"CREATE OR REPLACE TABLE source AS {query}")
    source.raw.kinds = {**kinds, first: kinds["user"], "user": "text"}

    def rename_user(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(first if name == "user" else name for name in columns)

    original_names = {first: source.file.original_name("user"), **source.file.columns}
    return replace(
        source,
        file=replace(source.file, columns=original_names),
        columns=rename_user(source.columns),
        parsed=rename_user(source.parsed),
    )


@contextmanager
def stream_source(
    connection: DuckDBPyConnection,
    file: InputTable,
    *,
    rank_base: int,
    progress: Progress,
    order: Callable[[Source], str] | None = None,
) -> Iterator[tuple[Source, Iterator[pa.RecordBatch]]]:
    """Stream the rows of a table with typed columns.

    The rows keep their order, and are not stored, or DuckDB sorts them as the SQL that `order`
    returns. `Source.raw` has all problems only after the last row; `rows` is not counted.

    Raises
    ------
    InputError
        If the file cannot be read as a table.
    """
    with connection.cursor() as cursor:  # its result stays open while others run queries
        source, query = _open_source(cursor, file, rank_base)
        with _with_progress(source, progress) as batches:
            if order is not None:
                query = f"{query} ORDER BY {order(source)}"
            if batches is None or source.parsed or order is not None:
                if batches is not None:
                    cursor.register("raw", batches)
                batches = cursor.sql(query).to_arrow_reader(BATCH_ROWS)
            yield source, iter(batches)


def _with_progress(source: Source, progress: Progress) -> AbstractContextManager[Batches]:
    raw = source.raw
    batches = None if raw.has_line_errors else raw.batches
    return progress(batches, f"read {source.file.name}", raw.rows)


def _open_source(
    connection: DuckDBPyConnection, file: InputTable, rank_base: int
) -> tuple[Source, str]:
    """Open a file; return it with a query of its typed columns from the relation `raw`."""
    raw = _read_raw(connection, file, rank_base)
    file = replace(file, columns={**file.columns, **raw.aliases})
    columns = tuple(name for name in file.fields if name in raw.kinds)
    parsed = tuple(name for name in columns if not is_always_valid(name, raw.kinds[name]))
    selected = ", ".join(
        ["position", *(value_sql(name, raw.kinds[name]) for name in columns)]
        + [invalid_sql(name, raw.kinds[name]) for name in parsed]
        + (["line_error"] if raw.has_line_errors else [])
    )
    names = ", ".join(f"{name}: {column}" for name, column in raw.aliases.items())
    notes = (f"columns recognised by their names: `{names}`",) if names else ()
    return Source(file, raw, columns, parsed, 0, notes=notes), f"SELECT {selected} FROM raw"


def _read_raw(connection: DuckDBPyConnection, file: InputTable, rank_base: int) -> RawRows:
    if file.format in ("parquet", "arrow", "held"):
        return read_columnar(file, rank_base)
    if file.format == "jsonl":
        return read_jsonl(connection, file, rank_base)
    if file.format == "json":
        return read_json(file, rank_base)
    if file.format == "trec":
        return read_trec(connection, file)
    return read_delimited(file)  # KeyError for a format without a delimiter


def column_names(file: InputTable) -> list[str]:
    """Return the columns of a table; none for a format without names."""
    if file.format in UNNAMED:
        return []
    if file.format in DELIMITERS:
        return read_header(file, DELIMITERS[file.format])
    if file.format == "jsonl":
        return [*first_object(file)]
    return unite_schemas(open_parts(file)).names


def _line_problems(connection: DuckDBPyConnection, source: Source) -> list[Problem]:
    if not source.raw.has_line_errors:
        return []
    query = """SELECT position, line_error FROM source
               WHERE line_error IS NOT NULL ORDER BY ALL LIMIT $n"""
    lines = connection.execute(query, {"n": MAX_PROBLEMS}).fetchall()
    return [
        Problem(
            f"{source.file.name}: {source.raw.row_name(position)}",
            message,
            "fix the line, or remove it",
        )
        for position, message in lines
    ]
