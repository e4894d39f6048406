"""Whole numbers that a float wrote as ids: `1.0` is read as 1. Each id is read alone, so that all tables read it alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import InputError, Problem, in_words
from concord.metrics_core.checking.row_checks import only_row

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
    """Rows of a column whose ids were read without `.0`, and the first of these ids as it was written."""

    column: str
    rows: int
    example: str

    @property
    def note(self) -> str:
        """The change in words."""
        rows, read = in_words(self.rows, "row"), self.example[:-2]
        return (
            f"{rows}: {self.column} {self.example!r} and the like are read as {read!r} and the like"
        )


def settle_whole_ids(
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
        f"count(*) FILTER (WHERE {written_by_floats(text)})" for text in texts.values()
    )
    rows_of = dict(zip(texts, only_row(connection, f"SELECT {counts} FROM source"), strict=True))
    changed = {name: texts[name] for name, rows in rows_of.items() if rows}
    problems = [
        problem
        for name, text in changed.items()
        for problem in _written_both_ways(connection, text, where(name))
    ]
    if problems:
        raise InputError(problems)
    return tuple(
        _settled(connection, name, text, rows_of[name], unsure=name in unsure)
        for name, text in changed.items()
    )


def written_by_floats(given: str) -> str:
    """Is a text a whole number as a float writes it? In SQL."""
    return f"(ends_with({given}, '.0') AND regexp_full_match({given}, '{_WHOLE}'))"


def _written_both_ways(connection: DuckDBPyConnection, text: str, where: str) -> Iterator[Problem]:
    query = _BOTH.format(text=text, is_whole=written_by_floats("id"))
    count, example = only_row(connection, query)
    if count:
        more = f", and {in_words(count - 1, 'id')} more in both forms" if count > 1 else ""
        yield Problem(
            where,
            f"holds both {example!r} and {example[:-2]!r}{more}; whole numbers are read without `.0`, "
            "so these would become one id",
            "write each id in one form; where they are two ids, rename one of them in all tables",
        )


def _settled(
    connection: DuckDBPyConnection, column: str, text: str, rows: int, *, unsure: bool
) -> RewrittenIds:
    query = f"SELECT arg_min({text}, position) FROM source WHERE {written_by_floats(text)}"
    (first,) = only_row(connection, query)
    forget = f", {column}_wrong = NULL" if unsure else ""
    change = f"UPDATE source SET {column} = {text}[:-3]{forget} WHERE {written_by_floats(text)}"
    connection.execute(change)
    return RewrittenIds(column, rows, first)
