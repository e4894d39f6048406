"""Checks of the values of lists and ground truth: SQL that no row may meet. One pass over the rows for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.parse_values import EXACT, HOLDS, is_beyond
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.source import Source
from concord.metrics_core.errors import AffectedRows, Problem, problem_with_counts

SPACE = "' ' || chr(9) || chr(160)"  # blank, tab, no-break space
# Control characters, spaces of other widths, marks without a width.
INVISIBLE = (
    r"\x{1}-\x{20}\x{7F}-\x{A0}\x{AD}\x{34F}\x{61C}\x{115F}\x{1160}\x{1680}\x{17B4}\x{17B5}\x{180B}-\x{180F}"
    r"\x{2000}-\x{200F}\x{2028}-\x{202F}\x{205F}-\x{206F}\x{2800}\x{3000}\x{3164}\x{FEFF}\x{FFA0}"
)
DROP = "drop the row where the table is made"
JUDGEMENT_REPEATS = (4,)  # the rule of `AffectedRows`


@dataclass(frozen=True)
class RowCheck:
    """Check of single rows.

    Attributes
    ----------
    wrong : str
        SQL that no row may meet.
    problem : str
        May show the value as `{value}`.
    suffix : str
        Suffix of the column with the value to show, such as `_wrong`.
    per_value : bool
        True if `wrong` depends on nothing but the column, and costs more than finding the distinct values.
    """

    column: str
    wrong: str
    problem: str
    fix: str
    suffix: str = ""
    per_value: bool = False


def list_checks(source: Source, *, nan_last: bool = False) -> list[RowCheck]:
    """Return the checks for the columns of these lists."""
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if "rank" in source.columns:
        checks += number_checks(source, "rank", "is not a whole number")
    if "score" in source.columns:
        checks += number_checks(source, "score", "is not a number", may_be_nan=nan_last)
    return checks


def id_checks(source: Source, column: str) -> list[RowCheck]:
    """Return the checks of a column of ids."""
    checks = [_missing(source, column, f"give every row an id, or {DROP}")]
    if column in source.unsure:
        highest = HOLDS.get(source.raw.kinds[column], EXACT).bit_length() - 1
        fix = f"write ids as text, or as integers (floats hold them up to 2^{highest})"
        problem = "{value!r} is neither text nor a 64-bit integer"
        checks.append(RowCheck(column, f"{column}_wrong IS NOT NULL", problem, fix, "_wrong"))
    if not source.is_text(column):
        return checks
    blank = f"regexp_full_match({column}, '[{INVISIBLE}]*')"
    breaks = " OR ".join(f"contains({column}, chr({code}))" for code in (0, 10, 13))
    strip = "strip the ids where the table is made"
    space = f"(trim({column}, {SPACE}) <> {column} AND NOT {blank})"
    invisible = f"regexp_matches({column}, '^[{INVISIBLE}]|[{INVISIBLE}]$')"
    invisible = f"{invisible} AND NOT {blank} AND NOT {space} AND NOT ({breaks})"
    rules = (
        (blank, "is blank", f"give every row an id, or {DROP}"),
        (space, "{value!r} begins or ends with a space", strip),
        (invisible, "{value!r} begins or ends with an invisible character", strip),
        (breaks, "{value!r} holds a line break or a NUL", "check the quotes, or correct the id"),
    )
    return [*checks, *(RowCheck(column, *rule, per_value=True) for rule in rules)]


def number_checks(
    source: Source, column: str, problem: str, *, may_be_nan: bool = False
) -> list[RowCheck]:
    """Return the checks of a column of numbers; `problem` is that of a value that is no number."""
    settings = source.file.settings
    checks = [_missing(source, column, f"give every row a {column}, or {DROP}")]
    if column in source.unsure:
        readable, beyond = f"{column}_wrong IS NULL", is_beyond(column)
        subtract = "subtract what all have in common, or divide them, so that they stay below 2^53"
        fix = f"write plain numbers (decimal point), or name another column: {settings.all_columns}"
        checks += [
            RowCheck(
                column, f"CASE WHEN {readable} THEN FALSE ELSE {wrong} END", text, fix, "_wrong"
            )
            for wrong, text, fix in (
                (beyond, "{value!r} is beyond 2^53, where numbers lose digits", subtract),
                (f"NOT {beyond}", f"{{value!r}} {problem}", fix),
            )
        ]
    if column == "rank":
        beyond = f"rank NOT BETWEEN -{EXACT} AND {EXACT}"
        fix = "number the items of a list"
        checks.append(RowCheck(column, beyond, "{value!r} is not a valid rank", fix))
    elif not may_be_nan:
        policy = f", or set {settings.input('nan_score', 'last')}" if column == "score" else ""
        fix = f"correct the {column}, or {DROP}{policy}"
        checks.append(RowCheck(column, f"isnan({column})", "is NaN", fix))
    return checks


def _missing(source: Source, column: str, fix: str) -> RowCheck:
    readable = f" AND {column}_wrong IS NULL" if column in source.unsure else ""
    return RowCheck(column, f"{column} IS NULL{readable}", "is missing", fix)


def truth_checks(source: Source, policies: Policies) -> list[RowCheck]:
    """Return the checks for the columns of ground truth."""
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if "grade" in source.columns:
        fix = "write grades as numbers from 0; what is not relevant has grade 0, or no row"
        high = "{value:g} is beyond 2^53, where sums of grades lose digits"
        checks += [
            *number_checks(source, "grade", "is not a number"),
            RowCheck("grade", "isinf(grade)", "is infinite", fix),
            RowCheck("grade", f"isfinite(grade) AND grade > {EXACT}", high, "write lower grades"),
        ]
        if policies.negative_grade == "error":
            fix += f"; or set {source.file.settings.input('negative_grade')} to zero or unjudged"
            checks.append(RowCheck("grade", "grade < 0", "{value} is negative", fix))
    checks += time_checks(source)
    if "propensity" in source.columns:
        wrong = "propensity <= 0 OR propensity > 1 OR isinf(propensity)"
        fix = "write how probably the row came to be known, above 0 and up to 1"
        checks += number_checks(source, "propensity", "is not a number")
        checks.append(RowCheck("propensity", wrong, "is {value:g}", fix))
    return checks


def time_checks(source: Source) -> list[RowCheck]:
    """Return the checks of the column `time`, if there is one."""
    if "time" not in source.columns:
        return []
    return number_checks(source, "time", "is neither a number nor a time such as 2026-05-30 08:10")


def value_problems(
    connection: DuckDBPyConnection, source: Source, checks: Sequence[RowCheck]
) -> list[Problem]:
    """Return one problem for each check that fails, at the first row of the table `source` that fails it."""
    numbered = _relevant(connection, checks)
    if not numbered:
        return []
    totals = ", ".join(
        f"count(*) FILTER (WHERE {check.wrong}), min(position) FILTER (WHERE {check.wrong})"
        for check in numbered.values()
    )
    counts = only_row(connection, f"SELECT {totals} FROM source")
    problems = []
    for (number, check), count, position in zip(
        numbered.items(), counts[::2], counts[1::2], strict=True
    ):
        if count:
            query = f"SELECT user, item, {check.column}{check.suffix} FROM source WHERE position = $position"
            user, item, value = only_row(connection, query, {"position": position})
            row, name = source.raw.row_name(position), source.file.original_name(check.column)
            where = f"{source.file.name}: {row}, column {name!r}{ids_text(user, item)}"
            message = check.problem.format(value=value)
            affected = AffectedRows((0, number), (row,), rows=count, users=None, message=message)
            problems.append(problem_with_counts(where, check.fix, affected))
    return problems


def _relevant(connection: DuckDBPyConnection, checks: Sequence[RowCheck]) -> dict[int, RowCheck]:
    """Return the checks by number, without those that no distinct value fails."""
    relevant = {n: check for n, check in enumerate(checks) if not check.per_value}
    for column in sorted({check.column for check in checks if check.per_value}):
        tried = {n: c for n, c in enumerate(checks) if c.per_value and c.column == column}
        fails = ", ".join(f"bool_or({check.wrong})" for check in tried.values())
        values = f"SELECT DISTINCT {column} FROM source"
        occurs = only_row(connection, f"SELECT {fails} FROM ({values})")
        relevant |= {n: tried[n] for n, is_wrong in zip(tried, occurs, strict=True) if is_wrong}
    return dict(sorted(relevant.items()))


def ids_text(user: Any, item: Any) -> str:
    """Return ` (user 'u17', item 'i9')`, without missing ids."""
    ids = {"user": user, "item": item}
    known = [f"{name} {value!r}" for name, value in ids.items() if value is not None]
    return f" ({', '.join(known)})" if known else ""


def valid_rows(checks: Sequence[RowCheck]) -> str:
    """Return SQL of the rows of users without an invalid value: other problems of these rows are not consequences."""
    wrong = " OR ".join(f"({check.wrong})" for check in checks)
    users = f"SELECT user FROM source WHERE user IS NOT NULL AND ({wrong})"
    return f"(SELECT * FROM source WHERE user IS NOT NULL AND user NOT IN ({users}))"


def repeated_judgements(connection: DuckDBPyConnection, source: Source, rows: str) -> list[Problem]:
    """Return the problem of items that are judged more than once for a user."""
    count, ids, names = repeated_rows(connection, source, rows, ("user", "item"))
    if not count:
        return []
    message = "the item is judged more than once for the user"
    affected = AffectedRows(JUDGEMENT_REPEATS, names, rows=count, users=None, message=message)
    setting = source.file.settings.input("repeated_grade")
    fix = f"keep one row for each user and item, or set {setting} to first or highest"
    where = f"{source.file.name}: {' and '.join(names)}{ids_text(*ids)}"
    return [problem_with_counts(where, fix, affected)]


def repeated_rows(
    connection: DuckDBPyConnection, source: Source, rows: str, columns: tuple[str, ...]
) -> tuple[int, tuple[Any, ...], tuple[str, ...]]:
    """Return the number of later rows with the same ids, the ids of the first, and the names of two of its rows."""
    ids = ", ".join(columns)
    query = f"""
        SELECT coalesce(sum(later), 0)::BIGINT, arg_min(({ids}, places), places) FROM (
            SELECT {ids}, count(*) - 1 AS later, list_sort(list(position))[:2] AS places
            FROM {rows} GROUP BY {ids} HAVING count(*) > 1)"""
    count, first = only_row(connection, query)
    *found, positions = first or [()]
    return count, tuple(found), tuple(map(source.raw.row_name, positions))
