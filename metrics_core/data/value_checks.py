"""Checks of the values of recommendations and ground truth, in one pass of SQL for all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import PPI_READS, PREDICTED
from concord.metrics_core.data.parse_values import MAX_EXACT, MAX_EXACT_OF_KIND, is_beyond_exact
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import AffectedRows, Problem, problem_with_counts

_SPACES = "' ' || chr(9) || chr(160)"  # blank, tab, no-break space
# Control characters, spaces of other widths, marks without a width.
_INVISIBLE = (
    r"\x{1}-\x{20}\x{7F}-\x{A0}\x{AD}\x{34F}\x{61C}\x{115F}\x{1160}\x{1680}\x{17B4}\x{17B5}"
    r"\x{180B}-\x{180F}\x{2000}-\x{200F}\x{2028}-\x{202F}\x{205F}-\x{206F}\x{2800}\x{3000}"
    r"\x{3164}\x{FEFF}\x{FFA0}"
)
DROP_ROW = "drop the row where the table is made"
DUPLICATE_JUDGEMENT = (4,)  # a rule of `AffectedRows`


@dataclass(frozen=True)
class RowCheck:
    """Check of single rows.

    Attributes
    ----------
    condition : str
        SQL that is true for an invalid row.
    message : str
        What is wrong; may contain the value as `{value}`.
    suffix : str
        Suffix of the column with the value to show, such as `_invalid`.
    per_value : bool
        True if the condition depends only on the column and is slow: then it is checked once per
        distinct value.
    """

    column: str
    condition: str
    message: str
    fix: str
    suffix: str = ""
    per_value: bool = False


def list_checks(source: Source, *, nan_last: bool = False) -> list[RowCheck]:
    """Return the checks for the columns of recommendations."""
    checks = [check for column in source.ids for check in id_checks(source, column)]
    if "rank" in source.columns:
        checks += number_checks(source, "rank", "is not a whole number")
    if "score" in source.columns:
        checks += number_checks(source, "score", "is not a number", may_be_nan=nan_last)
    return checks


def id_checks(source: Source, column: str) -> list[RowCheck]:
    """Return the checks of a column of ids."""
    checks = [_missing_value_check(source, column, f"give every row an id, or {DROP_ROW}")]
    if column in source.parsed:
        limit = MAX_EXACT_OF_KIND.get(source.raw.kinds[column], MAX_EXACT).bit_length() - 1
        fix = f"write ids as text or integers (floats represent integers only up to 2^{limit})"
        message = "{value!r} is neither text nor a 64-bit integer"
        checks.append(RowCheck(column, f"{column}_invalid IS NOT NULL", message, fix, "_invalid"))
    if not source.is_text(column):
        return checks
    is_blank = f"regexp_full_match({column}, '[{_INVISIBLE}]*')"
    has_breaks = " OR ".join(f"contains({column}, chr({code}))" for code in (0, 10, 13))
    has_spaces = f"(trim({column}, {_SPACES}) <> {column} AND NOT {is_blank})"
    has_invisible = (
        f"regexp_matches({column}, '^[{_INVISIBLE}]|[{_INVISIBLE}]$') "
        f"AND NOT {is_blank} AND NOT {has_spaces} AND NOT ({has_breaks})"
    )
    strip = "strip the ids where the table is made"
    rules = (
        (is_blank, "is blank", f"give every row an id, or {DROP_ROW}"),
        (has_spaces, "{value!r} starts or ends with a space", strip),
        (has_invisible, "{value!r} starts or ends with an invisible character", strip),
        (has_breaks, "{value!r} contains a line break or NUL", "check the quotes, or fix the id"),
    )
    return [*checks, *(RowCheck(column, *rule, per_value=True) for rule in rules)]


def number_checks(
    source: Source, column: str, message: str, *, may_be_nan: bool = False
) -> list[RowCheck]:
    """Return the checks of a column of numbers, first that of missing values.

    `message` is for a value that is not a number.
    """
    settings = source.file.settings
    noun = "predicted grade" if column == PREDICTED else column
    fix = f"give every row a {noun}, or {DROP_ROW}"
    if column == "grade":
        fix += f"; {PPI_READS}"
    checks = [_missing_value_check(source, column, fix)]
    if column in source.parsed:
        is_valid, is_beyond = f"{column}_invalid IS NULL", is_beyond_exact(column)
        rescale = "subtract a constant from all values, or divide them, to stay below 2^53"
        fix = "write plain numbers (decimal point)"
        if not source.file.is_additional:
            fix += f", or name another column: {settings.of_table('columns')}"
        checks += [
            RowCheck(
                column,
                f"CASE WHEN {is_valid} THEN FALSE ELSE {condition} END",
                f"{{value!r}} {text}",
                fix,
                "_invalid",
            )
            for condition, text, fix in (
                (is_beyond, "is beyond 2^53, where numbers lose digits", rescale),
                (f"NOT {is_beyond}", message, fix),
            )
        ]
    if column == "rank":
        is_beyond = f"rank NOT BETWEEN -{MAX_EXACT} AND {MAX_EXACT}"
        fix = "number the items of a list"
        checks.append(RowCheck(column, is_beyond, "{value!r} is not a valid rank", fix))
    elif not may_be_nan:
        policy = (
            f", or set {settings.name('input', 'nan_score', value='last')}"
            if column == "score"
            else ""
        )
        fix = f"correct the {column}, or {DROP_ROW}{policy}"
        checks.append(RowCheck(column, f"isnan({column})", "is NaN", fix))
    return checks


def _missing_value_check(source: Source, column: str, fix: str) -> RowCheck:
    is_valid = f" AND {column}_invalid IS NULL" if column in source.parsed else ""
    return RowCheck(column, f"{column} IS NULL{is_valid}", "is missing", fix)


def truth_checks(source: Source, policies: Policies) -> list[RowCheck]:
    """Return the checks for the columns of ground truth."""
    checks = [check for column in source.ids for check in id_checks(source, column)]
    for column in ("grade", PREDICTED):
        if column in source.columns:
            checks += _grade_checks(source, column, policies)
    checks += time_checks(source)
    if "propensity" in source.columns:
        is_invalid = "propensity <= 0 OR propensity > 1 OR isinf(propensity)"
        fix = "write the probability that the row was observed, above 0 and at most 1"
        checks += number_checks(source, "propensity", "is not a number")
        checks.append(RowCheck("propensity", is_invalid, "is {value:g}", fix))
    return checks


def _grade_checks(source: Source, column: str, policies: Policies) -> Iterator[RowCheck]:
    """Yield the checks of grades; with those of a judge, a grade of a person may be missing."""
    fix = "write grades as numbers from 0; an item that is not relevant has grade 0, or no row"
    is_high = f"isfinite({column}) AND {column} > {MAX_EXACT}"
    high = "{value:g} is beyond 2^53, where sums of grades lose digits"
    may_be_missing = column == "grade" and PREDICTED in source.columns
    yield from number_checks(source, column, "is not a number")[may_be_missing:]
    yield RowCheck(column, f"isinf({column})", "is infinite", fix)
    yield RowCheck(column, is_high, high, "write lower grades")
    if column == "grade":
        policy = source.file.settings.name("input", "negative_grade")
        fix += f"; or set {policy} to zero, unjudged or pooled"
    if column == PREDICTED or policies.negative_grade == "error":
        yield RowCheck(column, f"{column} < 0", "{value} is negative", fix)


def time_checks(source: Source) -> list[RowCheck]:
    """Return the checks of the column `time`, if there is one."""
    if "time" not in source.columns:
        return []
    return number_checks(source, "time", "is neither a number nor a time such as 2026-05-30 08:10")


def value_problems(
    connection: DuckDBPyConnection, source: Source, checks: Sequence[RowCheck]
) -> list[Problem]:
    """Return a problem for each check that fails, located at the first invalid row of `source`."""
    numbered = _relevant_checks(connection, checks)
    totals = ", ".join(
        f"count(*) FILTER (WHERE {check.condition}), min(position) FILTER (WHERE {check.condition})"
        for check in numbered.values()
    )
    totals_row = only_row(connection, f"SELECT {totals} FROM source")
    counts, positions = totals_row[::2], totals_row[1::2]
    problems = []
    for (number, check), count, position in zip(numbered.items(), counts, positions, strict=True):
        if count:
            query = f"""SELECT user, item, {check.column}{check.suffix}
                        FROM source WHERE position = $position"""
            user, item, value = only_row(connection, query, {"position": position})
            row, name = source.raw.row_name(position), source.file.original_name(check.column)
            location = f"{source.file.name}: {row}, column {name!r}{ids_text(user, item)}"
            message = check.message.format(value=value)
            affected = AffectedRows((0, number), (row,), rows=count, users=None, message=message)
            problems.append(problem_with_counts(location, check.fix, affected))
    return problems


def _relevant_checks(
    connection: DuckDBPyConnection, checks: Sequence[RowCheck]
) -> dict[int, RowCheck]:
    """Return the checks by number, without per-value checks that every distinct value passes."""
    relevant = {n: check for n, check in enumerate(checks) if not check.per_value}
    for column in sorted({check.column for check in checks if check.per_value}):
        per_value = {n: c for n, c in enumerate(checks) if c.per_value and c.column == column}
        conditions = ", ".join(f"bool_or({check.condition})" for check in per_value.values())
        values = f"SELECT DISTINCT {column} FROM source"
        has_failed = only_row(connection, f"SELECT {conditions} FROM ({values})")
        failed = zip(per_value.items(), has_failed, strict=True)
        relevant |= {n: check for (n, check), is_failed in failed if is_failed}
    return dict(sorted(relevant.items()))


def ids_text(user: Any, item: Any) -> str:
    """Return ` (user 'u17', item 'i9')`, without missing ids."""
    ids = {"user": user, "item": item}
    known = [f"{name} {value!r}" for name, value in ids.items() if value is not None]
    return f" ({', '.join(known)})" if known else ""


def valid_rows(checks: Sequence[RowCheck]) -> str:
    """Return SQL of the rows of users without an invalid value.

    An invalid value may cause other problems of its user, which need not be reported.
    """
    is_invalid = " OR ".join(f"({check.condition})" for check in checks)
    users = f"SELECT user FROM source WHERE user IS NOT NULL AND ({is_invalid})"
    return f"(SELECT * FROM source WHERE user IS NOT NULL AND user NOT IN ({users}))"


def duplicate_judgements(
    connection: DuckDBPyConnection, source: Source, rows: str
) -> list[Problem]:
    """Return the problem of items that have more than one judgement for a user."""
    count, ids, names = duplicate_rows(connection, source, rows, source.judged)
    if not count:
        return []
    message, keys = "the item is judged more than once for the user", "user and item"
    if "subtopic" in source.columns:
        message, keys = f"{message} and subtopic {ids[-1]!r}", "user, item and subtopic"
    affected = AffectedRows(DUPLICATE_JUDGEMENT, names, rows=count, users=None, message=message)
    setting = source.file.settings.name("input", "repeated_grade")
    fix = f"keep one row for each {keys}, or set {setting} to first or highest"
    location = f"{source.file.name}: {' and '.join(names)}{ids_text(*ids[:2])}"
    return [problem_with_counts(location, fix, affected)]


def duplicate_rows(
    connection: DuckDBPyConnection, source: Source, rows: str, columns: tuple[str, ...]
) -> tuple[int, tuple[Any, ...], tuple[str, ...]]:
    """Return the number of later rows with the same ids, the first ids and names of two rows."""
    ids = ", ".join(columns)
    query = f"""
        SELECT coalesce(sum(n_later), 0)::BIGINT, arg_min(({ids}, positions), positions) FROM (
            SELECT {ids}, count(*) - 1 AS n_later, list_sort(list(position))[:2] AS positions
            FROM {rows} GROUP BY {ids} HAVING count(*) > 1)"""
    count, first = only_row(connection, query)
    *first_ids, positions = first or [()]
    return count, tuple(first_ids), tuple(map(source.raw.row_name, positions))
