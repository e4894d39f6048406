"""Compute the differences of pairs of models on every label, with tests and verdicts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.comparison.aligned import AlignedValues, paired_scores
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import to_absolute
from concord.metrics_core.comparison.segment_groups import with_positions
from concord.metrics_core.data.tables import create_view, file_paths, read_frame, schema_of
from concord.metrics_core.evaluation.item_lists import number_items
from concord.metrics_core.evaluation.join_truth import fetch
from concord.metrics_core.evaluation.model_result import EvaluationData, Models
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.ranked_lists import Items
from concord.metrics_core.results.comparison_parts import Difference, or_nan
from concord.metrics_core.stats.adjustment import adjust, max_t
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.floating_point import difference
from concord.metrics_core.stats.paired_test import PairedTest, paired_tests, wilcoxon
from concord.metrics_core.stats.randomization_test import (
    Measure,
    RecommendedItems,
    SwapTest,
    jackknife_intervals,
    swap_tests,
)
from concord.metrics_core.stats.verdict import model_pairs, verdict

_USER_NUMBERS = """
CREATE TABLE user_numbers AS
SELECT user, CAST(row_number() OVER (ORDER BY user) - 1 AS BIGINT) AS user_number
FROM (SELECT DISTINCT CAST(user AS VARCHAR) AS user FROM lists)
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
    return {
        (label, lists.model): test
        for lists in _read_list_pairs(inputs, config.labels, list(inputs.models))
        for label, test in swap_tests(
            lists.recommended,
            lists.baseline,
            lists.measures,
            items=lists.items,
            k=lists.k,
            resamples=config.resamples,
            seed=config.seed,
        ).items()
    }


def compute_swap_intervals(
    inputs: ComparisonInput, labels: Sequence[Label], models: Sequence[str]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return (label, model) -> jackknife interval of model minus baseline.

    Only for labels that have one value over all users.
    """
    return {
        (label, lists.model): interval
        for lists in _read_list_pairs(inputs, labels, models)
        for label, interval in jackknife_intervals(
            lists.recommended,
            lists.baseline,
            lists.measures,
            items=lists.items,
            k=lists.k,
            confidence=inputs.config.confidence,
        ).items()
    }


@dataclass(frozen=True)
class _ListPair:
    """The lists of a model and the baseline up to a cutoff, and the metrics of these lists."""

    model: str
    recommended: RecommendedItems
    baseline: RecommendedItems
    measures: Mapping[str, Measure]
    items: Items
    k: int | None


def _read_list_pairs(
    inputs: ComparisonInput, labels: Sequence[Label], models: Sequence[str]
) -> Iterator[_ListPair]:
    """Yield the lists of each model and the baseline, per cutoff and ranking.

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
        items = number_items(connection, None)
        unit_users = None
        if conventions.unit_mean is not None:
            units = connection.sql("SELECT user FROM user_numbers ORDER BY user_number").pl()
            unit_users = Clusters.from_ids(units["user"], conventions.unit_mean).user
        views = {model: f"lists_of_{number}" for number, model in enumerate(single)}
        for (k, ranking), measures in groups.items():

            def read(model: str, k: int | None = k, ranking: int = ranking) -> RecommendedItems:
                lists = with_positions(f"(SELECT * FROM {views[model]} WHERE ranking = {ranking})")
                query = _RECOMMENDED.format(lists=lists, k=_WHOLE_LIST if k is None else k)
                rows = fetch(connection, query)
                return RecommendedItems(rows["user_number"], rows["item_number"], unit_users)

            baseline = read(config.baseline)
            for model in others:
                yield _ListPair(model, read(model), baseline, measures, items, k)


@contextmanager
def _open_lists(models: Models, data: EvaluationData) -> Iterator[DuckDBPyConnection]:
    """Open a connection with a view of each model's lists, and the tables that all models share.

    These are `lists` (of all models), `train`, `items` and `user_numbers`.
    Views have numbers, since DuckDB does not distinguish `ALS` from `als`.
    """
    tables = [result.lists for result in models.values()]
    with data.connect(file_paths(tables)) as connection:
        for number, lists in enumerate(tables):
            ranking = "ranking" if "ranking" in schema_of(lists) else "0 AS ranking"
            create_view(connection, f"table_{number}", lists)
            rows = f"SELECT user, item, rank, {ranking} FROM table_{number}"
            connection.execute(f"CREATE VIEW lists_of_{number} AS {rows}")
        ids = "CAST(user AS VARCHAR) AS user, CAST(item AS VARCHAR) AS item"
        union = " UNION ALL ".join(
            f"SELECT {ids} FROM lists_of_{number}" for number in range(len(tables))
        )
        connection.execute(f"CREATE VIEW lists AS {union}")
        empty = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
        for name, table in (("train", data.train), ("items", data.items)):
            create_view(connection, name, empty if table is None else read_frame(table))
        connection.execute(_USER_NUMBERS)
        yield connection


MANY_MODELS = 12  # from here on, there are too many pairs to report all on every label


@dataclass(frozen=True)
class PairTest:
    """The test of two models, or of two results of a model, before p-values are adjusted."""

    label: Label
    a: str
    b: str
    paired: PairedTest
    min_effect: float
    p_wilcoxon: float = math.nan


def compute_differences(inputs: ComparisonInput) -> list[Difference]:
    """Return one difference per label and pair of models.

    With many models, labels that are not primary have differences to the baseline only.
    """
    order = {str(label): position for position, label in enumerate(inputs.config.labels)}
    tests = sorted(
        [*_test_users(inputs), *_test_lists(inputs)], key=lambda test: order[str(test.label)]
    )
    return adjusted_differences(inputs.config, tests, inputs.aligned)


def adjusted_differences(
    config: ComparisonConfig, tests: Sequence[PairTest], aligned: AlignedValues | None = None
) -> list[Difference]:
    """Return one difference per test, with adjusted p-value and verdict.

    p-values on primary labels are adjusted by Holm or, if requested and `aligned` has the values,
    by joint sign flips, and are then never below the p-value that belongs to the interval.
    All others are adjusted by Benjamini and Hochberg.
    """
    primary = np.array([str(test.label) in config.primary for test in tests], dtype=bool)
    p = np.array([test.paired.p for test in tests], dtype=np.float64)
    adjusted = adjust(p, primary)
    n_tests = int(np.count_nonzero(~np.isnan(adjusted[primary])))
    if aligned is not None and config.adjustment == "max_t":
        family = [test for test, is_primary in zip(tests, primary, strict=True) if is_primary]
        adjusted[primary] = np.maximum(_joint_p(config, family, aligned), p[primary])
        n_tests = 1  # joint sign flips multiply no p-value
    return [
        _difference(config, test, p_adjusted, n_tests)
        for test, p_adjusted in zip(tests, adjusted.tolist(), strict=True)
    ]


def _test_users(inputs: ComparisonInput) -> Iterator[PairTest]:
    """Yield the paired tests on labels that have a value per user."""
    config, models, aligned = inputs.config, inputs.models, inputs.aligned
    conventions = config.conventions
    all_pairs = model_pairs(list(models), config.baseline)
    for label in config.labels:
        if label.metric.is_aggregate:
            continue
        text = str(label)
        is_complete = text in config.primary or len(models) < MANY_MODELS
        pairs = all_pairs if is_complete else all_pairs[: len(models) - 1]
        means = {model: or_nan(result.mean(text)) for model, result in models.items()}
        effect = to_absolute(config.min_effects[text], means[config.baseline])
        values = aligned.values(text, label.conventions(conventions).undefined)
        clusters = aligned.clusters_for(label, conventions)
        results = paired_tests(
            values,
            pairs,
            confidence=config.confidence,
            clusters=clusters,
            bounds=label.bounds(conventions),
            unlisted=inputs.unlisted,
        )
        for (a, b), result in zip(pairs, results, strict=True):
            if is_pooled(label, conventions):
                result = result.with_means(means[a], means[b])
            p_wilcoxon = math.nan
            if config.wilcoxon and not math.isnan(result.p):
                p_wilcoxon = wilcoxon(*paired_scores(values[a], values[b], clusters))
            yield PairTest(label, a, b, result, effect, p_wilcoxon)


def _joint_p(
    config: ComparisonConfig, family: Sequence[PairTest], aligned: AlignedValues
) -> Floats:
    """Return p-values of the primary comparisons by joint sign flips; NaN if there is no test."""
    adjusted = np.full(len(family), np.nan)
    tested = [i for i, test in enumerate(family) if not math.isnan(test.paired.p)]
    labels = {family[i].label for i in tested}
    values = {
        label: aligned.values(str(label), label.conventions(config.conventions).undefined)
        for label in labels
    }
    clusters = {label: aligned.clusters_for(label, config.conventions) for label in labels}
    adjusted[tested] = max_t(
        [
            paired_scores(values[t.label][t.a], values[t.label][t.b], clusters[t.label])
            for t in (family[i] for i in tested)
        ],
        resamples=config.resamples,
        seed=config.seed,
    )
    return adjusted


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
            effect = to_absolute(config.min_effects[text], b)
            yield PairTest(label, model, config.baseline, paired, effect)


def _difference(
    config: ComparisonConfig, test: PairTest, p_adjusted: float, n_tests: int
) -> Difference:
    """Return the difference of a pair; `n_tests` is the factor of Holm for primary labels."""
    paired, upwards = test.paired, test.label.metric.higher_is_better
    primary = str(test.label) in config.primary
    return Difference(
        label=str(test.label),
        a=test.a,
        b=test.b,
        vs_baseline=test.b == config.baseline,
        primary=primary,
        mean_a=paired.mean_a,
        mean_b=paired.mean_b,
        difference=paired.difference,
        ci_low=paired.ci_low,
        ci_high=paired.ci_high,
        relative=paired.relative,
        effect_size=paired.effect_size,
        better=paired.above if upwards else paired.below,
        equal=paired.equal,
        worse=paired.below if upwards else paired.above,
        n_users=paired.n_users,
        n_nonzero=paired.n_nonzero,
        caution=paired.caution,
        p=paired.p,
        p_adjusted=p_adjusted,
        p_wilcoxon=test.p_wilcoxon,
        test=paired.test,
        adjustment=config.adjustment if primary else "bh",
        min_effect=test.min_effect,
        verdict=verdict(
            paired,
            p_adjusted,
            alpha=config.alpha,
            min_effect=test.min_effect,
            higher_is_better=upwards,
            tests=n_tests if primary else 1,
        ),
    )
