"""What is handed to the library (a path, a dict, a frame) -> a table to read."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.data import frames as mappings
from concord.metrics_core.data import load_lists as lists
from concord.metrics_core.data import side_data as background
from concord.metrics_core.data import side_data as truth
from concord.metrics_core.data.frames import Data, table_from_frame
from concord.metrics_core.data.input_table import InputTable, resolve_columns
from concord.metrics_core.data.paths import RemotePath, parse_place
from concord.metrics_core.data.source import check_path, detect_format
from concord.metrics_core.errors import ArgumentNames, InputError, Problem, refuse
from concord.metrics_core.files import is_remote

Columns = Mapping[str, Mapping[str, str | None]]  # argument -> ours -> theirs

_MAPPINGS: Mapping[str, Callable[[Mapping[Any, Any], str], pa.Table]] = {
    "recs": mappings.lists_table,
    "truth": mappings.truth_table,
    "train": mappings.train_table,
    "items": mappings.items_table,
}
INTERACTIONS = "interactions"  # the argument of `split`
_COLUMNS = {
    "recs": lists.LIST_COLUMNS,
    "truth": truth.TRUTH_COLUMNS,
    "train": background.TRAIN_COLUMNS,
    "items": background.ITEMS_COLUMNS,
    "users": (("user",), ()),
    INTERACTIONS: background.INTERACTIONS_COLUMNS,
}
ROLES = {name: name for name in _COLUMNS if name != INTERACTIONS}  # of the arguments of `evaluate`
_WITHOUT = ("grade",)  # columns that may be said to be none


def open_table(name: str, data: Data, named: Columns, *, role: str | None = None) -> InputTable:
    """The table of the argument `name`; `named` says what its columns are called, `role` what it is, if not `name`.

    Raises
    ------
    InputError : it is nothing that can be read as a table
    """
    role = role or name
    if isinstance(data, (Path, RemotePath)) or (
        isinstance(data, str) and (role != "users" or is_remote(data))
    ):
        path = parse_place(os.path.expanduser(str(data)))  # noqa: PTH111 - the home of an unknown name stays as it is
        settings = ArgumentNames(name)
        if not str(data).strip():
            raise refuse(name, "is an empty path", settings.path)
        check_path(path, settings)
        return _table(name, role, named, str(path), detect_format(path, None, settings))
    if isinstance(data, Mapping) and role in _MAPPINGS:
        return _table(name, role, named, held=_MAPPINGS[role](data, name))
    if role == "users" and not _is_frame(data):
        return _table(name, role, named, held=mappings.ids_table(data, name, "user"))
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
    return InputTable(path or argument, form, *columns, ArgumentNames(argument), held=held)


def check_columns(given: Any, roles: Mapping[str, str] = ROLES) -> Columns:
    """What tables call their columns; `roles`: argument -> what it is.

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
            elif not isinstance(theirs, str) and not (theirs is None and ours in _WITHOUT):
                problems.append(
                    Problem(where, f"{theirs!r} is not a column name", "write its name")
                )
    if problems:
        raise InputError(problems)
    return given
