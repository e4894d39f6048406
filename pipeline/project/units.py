"""What lists and ground truth have in common: the user's column, and those that tell the requests of a user apart."""

from collections.abc import Mapping
from dataclasses import replace

from concord.metrics_core.data import load_lists as lists
from concord.metrics_core.data.input_table import InputTable, columns_of
from concord.metrics_core.data.load_lists import names_requests, units_of
from concord.pipeline.params.keys import Keys
from concord.pipeline.project.taken_for import Table
from concord.pipeline.running.connections import workspace


def with_user_of(models: Mapping[str, Table], truth: Table) -> Table:
    """Return the truth with the user's column of the lists, if it has this one too: lists may know sessions alone."""
    named = {table.columns["user"] for table in models.values()}
    if len(named) != 1 or not named <= {*truth.peeked.columns}:
        return truth
    return replace(truth, columns={**truth.columns, "user": named.pop()})


def shared_unit(models: Mapping[str, Table], truth: Table) -> tuple[str, ...]:
    """Return the columns by which users have several lists, in the truth as well; empty if each user has one list."""
    tables = [truth, *models.values()]
    shared = [
        name
        for name in truth.peeked.columns
        if all(name in each.peeked.columns and name not in each.columns.values() for each in tables)
    ]
    if not shared:
        return ()
    with workspace() as connection:
        found = [[*units_of(connection, _input(table), shared)] for table in models.values()]
    fitting = [unit for unit in found[0] if all(unit in each for each in found)]
    if () in fitting:  # which ranks prove, and scores do not
        ranked = any("rank" in table.columns for table in models.values())
        fitting = [] if ranked else [unit for unit in fitting if unit and names_requests(unit)]
    return next(iter(fitting), ())


def _input(table: Table) -> InputTable:
    columns = columns_of(lists.COLUMNS, table.columns)
    return InputTable(str(table.path), table.peeked.form, *columns, Keys("models"))
