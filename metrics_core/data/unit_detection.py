"""Detect whether users have several lists, and which columns separate them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import UNIT_PREFIX, InputTable
from concord.metrics_core.data.ranking import DUPLICATE_ITEM, DUPLICATE_RANK
from concord.metrics_core.data.read_source import (
    MAX_VALUES,
    Source,
    column_names,
    first_values,
    read_source,
)
from concord.metrics_core.data.relations import only_row, separate_schema
from concord.metrics_core.data.units import unit_problems
from concord.metrics_core.data.value_checks import DUPLICATE_JUDGEMENT
from concord.metrics_core.errors import InputError, Problem

_DUPLICATE_RULES = (DUPLICATE_RANK, DUPLICATE_ITEM, DUPLICATE_JUDGEMENT)
_MAX_CANDIDATES = 5  # columns; the table is read again for each
_SESSION_NAME = re.compile(
    "session|visit|request|query|search|basket|cart|order|trip|impression|slate|step", re.IGNORECASE
)
_LIST_NAME = re.compile(
    "algo|model|method|system|recommender|variant|approach|pipeline|stage|phase|^(run|seed|tag)$",
    re.IGNORECASE,
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
    others.sort(key=lambda name: not _LIST_NAME.search(name))
    candidates = [*sessions, *others][:_MAX_CANDIDATES]
    units = [(), *((name,) for name in candidates), *combinations(sessions[:3], 2)]
    yield from (unit for unit in units if _is_valid_unit(connection, file, unit))


def are_session_names(columns: Sequence[str]) -> bool:
    """True if all columns have the name of a session or similar."""
    return all(map(_SESSION_NAME.search, columns))


@dataclass(frozen=True)
class ListColumns:
    """Columns that separate lists which were read as one.

    Attributes
    ----------
    names : tuple of str
        The columns.
    values : list of str
        The values of a single column, if they are few.
    """

    names: tuple[str, ...]
    values: list[str]

    def hint(self, file: InputTable, *, are_in_truth: bool | None = None) -> str:
        """Return what to do: read the rows of one value, or evaluate requests.

        Parameters
        ----------
        file : InputTable
            The table.
        are_in_truth : bool, optional
            Whether the ground truth has the columns; if None, their names decide.
        """
        is_unit, settings = are_in_truth, file.settings
        if is_unit is None and are_session_names(self.names):
            is_unit = True
        elif is_unit is None and _LIST_NAME.search(self.names[0]):
            is_unit = False
        hints = []
        if self.values and not is_unit:
            own = settings.table[-1]
            value = own if own in self.values else self.values[0]
            where = settings.of_table("where", value={self.names[0]: value})
            values = ", ".join(self.values)
            hints = [
                f"if {self.names[0]!r} names models or stages, read one ({values}): {where}, "
                "or filter the table before"
            ]
        if is_unit is not False or not hints:
            names = " and ".join(map(repr, self.names))
            verb = "identifies" if len(self.names) == 1 else "identify"
            other = "the ground truth" if "rank" in file.optional else "the recommendations"
            columns = settings.name("data", "unit", value=["user", *self.names])
            mean = settings.name("conventions", "unit_mean", value="requests")
            unit = f"{verb} the requests of a user, also in {other}, set {columns} and {mean}"
            hints.append(f"if {names} {unit}")
        return "; ".join(hints)


def find_list_columns(
    connection: DuckDBPyConnection, source: Source, *, has_duplicates: bool
) -> ListColumns | None:
    """Return the columns that separate the lists of a user; None if there are none.

    Without duplicates the name of a column must tell that it separates lists, and the lists have
    no ranks: these would be duplicate, too.
    """
    file, columns = source.file, source.raw.unread_columns
    if file.unit:
        return None
    if has_duplicates:
        units = possible_units(connection, file, columns)
    elif "rank" in source.columns:
        return None
    else:
        named = filter(_LIST_NAME.search, columns)
        units = ((name,) for name in named if _separates_lists(connection, file, name))
    names = next(filter(None, units), None)
    if names is None:
        return None
    values = first_values(connection, file, names[0]) if len(names) == 1 else []
    return ListColumns(names, values if 1 < len(values) <= MAX_VALUES else [])


def _separates_lists(connection: DuckDBPyConnection, file: InputTable, name: str) -> bool:
    """True if users have several values of a column, which is not one of items."""
    first, column = f"{UNIT_PREFIX}0", f"{UNIT_PREFIX}1"
    try:
        with separate_schema(connection) as other:
            read_source(other, file.with_unit(["user", name]))
            query = f"""SELECT count(DISTINCT user) > count(DISTINCT {first})
                AND count(DISTINCT (item, {column})) > count(DISTINCT item) FROM source"""
            return bool(only_row(other, query)[0])
    except InputError:  # a column without ids
        return False


def with_unit_hint(
    connection: DuckDBPyConnection, source: Source, problems: Sequence[Problem]
) -> list[Problem]:
    """Return the problems; the fix of duplicates starts with the hint, if there is one."""
    duplicates = [p for p in problems if p.affected and p.affected.rule in _DUPLICATE_RULES]
    columns = find_list_columns(connection, source, has_duplicates=True) if duplicates else None
    if columns is None:
        return list(problems)
    hint = columns.hint(source.file, are_in_truth=_are_in_truth(source.file, columns.names))
    return [
        replace(problem, fix=f"{hint}; else {problem.fix}") if problem in duplicates else problem
        for problem in problems
    ]


def _are_in_truth(lists: InputTable, names: tuple[str, ...]) -> bool | None:
    """Return whether the ground truth has the columns; None if it is not known."""
    try:
        return None if lists.truth is None else {*names} <= {*column_names(lists.truth)}
    except InputError:  # the ground truth has its own message
        return None


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
