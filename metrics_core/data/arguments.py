"""Open tables that are passed to the library: paths, dicts and frames."""

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from concord.metrics_core.conventions.data_conventions import ExcludedPairs
from concord.metrics_core.data import frames
from concord.metrics_core.data.column_names import normalise_name
from concord.metrics_core.data.formats import UNNAMED, check_path, detect_format
from concord.metrics_core.data.frames import table_from_frame
from concord.metrics_core.data.input_table import (
    INTERACTIONS_COLUMNS,
    ITEMS_COLUMNS,
    LIST_COLUMNS,
    TRAIN_COLUMNS,
    TRUTH_COLUMNS,
    USERS_COLUMNS,
    InputTable,
    resolve_columns,
)
from concord.metrics_core.data.paths import RemotePath, parse_path
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.relations import registered_only
from concord.metrics_core.data.side_data import read_excluded_pairs
from concord.metrics_core.errors import Problem, argument_names, raise_problems, refuse
from concord.metrics_core.files import is_remote

Columns = Mapping[str, Mapping[str, str | None]]  # argument -> our name -> original name
ALL_TABLES = ""  # key of the names that hold for all tables, unless a table has its own
# Words for tables, which a call without such a table rejects; other names may be models.
_TABLE_WORDS = ("recs", "lists", "train", "items", "users", "test", "qrels", "groundtruth", "pairs")
_SHARED = ("user", "item", "rank", "score", "grade", "time")  # have one meaning in all tables

_FROM_DICT: Mapping[str, Callable[[Mapping[Any, Any], str], pa.Table]] = {
    "recs": frames.lists_table,
    "truth": frames.truth_table,
    "train": frames.train_table,
    "items": frames.items_table,
}
INTERACTIONS = "interactions"  # the argument of `split`
COLUMNS_OF_ROLE = {
    "recs": LIST_COLUMNS,
    "truth": TRUTH_COLUMNS,
    "train": TRAIN_COLUMNS,
    "items": ITEMS_COLUMNS,
    "users": USERS_COLUMNS,
    INTERACTIONS: INTERACTIONS_COLUMNS,
}
ROLES = {name: name for name in COLUMNS_OF_ROLE if name != INTERACTIONS}  # arguments of `evaluate`


def open_table(name: str, data: Any, columns: Columns, *, role: str | None = None) -> InputTable:
    """Return the table of an argument.

    Parameters
    ----------
    name : str
        The argument.
    columns : mapping
        Original names of columns, by argument.
    role : str, optional
        What the table holds, such as "recs"; `name` if None.

    Raises
    ------
    InputError
        If the data cannot be read as a table.
    """
    if isinstance(data, InputTable):
        return data
    role = role or name
    settings = argument_names(name)
    own_names = resolve_columns(COLUMNS_OF_ROLE[role], columns.get(name, {}))
    resolved = resolve_columns(COLUMNS_OF_ROLE[role], names_in_table(name, columns, role=role))
    shared = frozenset({*columns.get(ALL_TABLES, {})}.difference(columns.get(name, {})))
    if isinstance(data, (Path, RemotePath)) or (
        isinstance(data, str) and (role != "users" or is_remote(data))
    ):
        if not str(data).strip():
            raise refuse(name, "is an empty path", settings.path_fix)
        # Unlike Path.expanduser it does not raise for an unknown user.
        path = parse_path(os.path.expanduser(str(data)))  # noqa: PTH111
        check_path(path, settings)
        form = detect_format(path, None, settings)
        names = own_names if form in UNNAMED else resolved
        return InputTable(str(path), form, *names, settings, shared=shared)
    if isinstance(data, Mapping) and role in _FROM_DICT:
        rows, resolved = _FROM_DICT[role](data, name), own_names
    elif role == "users" and not (isinstance(data, pl.LazyFrame) or hasattr(type(data), "columns")):
        rows, resolved = frames.ids_table(data, name, "user"), own_names
    else:
        frames.refuse_index(data, name, {each: resolved[2].get(each, each) for each in resolved[0]})
        rows = table_from_frame(data, name)
    return InputTable(name, "held", *resolved, settings, rows=rows, shared=shared)


def list_policies(policies: Policies, recs: Any) -> Policies:
    """Return the policies for recommendations: ranks of a dict start at 1."""
    return replace(policies, rank_base=1) if isinstance(recs, Mapping) else policies


def split_truth(truth: Any) -> tuple[Any, dict[str, Any]]:
    """Return the ground truth, and the tables with more judgements of a list, by their names."""
    first, *others = truth if isinstance(truth, list | tuple) and truth else [truth]
    is_row = truth is not first and isinstance(first, Mapping)
    if is_row and any(isinstance(value, str | int) for value in first.values()):
        problem = f"is a list of dicts with the keys {', '.join(map(str, first))}"
        fix = "give {user: items}, such as {row['id']: row['relevant_ids'] for row in rows}"
        raise refuse("truth", problem, fix)
    return first, {f"truth[{number}]": other for number, other in enumerate(others, 1)}


def names_in_table(
    name: str, columns: Columns, *, role: str | None = None
) -> dict[str, str | None]:
    """Return our name -> original name for one table, with the names that hold for all."""
    read = _read_columns(role or name)
    shared = {each: name for each, name in columns.get(ALL_TABLES, {}).items() if each in read}
    return shared | dict(columns.get(name, {}))


def check_columns(columns: Any, roles: Mapping[str, str] = ROLES) -> Columns:
    """Return the original column names of each table, validated; `ALL_TABLES`: of all tables.

    Parameters
    ----------
    roles : mapping of str to str
        Argument -> what it holds.

    Raises
    ------
    InputError
        If an argument or a column is unknown.
    """
    if not isinstance(columns, Mapping):
        fix = f"write {{'user': 'userId'}}, or {{{next(iter(roles))!r}: {{'user': 'userId'}}}}"
        raise refuse("columns", "is not a dict", fix)
    problems: list[Problem] = []
    shared, of_tables = {}, {}
    for name, names in columns.items():
        if isinstance(names, Mapping):
            of_tables[name] = names
            if name in roles:
                problems += _column_name_problems(name, roles[name], names)
            else:
                problems += _unknown_table_problems(name, names, roles)
        elif name in _shared_names(roles) and isinstance(names, str):
            shared[name] = names
        else:
            problems.append(_shared_name_problem(name, names, roles))
    raise_problems(problems)
    return {ALL_TABLES: shared, **of_tables} if shared else of_tables


def _read_columns(role: str) -> tuple[str, ...]:
    """Return the columns that Concord reads in a table."""
    required, optional = COLUMNS_OF_ROLE[role]
    return (*required, *optional)


def _unknown_table_problems(
    name: Any, names: Mapping[Any, Any], roles: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield the problem of names of a table that the call does not have.

    Names of another model are allowed: a notebook may keep those of all its models in one dict.
    """
    similar = difflib.get_close_matches(str(name), ROLES.keys() & roles, n=1, cutoff=0.8)
    similar += [each for each in roles if normalise_name(each) == normalise_name(str(name))]
    is_table = similar or normalise_name(str(name)) in _TABLE_WORDS or roles.keys() <= ROLES.keys()
    if is_table or any(_column_name_problems(name, "recs", names)):
        hint = f"did you mean {similar[0]!r}? Else " if similar else ""
        fix = f"{hint}choose {', '.join(roles)}"
        yield Problem(f"columns: {name!r}", "is not a table of this call", fix)


def _shared_name_problem(name: Any, original: Any, roles: Mapping[str, str]) -> Problem:
    """Return the problem of an entry of `columns` that is neither a table's nor of all tables."""
    location = f"columns: {name!r}"
    shared = _shared_names(roles)
    if original in shared and name not in roles:
        return _swapped_problem(location, name, original)
    fix = f"choose {', '.join(shared)}"
    table = next((each for each, role in roles.items() if name in _read_columns(role)), None)
    if table is not None:
        fix += f", or name a table: {{{table!r}: {{{name!r}: {original!r}}}}}"
    if name in roles:
        fix = f"write {{{name!r}: {{Concord's name: your name}}}}"
    return Problem(location, f"is {original!r}, not a dict of column names", fix)


def _shared_names(roles: Mapping[str, str]) -> list[str]:
    """Return the columns that may be named once for all tables of a call."""
    read = {name for role in roles.values() for name in _read_columns(role)}
    return [name for name in _SHARED if name in read]


def _swapped_problem(location: str, name: Any, original: Any) -> Problem:
    fix = f"write {{{original!r}: {name!r}}}: Concord's name, then yours"
    return Problem(location, f"is named {original!r}: are the two swapped?", fix)


def _column_name_problems(name: str, role: str, names: Mapping[Any, Any]) -> Iterator[Problem]:
    """Yield the problems of the original names of one table; `items` may have any numbers."""
    known = _read_columns(role)
    for column, original in names.items():
        location = f"columns: {name}: {column!r}"
        if column not in known and original in known and (role != "items" or original == "item"):
            yield _swapped_problem(location, column, original)
        elif column not in known and role != "items":
            fix = f"write {{Concord's name: your name}}; Concord reads {', '.join(known)}"
            yield Problem(location, "is not a column that Concord reads", fix)
        elif not isinstance(original, str) and (
            original is not None or column not in COLUMNS_OF_ROLE[role][1]
        ):
            yield Problem(location, f"{original!r} is not a column name", "write its name")


def excluded_pairs(
    pairs: Any, *, columns: Mapping[str, Mapping[str, str]] | None = None
) -> ExcludedPairs:
    """Return the value of the convention `exclude` that leaves out pairs of user and item.

    The items count neither in lists nor in the ground truth of their user; the ranks of a list
    close up. The text of the value has the first digits of a hash of the pairs, so the fingerprint
    of conventions tells sets of pairs apart.

    Parameters
    ----------
    pairs : table, path or dict
        Columns user and item, or {user: items}. Ids are compared as text, and extra users and items
        have no effect.
    columns : dict, optional
        Names in the table: {"pairs": {"user": "query_id", "item": "doc_id"}}.

    Returns
    -------
    ExcludedPairs
        A text such as "pairs 4f8a01c2d3e4", which holds the pairs.

    Raises
    ------
    InputError
        If the table cannot be read, or an id is missing.

    Examples
    --------
    >>> import concord as cc
    >>> pairs = cc.data.excluded_pairs({"q1": ["d1"]})
    >>> conventions = cc.preset("standard", exclude=pairs)
    >>> run, qrels = {"q1": {"d1": 2.0, "d2": 1.0}}, {"q1": {"d2": 1}}
    >>> cc.evaluate(run, qrels, metrics=["RR@10"], conventions=conventions)["RR@10"]
    1.0
    """
    with registered_only() as connection:
        return read_excluded_pairs(
            connection, open_table("pairs", pairs, columns or {}, role="train")
        )
