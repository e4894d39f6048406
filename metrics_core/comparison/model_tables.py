"""Lists of models, a truth and what else there is, as people hand them over -> the results that a comparison reads."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.replicate_config import of_lists
from concord.metrics_core.data.arguments import Columns, check_columns, open_table
from concord.metrics_core.data.frames import Data
from concord.metrics_core.data.id_matching import IdMatchContext
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.loaded_tables import (
    LOADERS,
    InMemorySink,
    load_ground_truth,
    load_recommendations,
    needs_given_order,
)
from concord.metrics_core.data.paths import parse_place
from concord.metrics_core.data.policies import Policies, parse_policies
from concord.metrics_core.data.quality import describe_folds
from concord.metrics_core.data.relations import connect, in_memory
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.evaluation.accumulator import task_of
from concord.metrics_core.evaluation.evaluate_model import (
    ModelData,
    check_ids,
    evaluate_model,
    execute_in_memory,
)
from concord.metrics_core.evaluation.grade_fit import grade_problems
from concord.metrics_core.evaluation.inputs import read_users_without_items
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.panel import Panel
from concord.metrics_core.evaluation.partition import Part, Task, evaluated
from concord.metrics_core.files import NO_FOLD, content_ids

NO_PANELS: Mapping[str, Panel] = {}


def given_tables(background: Mapping[str, Data | None]) -> list[str]:
    """The tables that are there."""
    return [name for name, table in background.items() if table is not None]


@dataclass(frozen=True)
class _Truth:
    """Judgements, and what was found in them.

    known : the users who are evaluated, where they are more than those of the judgements
    """

    judgements: pl.DataFrame
    found: Mapping[str, Any]
    known: pl.DataFrame | None


@dataclass(frozen=True)
class _Data:
    """What all models are evaluated on.

    truths : fold -> its truth; WHOLE -> that of all lists
    tables : role of the others -> what messages call it, and what was found in it
    """

    ground: EvaluationData
    truths: Mapping[str, _Truth]
    tables: Mapping[str, tuple[InputTable, Mapping[str, Any]]]

    def inputs(self, lists: Mapping[str, Any], fold: str) -> dict[str, dict[str, Any]]:
        """By what truth, a model's lists and the other tables are known."""
        others = {role: found for role, (_, found) in self.tables.items()}
        found = {"truth": self.truths[fold].found, "lists": lists, **others}
        return {role: content_ids(of) for role, of in found.items()}


def evaluate_models(
    config: ComparisonConfig,
    lists: Mapping[str, Data],
    truths: Mapping[str, Data],
    background: Mapping[str, Data | None],
    *,
    columns: Columns | None,
    input: Mapping[str, Any] | None,
    panels: Mapping[str, Panel] = NO_PANELS,
    unit: Sequence[str] = (),
    names: Collection[str] | None = None,
) -> tuple[dict[str, ModelResult], EvaluationData]:
    """The results of each of the lists, or of those named, each by the truth of its fold; and what all are evaluated on.

    Parameters
    ----------
    lists   : name -> a model's, or one training's
    truths  : fold -> its truth; WHOLE -> that of all lists
    columns : what tables call their columns, of models with replicates by the model's name, too
    """
    roles = {**dict.fromkeys(lists, "recs"), **{name: name for name in ("truth", *background)}}
    named = check_columns(of_lists(columns or {}, config.replicates), roles)
    reader = ModelTables(config, parse_policies(input or {}), named, panels, unit)
    data = reader.data(truths, background)
    folds = {} if NO_FOLD in truths else config.replicates
    fold_of = {name: fold for of_model in folds.values() for fold, name in of_model.items()}
    results = {
        name: reader.evaluated(name, lists[name], data, fold=fold_of.get(name, NO_FOLD))
        for name in (lists if names is None else names)
    }
    return results, data.ground


@dataclass(frozen=True)
class ModelTables:
    """Reads, checks and evaluates what people hand over, by the functions that the pipeline's stages call."""

    config: ComparisonConfig
    policies: Policies
    columns: Columns
    panels: Mapping[str, Panel]
    unit: Sequence[str] = ()

    def data(self, truths: Mapping[str, Data], background: Mapping[str, Data | None]) -> _Data:
        """The truth, or that of each fold, and what else is given."""
        read = {fold: self._truth(fold, truth) for fold, truth in truths.items()}
        judgements = {fold: truth.judgements for fold, truth in read.items()}
        first = next(iter(judgements.values()))
        folds = {fold: each for fold, each in judgements.items() if fold != NO_FOLD}
        found = {fold: truth.found for fold, truth in read.items()}
        tables: dict[str, tuple[InputTable, Mapping[str, Any]]] = {}
        frames: dict[str, pl.DataFrame | None] = dict.fromkeys(background)
        for role in given_tables(background):
            frames[role], tables[role] = self._background(role, background[role])
        quality = describe_folds(found) if folds else found[NO_FOLD]
        ground = EvaluationData(
            first, **frames, truth_quality=quality, connecting=_connecting, folds=folds
        )
        return _Data(ground, read, tables)

    def _truth(self, fold: str, truth: Data) -> _Truth:
        try:
            return self._read_truth(truth)
        except InputError as error:
            if fold == NO_FOLD:
                raise
            raise InputError(
                replace(each, location=f"fold {fold}: {each.where}") for each in error.problems
            ) from None

    def _read_truth(self, truth: Data) -> _Truth:
        config, nobody = self.config, isinstance(truth, Mapping) and bool(truth)
        table = open_table("truth", truth, self.columns).of_requests(self.unit)
        kept, place = InMemorySink(), needs_given_order(config.conventions)
        with in_memory() as c:
            found = load_ground_truth(
                c, table, self.policies, kept.keep, place=place, may_be_empty=nobody
            ).describe()
        judgements = pl.DataFrame(kept.table)
        highest: Any = judgements["grade"].max()
        wrong = grade_problems(
            highest, config.labels, config.conventions, table.name, table.settings
        )
        if problems := list(wrong):
            raise InputError(problems)
        return _Truth(judgements, found, _known(judgements, truth))

    def _background(
        self, role: str, data: Data
    ) -> tuple[pl.DataFrame, tuple[InputTable, Mapping[str, Any]]]:
        if role == "users" and isinstance(data, Mapping):
            raise refuse("users", "is a dict", "give a table: a column `user`, and others")
        own = parse_place(data) if isinstance(data, str) and data.strip() else data
        table = open_table(role, own, self.columns)
        with in_memory() as connection:
            found = LOADERS[role](connection, table)
            frame = pl.DataFrame(connection.sql(found.query).to_arrow_table())
        return frame, (table, found.quality)

    def evaluated(self, model: str, recs: Data, data: _Data, *, fold: str) -> ModelResult:
        """One model's results, by the truth of a fold."""
        config, pinned, ground = self.config, self.config.conventions, data.ground
        truth = data.truths[fold]
        table = open_table(model, recs, self.columns, role="recs").of_requests(self.unit)
        # A dict says no ranks of its own: those that it is given begin at 1.
        own = replace(self.policies, rank_base=1) if isinstance(recs, Mapping) else self.policies
        with in_memory() as connection:
            kept = InMemorySink()
            found = load_recommendations(connection, table, own, pinned, kept.keep).describe()
        lists = pl.DataFrame(kept.table)
        task = task_of(config.labels, pinned, self.panels, has_users=ground.users is not None)
        model_data = ModelData(
            model=model,
            lists=lists,
            truth=truth.judgements,
            train=ground.train,
            items=ground.items,
            users=ground.users if task.only_known else truth.known,
            connect=_connecting,
        )
        fit = self._fit(table, model_data, data)
        store = _ValueFrames(task)
        summary = evaluate_model(
            model_data,
            task,
            self.panels,
            execute_in_memory,
            store,
            confidence=config.confidence,
            fit=fit,
            inputs=data.inputs(found, fold),
        )
        quality = {"model": model, **({"fold": fold} if fold != NO_FOLD else {}), **found}
        return ModelResult(store.labels, store.definitions, lists, summary, quality)

    def _fit(self, table: InputTable, model_data: ModelData, data: _Data) -> dict[str, Any]:
        catalogue = data.tables["items"][0].name if "items" in data.tables else None
        policy = self.policies.unknown_items
        met = IdMatchContext(table.name, table.columns, catalogue, policy, table.settings)
        return check_ids(model_data, met, of_requests=self.config.of_requests)


@dataclass
class _ValueFrames:
    """Frames of users' values: one of the labels, one of the panel's other definitions."""

    task: Task
    parts: list[Part] = field(default_factory=list)
    labels: pl.DataFrame = field(default_factory=pl.DataFrame)
    definitions: pl.DataFrame = field(default_factory=pl.DataFrame)

    def write(self, part: Part) -> None:
        """Keep the values of a partition."""
        self.parts.append(part)

    def close(self) -> None:
        """Put the partitions together."""
        values = pl.concat(part.values for part in self.parts)
        names = [definition.column for definition in self.task.definitions]
        self.labels = evaluated(values, self.task)
        self.definitions = values.select("user", *names, *self.task.mean_weights)
        self.parts.clear()

    def table_of(self, column: str) -> pl.DataFrame:
        """Return the frame of a column."""
        return self.definitions if column in self.definitions.columns else self.labels


def _known(judgements: pl.DataFrame, truth: Data) -> pl.DataFrame | None:
    """The users of the truth and those whom it names without an item; None where there are none of the latter."""
    with in_memory() as connection:
        if not read_users_without_items(connection, truth):
            return None
        others = pl.DataFrame(connection.sql("SELECT user FROM source").to_arrow_table())
    judged = judgements.select("user")
    if judged.schema != others.schema:
        judged, others = (frame.cast(pl.String) for frame in (judged, others))
    return pl.concat([judged, others])


def _connecting(files: Iterable[Path]) -> DuckDBPyConnection:
    return connect(reads=files)
