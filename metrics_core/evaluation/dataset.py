"""Ground truth and side data, loaded and validated once, and the evaluation of models on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from concord.metrics_core.data.argument_types import Data, Truth, Value
from concord.metrics_core.data.arguments import Columns, list_policies, open_table, split_truth
from concord.metrics_core.data.id_matching import IdMatchContext, unknown_users_error
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.load_tables import (
    LOADERS,
    InMemorySink,
    Sink,
    load_ground_truth,
    load_recommendations,
    needs_file_order,
)
from concord.metrics_core.data.paths import parse_path
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.quality import describe_folds
from concord.metrics_core.data.relations import in_memory, registered_only
from concord.metrics_core.data.side_data import read_users
from concord.metrics_core.data.tables import read_column, read_frame
from concord.metrics_core.errors import InputError, raise_problems, refuse
from concord.metrics_core.evaluation.accumulator import build_task
from concord.metrics_core.evaluation.block import SortedRows
from concord.metrics_core.evaluation.config import (
    EvaluationConfig,
    err_grade_problems,
    grade_problems,
    subtopic_problems,
)
from concord.metrics_core.evaluation.evaluate_block import Part, select_evaluated
from concord.metrics_core.evaluation.evaluate_model import check_ids, evaluate_model
from concord.metrics_core.evaluation.executors import Executor, ReadingExecutor, execute_by_ranges
from concord.metrics_core.evaluation.inputs import named_users
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.panel import Panel
from concord.metrics_core.evaluation.summary import CONFIDENCE
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.evaluation.ties import has_equal_scores
from concord.metrics_core.files import NO_FOLD, content_ids

NO_PANELS: Mapping[str, Panel] = {}


@dataclass(frozen=True)
class GroundTruth:
    """The relevant items of every user, or of one fold.

    Attributes
    ----------
    judgements : DataFrame
        user, item, grade [, time, place, propensity, subtopics], sorted by user.
    quality : dict
        Description of the table: counts and content ids.
    users : DataFrame or None
        The evaluated users, sorted, if some of them have no judged item.
    """

    judgements: pl.DataFrame
    quality: Mapping[str, Any]
    users: pl.DataFrame | None


@dataclass(frozen=True)
class Dataset:
    """Ground truth and side data in memory.

    Attributes
    ----------
    loader : TableLoader
        Loads recommendations.
    data : EvaluationData
        The data that all models are evaluated on.
    truths : dict
        Ground truth by fold; that of all models under NO_FOLD.
    tables : dict
        Table and description of the side data, by role.
    users : DataFrame or None
        The requested users; no others are evaluated.
    """

    loader: "TableLoader"
    data: EvaluationData
    truths: Mapping[str, GroundTruth]
    tables: Mapping[str, tuple[InputTable, Mapping[str, Any]]]
    users: pl.DataFrame | None

    def evaluate(
        self,
        model: str,
        recs: Data,
        *,
        panels: Mapping[str, Panel] = NO_PANELS,
        confidence: float = CONFIDENCE,
        fold: str = NO_FOLD,
        is_compared: bool = True,
    ) -> ModelResult:
        """Load and evaluate one model's recommendations.

        Parameters
        ----------
        is_compared : bool, default=True
            If False, the result has no values in other orders of equal scores, and may have only
            the ids of its lists: sorted lists are then evaluated while they are read.
        """
        conventions = self.loader.config.conventions
        task = self._task(panels)
        data = self._data(fold, task)
        has_side_data = data.train is not None or data.items is not None
        reads_all = has_side_data or task.needs_items or conventions.propensity is not None
        table, quality, lists, execute = (
            self._read(model, recs)
            if is_compared or reads_all
            else self._evaluate(model, recs, task, data)
        )
        id_match = self._check_ids(table, lists, data)
        if is_compared:
            task = replace(task, has_equal_scores=has_equal_scores(quality, lists))
        store = ValueFrames(task)
        accumulator = evaluate_model(lists, data, task, execute, store)
        qualities = {"truth": data.truth_quality, "lists": quality}
        qualities |= {role: of_table for role, (_, of_table) in self.tables.items()}
        summary = accumulator.content(
            model,
            store.table_of,
            panels,
            confidence=confidence,
            inputs={role: content_ids(of_table) for role, of_table in qualities.items()},
            id_match=id_match,
        )
        of_fold = {} if fold == NO_FOLD else {"fold": fold}
        quality = {"model": model, **of_fold, **quality}
        return ModelResult(store.labels, store.definitions, lists, summary, quality)

    def _task(self, panels: Mapping[str, Panel]) -> Task:
        """Return what is evaluated: of requested users only, if there are some."""
        has_users = self.data.users is not None
        task = build_task(
            self.loader.config.labels, self.loader.config.conventions, panels, has_users=has_users
        )
        return replace(task, only_known=task.only_known or self.users is not None)

    def _data(self, fold: str, task: Task) -> EvaluationData:
        """Return the data of a fold, with the evaluated users."""
        truth = self.truths[fold]
        return replace(
            self.data,
            truth=truth.judgements,
            truth_quality=truth.quality,
            users=self.data.users if task.only_known else truth.users,
            folds={},
            connect=lambda _: registered_only(),  # faster, and no view has to stay
        )

    def _evaluate(self, model: str, recs: Data, task: Task, data: EvaluationData) -> "_ReadLists":
        """Return the ids of lists, which are evaluated while they are read."""
        users = None if data.users is None else SortedRows(read_frame(data.users).to_arrow())
        executor = ReadingExecutor(task, SortedRows(read_frame(data.truth).to_arrow()), users)
        table, quality = self.loader.recommendations(model, recs, executor.keep)
        return table, quality, executor.ids, executor.execute

    def _read(self, model: str, recs: Data) -> "_ReadLists":
        """Return all rows of the lists."""
        sink = InMemorySink()
        table, quality = self.loader.recommendations(model, recs, sink.collect)
        return table, quality, pl.DataFrame(sink.table), execute_by_ranges

    def _check_ids(
        self, table: InputTable, lists: pl.DataFrame, data: EvaluationData
    ) -> dict[str, Any]:
        """Return how ids match; raise if no requested user is in the lists or the ground truth."""
        catalogue = self.tables["items"][0].name if "items" in self.tables else None
        unknown_items = self.loader.policies.unknown_items
        context = IdMatchContext(table, catalogue, unknown_items)
        id_match = check_ids(lists, data, context, of_requests=self.loader.config.of_requests)
        if self.users is not None:
            users = self.users["user"].cast(pl.String)
            known = (read_column(each, "user").cast(pl.String) for each in (lists, data.truth))
            if not any(users.is_in(ids.implode()).any() for ids in known):
                raise unknown_users_error()
        return id_match


# A table of lists, its description, the rows or only their ids, and what evaluates them.
_ReadLists = tuple[InputTable, dict[str, Any], pl.DataFrame, Executor]


def load_dataset(
    loader: "TableLoader",
    truths: Mapping[str, Truth],
    side_data: Mapping[str, Data | None],
    *,
    users: Any = None,
) -> Dataset:
    """Load and validate the ground truth, or that of each fold, and the side data.

    Parameters
    ----------
    loader : TableLoader
        Loads the tables.
    truths : dict
        Ground truth by fold; that of all models under NO_FOLD.
    side_data : dict
        Train, items and users, by role; None if not given.
    users : optional
        Ids of the users to evaluate.

    Raises
    ------
    InputError
        If a table is invalid, or grades do not fit the conventions.
    """
    loaded = {fold: loader.ground_truth(fold, truth) for fold, truth in truths.items()}
    requested_users = None if users is None else loader.users(users)
    tables: dict[str, tuple[InputTable, Mapping[str, Any]]] = {}
    frames: dict[str, pl.DataFrame | None] = dict.fromkeys(side_data)
    for role, side_table in side_data.items():
        if side_table is not None:
            frames[role], tables[role] = loader.side_data(role, side_table)
    judgements = {fold: truth.judgements for fold, truth in loaded.items()}
    qualities = {fold: truth.quality for fold, truth in loaded.items()}
    folds = {fold: each for fold, each in judgements.items() if fold != NO_FOLD}
    data = EvaluationData(
        truth=next(iter(judgements.values())),
        train=frames.get("train"),
        items=frames.get("items"),
        users=frames.get("users") if requested_users is None else requested_users,
        truth_quality=describe_folds(qualities) if folds else qualities[NO_FOLD],
        side_qualities={role: quality for role, (_, quality) in tables.items()},
        connect=lambda _: in_memory(),
        folds=folds,
        named_users=None if folds else loaded[NO_FOLD].users,
    )
    return Dataset(loader, data, loaded, tables, requested_users)


@dataclass(frozen=True)
class TableLoader:
    """Loads and validates tables.

    Attributes
    ----------
    config : EvaluationConfig
        What is evaluated.
    policies : Policies
        Policies for unusual content.
    columns : dict
        Column names of the tables.
    where : dict
        Filter of the rows of tables: column -> value.
    unit : sequence of str
        Columns that identify a request; empty if the unit is a user.
    is_hashed : bool
        True if the content of files is hashed.
    words : dict or None
        Words that texts show for user, item and request; None: as the ground truth suggests.
    allows_none_relevant : bool
        False if it is an error that no grade reaches the relevance threshold.
    """

    config: EvaluationConfig
    policies: Policies
    columns: Columns
    unit: Sequence[str] = ()
    words: Mapping[str, str] | None = None
    is_hashed: bool = True
    allows_none_relevant: bool = False
    where: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def recommendations(
        self, model: str, recs: Data, keep: Sink
    ) -> tuple[InputTable, dict[str, Any]]:
        """Pass a model's lists to `keep`; return their table and its description."""
        table = self._table(model, recs, role="recs").with_unit(self.unit)
        policies = list_policies(self.policies, recs)
        conventions = self.config.conventions
        with registered_only() as connection:
            loaded = load_recommendations(connection, table, policies, conventions, keep)
            return loaded.source.file, loaded.describe()

    def ground_truth(self, fold: str, truth: Truth) -> GroundTruth:
        """Load the ground truth of a fold."""
        try:
            return self._ground_truth(truth)
        except InputError as error:
            if fold == NO_FOLD:
                raise
            raise InputError(
                replace(each, location=f"fold {fold}: {each.where}") for each in error.problems
            ) from None

    def _ground_truth(self, truth: Truth) -> GroundTruth:
        conventions = self.config.conventions
        truth, others = split_truth(truth)
        may_be_empty = isinstance(truth, Mapping) and bool(truth)
        additional = [self._table(name, other, role="truth") for name, other in others.items()]
        table = self._table("truth", truth).with_unit(self.unit)
        table = replace(table, words=self.words or {})
        labels = self.config.labels
        raise_problems(subtopic_problems(labels, table.columns, table.settings, "metrics"))
        sink, keeps_order = InMemorySink(), needs_file_order(conventions)
        with registered_only() as c:
            quality = load_ground_truth(
                c,
                table,
                self.policies,
                sink.collect,
                with_place=keeps_order,
                exclude=conventions.exclude,
                may_be_empty=may_be_empty,
                additional=[each.with_unit(self.unit) for each in additional],
            ).describe()
        judgements = pl.DataFrame(sink.table)
        check = err_grade_problems if self.allows_none_relevant else grade_problems
        highest: Any = judgements["grade"].max()
        raise_problems(check(highest, labels, conventions, table.name, table.settings))
        return GroundTruth(judgements, quality, named_users(judgements, truth))

    def users(self, users: Any) -> pl.DataFrame:
        """Load the ids of the requested users, sorted."""
        table = open_table("users", users, self.columns).with_unit(self.unit)
        with in_memory() as connection:
            read_users(connection, table)
            ids = connection.sql("SELECT DISTINCT user FROM source ORDER BY user")
            return pl.DataFrame(ids.to_arrow_table())

    def side_data(
        self, role: str, data: Data
    ) -> tuple[pl.DataFrame, tuple[InputTable, Mapping[str, Any]]]:
        """Load train, items or users; return their rows, table and description."""
        if role == "users" and isinstance(data, Mapping):
            raise refuse("users", "is a dict", "give a table with the column `user`")
        path = parse_path(data) if isinstance(data, str) and data.strip() else data
        table = self._table(role, path)
        with in_memory() as connection:
            loaded = LOADERS[role](connection, table)
            frame = pl.DataFrame(connection.sql(loaded.query).to_arrow_table())
        return frame, (table, loaded.quality)

    def _table(self, name: str, data: Any, role: str | None = None) -> InputTable:
        table = open_table(name, data, self.columns, role=role)
        is_hashed = table.is_hashed and self.is_hashed
        return replace(table, is_hashed=is_hashed, where=self.where.get(name, table.where))


@dataclass
class ValueFrames:
    """Users' values in memory, as a `ValueSink`."""

    task: Task
    parts: list[pl.DataFrame] = field(default_factory=list)
    values: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def labels(self) -> pl.DataFrame:
        """User ids and the values of each label."""
        return select_evaluated(self.values, self.task)

    @property
    def definitions(self) -> pl.DataFrame:
        """User ids and the values of the panel's other definitions."""
        names = [definition.column for definition in self.task.definitions]
        return self.values.select("user", *names, *self.task.mean_weights)

    def write(self, part: Part) -> None:
        """Add the values of a block."""
        self.parts.append(part.values)

    def close(self) -> None:
        """Concatenate the blocks."""
        self.values = pl.concat(self.parts)
        self.parts.clear()

    def table_of(self, _column: str) -> pl.DataFrame:
        """Return the frame of a column."""
        return self.values
