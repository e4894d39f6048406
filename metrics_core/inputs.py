"""What people hand to the library -> the relations that judging reads, checked as the pipeline checks its files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from duckdb import DuckDBPyConnection

from metrics_core.background import Catalogue, catalogue_of
from metrics_core.conventions import Conventions, Ranking
from metrics_core.id_match import Met, refuse_strangers
from metrics_core.id_types import share_id_types
from metrics_core.presets import preset
from metrics_core.problems import InputError, Problem, refuse
from metrics_core.reading import background, lists, mappings, truth
from metrics_core.reading.frames import Data, table_of
from metrics_core.reading.input_table import InputTable, columns_of
from metrics_core.reading.lists import rank_source, read_lists
from metrics_core.reading.policies import Policies
from metrics_core.reading.settings import Arguments
from metrics_core.reading.source import Source, format_of, refuse_missing
from metrics_core.reading.truth import read_truth

Columns = Mapping[str, Mapping[str, str | None]]  # argument -> ours -> theirs
Chosen = Conventions | str | Mapping[str, Any]

_MAPPINGS: Mapping[str, Callable[[Mapping[Any, Any], str], pa.Table]] = {
    "recs": mappings.lists_table,
    "truth": mappings.truth_table,
    "train": mappings.train_table,
    "items": mappings.items_table,
}
_COLUMNS = {
    "recs": lists.COLUMNS,
    "truth": truth.COLUMNS,
    "train": background.TRAIN_COLUMNS,
    "items": background.ITEMS_COLUMNS,
    "users": (("user",), ()),
}


@dataclass(frozen=True)
class Opened:
    """The relations of a connection: `lists`, `truth`, `known`, `train` and `items`; the last two may be empty.

    lists     : as they were read, in the table `given`; ranked they stand in `ranked`
    has_train : is there a train?
    catalogue : the items, and what is known of them; None: none was given
    """

    connection: DuckDBPyConnection
    policies: Policies
    lists: Source
    has_train: bool = False
    catalogue: Catalogue | None = None

    def rank(self, rankings: Sequence[Ranking]) -> None:
        """Rank the lists anew, under other conventions."""
        self.connection.execute("DROP TABLE ranked")
        rank_source(self.connection, self.lists, self.policies, rankings, rows="given")
        _share(self.connection)

    def keep_user(self, user: Any) -> None:
        """Forget all other users; an id is known by its text."""
        there = 0
        for relation in ("given", "judgements", "knowns"):
            where = f"FROM {relation} WHERE CAST(user AS VARCHAR) <> $user"
            self.connection.execute(f"DELETE {where}", {"user": str(user)})
            (rows,) = self.connection.execute(f"SELECT count(*) FROM {relation}").fetchall()[0]
            there += rows
        if not there:
            raise nobody(user)


def nobody(user: Any) -> InputError:
    """The refusal of a user who is not in the data."""
    what = "is neither in the lists nor in the truth"
    return refuse(f"user {user!r}", what, "name a user of the data")


def conventions_of(given: Chosen) -> Conventions:
    """Conventions, the name of a preset, or every knob by value.

    Raises
    ------
    ValueError : no preset has the name; a knob is missing, unknown or wrong
    """
    if isinstance(given, Conventions):
        return given
    if isinstance(given, str):
        return preset(given)
    if isinstance(given, Mapping):
        return Conventions.from_mapping(given)
    what = f"{type(given).__name__} says no conventions"
    raise refuse(
        "conventions", what, 'give `mc.preset("standard")`, the name of a preset, or a dict'
    )


def open_inputs(
    connection: DuckDBPyConnection,
    recs: Data,
    judgements: Data,
    conventions: Conventions,
    *,
    users: Any = None,
    train: Data | None = None,
    items: Data | None = None,
    columns: Columns | None = None,
    policies: Mapping[str, Any] | None = None,
) -> Opened:
    """Read, check and register everything.

    Raises
    ------
    InputError : what is wrong, where, and what to do
    """
    allowed, named = _policies(policies or {}), _named(columns or {})
    table = _table("recs", recs, named)
    found = read_lists(connection, table, allowed, conventions.rankings)
    connection.execute("ALTER TABLE source RENAME TO given")
    _read_truth(connection, judgements, allowed, named)
    _register_known(connection, judgements, users, named)
    if train is None:
        connection.execute("CREATE TEMP TABLE train AS SELECT user, item FROM given WHERE FALSE")
    else:
        background.read_train(connection, _table("train", train, named))
        connection.execute("CREATE TEMP TABLE train AS SELECT DISTINCT user, item FROM source")
    catalogue = None if items is None else _catalogue(connection, items, named)
    if catalogue is None:
        connection.execute("CREATE TEMP TABLE items AS SELECT item FROM given WHERE FALSE")
    else:
        connection.register("items", catalogue.items.to_arrow())
    _share(connection)
    what = None if items is None else "items"
    met = Met("recs", table.columns, what, allowed.unknown_items, Arguments("recs"))
    refuse_strangers(connection, met)
    return Opened(connection, allowed, found.source, train is not None, catalogue)


def _share(connection: DuckDBPyConnection) -> None:
    """Views of lists and truth whose ids are of one type."""
    views = {"lists": "ranked", "truth": "judgements", "known": "knowns"}
    share_id_types(connection, views)


def _read_truth(
    connection: DuckDBPyConnection, given: Data, policies: Policies, named: Columns
) -> None:
    nobody_judged = isinstance(given, Mapping) and bool(given)  # each user may be without an item
    table = _table("truth", given, named)
    source, _ = read_truth(connection, table, policies, may_be_empty=nobody_judged)
    grade = "grade" if "grade" in source.columns else "1.0::DOUBLE AS grade"
    query = f"SELECT user, item, {grade}, position AS place FROM source"
    connection.execute(f"CREATE TABLE judgements AS {query}")


def _register_known(
    connection: DuckDBPyConnection, judgements: Data, users: Any, named: Columns
) -> None:
    """Whom the truth knows, or who is named; in a dict a user may have no judged item."""
    if users is not None:
        table = _table("users", users, named)
    elif isinstance(judgements, Mapping) and not all(map(len, judgements.values())):
        table = _held("users", mappings.ids_table(list(judgements), "truth", "user"), named)
    else:
        connection.execute("CREATE TABLE knowns AS SELECT DISTINCT user FROM judgements")
        return
    background.read_users(connection, table)
    connection.execute("CREATE TABLE knowns AS SELECT DISTINCT user FROM source")


def _catalogue(connection: DuckDBPyConnection, items: Data, named: Columns) -> Catalogue:
    frame, _ = background.read_items(connection, _table("items", items, named))
    return catalogue_of(frame)


def _table(name: str, data: Data, named: Columns) -> InputTable:
    """A path, a dict or a frame as a table to read."""
    if isinstance(data, str | Path) and name != "users":
        path, settings = Path(data), Arguments(name)
        refuse_missing(path, settings)
        form = format_of(path, None, settings)
        needs, may_have, mapped = columns_of(_COLUMNS[name], named.get(name, {}))
        return InputTable(str(path), form, needs, may_have, mapped, settings)
    if name == "users" and not hasattr(data, "columns"):
        return _held(name, mappings.ids_table(data, name, "user"), named)
    if isinstance(data, Mapping):
        return _held(name, _MAPPINGS[name](data, name), named)
    return _held(name, table_of(data, name), named)


def _held(name: str, table: pa.Table, named: Columns) -> InputTable:
    needs, may_have, mapped = columns_of(_COLUMNS[name], named.get(name, {}))
    return InputTable(name, "held", needs, may_have, mapped, Arguments(name), held=table)


def _policies(given: Mapping[str, Any]) -> Policies:
    """The policies that are given, the others as strict as can be."""
    kinds = {field.name: get_args(field.type) for field in fields(Policies)}
    problems = [
        Problem(
            f"input: {name}",
            f"{value!r} is no policy" if name in kinds else "is no policy",
            f"choose {' | '.join(map(repr, kinds.get(name, kinds)))}",
        )
        for name, value in given.items()
        if value not in kinds.get(name, ())
    ]
    if problems:
        raise InputError(problems)
    return Policies(**given)


def _named(given: Columns) -> Columns:
    problems = [
        Problem(f"columns: {name!r}", "is no argument", f"choose {', '.join(_COLUMNS)}")
        for name in given
        if name not in _COLUMNS
    ]
    if problems:
        raise InputError(problems)
    return given
