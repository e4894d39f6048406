"""Load the ranked lists of a model, and find out whether users have several lists."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.list_checks import (
    ITEM_REPEATS,
    RANK_REPEATS,
    ListStatistics,
    ListTable,
)
from concord.metrics_core.data.policies import Policies, PolicyChanges, apply_list_policies
from concord.metrics_core.data.ranking import choose_order, rank_by_all
from concord.metrics_core.data.relations import separate_schema
from concord.metrics_core.data.row_checks import ListsError, only_row
from concord.metrics_core.data.source import Progress, Source, no_progress, read_source
from concord.metrics_core.data.units import unit_findings
from concord.metrics_core.data.value_checks import (
    JUDGEMENT_REPEATS,
    list_checks,
    sound_rows,
    value_problems,
)
from concord.metrics_core.errors import InputError, Problem

_REPEATS = (RANK_REPEATS, ITEM_REPEATS, JUDGEMENT_REPEATS)
MOST_TRIED = 5  # columns; each is read again
_NAMED = re.compile(
    "session|visit|request|query|search|basket|cart|order|trip|impression|slate|step", re.IGNORECASE
)
_TIMES = re.compile(r"time|stamp|created|(^|_)(date|day|ts)($|_)", re.IGNORECASE)


def possible_units(
    connection: DuckDBPyConnection, file: InputTable, others: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the sets of columns that make each list or truth of a table sound; the empty set if it is already.

    A list is sound if its ranks have no gap and no repetition or, without ranks, if no item repeats. Of a truth, no item
    may repeat; a column of times is not tried, as it tells nearly all rows apart.

    others : columns of the table that are not read; those that are called like a session come first
    """
    usable = [name for name in others if not [*unit_findings(["user", name])]]
    if "rank" not in file.may_have:
        usable = [name for name in usable if not _TIMES.search(name)]
    named = [name for name in usable if _NAMED.search(name)]
    tried = [*named, *(name for name in usable if name not in named)][:MOST_TRIED]
    sets = [(), *((name,) for name in tried), *combinations(named[:3], 2)]
    yield from (each for each in sets if _is_sound(connection, file, each))


def are_session_names(columns: Sequence[str]) -> bool:
    """Return whether all columns are called like a session or another request."""
    return all(map(_NAMED.search, columns))


def unit_hint(connection: DuckDBPyConnection, source: Source) -> str:
    """Return how to name the column that tells the requests of a user apart; empty if there is none."""
    if source.file.unit:
        return ""
    for unit in possible_units(connection, source.file, source.raw.others):
        if unit:
            names = " and ".join(map(repr, unit))
            verb = "tells" if len(unit) == 1 else "tell"
            where = "the truth" if "rank" in source.file.may_have else "the lists"
            setting = source.file.settings.requests(unit)
            return (
                f"if {names} {verb} the requests of a user apart, in {where} as well, set {setting}"
            )
    return ""


def with_unit_hint(
    connection: DuckDBPyConnection, source: Source, problems: Sequence[Problem]
) -> list[Problem]:
    """Return the problems; a fix of ranks, items or judgements that repeat begins with the hint, if there is one."""
    repeated = [each for each in problems if each.affected and each.affected.rule in _REPEATS]
    if not repeated or not (first := unit_hint(connection, source)):
        return list(problems)
    return [
        replace(each, fix=f"{first}; else {each.fix}") if each in repeated else each
        for each in problems
    ]


def _is_sound(connection: DuckDBPyConnection, file: InputTable, unit: tuple[str, ...]) -> bool:
    try:
        with separate_schema(connection) as other:
            source = read_source(other, file.of_requests(["user", *unit]))
            return _has_sound_lists(other, source, by_name=are_session_names(unit))
    except InputError:  # a column that holds no ids
        return False


def _has_sound_lists(connection: DuckDBPyConnection, source: Source, *, by_name: bool) -> bool:
    """Return whether all ids are there and all lists are sound; a column whose every row is a list has to be called so."""
    ids = " OR ".join(
        f"{name} IS NULL OR trim(CAST({name} AS VARCHAR)) = ''" for name in source.ids
    )
    wrong = "count(DISTINCT item) <> count(*)"
    start = "0"
    if "rank" in source.columns:
        wrong = "count(DISTINCT rank) <> count(*) OR max(rank) - min(rank) + 1 <> count(*)"
        start = "min(rank)"
    lists = f"SELECT count(*) AS n, {wrong} AS wrong, {start} AS start FROM source GROUP BY user"
    (missing,) = only_row(connection, f"SELECT count(*) FILTER ({ids}) FROM source")
    longest, is_wrong, starts = only_row(
        connection, f"SELECT max(n), bool_or(wrong), count(DISTINCT start) FROM ({lists})"
    )
    return not missing and not is_wrong and starts == 1 and (by_name or longest > 1)


LIST_COLUMNS = (("user", "item"), ("rank", "score"))  # must be there, may be there


@dataclass(frozen=True)
class RankedLists:
    """The table `source` as it was read, its counts, and what the policies of `input` changed."""

    source: Source
    statistics: ListStatistics
    changes: PolicyChanges


def read_lists(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    order: str | None = None,
    progress: Progress = no_progress,
) -> RankedLists:
    """Read, check and rank lists into the table `ranked`; see `ranking.rank_lists`.

    Raises
    ------
    InputError : every problem of the table at once
    """
    may_be_empty = policies.empty_lists == "keep"
    source = read_source(
        connection,
        table,
        rank_base=policies.rank_base,
        may_be_empty=may_be_empty,
        progress=progress,
    )
    changes = apply_list_policies(connection, source, policies)
    checks = list_checks(source, nan_last=policies.nan_score == "last")
    problems = value_problems(connection, source, checks)
    try:
        rows = sound_rows(checks) if problems else "source"
        statistics = rank_source(connection, source, policies, rankings, rows=rows, order=order)
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    return RankedLists(source, statistics, changes)


def rank_source(
    connection: DuckDBPyConnection,
    source: Source,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    rows: str,
    order: str | None = None,
) -> ListStatistics:
    """Rank the rows of a relation into the table `ranked`; see `ranking.rank_lists`.

    Raises
    ------
    InputError : the rows cannot be ranked
    """
    has_rank, has_score = ("rank" in source.columns, "score" in source.columns)
    settings = source.file.settings
    try:
        tables = [
            ListTable(
                connection,
                rows,
                into=f"ranked_{number}",
                order=choose_order(order, has_rank, has_score, ranking.ties, settings),
                has_score=has_score,
                rank_base=policies.rank_base,
                ranking=ranking,
                place=source.raw.place,
                nan_last=policies.nan_score == "last",
                settings=settings,
            )
            for number, ranking in enumerate(rankings)
        ]
        return rank_by_all(tables, into="ranked")
    except ListsError as error:
        name = source.file.name
        problems = [replace(each, location=f"{name}: {each.where}") for each in error.problems]
        raise InputError(with_unit_hint(connection, source, problems)) from None
