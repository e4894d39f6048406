"""Load the inputs of `explain` and `reconcile`, which rank lists again under other conventions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions, Ranking
from concord.metrics_core.data.argument_types import Data, TableColumns, Truth
from concord.metrics_core.data.arguments import (
    Columns,
    check_columns,
    list_policies,
    open_table,
    split_truth,
)
from concord.metrics_core.data.feature_tables import read_items
from concord.metrics_core.data.id_matching import IdMatchContext, match_ids
from concord.metrics_core.data.input_table import words_of_table
from concord.metrics_core.data.list_batches import ListStatistics
from concord.metrics_core.data.load_tables import (
    InMemorySink,
    load_ground_truth,
    rank_source,
    read_lists,
)
from concord.metrics_core.data.policies import Policies, parse_policies
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import in_memory, only_row
from concord.metrics_core.data.side_data import read_train, read_users
from concord.metrics_core.data.tables import share_id_types
from concord.metrics_core.data.units import unit_mean_problems, unit_problems
from concord.metrics_core.errors import (
    InputError,
    Problem,
    ScoringError,
    problems_of,
    raise_problems,
    refuse,
)
from concord.metrics_core.evaluation.accumulator import summarise_definition
from concord.metrics_core.evaluation.block import Block
from concord.metrics_core.evaluation.evaluate_block import evaluate_block
from concord.metrics_core.evaluation.panel import Definition
from concord.metrics_core.evaluation.side_data import (
    Catalogue,
    build_catalogue,
    number_items,
    refuse_missing,
    with_item_columns,
)
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.results.summary import Summary

Key = TypeVar("Key")
BATCH_SIZE = 64  # definitions that are computed in one pass
_REFUSED = Summary(math.nan, math.nan, math.nan, 0, 0)


@dataclass(frozen=True)
class LoadedInputs:
    """Relations `lists`, `truth`, `known`, `train` and `items` of a connection.

    Attributes
    ----------
    connection : DuckDBPyConnection
        Connection with the relations; `train` and `items` may be empty.
    policies : Policies
        Policies for unusual content.
    lists : Source
        Recommendations in their original order, table `given`; `ranked` has the ranked lists.
    statistics : ListStatistics
        Counts of their rows under the first ranking.
    has_train : bool
        True if a train was given.
    catalogue : Catalogue or None
        Items and their features; None if no catalogue was given.
    words : mapping or None
        The words that texts show for user and item; None if they show these.
    """

    connection: DuckDBPyConnection
    policies: Policies
    lists: Source
    statistics: ListStatistics
    has_train: bool
    catalogue: Catalogue | None
    words: Mapping[str, str] | None
    _orders: dict[Ranking, int | None] = field(default_factory=dict)

    @property
    def train(self) -> pl.DataFrame | None:
        """Columns user and item of the train; None without a train."""
        rows = self.connection.sql("SELECT user, item FROM train")
        return pl.DataFrame(rows.to_arrow_table()) if self.has_train else None

    def with_items(self, task: Task) -> Task:
        """Return the task with the items and item columns that it reads; lists must be ranked."""
        task = with_item_columns(task, lambda: self.catalogue, lambda: self.train)
        if not task.needs_items:
            return task
        refuse_missing(task, has_train=self.has_train, catalogue=self.catalogue)
        lists = pl.DataFrame(self.connection.sql("SELECT item FROM lists").to_arrow_table())
        return replace(task, items=number_items([lists], self.train, self.catalogue))

    def block(self, task: Task) -> Block:
        """Return all rows that a task reads."""
        names = ["lists", "truth", "known", *(["train"] if task.needs_items else [])]
        tables = {name: self.connection.sql(f"FROM {name}").to_arrow_table() for name in names}
        return Block.from_tables(**tables)

    def rank(self, rankings: Sequence[Ranking]) -> None:
        """Rank the lists again under other conventions."""
        self.connection.execute("DROP TABLE IF EXISTS ranked")  # none after an error
        rank_source(self.connection, self.lists, self.policies, rankings, rows="given")
        _share_id_types(self.connection)

    def order(self, ranking: Ranking) -> int | None:
        """Return a number that is equal for rankings with the same lists.

        None if the ranking refuses the lists.
        """
        if not self.statistics.duplicates.rows:
            ranking = ranking._replace(duplicates="keep")
        if ranking not in self._orders:
            try:
                self.rank([ranking])
            except InputError:
                self._orders[ranking] = None
            else:
                self._orders[ranking] = _hash_lists(self.connection)
        return self._orders[ranking]

    @cached_property
    def positive_grades(self) -> list[float]:
        """The distinct positive grades of the ground truth, ascending."""
        query = "SELECT DISTINCT grade FROM truth WHERE grade > 0 ORDER BY grade"
        return [grade for (grade,) in self.connection.execute(query).fetchall()]

    @cached_property
    def n_units(self) -> int:
        """Number of users, or requests, of the ground truth."""
        (n,) = only_row(self.connection, "SELECT count(DISTINCT user) FROM truth")
        return int(n)

    def summaries(
        self, conventions: Conventions, definitions: Mapping[Key, Definition]
    ) -> dict[Key, Summary]:
        """Return the summary of each definition on the lists, which each ranks in its own way.

        Its mean is NaN if the definition, and not the given conventions, rejects a user.
        """
        numbered = [replace(each, number=n) for n, each in enumerate(definitions.values())]
        groups: dict[Ranking, list[Definition]] = {}
        for each in numbered:
            groups.setdefault(each.conventions.ranking, []).append(each)
        summaries: dict[int, Summary] = {}
        for ranking, group in groups.items():
            self.rank([ranking])
            ranked = replace(conventions, overrides={}, **ranking._asdict())
            for start in range(0, len(group), BATCH_SIZE):
                batch = group[start : start + BATCH_SIZE]
                summaries |= self._summarise_batch(ranked, batch)
        return {key: summaries[n] for n, key in enumerate(definitions)}

    def _summarise_batch(
        self, conventions: Conventions, definitions: Sequence[Definition]
    ) -> dict[int, Summary]:
        """Return the summary of definitions with the given ranking, by their numbers."""
        task = self.with_items(Task((), conventions, definitions=definitions))
        try:
            part = evaluate_block(self.block(task), task)
        except ScoringError as error:
            _, _, position, *_ = error.refusal.order
            refusing = definitions[position]
            if refusing.conventions == refusing.label.conventions(conventions):
                raise
            others = [each for each in definitions if each is not refusing]
            return {refusing.number: _REFUSED, **self._summarise_batch(conventions, others)}
        return {each.number: summarise_definition([part.values], each) for each in definitions}

    def keep_user(self, user: Any) -> None:
        """Remove all other users; ids are compared as text."""
        relations = ("given", "judgements", "knowns")
        ids = " UNION ALL ".join(f"SELECT CAST(user AS VARCHAR) AS id FROM {r}" for r in relations)
        query = f"SELECT DISTINCT id FROM ({ids})"
        known = {id_ for (id_,) in self.connection.execute(query).fetchall()}
        read_users(self.connection, open_table("users", [user], {}))
        (parsed,) = only_row(self.connection, "SELECT CAST(user AS VARCHAR) FROM source")
        name = next((each for each in (str(user), parsed) if each in known), None)
        if name is None:
            raise unknown_user_error(user)
        for relation in relations:
            where = f"FROM {relation} WHERE CAST(user AS VARCHAR) <> $user"
            self.connection.execute(f"DELETE {where}", {"user": name})


def _hash_lists(connection: DuckDBPyConnection) -> int:
    """Return a hash of the ranked lists that does not depend on the order of the rows."""
    ties = "NULL"
    if "tie_first" in connection.sql("FROM ranked").columns:
        ties = "CASE WHEN tie_first < tie_last THEN hash(tie_first, tie_last) END"
    # Hashed twice: DuckDB adds the last column by XOR, so that equal ties of two rows cancel.
    query = f"SELECT coalesce(bit_xor(hash(hash(user, item, rank, {ties}))), 0) FROM ranked"
    (number,) = only_row(connection, query)
    return int(number)


def unknown_user_error(user: Any) -> InputError:
    """Return the error for a user who is not in the data."""
    problem = "is neither in the lists nor in the ground truth"
    return refuse(f"user {user!r}", problem, "name a user of the data")


def load_inputs(
    connection: DuckDBPyConnection,
    recs: Data,
    truth: Truth,
    conventions: Conventions,
    *,
    train: Data | None = None,
    items: Data | None = None,
    users: Data | None = None,
    columns: TableColumns | None = None,
    policies: Mapping[str, Any] | None = None,
    unit: Sequence[str] = (),
) -> LoadedInputs:
    """Load and validate all tables, and register them in the connection.

    Raises
    ------
    InputError
        If a table is invalid; problems of the recommendations come first.
    """
    refuse_unit(unit, conventions)
    allowed, column_names = parse_policies(policies or {}), check_columns(columns or {})
    table = open_table("recs", recs, column_names).with_unit(unit)
    allowed = list_policies(allowed, recs)
    try:
        exclude = conventions.exclude
        words = _load_truth(connection, truth, allowed, column_names, unit, exclude=exclude)
    except InputError as error:
        of_lists = problems_of(read_lists, connection, table, allowed, conventions.rankings)
        raise InputError([*of_lists, *error.problems]) from None
    if users is not None:
        read_users(connection, open_table("users", users, column_names))
        connection.execute("CREATE OR REPLACE TABLE knowns AS SELECT DISTINCT user FROM source")
    lists, statistics, _ = read_lists(connection, table, allowed, conventions.rankings)
    connection.execute("ALTER TABLE source RENAME TO given")
    train_rows = "SELECT user, item FROM ranked WHERE FALSE"
    if train is not None:
        read_train(connection, open_table("train", train, column_names))
        train_rows = "SELECT DISTINCT user, item FROM source"
    connection.execute(f"CREATE TEMP TABLE train AS {train_rows}")
    catalogue, catalogue_name = None, None
    if items is not None:
        catalogue_table = open_table("items", items, column_names)
        catalogue = build_catalogue(read_items(connection, catalogue_table)[0])
        catalogue_name = catalogue_table.name
        connection.register("items", catalogue.items.to_arrow())
    else:
        connection.execute("CREATE TEMP TABLE items AS SELECT item FROM ranked WHERE FALSE")
    _share_id_types(connection)
    match_context = IdMatchContext(lists.file, catalogue_name, allowed.unknown_items)
    match_ids(connection, match_context, of_requests=bool(unit))
    return LoadedInputs(connection, allowed, lists, statistics, train is not None, catalogue, words)


def _share_id_types(connection: DuckDBPyConnection) -> None:
    """Create views of lists and ground truth whose ids have one type."""
    share_id_types(connection, {"lists": "ranked", "truth": "judgements", "known": "knowns"})


def refuse_unit(unit: Sequence[str], conventions: Conventions) -> None:
    """Raise an InputError if the unit is invalid, or the convention `unit_mean` does not fit it."""
    problems = [("unit", *each) for each in (unit_problems(unit) if unit else ())]
    mean_problems = unit_mean_problems(unit, conventions.unit_mean)
    problems += [("conventions.unit_mean", *each) for each in mean_problems]
    raise_problems(Problem(*each) for each in problems)


def _load_truth(
    connection: DuckDBPyConnection,
    truth: Truth,
    policies: Policies,
    column_names: Columns,
    unit: Sequence[str],
    *,
    exclude: str | None,
) -> dict[str, str] | None:
    """Load the tables `judgements` and `knowns`: all users; return the words of its texts."""
    truth, others = split_truth(truth)
    may_be_empty = isinstance(truth, Mapping) and bool(truth)  # users without items
    tables = [open_table(name, other, {}, role="truth") for name, other in others.items()]
    table, sink = open_table("truth", truth, column_names).with_unit(unit), InMemorySink()
    loaded = load_ground_truth(
        connection,
        table,
        policies,
        sink.collect,
        with_place=True,
        exclude=exclude,
        may_be_empty=may_be_empty,
        additional=[each.with_unit(unit) for each in tables],
    )
    connection.from_arrow(sink.table).create("judgements")
    users = "SELECT user FROM judgements"
    if read_users_without_items(connection, truth):
        users += " UNION ALL SELECT user FROM source"
    connection.execute(f"CREATE TABLE knowns AS SELECT DISTINCT user FROM ({users})")
    return words_of_table(loaded.source.file)


def read_users_without_items(connection: DuckDBPyConnection, truth: Truth) -> bool:
    """Read the users without a judged item of a dict into the table `source`.

    Returns
    -------
    bool
        True if there are such users.

    Raises
    ------
    InputError
        If an id is missing or invalid, or the dict has a user in two forms.
    """
    if not isinstance(truth, Mapping):
        return False
    empty = [user for user, items in truth.items() if not len(items)]
    if not empty:
        return False
    for users in (list(truth), empty):  # two forms are found among all users
        read_users(connection, open_table("users", users, {}))
    return True


def named_users(judgements: pl.DataFrame, truth: Truth) -> pl.DataFrame | None:
    """Return all users that the ground truth names; None if each of them has an item."""
    if not isinstance(truth, Mapping):
        return None
    with in_memory() as connection:
        if not read_users_without_items(connection, truth):
            return None
        others = pl.DataFrame(connection.sql("SELECT user FROM source").to_arrow_table())
    return pl.concat([judgements.select("user"), others]).unique().sort("user")
