"""Detect whether users have several lists, and which columns separate them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.column_names import normalise_name
from concord.metrics_core.data.formats import UNNAMED
from concord.metrics_core.data.input_table import UNIT_PREFIX, InputTable
from concord.metrics_core.data.ranking import DUPLICATE_ITEM, DUPLICATE_RANK
from concord.metrics_core.data.read_source import (
    Source,
    column_names,
    column_values,
    read_source,
    some_values,
)
from concord.metrics_core.data.relations import only_row, separate_schema
from concord.metrics_core.data.row_filter import MAX_VALUES
from concord.metrics_core.data.units import unit_problems
from concord.metrics_core.data.value_checks import DUPLICATE_JUDGEMENT
from concord.metrics_core.errors import InputError, Problem

_DUPLICATE_RULES = (DUPLICATE_RANK, DUPLICATE_ITEM, DUPLICATE_JUDGEMENT)
_MAX_CANDIDATES = 5  # columns; the table is read again for each
_SESSION_NAME = re.compile(
    "session|visit|request|query|search|basket|cart|order|trip|impression|slate|step", re.IGNORECASE
)
# Names of columns of models or stages, and of splits, without case and separators.
_LIST_NAMES = (
    "algo algorithm algorithmid algorithmname approach experiment method methodname model modelid "
    "modelname modelversion pipeline ranker recommender recommenderid recommendername run runid "
    "runname seed searchsystem stage stagename"
)
_SPLIT_NAMES = "split splits splitname set subset partition usage istest"
_TESTS = ("test", "testing", "holdout", "heldout", "true")  # of `is_test`
_OTHER_SPLITS = ("train", "training", "valid", "validation", "val", "dev", "false")


def possible_units(
    connection: DuckDBPyConnection, file: InputTable, columns: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the sets of columns that make each list or ground truth valid.

    The empty set comes first if they are valid already. A list is valid if its ranks have no gap
    and no duplicate or, without ranks, if no item is duplicate. Ground truth must have no duplicate
    item, and only columns with the name of a session or of splits are candidates.

    Parameters
    ----------
    columns : sequence of str
        Columns of the table that are not read; those with the name of a session come first.
    """
    allowed = [name for name in columns if not [*unit_problems(["user", name])]]
    if "rank" not in file.optional:
        allowed = [name for name in allowed if are_session_names([name]) or is_list_name(name)]
    sessions = [name for name in allowed if _SESSION_NAME.search(name)]
    others = [name for name in allowed if name not in sessions]
    others.sort(key=lambda name: not is_list_name(name))
    candidates = [*sessions, *others][:_MAX_CANDIDATES]
    named = [*sessions, *filter(is_list_name, others)][:3]
    units = [(), *((name,) for name in candidates), *combinations(named, 2)]
    yield from (unit for unit in units if _is_valid_unit(connection, file, unit))


def are_session_names(columns: Sequence[str]) -> bool:
    """True if all columns have the name of a session or similar."""
    return all(map(_SESSION_NAME.search, columns))


def is_list_name(column: str) -> bool:
    """True if a column has the name of models, stages or similar, each with a list of its own."""
    return normalise_name(column) in [*_LIST_NAMES.split(), *_SPLIT_NAMES.split()]


def held_out_value(values: Sequence[str]) -> str:
    """Return the value of a test set among names of splits; empty without one."""
    names = [value.casefold() for value in values]
    if len(names) < 2 or not {*names} <= {*_TESTS, *_OTHER_SPLITS}:  # noqa: PLR2004 - one split
        return ""
    return next((value for value in values if value.casefold() in _TESTS), "")


def split_filter(source: Source) -> tuple[str, str] | None:
    """Return an unread column that names splits, and its value of the test set; None without."""
    for name in source.raw.unread_columns:
        if normalise_name(name) in _SPLIT_NAMES.split() and source.file.format not in UNNAMED:
            with suppress(InputError):  # a column of lists
                if value := held_out_value(column_values(source.file, name)):
                    return name, value
    return None


@dataclass(frozen=True)
class ListColumns:
    """Columns that separate lists which were read as one.

    Attributes
    ----------
    names : tuple of str
        The columns.
    values : list of str
        Distinct values of the first column.
    in_truth : bool, optional
        Whether the ground truth has the columns; None if it is not known.
    """

    names: tuple[str, ...]
    values: list[str]
    in_truth: bool | None

    def hint(self, file: InputTable) -> str:
        """Return what to do: read the rows of one value, or evaluate requests, or either."""
        are_few = 1 < len(self.values) <= MAX_VALUES
        are_sessions = are_session_names(self.names)
        is_filter = is_list_name(self.names[0]) or are_few
        is_unit = not is_list_name(self.names[0])
        if self.in_truth is not None:
            is_filter = not self.in_truth and is_filter
            is_unit = self.in_truth or (are_sessions and not are_few)
        elif are_sessions:
            is_filter = False
        hints = [self._filter_hint(file)] if is_filter else []
        return "; ".join([*hints, self._unit_hint(file)] if is_unit or not hints else hints)

    def _filter_hint(self, file: InputTable) -> str:
        name, own = self.names[0], file.settings.table[-1]
        value = own if own in self.values else held_out_value(self.values) or self.values[0]
        where = file.settings.of_table("where", value={**file.where, name: value})
        values = some_values(self.values)
        read_one = f"read one ({values}): {where}, or filter the table before"
        return f"if {name!r} names models, stages or splits, {read_one}"

    def _unit_hint(self, file: InputTable) -> str:
        names = " and ".join(map(repr, self.names))
        verb = "identifies" if len(self.names) == 1 else "identify"
        other = "ground truth" if "rank" in file.optional else "recommendations"
        also = f"add it to the {other}, and" if self.in_truth is False else f"also in the {other},"
        columns = file.settings.name("data", "unit", value=["user", *self.names])
        mean = file.settings.name("conventions", "unit_mean", value="requests")
        return f"if {names} {verb} the requests of a user, {also} set {columns} and {mean}"


def find_list_columns(
    connection: DuckDBPyConnection, source: Source, *, has_duplicates: bool
) -> ListColumns | None:
    """Return the columns that separate the lists of a user; None if there are none.

    Without duplicates the name of a column must tell that it separates lists, and the lists have
    no ranks: these would be duplicate, too.
    """
    file, columns = source.file, source.raw.unread_columns
    if file.unit or not (has_duplicates or "rank" not in source.columns):
        return None
    if has_duplicates:
        units = possible_units(connection, file, columns)
    else:
        named = filter(is_list_name, columns)
        units = ((name,) for name in named if _separates_lists(connection, file, name))
    names = next(filter(None, units), None)
    if names is None:
        return None
    return ListColumns(names, column_values(file, names[0]), _are_in_truth(file, names))


def _separates_lists(connection: DuckDBPyConnection, file: InputTable, name: str) -> bool:
    """True if users have several of a few values of a column."""
    try:
        if not 1 < len(column_values(file, name)) <= MAX_VALUES:
            return False
        with separate_schema(connection) as other:
            read_source(other, file.with_unit(["user", name]))
            query = f"SELECT count(DISTINCT user) > count(DISTINCT {UNIT_PREFIX}0) FROM source"
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
    hint = columns.hint(source.file)
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
