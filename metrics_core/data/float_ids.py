"""Ids such as `1.0`, as floats are written: `.0` is stripped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import Problem, format_count, raise_problems

# At most 15 digits: with more, the float may be another number than the id.
_FLOAT_ID = "(0|-?[1-9][0-9]{0,14})[.]0"
# Ids that occur with `.0` and without in one column.
_AMBIGUOUS = """
WITH ids AS (SELECT DISTINCT {text} AS id FROM source),
     floats AS (SELECT id, id[:-3] AS short FROM ids WHERE {is_float_id})
SELECT count(*), arg_min(floats.id, (length(floats.id), floats.id))
FROM floats JOIN ids ON ids.id = floats.short
"""


@dataclass(frozen=True)
class RewrittenIds:
    """Number of rows of a column whose ids were read without `.0`, and the first of these ids."""

    column: str
    rows: int
    example: str

    @property
    def note(self) -> str:
        """Text for the notes of a table."""
        rows, short = format_count(self.rows, "row"), self.example[:-2]
        return f"{rows}: {self.column} ids such as {self.example!r} are read as {short!r}"


def is_float_id_sql(text: str) -> str:
    """Return SQL that is true if a text is an integer written as a float."""
    return f"(ends_with({text}, '.0') AND regexp_full_match({text}, '{_FLOAT_ID}'))"


def strip_float_suffix(
    connection: DuckDBPyConnection,
    columns: Sequence[str],
    parsed: Sequence[str],
    location: Callable[[str], str],
) -> tuple[RewrittenIds, ...]:
    """Strip `.0` from ids in text columns of the table `source`; return the changes.

    Parameters
    ----------
    parsed : sequence of str
        Columns with a column `<column>_invalid`.
    location : callable
        Returns the location of a problem of a column.

    Raises
    ------
    InputError
        If a column has an id with `.0` and without, so that two ids would become one.
    """
    if not columns:
        return ()
    texts = {
        name: f"coalesce({name}, {name}_invalid)" if name in parsed else name for name in columns
    }
    counts = ", ".join(
        f"count(*) FILTER (WHERE {is_float_id_sql(text)})" for text in texts.values()
    )
    n_rows = dict(zip(texts, only_row(connection, f"SELECT {counts} FROM source"), strict=True))
    changed = {name: texts[name] for name, rows in n_rows.items() if rows}
    raise_problems(
        problem
        for name, text in changed.items()
        for problem in _ambiguous_ids(connection, text, location(name))
    )
    return tuple(
        _rewrite(connection, name, text, n_rows[name], is_parsed=name in parsed)
        for name, text in changed.items()
    )


def _ambiguous_ids(connection: DuckDBPyConnection, text: str, location: str) -> Iterator[Problem]:
    query = _AMBIGUOUS.format(text=text, is_float_id=is_float_id_sql("id"))
    count, example = only_row(connection, query)
    if count:
        others = f" (and {format_count(count - 1, 'id')} more in both forms)" if count > 1 else ""
        message = (
            f"contains both {example!r} and {example[:-2]!r}{others}; "
            "`.0` is stripped from ids, so they would become one id"
        )
        fix = "write each id in one form; if they are two ids, rename one of them in all tables"
        yield Problem(location, message, fix)


def _rewrite(
    connection: DuckDBPyConnection, column: str, text: str, rows: int, *, is_parsed: bool
) -> RewrittenIds:
    query = f"SELECT arg_min({text}, position) FROM source WHERE {is_float_id_sql(text)}"
    (first,) = only_row(connection, query)
    reset = f", {column}_invalid = NULL" if is_parsed else ""
    connection.execute(
        f"UPDATE source SET {column} = {text}[:-3]{reset} WHERE {is_float_id_sql(text)}"
    )
    return RewrittenIds(column, rows, first)
