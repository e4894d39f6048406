"""Open the inputs of `evaluate`: validated like the files of the pipeline, or evaluated while they are read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions, Ranking
from concord.metrics_core.data.arguments import Columns, check_columns, open_table
from concord.metrics_core.data.frames import Data
from concord.metrics_core.data.id_matching import IdMatchContext, match_ids, unknown_users_error
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.list_batches import ListBatch, list_batch
from concord.metrics_core.data.load_lists import rank_source, read_lists
from concord.metrics_core.data.loaded_tables import (
    InMemorySink,
    load_ground_truth,
    load_recommendations,
)
from concord.metrics_core.data.policies import Policies, parse_policies
from concord.metrics_core.data.quality import rewritten_ids
from concord.metrics_core.data.relations import share_id_types
from concord.metrics_core.data.row_checks import only_row
from concord.metrics_core.data.side_data import read_items, read_train, read_users
from concord.metrics_core.data.source import Source
from concord.metrics_core.data.units import mean_findings, unit_findings
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.evaluation.partition import (
    Part,
    Task,
    judge_partition,
    one_ahead,
    put_range,
    score_partition,
)
from concord.metrics_core.evaluation.side_data import Catalogue, catalogue_of, with_item_columns
from concord.metrics_core.metrics.judged import Judged


@dataclass(frozen=True)
class LoadedInputs:
    """The relations of a connection: `lists`, `truth`, `known`; without `parts` also `train` and `items`, which may be empty.

    lists     : as they were read, in the table `given`, where they are ranked again; ranked they stand in `ranked`
    parts     : what the lists gave as they went by; then of `lists` there are the distinct ids only
    fit       : what the ids of lists, truth and catalogue have in common; see `fit_of`
    has_train : is there a train?
    catalogue : the items, and what is known of them; None: none was given
    sources   : "recs" and "truth" -> what was read
    """

    connection: DuckDBPyConnection
    policies: Policies
    lists: Source | None
    parts: Sequence[Part]
    fit: Mapping[str, Any]
    has_train: bool = False
    catalogue: Catalogue | None = None
    sources: Mapping[str, Source] = field(default_factory=dict)

    @property
    def train(self) -> pl.DataFrame | None:
        """user, item of the train."""
        rows = self.connection.sql("SELECT user, item FROM train")
        return pl.DataFrame(rows.to_arrow_table()) if self.has_train else None

    @property
    def has_scores(self) -> bool:
        """True if the lists have scores."""
        return "score" in self.sources["recs"].columns

    @property
    def rewritten(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Table -> column -> its ids that were read without `.0`."""
        found = {name: rewritten_ids(self.sources[name]) for name in ("recs", "truth")}
        return {name: columns for name, columns in found.items() if columns}

    def shelved(self, task: Task) -> Task:
        """The task with what it reads of the catalogue or the train; see `with_shelf`."""
        return with_item_columns(task, lambda: self.catalogue, lambda: self.train)

    def rank(self, rankings: Sequence[Ranking]) -> None:
        """Rank the lists anew, under other conventions."""
        assert self.lists is not None
        self.connection.execute("DROP TABLE ranked")
        rank_source(self.connection, self.lists, self.policies, rankings, rows="given")
        _share(self.connection)

    def keep_user(self, user: Any) -> None:
        """Forget all other users; an id is known by its text."""
        relations = ("given", "judgements", "knowns")
        every = " UNION ALL ".join(
            f"SELECT CAST(user AS VARCHAR) AS id FROM {r}" for r in relations
        )
        found = {
            id_
            for (id_,) in self.connection.execute(f"SELECT DISTINCT id FROM ({every})").fetchall()
        }
        read_users(self.connection, open_table("users", [user], {}))
        (meant,) = only_row(self.connection, "SELECT CAST(user AS VARCHAR) FROM source")
        name = next((each for each in (str(user), meant) if each in found), None)
        if name is None:
            raise unknown_user_error(user)
        for relation in relations:
            where = f"FROM {relation} WHERE CAST(user AS VARCHAR) <> $user"
            self.connection.execute(f"DELETE {where}", {"user": name})


def unknown_user_error(user: Any) -> InputError:
    """The refusal of a user who is not in the data."""
    what = "is neither in the lists nor in the truth"
    return refuse(f"user {user!r}", what, "name a user of the data")


def load_inputs(
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
    again: bool = False,
    task: Task | None = None,
    unit: Sequence[str] = (),
) -> LoadedInputs:
    """Read, check and register everything.

    again : will the lists be ranked anew?
    task  : evaluate the lists as they are read, if no part is refused
    unit  : the columns that name a request, where lists are those of requests

    Raises
    ------
    InputError : what is wrong, where, and what to do
    """
    refuse_unit(unit, conventions)
    allowed, named = parse_policies(policies or {}), check_columns(columns or {})
    if isinstance(recs, Mapping):  # it says no ranks of its own: those that it is given begin at 1
        allowed = replace(allowed, rank_base=1)
    table = open_table("recs", recs, named).of_requests(unit)
    wrong = None
    sources: dict[str, Source] = {}
    try:
        sources["truth"] = _read_truth(connection, judgements, allowed, named, unit)
        _register_known(connection, judgements, users, named, unit)
    except InputError as error:  # what is wrong with the lists is said first
        wrong, task = error, None
    source: Source | None = None
    parts: Sequence[Part] = ()
    if again:
        source = read_lists(connection, table, allowed, conventions.rankings).source
        connection.execute("ALTER TABLE source RENAME TO given")
        sources["recs"] = source
    else:
        parts, sources["recs"] = _keep_lists(connection, table, allowed, conventions, task)
    if wrong:
        raise wrong
    if train is not None:
        read_train(connection, open_table("train", train, named))
        connection.execute("CREATE TEMP TABLE train AS SELECT DISTINCT user, item FROM source")
    elif not parts:
        connection.execute("CREATE TEMP TABLE train AS SELECT user, item FROM ranked WHERE FALSE")
    catalogue, name = None, None
    if items is not None:
        shelf = open_table("items", items, named)
        catalogue, name = catalogue_of(read_items(connection, shelf)[0]), shelf.name
        connection.register("items", catalogue.items.to_arrow())
    elif not parts:
        connection.execute("CREATE TEMP TABLE items AS SELECT item FROM ranked WHERE FALSE")
    _share(connection)
    met = IdMatchContext(table.name, table.columns, name, allowed.unknown_items, table.settings)
    fit = match_ids(connection, met, of_requests=bool(unit))
    if users is not None:
        _refuse_nobody(connection)
    return LoadedInputs(
        connection, allowed, source, parts, fit, train is not None, catalogue, sources
    )


def _keep_lists(
    connection: DuckDBPyConnection,
    table: InputTable,
    policies: Policies,
    conventions: Conventions,
    task: Task | None,
) -> tuple[Sequence[Part], Source]:
    """Registers the lists; what they gave as they went by, if they could be evaluated so, and what they are."""
    if task is not None:
        passing = StreamingEvaluator(connection, task)
        source = load_recommendations(connection, table, policies, conventions, passing.keep).source
        if not passing.refused:
            connection.register("ranked", passing.ids)
            return passing.parts, source
        connection.execute("DROP TABLE IF EXISTS ranked")
    kept = InMemorySink()
    source = load_recommendations(connection, table, policies, conventions, kept.keep).source
    for relation in ("ranked", "given"):
        connection.register(relation, kept.table)
    return (), source


def _share(connection: DuckDBPyConnection) -> None:
    """Views of lists and truth whose ids are of one type."""
    views = {"lists": "ranked", "truth": "judgements", "known": "knowns"}
    share_id_types(connection, views)


def refuse_unit(unit: Sequence[str], conventions: Conventions) -> None:
    """Raises an InputError where the unit is none, or the convention `unit_mean` does not fit it."""
    found = [("unit", *each) for each in (unit_findings(unit) if unit else ())]
    found += [("conventions: unit_mean", *each) for each in mean_findings(unit, conventions.unit_mean)]  # fmt: skip
    if found:
        raise InputError(Problem(*each) for each in found)


def _read_truth(
    connection: DuckDBPyConnection,
    given: Data,
    policies: Policies,
    named: Columns,
    unit: Sequence[str],
) -> Source:
    nobody_judged = isinstance(given, Mapping) and bool(given)  # each user may be without an item
    table = open_table("truth", given, named).of_requests(unit)
    kept = InMemorySink()
    found = load_ground_truth(
        connection, table, policies, kept.keep, place=True, may_be_empty=nobody_judged
    )
    connection.from_arrow(kept.table).create("judgements")
    return found.source


def _register_known(
    connection: DuckDBPyConnection,
    judgements: Data,
    users: Any,
    named: Columns,
    unit: Sequence[str],
) -> None:
    """Whom the truth knows, or who is named; in a dict a user may have no judged item."""
    if users is not None:
        table = open_table("users", users, named).of_requests(unit)
        read_users(connection, table)
        connection.execute("CREATE TABLE knowns AS SELECT DISTINCT user FROM source")
        return
    connection.execute("CREATE TABLE knowns AS SELECT DISTINCT user FROM judgements")
    if read_users_without_items(connection, judgements):
        both = "SELECT user FROM knowns UNION SELECT user FROM source"
        connection.execute(f"CREATE OR REPLACE TABLE knowns AS {both}")


def read_users_without_items(connection: DuckDBPyConnection, judgements: Data) -> bool:
    """Read the users whom a dict names without a judged item into the table `source`; are there any?

    Raises
    ------
    InputError : an id is missing or cannot be read, or the dict names a user in two forms
    """
    if not isinstance(judgements, Mapping):
        return False
    empty = [user for user, held in judgements.items() if not len(held)]
    if not empty:
        return False
    for users in (list(judgements), empty):  # two forms are found among all users
        read_users(connection, open_table("users", users, {}))
    return True


def _refuse_nobody(connection: DuckDBPyConnection) -> None:
    """Of users who are named somebody has to be there."""
    there = "SELECT user FROM lists UNION ALL SELECT user FROM truth"
    (found,) = only_row(connection, f"SELECT count(*) FROM known SEMI JOIN ({there}) USING (user)")
    if not found:
        raise unknown_users_error()


_WHOLE = {"lists": "going_by", "all_truth": "judgements", "all_known": "knowns"}


@dataclass
class StreamingEvaluator:
    """What lists gave that went by. The relations `judgements` and `knowns` are there before.

    parts   : of ranges of users
    ids     : the distinct users of the lists, and below them the distinct items
    refused : do the conventions refuse some part? Then there are no parts
    """

    connection: DuckDBPyConnection
    task: Task
    parts: list[Part] = field(default_factory=list)
    ids: pa.Table | None = None
    refused: bool = False

    def keep(self, schema: pa.Schema, rows: Iterable[ListBatch]) -> None:
        """Evaluates the lists of each table, and the users of the truth who stand between them."""
        nothing = pa.Table.from_batches([], schema)
        self.parts, self.refused = [], False
        self.connection.register("going_by", nothing)
        share_id_types(self.connection, _WHOLE)
        own, shared = (self.connection.view(n).select("user").types for n in ("going_by", "lists"))
        ordered = iter(rows) if own == shared else _in_one(rows)  # as text users stand otherwise
        users, items = [], pc.unique(nothing.column("item"))

        def judged() -> Iterator[dict[int, Judged]]:
            nonlocal items
            for lists, low, high in _ranges(one_ahead(ordered)):
                users.append(lists.users)
                here = lists.column("item") if lists.items is None else lists.items
                items = pc.unique(pa.chunked_array([items, here]))
                if not self.refused:
                    yield self._judged(lists.table, low, high)
            if not users:
                yield self._judged(nothing, None, None)

        with closing(one_ahead(judged())) as ahead:  # nobody asks DuckDB anything after an error
            for ranked in ahead:
                self._score(ranked)
        of_each = (
            pa.table({"user": pa.chunked_array(users, schema.field("user").type)}),
            pa.table({"item": items}),
        )
        self.ids = pa.concat_tables(of_each, promote_options="default")

    def _judged(self, rows: pa.Table, low: Any, high: Any) -> dict[int, Judged]:
        self.connection.register("going_by", rows)
        put_range(self.connection, ("truth", "known"), low, high)
        return judge_partition(self.connection, self.task)

    def _score(self, ranked: dict[int, Judged]) -> None:
        if self.refused:
            return
        try:
            self.parts.append(score_partition(ranked, self.task))
        except ValueError:
            self.parts, self.refused = [], True


def _ranges(rows: Iterator[ListBatch]) -> Iterator[tuple[ListBatch, Any, Any]]:
    """Each with the user at which its range begins and the one before which it ends; nobody is between two ranges."""
    low, lists = None, next(rows, None)
    while lists is not None:
        after = next(rows, None)
        high = None if after is None else after.users[0].as_py()
        yield lists, low, high
        low, lists = high, after


def _in_one(rows: Iterable[ListBatch]) -> Iterator[ListBatch]:
    batches = [batch for lists in rows for batch in lists.table.to_batches()]
    return iter([list_batch(batches)] if batches else [])
