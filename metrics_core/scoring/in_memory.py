"""All users at once, from tables in memory."""

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.relations import scan, view
from concord.metrics_core.scoring.background import Background, with_items
from concord.metrics_core.scoring.partition import Part, Task, evaluate_partition


def evaluate_tables(
    connection: DuckDBPyConnection,
    lists: pl.DataFrame,
    truth: pl.DataFrame,
    task: Task,
    background: Background,
    *,
    known: pl.DataFrame | None = None,
) -> Part:
    """What all users give; `known`: the users whom the truth knows, where they are more than those of its rows."""
    users = background.users if background.users is not None else known
    knowns = truth.select("user") if users is None else scan(users).select("user").collect()
    tables = {"ranked": lists, "judgements": truth, "knowns": knowns}
    for name, table in tables.items():
        view(connection, name, table)
    share_id_types(connection, {"lists": "ranked", "truth": "judgements", "known": "knowns"})
    task = background.shelved(task)
    if task.needs_items:
        task = with_items(connection, task, background)
    return evaluate_partition(connection, task)
