"""Filters of the rows of tables that are passed to the library, and one table of several models."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from concord.metrics_core.data.argument_types import Value
from concord.metrics_core.data.arguments import ROLES, open_table
from concord.metrics_core.data.read_source import column_names, column_values
from concord.metrics_core.data.unit_detection import is_list_name
from concord.metrics_core.errors import Problem, SettingNames, raise_problems, refuse


def check_where(where: Any, roles: Mapping[str, str] = ROLES) -> dict[str, dict[str, Value]]:
    """Return the filter of each table, validated.

    Parameters
    ----------
    where : dict or None
        Table -> column -> value of the rows that are read; column -> value for all lists.
    roles : mapping of str to str
        Argument -> what it holds.

    Raises
    ------
    InputError
        If a table or a value is invalid.
    """
    if where is None:
        return {}
    if not isinstance(where, Mapping):
        raise refuse("where", "is not a dict", "write {column: value of the rows to read}")
    of_tables = {name: each for name, each in where.items() if isinstance(each, Mapping)}
    of_lists = {column: value for column, value in where.items() if column not in of_tables}
    tables = [name for name, role in roles.items() if role in ("recs", "truth", "train")]
    fix = f"choose {', '.join(tables)}"
    problems = [
        Problem(f"where: {name!r}", "is not a table with a filter", fix)
        for name in of_tables
        if name not in tables
    ]
    filters: dict[str, dict[str, Value]] = {}
    for name in tables:
        given = {**(of_lists if roles[name] == "recs" else {}), **of_tables.get(name, {})}
        filters[name] = {column: _python_value(value) for column, value in given.items()}
        for column, value in filters[name].items():
            if not isinstance(column, str) or not isinstance(value, str | int | float | date):
                problem, fix = f"cannot be {value!r}", "write text, a number, True or False"
                problems.append(Problem(f"where: {name}: {column!r}", problem, fix))
    raise_problems(dict.fromkeys(problems))
    return filters


def _python_value(value: Any) -> Any:
    """Return a number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def split_models(models: Any, column: str | None, where: Any) -> tuple[Any, Any]:
    """Return the models that a column of one table names, and `where` with the rows of each.

    Without a column they are unchanged.

    Raises
    ------
    InputError
        If the table has no such column, or a row has no value in it.
    """
    is_table = isinstance(models, str | Path) or any(
        hasattr(models, name) for name in ("columns", "__arrow_c_stream__")
    )
    if column is None and not is_table:
        return models, where
    if not is_table or not isinstance(column, str | None):
        fix = "give one frame or path and the name of its column, or leave out `model`"
        raise refuse("models", "is not a table, or `model` is not the name of a column", fix)
    table = open_table("models", models, {}, role="recs")
    if column is None:
        known = next(filter(is_list_name, column_names(table)), "algorithm")
        fix = f"name the column of its models, such as `model={known!r}`, or write {{name: table}}"
        raise refuse("models", "is one table", fix)
    settings = SettingNames(("arguments", "model"), lambda *_: "`model`")
    names = column_values(replace(table, settings=settings), column)
    if "" in names:
        location = f"{table.name}: column {column!r}"
        raise refuse(location, "has rows without a value", "name the model in each row")
    given = where if isinstance(where, Mapping) else {}
    filters = {name: {**given.get(name, {}), column: name} for name in names}
    is_invalid = where is not None and given is not where
    data = models if table.rows is None else table.rows
    return dict.fromkeys(names, data), where if is_invalid else {**given, **filters}
