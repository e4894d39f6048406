"""Lists as a model left them -> lists in rank order, and what was found in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.checking.row_checks import ListsError
from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.formats.source import Source, Watch, read_source, unwatched
from concord.metrics_core.reading.ranking import Ranked, rank_all
from concord.metrics_core.reading.requests import with_hint
from concord.metrics_core.reading.rules.policies import Changed, Policies, settle_lists
from concord.metrics_core.reading.rules.value_checks import list_checks, sound_rows, value_problems

COLUMNS = (("user", "item"), ("rank", "score"))  # must be there, may be there


@dataclass(frozen=True)
class Lists:
    """`source` as it was read, the ranked relation, and what the policies of `input` changed."""

    source: Source
    ranked: Ranked
    changed: Changed


def read_lists(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    order: str | None = None,
    watch: Watch = unwatched,
) -> Lists:
    """Read, check and rank lists into the table `ranked`; see `ranking.rank_lists`.

    Raises
    ------
    InputError : every problem of the table at once
    """
    kept = policies.empty_lists == "keep"
    source = read_source(
        connection, table, rank_base=policies.rank_base, may_be_empty=kept, watch=watch
    )
    changed = settle_lists(connection, source, policies)
    checks = list_checks(source, nan_last=policies.nan_score == "last")
    problems = value_problems(connection, source, checks)
    try:
        rows = sound_rows(checks) if problems else "source"
        ranked = rank_source(connection, source, policies, rankings, rows=rows, order=order)
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    return Lists(source, ranked, changed)


def rank_source(
    connection: DuckDBPyConnection,
    source: Source,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    rows: str,
    order: str | None = None,
) -> Ranked:
    """Rank the rows of a relation into the table `ranked`; see `ranking.rank_lists`.

    Raises
    ------
    InputError : the rows cannot be ranked
    """
    try:
        return rank_all(
            connection,
            rows,
            rankings,
            has_rank="rank" in source.columns,
            has_score="score" in source.columns,
            order=order,
            rank_base=policies.rank_base,
            nan_last=policies.nan_score == "last",
            into="ranked",
            place=source.raw.place,
            settings=source.file.settings,
        )
    except ListsError as error:
        name = source.file.name
        found = [replace(each, where=f"{name}: {each.where}") for each in error.problems]
        raise InputError(with_hint(connection, source, found)) from None
