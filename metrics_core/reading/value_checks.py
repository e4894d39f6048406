"""What no value of a list may be, as a table: one row a check, tried in one pass over the file."""

from dataclasses import replace

import duckdb

from metrics_core.problems import Problem
from metrics_core.reading.readable import EXACT, HOLDS, is_beyond
from metrics_core.reading.source import Source
from metrics_core.row_checks import RowCheck, wrong_rows

SPACE = "' ' || chr(9) || chr(160)"  # blank, tab, no-break space
# Control characters, spaces of other widths, marks without a width.
UNSEEN = (
    *range(1, 33), *range(127, 161), 0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x1680, 0x17B4, 0x17B5, *range(0x180B, 0x1810),
    *range(0x2000, 0x2010), *range(0x2028, 0x2030), *range(0x205F, 0x2070), 0x2800, 0x3000, 0x3164, 0xFEFF, 0xFFA0,
)  # fmt: skip
NOTHING = " || ".join(f"chr({code})" for code in UNSEEN)
DROP = "drop the row where the table is made"


def list_checks(source: Source, *, nan_last: bool = False) -> list[RowCheck]:
    """The checks that the columns of these lists need."""
    checks = [check for column in ("user", "item") for check in id_checks(source, column)]
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
    bare, seen = f"trim({column}, {SPACE})", f"trim({column}, {NOTHING})"
    breaks = " OR ".join(f"contains({column}, chr({code}))" for code in (0, 10, 13))
    strip = "strip the ids where the table is made"
    space = f"({bare} <> {column} AND {seen} <> '')"
    checks = [
        RowCheck(column, f"{seen} = ''", "is blank", f"give every row an id, or {DROP}"),
        RowCheck(column, space, "{value!r} begins or ends with a space", strip, shows=column),
        RowCheck(
            column,
            f"{seen} <> {column} AND {seen} <> '' AND NOT {space} AND NOT ({breaks})",
            "{value!r} begins or ends with a character that is not seen",
            strip,
            shows=column,
        ),
        RowCheck(
            column,
            breaks,
            "{value!r} holds a line break or a NUL",
            "check the quotes of the file, or mend the id",
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
    if column != "rank" and not may_be_nan:
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
    return [Problem(f"{source.file.name}: {where}", what, fix) for where, what, fix in found]


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
    beyond = is_beyond(column)
    subtract = "subtract what all have in common, or divide them, so that they stay below 2^53"
    lost = _unreadable(column, "lies beyond 2^53, where numbers lose digits", subtract)
    other = _unreadable(column, what, fix)
    return [
        replace(lost, wrong=f"{lost.wrong} AND {beyond}"),
        replace(other, wrong=f"{other.wrong} AND NOT {beyond}"),
    ]


def _unreadable(column: str, what: str, fix: str) -> RowCheck:
    return RowCheck(
        column, f"{column}_wrong IS NOT NULL", f"{{value!r}} {what}", fix, shows=f"{column}_wrong"
    )
