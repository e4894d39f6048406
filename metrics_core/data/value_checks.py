"""Checks of the values of lists, ground truth and item features."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import duckdb
import polars as pl

from concord.metrics_core.data.parse_values import EXACT, HOLDS, is_beyond
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.row_checks import RowCheck, ids_text, only_row, row_problems
from concord.metrics_core.data.source import Source
from concord.metrics_core.errors import Affected, Problem, affecting, in_words

SPACE = "' ' || chr(9) || chr(160)"  # blank, tab, no-break space
# Control characters, spaces of other widths, marks without a width.
UNSEEN = (
    r"\x{1}-\x{20}\x{7F}-\x{A0}\x{AD}\x{34F}\x{61C}\x{115F}\x{1160}\x{1680}\x{17B4}\x{17B5}\x{180B}-\x{180F}"
    r"\x{2000}-\x{200F}\x{2028}-\x{202F}\x{205F}-\x{206F}\x{2800}\x{3000}\x{3164}\x{FEFF}\x{FFA0}"
)
DROP = "drop the row where the table is made"


def list_checks(source: Source, *, nan_last: bool = False) -> list[RowCheck]:
    """Return the checks for the columns of these lists."""
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if "rank" in source.columns:
        checks += number_checks(source, "rank", "is not a whole number")
    if "score" in source.columns:
        checks += number_checks(source, "score", "is not a number", may_be_nan=nan_last)
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
            "{value!r} begins or ends with an invisible character",
            strip,
            shows=column,
        ),
        RowCheck(
            column,
            breaks,
            "{value!r} holds a line break or a NUL",
            "check the quotes, or correct the id",
            shows=column,
        ),
    ]
    return [replace(check, per_value=True) for check in checks]


def number_checks(
    source: Source, column: str, what: str, *, may_be_nan: bool = False
) -> list[RowCheck]:
    checks = [_missing(source, column, f"give every row a {column}, or {DROP}")]
    if column in source.unsure:
        fix = f"write plain numbers (decimal point), or name another column: {source.file.settings.all_columns}"
        checks += _unreadable_numbers(column, what, fix)
    if column == "rank":
        beyond = f"rank NOT BETWEEN -{EXACT} AND {EXACT}"
        what = "{value!r} is not a valid rank"
        checks.append(RowCheck(column, beyond, what, "number the items of a list", shows=column))
    elif not may_be_nan:
        setting = source.file.settings.input("nan_score", "last")
        also = f", or set {setting}" if column == "score" else ""
        fix = f"correct the {column}, or {DROP}{also}"
        checks.append(RowCheck(column, f"isnan({column})", "is NaN", fix))
    return checks


def value_problems(
    connection: duckdb.DuckDBPyConnection, source: Source, checks: list[RowCheck]
) -> list[Problem]:
    names = {column: source.file.theirs(column) for column in source.columns}
    found = row_problems(connection, "source", checks, place=source.raw.place, names=names)
    return [replace(each, location=f"{source.file.name}: {each.where}") for each in found]


def sound_rows(checks: list[RowCheck]) -> str:
    """Return SQL of the rows of users without an invalid value: other problems of these rows are not consequences."""
    wrong = " OR ".join(f"({check.wrong})" for check in checks)
    users = f"SELECT user FROM source WHERE user IS NOT NULL AND ({wrong})"
    return f"(SELECT * FROM source WHERE user IS NOT NULL AND user NOT IN ({users}))"


def _missing(source: Source, column: str, fix: str) -> RowCheck:
    readable = f" AND {column}_wrong IS NULL" if column in source.unsure else ""
    return RowCheck(column, f"{column} IS NULL{readable}", "is missing", fix)


def _unreadable_numbers(column: str, what: str, fix: str) -> list[RowCheck]:
    """Return checks for numbers that lose digits and for values that are not numbers."""
    absent, beyond = f"{column}_wrong IS NULL", is_beyond(column)
    subtract = "subtract what all have in common, or divide them, so that they stay below 2^53"
    lost = _unreadable(column, "is beyond 2^53, where numbers lose digits", subtract)
    other = _unreadable(column, what, fix)
    return [
        replace(lost, wrong=f"CASE WHEN {absent} THEN FALSE ELSE {beyond} END"),
        replace(other, wrong=f"CASE WHEN {absent} THEN FALSE ELSE NOT {beyond} END"),
    ]


def _unreadable(column: str, what: str, fix: str) -> RowCheck:
    return RowCheck(
        column, f"{column}_wrong IS NOT NULL", f"{{value!r}} {what}", fix, shows=f"{column}_wrong"
    )


JUDGEMENT_REPEATS = (4,)  # the rule of `Affected`


def truth_checks(source: Source, policies: Policies) -> list[RowCheck]:
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if "grade" in source.columns:
        fix = "write grades as numbers from 0; what is not relevant has grade 0, or no row"
        checks += number_checks(source, "grade", "is not a number")
        checks.append(RowCheck("grade", "isinf(grade)", "is infinite", fix))
        high = f"isfinite(grade) AND grade > {EXACT}"
        what = "{value:g} is beyond 2^53, where sums of grades lose digits"
        checks.append(RowCheck("grade", high, what, "write lower grades", shows="grade"))
        if policies.negative_grade == "error":
            fix += f"; or set {source.file.settings.input('negative_grade')} to zero or unjudged"
            checks.append(RowCheck("grade", "grade < 0", "{value} is negative", fix, shows="grade"))
    return [*checks, *time_checks(source), *_propensity_checks(source)]


def _propensity_checks(source: Source) -> list[RowCheck]:
    if "propensity" not in source.columns:
        return []
    fix = "write how probably the row came to be known, above 0 and up to 1"
    beyond = "propensity <= 0 OR propensity > 1 OR isinf(propensity)"
    return [
        *number_checks(source, "propensity", "is not a number"),
        RowCheck("propensity", beyond, "is {value:g}", fix, shows="propensity"),
    ]


def time_checks(source: Source) -> list[RowCheck]:
    if "time" not in source.columns:
        return []
    return number_checks(source, "time", "is neither a number nor a time such as 2026-05-30 08:10")


def repeated_judgements(
    connection: duckdb.DuckDBPyConnection, source: Source, rows: str
) -> list[Problem]:
    groups = f"""
        SELECT user, item, count(*) - 1 AS later, list_sort(list(position))[:2] AS places
        FROM {rows} GROUP BY user, item HAVING count(*) > 1"""
    (count,) = only_row(connection, f"SELECT coalesce(sum(later), 0)::BIGINT FROM ({groups})")
    if not count:
        return []
    user, item, places = only_row(
        connection, f"SELECT user, item, places FROM ({groups}) ORDER BY places LIMIT 1"
    )
    stand = [source.raw.place(position) for position in places]
    said = "the item is judged more than once for the user"
    affected = Affected(JUDGEMENT_REPEATS, tuple(stand), rows=count, users=None, said=said)
    setting = source.file.settings.input("repeated_grade")
    fix = f"keep one row for each user and item, or set {setting} to first or highest"
    where = f"{source.file.name}: {' and '.join(stand)}{ids_text(user, item)}"
    return [affecting(where, fix, affected)]


_CATEGORIES = "write a list of text, or text with `|` between the categories; leave it empty for an item without"
_TITLE = "write titles as text"
_GROUP = "write one text for each item; leave it empty for an item without a group"
_COARSER = "write a coarser column"
MOST_GROUPS = 100
_NUMBER = "write a finite number for every item that the truth names"
_VECTOR = "write a list of finite numbers of one length for every item; leave it empty for an item without"


def feature_problems(source: Source, frame: pl.DataFrame) -> list[Problem]:
    """Return one problem for each check that fails, at the first item that fails it."""
    problems = []
    if "categories" in frame.columns:
        problems += _problems(
            source, frame, "categories", _kind(frame, "categories", text=True), _CATEGORIES
        )
    if "vector" in frame.columns:
        problems += _problems(source, frame, "vector", _kind(frame, "vector", text=False), _VECTOR)
    if "title" in frame.columns and frame.schema["title"].is_nested():
        where = f"{source.file.name}: column {source.file.theirs('title')!r}"
        problems.append(Problem(where, f"is of type {frame.schema['title']}", _TITLE))
    if "group" in source.file.columns:
        problems += group_problems(source, frame)
    return problems


def group_problems(source: Source, frame: pl.DataFrame) -> Iterator[Problem]:
    """Yield the problems of the groups of items."""
    where = f"{source.file.name}: column {source.file.theirs('group')!r}"
    if frame.schema["group"].is_nested():
        yield Problem(where, f"is of type {frame.schema['group']}", _GROUP)
    elif (n := frame["group"].n_unique()) > MOST_GROUPS + 1:  # one of them may be empty
        yield Problem(where, f"has {n:,} different values, and groups are at most {MOST_GROUPS}", _COARSER)  # fmt: skip
    elif frame["group"].null_count() == len(frame):
        yield Problem(where, "is empty for every item", _GROUP)


def as_number(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Return a column as float64; text that is not a number becomes NaN."""
    if frame.schema[name] == pl.String:
        text = pl.col(name).str.strip_chars()
        return (
            text.cast(pl.Float64, strict=False)
            .fill_null(pl.when(text.is_not_null()).then(float("nan")))
            .alias(name)
        )
    return pl.col(name).cast(pl.Float64) if frame.schema[name].is_numeric() else pl.col(name)


def number_problems(source: Source, frame: pl.DataFrame, names: Sequence[str]) -> Iterator[Problem]:
    """Yield the problems of columns that metrics read as numbers; missing numbers are allowed."""
    for name in names:
        where = f"{source.file.name}: column {source.file.theirs(name)!r}"
        if frame.schema[name] != pl.Float64:
            yield Problem(where, f"is of type {frame.schema[name]}", _NUMBER)
            continue
        wrong = frame.filter(pl.col(name).is_not_null() & ~pl.col(name).is_finite())
        yield from _first(where, wrong, "is not a finite number", _NUMBER)


def _kind(frame: pl.DataFrame, name: str, *, text: bool) -> bool:
    """True if the column holds lists of the right type."""
    kind = frame.schema[name]
    if not isinstance(kind, pl.List | pl.Array):
        return kind == pl.Null
    inner = kind.inner
    return inner == pl.Null or (inner == pl.String if text else inner.is_numeric())


def _problems(
    source: Source, frame: pl.DataFrame, name: str, is_kind: bool, fix: str
) -> list[Problem]:
    where = f"{source.file.name}: column {source.file.theirs(name)!r}"
    if not is_kind:
        return [Problem(where, f"is of type {frame.schema[name]}", fix)]
    if frame.schema[name] == pl.Null:
        return []
    lists = frame.select("item", pl.col(name).alias("held"))
    if isinstance(frame.schema[name], pl.Array):
        lists = lists.with_columns(pl.col("held").arr.to_list())
    lists = lists.filter(pl.col("held").list.len() > 0)
    held = lists.explode("held").cast({"held": pl.String if name == "categories" else pl.Float64})
    if name == "categories":
        blank = pl.col("held").is_null() | (pl.col("held").str.strip_chars() == "")
        return _first(where, held.filter(blank), "a category is blank", fix)
    lengths = lists.select("item", pl.col("held").list.len().alias("n"))
    wrong = pl.col("held").is_null() | ~pl.col("held").is_finite()
    return [
        *_first(where, held.filter(wrong), "a number is missing or not finite", fix),
        *_first(
            where,
            lengths.filter(pl.col("n") != pl.col("n").first()),
            f"vectors have different lengths: {lengths['n'].unique().sort().to_list()[:5]}",
            fix,
        ),
    ]


def _first(where: str, bad: pl.DataFrame, what: str, fix: str) -> list[Problem]:
    if bad.is_empty():
        return []
    items = in_words(bad["item"].n_unique(), "item")
    return [Problem(f"{where} (item {bad['item'][0]!r})", f"{what}; {items} affected", fix)]
