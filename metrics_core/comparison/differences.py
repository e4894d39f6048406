"""Test the differences of pairs of models on every label."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.comparison.aligned import paired_scores
from concord.metrics_core.comparison.families import PairTest
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.leaderboard import best_models
from concord.metrics_core.comparison.min_effect import is_share
from concord.metrics_core.comparison.segment_groups import with_positions
from concord.metrics_core.data.tables import create_view, file_paths, schema_of
from concord.metrics_core.evaluation.model_result import EvaluationData, Models
from concord.metrics_core.evaluation.side_data import number_items
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results.comparison_parts import or_nan
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.floating_point import difference, differences
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import UserValues, paired_tests, wilcoxon
from concord.metrics_core.stats.randomization_test import (
    JackknifeError,
    ListPair,
    Measure,
    RecommendedItems,
    SwapTest,
    jackknife_errors,
    swap_tests,
)
from concord.metrics_core.stats.simultaneous import deviation_numbers
from concord.metrics_core.stats.verdict import model_pairs

_USER_NUMBERS = """
CREATE TABLE user_numbers AS
SELECT user, CAST(row_number() OVER (ORDER BY user) - 1 AS BIGINT) AS user_number
FROM (SELECT DISTINCT user FROM ({users}))
"""
_RECOMMENDED = """
SELECT DISTINCT user_number, item_number
FROM (SELECT CAST(user AS VARCHAR) AS user, CAST(item AS VARCHAR) AS item, position FROM {lists})
JOIN user_numbers USING (user) JOIN item_numbers USING (item)
WHERE position <= {k} ORDER BY ALL
"""
_WHOLE_LIST = 1 << 40  # longer than any list


def compute_swap_tests(inputs: ComparisonInput) -> dict[tuple[str, str], SwapTest]:
    """Return (label, model) -> swap test against the baseline, for models without replicates."""
    config = inputs.config
    if inputs.list_results is not None:
        return {**inputs.list_results.swap_tests}
    return {
        (label, model): test
        for model, lists in _read_list_pairs(inputs, config.labels, list(inputs.models))
        for label, test in swap_tests(lists, resamples=config.resamples, seed=config.seed).items()
    }


def compute_swap_errors(
    inputs: ComparisonInput, labels: Sequence[Label], models: Sequence[str]
) -> dict[tuple[str, str], JackknifeError]:
    """Return (label, model) -> model minus baseline with its jackknife error.

    Only for labels that have one value over all users.
    """
    if inputs.list_results is not None:
        return {**inputs.list_results.swap_errors}
    return {
        (label, model): error
        for model, lists in _read_list_pairs(inputs, labels, models)
        for label, error in jackknife_errors(lists).items()
    }


def _read_list_pairs(
    inputs: ComparisonInput, labels: Sequence[Label], models: Sequence[str]
) -> Iterator[tuple[str, ListPair]]:
    """Yield each model with its lists and those of the baseline, per cutoff and ranking.

    Only for labels that have one value over all users.
    """
    config, conventions = inputs.config, inputs.config.conventions
    single = {model: result for model, result in inputs.models.items() if not result.trainings}
    others = [model for model in models if model != config.baseline and model in single]
    groups: dict[tuple[int | None, int], dict[str, Measure]] = {}
    for label in labels:
        if label.metric.is_aggregate:
            arguments = label.metric.arguments(label.conventions(conventions))
            key = label.k, label.ranking_number(conventions)
            groups.setdefault(key, {})[str(label)] = partial(label.metric.function, **arguments)
    if not groups or not others or config.baseline not in single:
        return
    with _open_lists(single, inputs.data) as connection:
        tables = [result.lists for result in single.values()]
        items = number_items(tables, inputs.data.train, inputs.data.catalogue)
        numbers = {"item": items.ids, "item_number": np.arange(items.n_items)}
        connection.register("item_numbers", pl.DataFrame(numbers).to_arrow())
        unit_users = None
        if conventions.unit_mean is not None:
            units = connection.sql("SELECT user FROM user_numbers ORDER BY user_number").pl()
            unit_users = Clusters.from_ids(units["user"], conventions.unit_mean).user
        views = {model: f"lists_of_{number}" for number, model in enumerate(single)}
        for (k, ranking), measures in groups.items():

            def read(model: str, k: int | None = k, ranking: int = ranking) -> RecommendedItems:
                lists = with_positions(f"(SELECT * FROM {views[model]} WHERE ranking = {ranking})")
                query = _RECOMMENDED.format(lists=lists, k=_WHOLE_LIST if k is None else k)
                rows = connection.sql(query).pl()
                users, items = (rows[name].to_numpy() for name in ("user_number", "item_number"))
                return RecommendedItems(users, items, unit_users)

            baseline = read(config.baseline)
            for model in others:
                yield model, ListPair(read(model), baseline, measures, items, k)


@contextmanager
def _open_lists(models: Models, data: EvaluationData) -> Iterator[DuckDBPyConnection]:
    """Open a connection with a view of each model's lists, and the table `user_numbers`.

    Views have numbers, since DuckDB does not distinguish `ALS` from `als`.
    """
    tables = [result.lists for result in models.values()]
    with data.connect(file_paths(tables)) as connection:
        for number, lists in enumerate(tables):
            ranking = "ranking" if "ranking" in schema_of(lists) else "0 AS ranking"
            create_view(connection, f"table_{number}", lists)
            rows = f"SELECT user, item, rank, {ranking} FROM table_{number}"
            connection.execute(f"CREATE VIEW lists_of_{number} AS {rows}")
        users = " UNION ALL ".join(
            f"SELECT CAST(user AS VARCHAR) AS user FROM lists_of_{n}" for n in range(len(tables))
        )
        connection.execute(_USER_NUMBERS.format(users=users))
        yield connection


MANY_MODELS = 12  # from here on, there are too many pairs to test all


def compare_pairs(inputs: ComparisonInput) -> list[PairTest]:
    """Return one test per label and pair of models.

    With many models, each is compared with the baseline and, on primary labels, with the leaders.
    """
    order = {str(label): position for position, label in enumerate(inputs.config.labels)}
    return sorted(
        [*_test_users(inputs), *_test_lists(inputs)], key=lambda test: order[str(test.label)]
    )


def _test_users(inputs: ComparisonInput) -> Iterator[PairTest]:
    """Yield the paired tests on labels that have a value per user."""
    config, models, aligned = inputs.config, inputs.models, inputs.aligned
    conventions = config.conventions
    for label in config.labels:
        if label.metric.is_aggregate:
            continue
        text = str(label)
        pairs = _pairs_of(inputs, label)
        means = {model: or_nan(result.mean(text)) for model, result in models.items()}
        effect = config.min_effects[text]
        values = aligned.values(text, label.conventions(conventions).undefined)
        clusters = aligned.clusters_for(label, conventions)
        results = paired_tests(
            values,
            pairs,
            confidence=config.confidence,
            clusters=clusters,
            bounds=label.bounds(conventions),
            unlisted=inputs.unlisted,
            share_of=config.baseline if is_share(effect) else None,
        )
        for (a, b), result in zip(pairs, results, strict=True):
            if is_pooled(label, conventions):
                result = result.with_means(means[a], means[b])
            p_wilcoxon, deviations = math.nan, None
            if config.wilcoxon and not math.isnan(result.p):
                p_wilcoxon = wilcoxon(*paired_scores(values[a], values[b], clusters))
            if text in config.primary and result.standard_error > 0:
                diff = UserValues(differences(values[a], values[b]), clusters).by_user
                deviations = deviation_numbers(diff - result.difference)
            mean = means[config.baseline]
            yield PairTest(label, a, b, result, effect, mean, deviations, p_wilcoxon)


def _pairs_of(inputs: ComparisonInput, label: Label) -> list[tuple[str, str]]:
    """Return the pairs of models that are compared on a label."""
    models, baseline = [*inputs.models], inputs.config.baseline
    pairs = model_pairs(models, baseline)
    if len(models) < MANY_MODELS:
        return pairs
    leaders = best_models(inputs, label) if str(label) in inputs.config.primary else []
    return [(a, b) for a, b in pairs if b == baseline or a in leaders or b in leaders]


def _test_lists(inputs: ComparisonInput) -> Iterator[PairTest]:
    """Yield the swap tests of each model against the baseline on labels over all users.

    Lists of models with replicates are not swapped: their difference is tested over replicates.
    """
    config, models = inputs.config, inputs.models
    tests = compute_swap_tests(inputs)
    for label in config.labels:
        for model in models if label.metric.is_aggregate else ():
            if model == config.baseline:
                continue
            text = str(label)
            a, b = (or_nan(models[name].mean(text)) for name in (model, config.baseline))
            if (text, model) in tests:
                test = tests[text, model]
                paired = PairedTest(
                    a, b, difference(a, b), test.n_users, test.n_nonzero, p=test.p, test="swap"
                )
            else:
                n_users = models[model].summary["metrics"][text]["n_users"]
                paired = PairedTest(a, b, difference(a, b), n_users, n_users, test="none")
            if {model, config.baseline} & inputs.unlisted.keys():
                paired = paired.as_not_comparable()
            yield PairTest(label, model, config.baseline, paired, config.min_effects[text], b)
