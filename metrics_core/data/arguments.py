"""Open the tables that the library is called with: paths, dicts and frames."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.data import frames
from concord.metrics_core.data.frames import Data, table_from_frame
from concord.metrics_core.data.input_table import InputTable, resolve_columns
from concord.metrics_core.data.load_lists import LIST_COLUMNS
from concord.metrics_core.data.paths import RemotePath, parse_path
from concord.metrics_core.data.side_data import (
    INTERACTIONS_COLUMNS,
    ITEMS_COLUMNS,
    TRAIN_COLUMNS,
    TRUTH_COLUMNS,
)
from concord.metrics_core.data.source import check_path, detect_format
from concord.metrics_core.errors import ArgumentNames, Problem, raise_problems, refuse
from concord.metrics_core.files import is_remote

Columns = Mapping[str, Mapping[str, str | None]]  # argument -> our name -> name in the table

_MAPPINGS: Mapping[str, Callable[[Mapping[Any, Any], str], pa.Table]] = {
    "recs": frames.lists_table,
    "truth": frames.truth_table,
    "train": frames.train_table,
    "items": frames.items_table,
}
INTERACTIONS = "interactions"  # the argument of `split`
_COLUMNS = {
    "recs": LIST_COLUMNS,
    "truth": TRUTH_COLUMNS,
    "train": TRAIN_COLUMNS,
    "items": ITEMS_COLUMNS,
    "users": (("user",), ()),
    INTERACTIONS: INTERACTIONS_COLUMNS,
}
ROLES = {name: name for name in _COLUMNS if name != INTERACTIONS}  # arguments of `evaluate`
_MAY_BE_NONE = ("grade",)


def open_table(name: str, data: Data, named: Columns, *, role: str | None = None) -> InputTable:
    """Return the table of the argument `name`; `named`: its column names, `role`: what it holds, if not `name`.

    Raises
    ------
    InputError : it is nothing that can be read as a table
    """
    role = role or name
    if isinstance(data, (Path, RemotePath)) or (
        isinstance(data, str) and (role != "users" or is_remote(data))
    ):
        path = parse_path(os.path.expanduser(str(data)))  # noqa: PTH111 - the home of an unknown name stays as it is
        settings = ArgumentNames(name)
        if not str(data).strip():
            raise refuse(name, "is an empty path", settings.path)
        check_path(path, settings)
        return _table(name, role, named, str(path), detect_format(path, None, settings))
    if isinstance(data, Mapping) and role in _MAPPINGS:
        return _table(name, role, named, held=_MAPPINGS[role](data, name))
    if role == "users" and not _is_frame(data):
        return _table(name, role, named, held=frames.ids_table(data, name, "user"))
    return _table(name, role, named, held=table_from_frame(data, name))


def _is_frame(data: Data) -> bool:
    return isinstance(data, pl.LazyFrame) or hasattr(type(data), "columns")


def _table(
    argument: str,
    role: str,
    named: Columns,
    path: str | None = None,
    form: str = "held",
    *,
    held: pa.Table | None = None,
) -> InputTable:
    columns = resolve_columns(_COLUMNS[role], named.get(argument, {}))
    return InputTable(path or argument, form, *columns, ArgumentNames(argument), rows=held)


def check_columns(given: Any, roles: Mapping[str, str] = ROLES) -> Columns:
    """Return the column names of each table, validated; `roles`: argument -> what it holds.

    Raises
    ------
    InputError : an argument or a column has no such name
    """
    if not isinstance(given, Mapping) or not all(isinstance(v, Mapping) for v in given.values()):
        fix = f"write it as {{{next(iter(roles))!r}: {{'user': 'userId'}}}}"
        raise refuse("columns", "is not a dict of dicts", fix)
    problems = [
        Problem(f"columns: {name!r}", "is not a table of this call", f"choose {', '.join(roles)}")
        for name in given
        if name not in roles
    ]
    for name, mapped in given.items():
        known = [column for columns in _COLUMNS.get(roles.get(name, ""), ()) for column in columns]
        for ours, theirs in mapped.items() if known else ():
            where = f"columns: {name}: {ours!r}"
            if (
                ours not in known and roles.get(name) != "items"
            ):  # which may hold numbers of any name
                problems.append(
                    Problem(
                        where,
                        "is not a column that Concord reads",
                        f"write {{Concord's name: your name}}; Concord reads {', '.join(known)}",
                    )
                )
            elif not isinstance(theirs, str) and not (theirs is None and ours in _MAY_BE_NONE):
                problems.append(
                    Problem(where, f"{theirs!r} is not a column name", "write its name")
                )
    raise_problems(problems)
    return given
