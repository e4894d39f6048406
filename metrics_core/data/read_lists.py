"""Read, check and rank the recommendations of a model."""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.list_batches import ListStatistics
from concord.metrics_core.data.policies import Policies, PolicyChanges, apply_list_policies
from concord.metrics_core.data.ranking import ListTable, choose_order, rank_by_all
from concord.metrics_core.data.read_source import Progress, Source, no_progress, read_source
from concord.metrics_core.data.unit_detection import with_unit_hint
from concord.metrics_core.data.value_checks import list_checks, valid_rows, value_problems
from concord.metrics_core.errors import InputError, raise_problems


def read_lists(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    rankings: Sequence[Ranking],
    *,
    order: str | None = None,
    progress: Progress = no_progress,
) -> tuple[Source, ListStatistics, PolicyChanges]:
    """Read, check and rank recommendations into the table `ranked`; see `ranking.rank_lists`.

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
                output=f"ranked_{number}",
                order=choose_order(source, order, ranking.ties),
                ranking=ranking,
                policies=policies,
            )
            for number, ranking in enumerate(rankings)
        ]
        return rank_by_all(tables, output="ranked")
    except InputError as error:
        raise InputError(with_unit_hint(connection, source, error.problems)) from None
