"""Inputs of a comparison: configuration, evaluated models, and the data behind them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from concord.metrics_core.comparison.aligned import AlignedValues, align, no_progress
from concord.metrics_core.comparison.arguments import ListArguments
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.replicate_config import ReplicateNames, settings_by_list
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.data.argument_types import ModelColumns, Value, Where
from concord.metrics_core.data.arguments import Columns, check_columns
from concord.metrics_core.data.filters import check_where
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.data.tables import (
    Table,
    create_view,
    file_paths,
    read_column,
    scan,
    schema_of,
)
from concord.metrics_core.evaluation.dataset import NO_PANELS, TableLoader, load_dataset
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
from concord.metrics_core.evaluation.panel import Panel
from concord.metrics_core.evaluation.score import MEAN_WEIGHT
from concord.metrics_core.evaluation.ties import AVERAGE, tie_column
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.results.reference import References
from concord.metrics_core.stats.randomization_test import JackknifeError, SwapTest


def unlisted_models(models: Models, max_share: float) -> dict[str, int]:
    """Return model -> its number of users without a list, if their share is above `max_share`."""
    counts = {model: _count_unlisted(result) for model, result in models.items()}
    return {model: n for model, (n, n_users) in counts.items() if n > max_share * n_users}


def _count_unlisted(model: ModelResult) -> tuple[int, int]:
    """Return the number of evaluated users without a list in any replicate, and of all of them.

    Replicates whose lists are for different sets of users, such as those of folds, count as having
    no user in common.
    """
    n_users: dict[str, int] = {}  # by fold
    listed: dict[str, dict[tuple[object, int], int]] = {}
    for replicate in model.replicate_results:
        counts = replicate.summary.get("users", {})
        fold = str(replicate.quality.get("fold", NO_FOLD))
        n_users[fold] = counts.get("in_truth", counts.get("evaluated", 0))
        n_listed = n_users[fold] - counts.get("without_list", counts.get("missing", 0))
        fingerprint = replicate.summary.get("validity", {}).get("users")  # of users with a list
        listed.setdefault(fold, {})[fingerprint, n_listed] = n_listed
    total = sum(n_users.values())
    return total - sum(min(n, sum(listed[fold].values())) for fold, n in n_users.items()), total


def tied_models(models: Models, label: str) -> set[str]:
    """Return the models whose value of a label is another under `ties: average`."""
    return {
        model
        for model, result in models.items()
        for each in result.replicate_results
        if each.summary.get("ties", {}).get(label, {}).get(AVERAGE) is not None
    }


def _averaged(result: ModelResult, labels: Set[str]) -> ModelResult:
    """Return the result with the values of these labels, and no others, averaged."""
    trainings = {name: _averaged(each, labels) for name, each in result.trainings.items()}
    known, values = schema_of(result.values), result.values
    columns = [
        pl.coalesce(tie, name).alias(name) if (tie := tie_column(AVERAGE, name)) in known else name
        for name in known
        if name == "user" or name in labels or name.startswith(MEAN_WEIGHT)
    ]
    if not all(isinstance(column, str) for column in columns):
        values = scan(values).select(columns).collect()
    return replace(result, values=values, trainings=trainings)


@dataclass(frozen=True)
class ListResults:
    """What a comparison computes from lists, of a comparison whose lists are not at hand.

    Attributes
    ----------
    swap_tests, swap_errors : dict
        (label, model) -> test against the baseline, and jackknife error of the difference.
    user_groups : dict
        Name of a segmentation of users -> question, names and numbers of its `UserGroups`.
    item_groups : dict
        (segmentation of items, cutoff) -> group -> model -> values per user.
    """

    swap_tests: Mapping[tuple[str, str], SwapTest]
    swap_errors: Mapping[tuple[str, str], JackknifeError]
    user_groups: Mapping[str, tuple[str, list[str], Ints]]
    item_groups: Mapping[tuple[ByPopularity, int], Mapping[str, Mapping[str, Floats]]]


@dataclass(frozen=True)
class ComparisonInput:
    """Inputs of a comparison.

    Attributes
    ----------
    data : EvaluationData
        The data on which all models were evaluated.
    on_label_read : callable
        Called each time the values of a label are read.
    references : References or None
        Chance, most popular items and best possible lists; None if they were not computed.
    list_results : ListResults or None
        What was computed from the lists, if `models` has none.
    """

    config: ComparisonConfig
    models: Models
    data: EvaluationData
    on_label_read: Callable[[], None] = no_progress
    references: References | None = None
    list_results: ListResults | None = None

    @cached_property
    def unlisted(self) -> dict[str, int]:
        """Model that is not compared -> number of users without a list."""
        return unlisted_models(self.models, self.config.max_missing_lists)

    @property
    def compared(self) -> list[str]:
        """The models that are compared; all models if none would be left."""
        return [model for model in self.models if model not in self.unlisted] or [*self.models]

    @cached_property
    def item_groups(self) -> dict[tuple[ByPopularity, int], Mapping[str, Mapping[str, Floats]]]:
        """`ListResults.item_groups`, stored or computed; of many users they are not kept."""
        return {} if self.list_results is None else {**self.list_results.item_groups}

    @cached_property
    def aligned(self) -> AlignedValues:
        """The values per user of all models."""
        values = {
            m: [each.values for each in result.replicate_results]
            for m, result in self.models.items()
        }
        return align(values, self.on_label_read, self.config.conventions.unit_mean)

    @cached_property
    def averaged(self) -> "ComparisonInput | None":
        """The inputs with labels of verdicts under `ties: average`; None if no value differs."""
        labels = {*self.config.primary, *(self.config.gate.labels if self.config.gate else ())}
        if not any(tied_models(self.models, label) for label in labels):
            return None
        models = {model: _averaged(result, labels) for model, result in self.models.items()}
        return replace(self, models=models)

    @cached_property
    def without_list(self) -> dict[str, Bools]:
        """Model -> (n_users,) True for the aligned users without a list in any replicate.

        Models that have a list for every user are left out, and so are models whose lists are not
        at hand, such as those of an earlier revision.
        """
        return {
            model: ~self._has_list(model, result)
            for model, result in self.models.items()
            if any(
                each.summary.get("users", {}).get("without_list")
                for each in result.replicate_results
            )
            and all(
                not isinstance(each.lists, Path) or each.lists.exists()
                for each in result.replicate_results
            )
        }

    def _has_list(self, model: str, result: ModelResult) -> Bools:
        has_list: Bools = np.zeros(len(self.aligned.users), dtype=np.bool_)
        for replicate, positions in zip(
            result.replicate_results, self.aligned.positions[model], strict=True
        ):
            users = read_column(replicate.values, "user").cast(pl.String)
            listed = users.is_in(self._listed_users(replicate.lists).implode()).to_numpy()
            has_list[slice(None) if positions is None else positions] |= listed
        return has_list

    def _listed_users(self, lists: Table) -> pl.Series:
        """Return the users with a list, as text."""
        with self.data.connect(file_paths([lists])) as connection:
            create_view(connection, "lists", lists)
            users = connection.sql("SELECT DISTINCT CAST(user AS VARCHAR) AS user FROM lists")
            return pl.DataFrame(users.to_arrow_table())["user"]


def table_settings(
    columns: ModelColumns | None,
    where: Where | None,
    lists: Iterable[str],
    tables: Iterable[str],
    replicates: ReplicateNames,
) -> tuple[Columns, dict[str, dict[str, Value]]]:
    """Return the valid column names and filters of each table, those of a model for all its lists.

    `tables` names the side data.
    """
    roles = {**dict.fromkeys(lists, "recs"), **{name: name for name in ("truth", *tables)}}
    names = check_columns(settings_by_list(columns or {}, replicates), roles)
    filters = check_where(where, {**roles, **dict.fromkeys(replicates, "recs")})
    return names, settings_by_list(filters, replicates)


def evaluate_models(
    config: ComparisonConfig,
    arguments: ListArguments,
    *,
    panels: Mapping[str, Panel] = NO_PANELS,
    names: Collection[str] | None = None,
) -> tuple[dict[str, ModelResult], EvaluationData]:
    """Evaluate each list on the ground truth of its fold; return the results by name, and the data.

    Parameters
    ----------
    config : ComparisonConfig
        Metrics, conventions and replicates.
    arguments : ListArguments
        Lists, ground truths and side data, and how they are read.
    panels : dict, optional
        Label -> its convention panel; by default none.
    names : collection of str, optional
        The lists to evaluate; by default all.

    Returns
    -------
    (dict of str to ModelResult, EvaluationData)
        Result of each evaluated list by its name, and the loaded data.
    """
    lists, truths, options = arguments.lists, arguments.truths, arguments.options
    column_names, filters = table_settings(
        arguments.columns, options.where, lists, arguments.tables, config.replicates
    )
    policies = parse_policies(options.input or {})
    loader = TableLoader(config, policies, column_names, options.unit, options.words, where=filters)
    dataset = load_dataset(loader, truths, arguments.tables)
    folds = {} if NO_FOLD in truths else config.replicates
    fold_of = {
        name: fold for names_by_fold in folds.values() for fold, name in names_by_fold.items()
    }
    results = {}
    for name in lists if names is None else names:
        results[name] = dataset.evaluate(
            name,
            lists[name],
            panels=panels,
            confidence=config.confidence,
            fold=fold_of.get(name, NO_FOLD),
        )
    return results, dataset.data
