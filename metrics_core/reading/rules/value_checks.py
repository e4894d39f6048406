"""What no value of a list may be, as a table: one row a check, tried in one pass over the file."""

from dataclasses import replace

import duckdb

from concord.metrics_core.checking.problems import Problem
from concord.metrics_core.checking.row_checks import RowCheck, wrong_rows
from concord.metrics_core.reading.columns.readable import EXACT, HOLDS, is_beyond
from concord.metrics_core.reading.formats.source import Source

SPACE = "' ' || chr(9) || chr(160)"  # blank, tab, no-break space
# Control characters, spaces of other widths, marks without a width.
UNSEEN = (
    r"\x{1}-\x{20}\x{7F}-\x{A0}\x{AD}\x{34F}\x{61C}\x{115F}\x{1160}\x{1680}\x{17B4}\x{17B5}\x{180B}-\x{180F}"
    r"\x{2000}-\x{200F}\x{2028}-\x{202F}\x{205F}-\x{206F}\x{2800}\x{3000}\x{3164}\x{FEFF}\x{FFA0}"
)
DROP = "drop the row where the table is made"


def list_checks(source: Source, *, nan_last: bool = False) -> list[RowCheck]:
    """The checks that the columns of these lists need."""
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if "rank" in source.columns:
        checks += number_checks(source, "rank", "is no whole number")
    if "score" in source.columns:
        checks += number_checks(source, "score", "is no number", may_be_nan=nan_last)
    return checks


def id_checks(source: Source, column: str) -> list[RowCheck]:
    checks = [_missing(source, column, f"give every row an id, or {DROP}")]
    if column in source.unsure:
        highest = HOLDS.get(source.raw.kinds[column], EXACT).bit_length() - 1
        fix = f"write ids as text, or as integers (floats hold them up to 2^{highest})"
        checks.append(_unreadable(column, "is neither text nor a 64-bit integer", fix))
    return [*checks, *(_text_checks(column) if source.is_text(column) else ())]


def _text_checks(column: str) -> list[RowCheck]:
    bare = f"trim({column}, {SPACE})"
    blank = f"regexp_full_match({column}, '[{UNSEEN}]*')"
    breaks = " OR ".join(f"contains({column}, chr({code}))" for code in (0, 10, 13))
    strip = "strip the ids where the table is made"
    space = f"({bare} <> {column} AND NOT {blank})"
    unseen = f"regexp_matches({column}, '^[{UNSEEN}]|[{UNSEEN}]$')"
    checks = [
        RowCheck(column, blank, "is blank", f"give every row an id, or {DROP}"),
        RowCheck(column, space, "{value!r} begins or ends with a space", strip, shows=column),
        RowCheck(
            column,
            f"{unseen} AND NOT {blank} AND NOT {space} AND NOT ({breaks})",
            "{value!r} begins or ends with a character that is not seen",
            strip,
            shows=column,
        ),
        RowCheck(
            column,
            breaks,
            "{value!r} holds a line break or a NUL",
            "check the quotes, or mend the id",
            shows=column,
        ),
    ]
    return [replace(check, per_value=True) for check in checks]


def number_checks(
    source: Source, column: str, what: str, *, may_be_nan: bool = False
) -> list[RowCheck]:
    checks = [_missing(source, column, f"give every row a {column}, or {DROP}")]
    if column in source.unsure:
        fix = f"write plain numbers (decimal point), or name another column: {source.file.settings.all_columns()}"
        checks += _unreadable_numbers(column, what, fix)
    if column == "rank":
        beyond = f"rank NOT BETWEEN -{EXACT} AND {EXACT}"
        what = "{value!r} is no place in a list"
        checks.append(RowCheck(column, beyond, what, "number the items of a list", shows=column))
    elif not may_be_nan:
        setting = source.file.settings.input("nan_score", "last")
        also = f", or set {setting}" if column == "score" else ""
        fix = f"mend the {column}, or {DROP}{also}"
        checks.append(RowCheck(column, f"isnan({column})", "is NaN", fix))
    return checks


def value_problems(
    connection: duckdb.DuckDBPyConnection, source: Source, checks: list[RowCheck]
) -> list[Problem]:
    names = {column: source.file.theirs(column) for column in source.columns}
    found = wrong_rows(connection, "source", checks, place=source.raw.place, names=names)
    return [replace(each, where=f"{source.file.name}: {each.where}") for each in found]


def sound_rows(checks: list[RowCheck]) -> str:
    """The rows of users none of whose values is refused: what else is wrong with them is no consequence."""
    wrong = " OR ".join(f"({check.wrong})" for check in checks)
    users = f"SELECT user FROM source WHERE user IS NOT NULL AND ({wrong})"
    return f"(SELECT * FROM source WHERE user IS NOT NULL AND user NOT IN ({users}))"


def _missing(source: Source, column: str, fix: str) -> RowCheck:
    readable = f" AND {column}_wrong IS NULL" if column in source.unsure else ""
    return RowCheck(column, f"{column} IS NULL{readable}", "is missing", fix)


def _unreadable_numbers(column: str, what: str, fix: str) -> list[RowCheck]:
    """Numbers that lose digits, and what is no number."""
    absent, beyond = f"{column}_wrong IS NULL", is_beyond(column)
    subtract = "subtract what all have in common, or divide them, so that they stay below 2^53"
    lost = _unreadable(column, "lies beyond 2^53, where numbers lose digits", subtract)
    other = _unreadable(column, what, fix)
    return [
        replace(lost, wrong=f"CASE WHEN {absent} THEN FALSE ELSE {beyond} END"),
        replace(other, wrong=f"CASE WHEN {absent} THEN FALSE ELSE NOT {beyond} END"),
    ]


def _unreadable(column: str, what: str, fix: str) -> RowCheck:
    return RowCheck(
        column, f"{column}_wrong IS NOT NULL", f"{{value!r}} {what}", fix, shows=f"{column}_wrong"
    )
