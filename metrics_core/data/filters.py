"""Filters of the rows of tables that are passed to the library, and one table of several models."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from concord.metrics_core.data.arguments import ROLES, open_table
from concord.metrics_core.data.input_table import Value
from concord.metrics_core.data.read_source import column_values
from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse


def check_where(where: Any, roles: Mapping[str, str] = ROLES) -> dict[str, dict[str, Value]]:
    """Return the filter of each table, validated.

    Parameters
    ----------
    where : dict
        Table -> column -> value of the rows that are read; column -> value for all lists.
    roles : mapping of str to str
        Argument -> what it holds.

    Raises
    ------
    InputError
        If a table or a value is invalid.
    """
    if not isinstance(where, Mapping):
        raise refuse("where", "is not a dict", "write {column: value of the rows to read}")
    of_tables = {name: each for name, each in where.items() if isinstance(each, Mapping)}
    of_lists = {column: value for column, value in where.items() if column not in of_tables}
    filtered = [name for name, role in roles.items() if role in ("recs", "truth", "train")]
    unknown = [name for name in of_tables if name not in filtered]
    fix = f"choose {', '.join(filtered)}"
    problems = [
        Problem(f"where: {name!r}", "is not a table with a filter", fix) for name in unknown
    ]
    filters: dict[str, dict[str, Value]] = {}
    for name in filtered:
        filters[name] = {**of_lists} if roles[name] == "recs" else {}
        filters[name] |= of_tables.get(name, {})
        for column, value in filters[name].items():
            if not isinstance(column, str) or not isinstance(value, str | int | float | bool):
                problem, fix = f"{value!r} is no value", "write text, a number, True or False"
                problems.append(Problem(f"where: {name}: {column!r}", problem, fix))
    raise_problems(dict.fromkeys(problems))
    return filters


def split_models(models: Any, column: str | None, where: Any) -> tuple[Any, Any]:
    """Return the models that a column of one table names, and `where` with the rows of each.

    Without a column they are unchanged.

    Raises
    ------
    InputError
        If the table has no such column, or a row has no value in it.
    """
    is_table = isinstance(models, str | Path) or hasattr(type(models), "columns")
    if column is None:
        if is_table:
            fix = (
                "name the column of its models, such as `model='algorithm'`, or write {name: table}"
            )
            raise refuse("models", "is one table", fix)
        return models, where
    if not is_table:
        fix = "give one frame or path, or leave out `model`"
        raise refuse("models", "is no table, and `model` names a column", fix)
    opened = open_table("models", models, {}, role="recs")
    location = f"{opened.name}: column {column!r}"
    try:
        with registered_only() as connection:
            names = column_values(connection, opened, column)
    except InputError as error:
        fix = "name the column of the models in `model`"
        of_column = (each for each in error.problems if each.where == location)
        raise InputError([replace(each, fix=fix) for each in of_column] or error.problems) from None
    if None in names or "" in names:
        raise refuse(location, "has rows without a value", "name the model in each row")
    data = models if opened.rows is None else opened.rows
    filters = {name: {column: name} for name in names}
    return dict.fromkeys(names, data), {**(where or {}), **filters}
