"""SQL that parses values: NULL for an invalid value, whose text goes to `<column>_invalid`.

Ids that pandas has written as floats (`1.0`) are rewritten.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import Kind, role_of
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import Problem, format_count, raise_problems

MAX_EXACT = 2**53  # a float64 holds every integer up to it
MAX_EXACT_OF_KIND: Mapping[Kind, int] = {"half": 2**11, "single": 2**24, "float": MAX_EXACT}

_IS_INTEGER = "floor({x}) = {x} AND abs({x}) < {limit}"
_ID: Mapping[Kind, str] = {
    "text": "{x}",
    "integer": "{x}",
    "unsigned": "TRY_CAST({x} AS BIGINT)",
    "json": """CASE WHEN starts_with({x}, '"') THEN json_extract_string({x}, '$')
        WHEN regexp_full_match({x}, '-?[0-9]+') THEN CAST({x} AS VARCHAR) END""",
}
_DOUBLE = "TRY_CAST({x} AS DOUBLE)"
_WHITESPACE = """' "' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"""
_STRIPPED = f"trim(CAST({{x}} AS VARCHAR), {_WHITESPACE})"
_DIGITS = "[+-]?[0-9]+[.]?[0-9]*"  # no power of ten: floats write large numbers with one
# Beyond 2^53 two integers would become one float. A decimal point is allowed if the float is exact.
_IS_INEXACT = f"""(regexp_full_match({_STRIPPED}, '{_DIGITS}') AND NOT coalesce(CASE
    WHEN NOT contains({{x}}, '.')
        THEN TRY_CAST({_STRIPPED} AS HUGEINT) BETWEEN -{MAX_EXACT} AND {MAX_EXACT}
    ELSE rtrim(split_part({_STRIPPED}, '.', 2), '0') = ''
        AND TRY_CAST(split_part({_STRIPPED}, '.', 1) AS HUGEINT)
            = TRY_CAST({_DOUBLE} AS HUGEINT) END, FALSE))"""
_INTEGER = f"CASE WHEN {{x}} BETWEEN -{MAX_EXACT} AND {MAX_EXACT} THEN CAST({{x}} AS DOUBLE) END"
_NUMBER: Mapping[Kind, str] = {  # DuckDB would read 1_000 as 1000 and true as 1
    "text": f"CASE WHEN NOT contains({{x}}, '_') THEN {_DOUBLE} END",
    "json": f"CASE WHEN {{x}} NOT IN ('true', 'false') THEN {_DOUBLE} END",
    "integer": _INTEGER,
    "unsigned": f"CASE WHEN {{x}} <= {MAX_EXACT} THEN CAST({{x}} AS DOUBLE) END",
    "float": "{x}",
}
_RANK: Mapping[Kind, str] = {"integer": "{x}", "unsigned": "TRY_CAST({x} AS BIGINT)"}
# Seconds since 1970, or the number unchanged: times are only compared with each other.
_TEXT_TIME = "epoch(TRY_CAST({x} AS TIMESTAMP))"
_JSON_TIME = "epoch(TRY_CAST(json_extract_string({x}, '$') AS TIMESTAMP))"
_TIME: Mapping[Kind, str] = {
    "text": f"coalesce(CASE WHEN NOT contains({{x}}, '_') THEN {_DOUBLE} END, {_TEXT_TIME})",
    "json": f"coalesce({_DOUBLE}, {_JSON_TIME})",
}
_ALWAYS_VALID = {
    ("id", "text"),
    ("id", "integer"),
    ("rank", "integer"),
    ("number", "float"),
    ("time", "float"),
    ("time", "integer"),
}


def is_always_valid(name: str, kind: Kind) -> bool:
    """True if every value of this kind can be read as the column `name`."""
    return (role_of(name), kind) in _ALWAYS_VALID


def value_sql(name: str, kind: Kind) -> str:
    """Return SQL of the value of the column `name`."""
    return f"{_parsed(name, kind)} AS {name}"


def invalid_sql(name: str, kind: Kind) -> str:
    """Return SQL of the text of a value that cannot be read, or not without loss."""
    text, parsed = f"CAST({name} AS VARCHAR)", _parsed(name, kind)
    if role_of(name) == "number" and kind in ("text", "json"):
        # Most rows need only the number; the other conditions are for large and invalid values.
        conditions = (
            f"WHEN abs({parsed}) < {MAX_EXACT} OR trim({text}) = '' THEN NULL "
            f"WHEN {parsed} IS NULL OR {_IS_INEXACT.format(x=name)} "
            f"OR (isinf({parsed}) AND regexp_matches({text}, '[0-9]'))"
        )
    else:
        conditions = f"WHEN {parsed} IS NULL AND trim({text}) <> ''"
    return f"CASE {conditions} THEN {text} END AS {name}_invalid"


def is_beyond_exact(name: str) -> str:
    """Return SQL that is true if an invalid text is a number beyond 2^53."""
    text = _STRIPPED.format(x=f"{name}_invalid")
    digits = f"regexp_full_match({text}, '{_DIGITS}')"
    return f"coalesce({digits} AND abs(TRY_CAST({text} AS DOUBLE)) >= {MAX_EXACT}, FALSE)"


def _parsed(name: str, kind: Kind) -> str:
    role = role_of(name)
    if role == "id":
        if kind not in MAX_EXACT_OF_KIND:
            return _ID[kind].format(x=name)
        is_integer = _IS_INTEGER.format(x=name, limit=MAX_EXACT_OF_KIND[kind])
        return f"CASE WHEN {is_integer} THEN CAST({name} AS BIGINT) END"
    if role == "time":
        return _TIME.get(kind, _DOUBLE).format(x=name)
    number = _NUMBER[kind].format(x=name)
    if role == "rank":
        is_integer = _IS_INTEGER.format(x=f"({number})", limit=MAX_EXACT)
        rank = f"CASE WHEN {is_integer} THEN CAST({number} AS BIGINT) END"
        return _RANK[kind].format(x=name) if kind in _RANK else rank
    if name == "grade" and kind in ("text", "json"):
        text = f"lower({_STRIPPED.format(x=name)})"
        return f"coalesce({number}, CASE {text} WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END)"
    return number


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
