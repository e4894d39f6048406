"""Detect whether users have several lists, and which columns separate them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.ranking import DUPLICATE_ITEM, DUPLICATE_RANK
from concord.metrics_core.data.read_source import Source, read_source
from concord.metrics_core.data.relations import only_row, separate_schema
from concord.metrics_core.data.units import unit_problems
from concord.metrics_core.data.value_checks import DUPLICATE_JUDGEMENT
from concord.metrics_core.errors import InputError, Problem

_DUPLICATE_RULES = (DUPLICATE_RANK, DUPLICATE_ITEM, DUPLICATE_JUDGEMENT)
_MAX_CANDIDATES = 5  # columns; the table is read again for each
_SESSION_NAME = re.compile(
    "session|visit|request|query|search|basket|cart|order|trip|impression|slate|step", re.IGNORECASE
)
_TIME_NAME = re.compile(r"time|stamp|created|(^|_)(date|day|ts)($|_)", re.IGNORECASE)


def possible_units(
    connection: DuckDBPyConnection, file: InputTable, columns: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the sets of columns that make each list or ground truth valid.

    The empty set comes first if they are valid already. A list is valid if its ranks have no gap
    and no duplicate or, without ranks, if no item is duplicate. Ground truth must have no duplicate
    item; a column of times is not a candidate, as it separates nearly all rows.

    Parameters
    ----------
    columns : sequence of str
        Columns of the table that are not read; those with the name of a session come first.
    """
    allowed = [name for name in columns if not [*unit_problems(["user", name])]]
    if "rank" not in file.optional:
        allowed = [name for name in allowed if not _TIME_NAME.search(name)]
    sessions = [name for name in allowed if _SESSION_NAME.search(name)]
    others = [name for name in allowed if name not in sessions]
    candidates = [*sessions, *others][:_MAX_CANDIDATES]
    units = [(), *((name,) for name in candidates), *combinations(sessions[:3], 2)]
    yield from (unit for unit in units if _is_valid_unit(connection, file, unit))


def are_session_names(columns: Sequence[str]) -> bool:
    """True if all columns have the name of a session or similar."""
    return all(map(_SESSION_NAME.search, columns))


def unit_hint(connection: DuckDBPyConnection, source: Source) -> str:
    """Return how to name the column that separates the lists of a user; empty if there is none."""
    if source.file.unit:
        return ""
    units = possible_units(connection, source.file, source.raw.unread_columns)
    unit = next(filter(None, units), None)
    if unit is None:
        return ""
    names = " and ".join(map(repr, unit))
    verb = "identifies" if len(unit) == 1 else "identify"
    other = "the ground truth" if "rank" in source.file.optional else "the recommendations"
    settings = source.file.settings
    columns = settings.name("data", "unit", value=["user", *unit])
    mean = settings.name("conventions", "unit_mean", value="requests")
    return f"if {names} {verb} the requests of a user, also in {other}, set {columns} and {mean}"


def with_unit_hint(
    connection: DuckDBPyConnection, source: Source, problems: Sequence[Problem]
) -> list[Problem]:
    """Return the problems; the fix of duplicates starts with the hint, if there is one."""
    duplicates = [p for p in problems if p.affected and p.affected.rule in _DUPLICATE_RULES]
    if not duplicates or not (hint := unit_hint(connection, source)):
        return list(problems)
    return [
        replace(problem, fix=f"{hint}; else {problem.fix}") if problem in duplicates else problem
        for problem in problems
    ]


def _is_valid_unit(connection: DuckDBPyConnection, file: InputTable, unit: tuple[str, ...]) -> bool:
    """True if no id is missing and all lists are valid.

    A column that makes each row a list of its own must have the name of a session.
    """
    is_invalid, start = "count(DISTINCT item) <> count(*)", "0"
    try:
        with separate_schema(connection) as other:
            source = read_source(other, file.with_unit(["user", *unit]))
            missing = " OR ".join(
                f"{name} IS NULL OR trim(CAST({name} AS VARCHAR)) = ''" for name in source.ids
            )
            if only_row(other, f"SELECT count(*) FILTER ({missing}) FROM source")[0]:
                return False
            if "rank" in source.columns:
                is_invalid = (
                    "count(DISTINCT rank) <> count(*) OR max(rank) - min(rank) + 1 <> count(*)"
                )
                start = "min(rank)"
            longest, any_invalid, n_starts = only_row(
                other,
                f"""SELECT max(n), bool_or(is_invalid), count(DISTINCT start) FROM (
                    SELECT count(*) AS n, {is_invalid} AS is_invalid, {start} AS start
                    FROM source GROUP BY user)""",
            )
    except InputError:  # a column without ids
        return False
    return not any_invalid and n_starts == 1 and (are_session_names(unit) or longest > 1)
