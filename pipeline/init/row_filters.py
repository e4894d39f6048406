"""Tables with the rows of several models, stages or splits: the filter `where` of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from concord.metrics_core.data.read_source import column_values
from concord.metrics_core.data.row_filter import MAX_VALUES
from concord.metrics_core.data.unit_detection import (
    are_session_names,
    held_out_value,
    possible_units,
)
from concord.metrics_core.errors import InputError
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.init.choices import as_input
from concord.pipeline.init.discovery import Choice, Discovery
from concord.pipeline.init.model_names import unused_name
from concord.pipeline.init.rows import has_duplicates
from concord.pipeline.init.tables import Table, as_table
from concord.pipeline.running.connections import isolated_connection

_STAGE_NAME = re.compile("stage|phase", re.IGNORECASE)
_TRAIN = ("train", "training")
# Values of stages, the last stage first.
_STAGES = ("final", "reranked", "ranked", "scored", "filtered", "candidates", "retrieved")


def use_splits(discovery: Discovery, names: Mapping[str, str]) -> None:
    """Use the only table that names splits as ground truth and train, if no other is the truth.

    `names` are the columns that the command line names for all tables.
    """
    if "truth" in discovery.tables or discovery.truth_candidates:
        return
    splits = [table for table in discovery.unknown if _test_rows(table)[1]]
    for table in splits if len(splits) == 1 else ():
        discovery.tables["truth"] = as_table(table.file, "truth", names, table.stage)
        discovery.skipped = [each for each in discovery.skipped if each.path != table.path]
        column, _ = _test_rows(table)
        train = [value for value in _few_values(table, column) if value.casefold() in _TRAIN]
        if train:
            side = as_table(table.file, "train", names, table.stage)
            discovery.tables.setdefault("train", _with_rows(side, column, train[0]))


def set_filters(discovery: Discovery) -> None:
    """Set filters of the ground truth and the models, and sentences on them.

    A table with the lists of several models is one model per value of a column. Of a table with
    several stages of one list the last stage is a model.
    """
    tables, truth = discovery.models, discovery.tables["truth"]
    models: dict[str, Table] = {}
    names: dict[str, list[str]] = {}
    for name, table in tables.items():
        column, values = _separating_column(table, truth.file.columns)
        main = _main_value(column, values)
        text = f"one model per {column} in {table.path.name}"
        if main:
            others = ", ".join(value for value in values if value != main)
            text = f"rows with {column} {main} are read, not {others}"
        for value in [main] if main else values:
            label = "-".join(re.findall(r"[A-Za-z0-9.]+", value))
            if len(tables) > 1 or label.isdecimal():
                label = f"{name}-{label}"
            own = unused_name(name if main else label, models)
            models[own] = _with_rows(table, column, value)
            names.setdefault(text, []).append(own)
        models |= {} if values else {name: table}
    discovery.models = models
    discovery.assumptions += [
        Choice(f"{text}: {join_names(own)}", f"models.{own[0]}.where")
        for text, own in names.items()
    ]
    column, test = _test_rows(truth)
    if test:
        discovery.tables["truth"] = _with_rows(truth, column, test)
        text = f"rows with {column} {test} are the ground truth"
        discovery.assumptions.append(Choice(text, "data.truth.where"))


def _separating_column(table: Table, truth_columns: Sequence[str]) -> tuple[str, list[str]]:
    """Return a column that separates the lists of a user, and its values; none if there is none.

    Columns that the ground truth has, too, identify sessions.
    """
    read = table.columns.values()
    user = table.columns["user"]
    key = [user, table.columns.get("rank", table.columns["item"])]
    unread = [name for name in table.file.columns if name not in (*read, *truth_columns)]
    if unread and has_duplicates(table.file, key, users=user):
        with isolated_connection() as connection:
            for unit in possible_units(connection, as_input(table), unread):
                values = _few_values(table, unit[0]) if len(unit) == 1 else []
                if values and (_main_value(unit[0], values) or not are_session_names(unit)):
                    return unit[0], values
    return "", []


def _few_values(table: Table, column: str) -> list[str]:
    """Return the values of a column if they are few, and each row has one; else none."""
    try:
        values = column_values(as_input(table), column)
    except InputError:  # a column of lists, or a damaged table
        return []
    return values if 1 < len(values) <= MAX_VALUES and values[0] else []


def _main_value(column: str, values: Sequence[str]) -> str:
    """Return the value of the rows to evaluate, of stages or splits; empty for others."""
    stages = [value.casefold() for value in values]
    if values and ({*stages} <= {*_STAGES} or _STAGE_NAME.search(column)):
        last = next((stage for stage in _STAGES if stage in stages), stages[-1])
        return values[stages.index(last)]
    return held_out_value(values)


def _test_rows(truth: Table) -> tuple[str, str]:
    """Return the column that names splits, and the value of the test set; empty without one."""
    unread = [name for name in truth.file.columns if name not in truth.columns.values()]
    tests = ((name, held_out_value(_few_values(truth, name))) for name in unread)
    return next(filter(itemgetter(1), tests), ("", ""))


def _with_rows(table: Table, column: str, value: str) -> Table:
    return replace(table, file=replace(table.file, where={column: value}))
