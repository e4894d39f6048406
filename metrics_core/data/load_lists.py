"""Load the ranked lists of a model, and find out whether users have several lists."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.list_batches import ListStatistics
from concord.metrics_core.data.policies import Policies, PolicyChanges, apply_list_policies
from concord.metrics_core.data.ranking import (
    ITEM_REPEATS,
    RANK_REPEATS,
    ListTable,
    choose_order,
    rank_by_all,
)
from concord.metrics_core.data.relations import only_row, separate_schema
from concord.metrics_core.data.source import Progress, Source, no_progress, read_source
from concord.metrics_core.data.units import unit_findings
from concord.metrics_core.data.value_checks import (
    JUDGEMENT_REPEATS,
    list_checks,
    valid_rows,
    value_problems,
)
from concord.metrics_core.errors import InputError, Problem, raise_problems

_REPEATS = (RANK_REPEATS, ITEM_REPEATS, JUDGEMENT_REPEATS)
MAX_TRIED = 5  # columns; each is read again
_SESSION_NAME = re.compile(
    "session|visit|request|query|search|basket|cart|order|trip|impression|slate|step", re.IGNORECASE
)
_TIME_NAME = re.compile(r"time|stamp|created|(^|_)(date|day|ts)($|_)", re.IGNORECASE)


def possible_units(
    connection: DuckDBPyConnection, file: InputTable, others: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the sets of columns that make each list or ground truth valid; the empty set if it is already.

    A list is valid if its ranks have no gap and no repetition or, without ranks, if no item repeats.
    Of ground truth, no item may repeat; a column of times is not tried, as it separates nearly all rows.

    Parameters
    ----------
    others : sequence of str
        Columns of the table that are not read; those with the name of a session come first.
    """
    usable = [name for name in others if not [*unit_findings(["user", name])]]
    if "rank" not in file.optional:
        usable = [name for name in usable if not _TIME_NAME.search(name)]
    sessions = [name for name in usable if _SESSION_NAME.search(name)]
    tried = [*sessions, *(name for name in usable if name not in sessions)][:MAX_TRIED]
    units = [(), *((name,) for name in tried), *combinations(sessions[:3], 2)]
    yield from (unit for unit in units if _is_valid_unit(connection, file, unit))


def are_session_names(columns: Sequence[str]) -> bool:
    """True if all columns have the name of a session or another request."""
    return all(map(_SESSION_NAME.search, columns))


def unit_hint(connection: DuckDBPyConnection, source: Source) -> str:
    """Return how to name the column that separates the lists of a user; empty if there is none."""
    if source.file.unit:
        return ""
    unit = next(
        filter(None, possible_units(connection, source.file, source.raw.unread_columns)), None
    )
    if unit is None:
        return ""
    names = " and ".join(map(repr, unit))
    verb = "tells" if len(unit) == 1 else "tell"
    where = "the truth" if "rank" in source.file.optional else "the lists"
    setting = source.file.settings.sessions(unit)
    return f"if {names} {verb} the requests of a user apart, in {where} as well, set {setting}"


def with_unit_hint(
    connection: DuckDBPyConnection, source: Source, problems: Sequence[Problem]
) -> list[Problem]:
    """Return the problems; a fix of ranks, items or judgements that repeat begins with the hint, if there is one."""
    repeated = [each for each in problems if each.affected and each.affected.rule in _REPEATS]
    if not repeated or not (hint := unit_hint(connection, source)):
        return list(problems)
    return [
        replace(each, fix=f"{hint}; else {each.fix}") if each in repeated else each
        for each in problems
    ]


def _is_valid_unit(connection: DuckDBPyConnection, file: InputTable, unit: tuple[str, ...]) -> bool:
    """True if all ids are there and all lists are valid; a column whose every row is a list needs the name of a session."""
    wrong, start = "count(DISTINCT item) <> count(*)", "0"
    try:
        with separate_schema(connection) as other:
            source = read_source(other, file.with_unit(["user", *unit]))
            missing = " OR ".join(
                f"{name} IS NULL OR trim(CAST({name} AS VARCHAR)) = ''" for name in source.ids
            )
            if only_row(other, f"SELECT count(*) FILTER ({missing}) FROM source")[0]:
                return False
            if "rank" in source.columns:
                wrong = "count(DISTINCT rank) <> count(*) OR max(rank) - min(rank) + 1 <> count(*)"
                start = "min(rank)"
            longest, is_wrong, starts = only_row(
                other,
                f"""SELECT max(n), bool_or(wrong), count(DISTINCT start) FROM (
                    SELECT count(*) AS n, {wrong} AS wrong, {start} AS start
                    FROM source GROUP BY user)""",
            )
    except InputError:  # a column that holds no ids
        return False
    return not is_wrong and starts == 1 and (are_session_names(unit) or longest > 1)


LIST_COLUMNS = (("user", "item"), ("rank", "score"))  # required, optional


def read_lists(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    order: str | None = None,
    progress: Progress = no_progress,
) -> tuple[Source, ListStatistics, PolicyChanges]:
    """Read, check and rank lists into the table `ranked`; see `ranking.rank_lists`.

    Returns
    -------
    source : Source
        The table `source` as it was read.
    statistics : ListStatistics
        Counts of its rows under the first ranking.
    changes : PolicyChanges
        What the policies of `input` changed.

    Raises
    ------
    InputError
        Every problem of the table at once.
    """
    source = read_source(
        connection,
        table,
        rank_base=policies.rank_base,
        may_be_empty=policies.empty_lists == "keep",
        progress=progress,
    )
    changes = apply_list_policies(connection, source, policies)
    checks = list_checks(source, nan_last=policies.nan_score == "last")
    problems = value_problems(connection, source, checks)
    try:
        rows = valid_rows(checks) if problems else "source"
        statistics = rank_source(connection, source, policies, rankings, rows=rows, order=order)
    except InputError as error:
        problems += error.problems
    raise_problems(problems)
    return source, statistics, changes


def rank_source(
    connection: DuckDBPyConnection,
    source: Source,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    rows: str,
    order: str | None = None,
) -> ListStatistics:
    """Rank the valid rows of a relation into the table `ranked`; see `ranking.rank_lists`.

    Raises
    ------
    InputError
        If the rows cannot be ranked.
    """
    try:
        tables = [
            ListTable(
                connection,
                source,
                rows,
                into=f"ranked_{number}",
                order=choose_order(source, order, ranking.ties),
                ranking=ranking,
                policies=policies,
            )
            for number, ranking in enumerate(rankings)
        ]
        return rank_by_all(tables, into="ranked")
    except InputError as error:
        raise InputError(with_unit_hint(connection, source, error.problems)) from None
