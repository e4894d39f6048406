"""Differences: every pair of models on every label, adjusted and judged together; list-swap tests."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.comparison.aligned import Aligned, by_pair
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import absolute
from concord.metrics_core.comparison.segment_groups import closed_up
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.relations import create_view, file_paths, read_frame, schema_of
from concord.metrics_core.evaluation.judge import fetch
from concord.metrics_core.evaluation.listing import number_items
from concord.metrics_core.evaluation.model_result import EvaluationData, Models
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.listed import Items
from concord.metrics_core.results.comparison_parts import Difference, or_nan, or_none
from concord.metrics_core.stats.adjustment import adjust, max_t
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.paired_test import PairedTest, paired_tests, wilcoxon
from concord.metrics_core.stats.randomization_test import (
    Measure,
    RecommendedItems,
    SwapTest,
    jackknife_intervals,
    swap_tests,
)
from concord.metrics_core.stats.tolerance import difference
from concord.metrics_core.stats.verdict import model_pairs, verdict

_USER_NUMBERS = """
CREATE TABLE user_numbers AS
SELECT user, CAST(row_number() OVER (ORDER BY user) - 1 AS BIGINT) AS user_number
FROM (SELECT DISTINCT CAST(user AS VARCHAR) AS user FROM lists)
"""
_SHOWN = """
SELECT DISTINCT user_number, item_number
FROM (SELECT CAST(user AS VARCHAR) AS user, CAST(item AS VARCHAR) AS item, place FROM {lists})
JOIN user_numbers USING (user) JOIN item_numbers USING (item)
WHERE place <= {k} ORDER BY ALL
"""
_ALL = 1 << 40  # places: the whole list


def swap_results(evidence: ComparisonInput) -> dict[tuple[str, str], SwapTest]:
    """(label, model) -> the test of the model against the baseline, where both were trained once."""
    config = evidence.config
    how = {"resamples": config.resamples, "seed": config.seed}
    return {
        (label, lists.model): test
        for lists in _lists_of(evidence, config.labels, list(evidence.models))
        for label, test in swap_tests(
            lists.shown, lists.baseline, lists.measures, items=lists.items, k=lists.k, **how
        ).items()
    }


def swap_intervals(
    evidence: ComparisonInput, labels: Sequence[Label], models: Sequence[str]
) -> dict[tuple[str, str], tuple[float | None, float | None]]:
    """(label, model) -> the jackknife's interval of the model minus the baseline, of those labels over all users."""
    return {
        (label, lists.model): (or_none(low), or_none(high))
        for lists in _lists_of(evidence, labels, models)
        for label, (low, high) in jackknife_intervals(
            lists.shown,
            lists.baseline,
            lists.measures,
            items=lists.items,
            k=lists.k,
            confidence=evidence.config.confidence,
        ).items()
    }


@dataclass(frozen=True)
class _Lists:
    """What a model and the baseline show at one cutoff, and the labels that read it."""

    model: str
    shown: RecommendedItems
    baseline: RecommendedItems
    measures: Mapping[str, Measure]
    items: Items
    k: int | None


def _lists_of(
    evidence: ComparisonInput, labels: Sequence[Label], models: Sequence[str]
) -> Iterator[_Lists]:
    """Each of the models against the baseline at each cutoff of the labels over all users."""
    config = evidence.config
    once = {model: found for model, found in evidence.models.items() if not found.trainings}
    names = list(once)
    of_catalogue = [label for label in labels if label.metric.of_catalogue]
    others = [model for model in models if model != config.baseline and model in once]
    if not of_catalogue or not others or config.baseline not in once:
        return
    with _numbered(once, evidence.ground) as connection:
        items = number_items(connection, None)
        owner = _owner(connection, config.conventions)
        for read, group in _alike(of_catalogue, config.conventions).items():
            measures = {str(label): _measure(label, config.conventions) for label in group}
            find = partial(_shown, connection, read=read, items=items, owner=owner)
            ours = find(_view(names, config.baseline))
            for model in others:
                yield _Lists(model, find(_view(names, model)), ours, measures, items, read.k)


class _Read(NamedTuple):
    """What a label reads: the cutoff, and which of the rankings."""

    k: int | None
    ranking: int

    @classmethod
    def of(cls, label: Label, pinned: Conventions) -> Self:
        return cls(label.k, label.ranking_number(pinned))


def _alike(labels: Sequence[Label], pinned: Conventions) -> Mapping[_Read, list[Label]]:
    """Labels by what they read."""
    groups: dict[_Read, list[Label]] = {}
    for label in labels:
        groups.setdefault(_Read.of(label, pinned), []).append(label)
    return groups


def _measure(label: Label, pinned: Conventions) -> Measure:
    own = label.conventions(pinned)
    return partial(label.metric.function, **label.metric.arguments(own))


@contextmanager
def _numbered(models: Models, ground: EvaluationData) -> Iterator[DuckDBPyConnection]:
    """A view of each model's lists, `lists` with all of them, `train` and `items`, and the numbers of users."""
    tables = [evaluated.lists for evaluated in models.values()]
    with ground.connecting(file_paths(tables)) as connection:
        for number, lists in enumerate(tables):
            ranking = "ranking" if "ranking" in schema_of(lists) else "0 AS ranking"
            create_view(connection, f"table_{number}", lists)
            connection.execute(
                f"CREATE VIEW lists_of_{number} AS SELECT user, item, rank, {ranking} FROM table_{number}"
            )
        every = " UNION ALL ".join(
            f"SELECT CAST(user AS VARCHAR) AS user, CAST(item AS VARCHAR) AS item FROM lists_of_{number}"
            for number in range(len(tables))
        )
        connection.execute(f"CREATE VIEW lists AS {every}")
        nothing = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
        for name, table in (("train", ground.train), ("items", ground.items)):
            create_view(connection, name, nothing if table is None else read_frame(table))
        connection.execute(_USER_NUMBERS)
        yield connection


def _view(models: Sequence[str], model: str) -> str:
    """A name of our own: DuckDB does not tell `ALS` from `als`, and `lists` is taken."""
    return f"lists_of_{models.index(model)}"


def _owner(connection: DuckDBPyConnection, pinned: Conventions) -> Ints | None:
    """The number of whose request each user number is; None where they are users."""
    if pinned.unit_mean is None:
        return None
    units = connection.sql("SELECT user FROM user_numbers ORDER BY user_number").pl()["user"]
    return Clusters.from_ids(units, pinned.unit_mean).user


def _shown(
    connection: DuckDBPyConnection,
    view: str,
    *,
    read: _Read,
    items: Items,
    owner: Ints | None,
) -> RecommendedItems:
    lists = closed_up(f"(SELECT * FROM {view} WHERE ranking = {read.ranking})")
    rows = fetch(connection, _SHOWN.format(lists=lists, k=_ALL if read.k is None else read.k))
    return RecommendedItems(rows["user_number"], rows["item_number"], owner)


MANY_MODELS = 12  # from here on the rows of all pairs on all labels are too many to read


@dataclass(frozen=True)
class _Found:
    label: Label
    a: str
    b: str
    paired: PairedTest
    min_effect: float
    p_wilcoxon: float = math.nan


def differences(evidence: ComparisonInput) -> list[Difference]:
    """One a label and pair; from twelve models on, labels that are not primary against the baseline only.

    Over pairs x primary labels Holm, or joint sign flips if they are asked for, never below the p that belongs to
    the interval; Benjamini-Hochberg over the others.
    """
    config, aligned = evidence.config, evidence.aligned
    found = [*_compare(evidence), *_swapped(evidence)]
    order = {str(label): place for place, label in enumerate(config.labels)}
    found.sort(key=lambda each: order[str(each.label)])
    primary = np.array([str(each.label) in config.primary for each in found], dtype=bool)
    adjusted = adjust(np.array([each.paired.p for each in found], dtype=np.float64), primary)
    if config.adjustment == "max_t":
        family = [each for each, is_primary in zip(found, primary, strict=True) if is_primary]
        alone = np.array([each.paired.p for each in family], dtype=np.float64)
        adjusted[primary] = np.maximum(_jointly(config, family, aligned), alone)  # as the interval
    in_family = int(np.count_nonzero(~np.isnan(adjusted[primary])))
    return [
        _difference(each, bool(is_primary), float(p), in_family, config)
        for each, is_primary, p in zip(found, primary, adjusted, strict=True)
    ]


def _compare(evidence: ComparisonInput) -> Iterator[_Found]:
    config, models, aligned = evidence.config, evidence.models, evidence.aligned
    conventions = config.conventions
    every_pair = model_pairs(list(models), config.baseline)
    for label in config.labels:
        if label.metric.of_catalogue:  # one number over all users: no user differs
            continue
        text = str(label)
        in_full = text in config.primary or len(models) < MANY_MODELS
        named = every_pair if in_full else every_pair[: len(models) - 1]
        means = {model: or_nan(evaluated.mean(text)) for model, evaluated in models.items()}
        effect = absolute(config.min_effects[text], means[config.baseline])
        values = aligned.values(text, label.conventions(conventions).undefined)
        clusters = aligned.whose(label, conventions)
        results = paired_tests(
            values,
            named,
            confidence=config.confidence,
            clusters=clusters,
            bounds=label.bounds(conventions),
            unlisted=evidence.unlisted,
        )
        for (a, b), result in zip(named, results, strict=True):
            pooled = is_pooled(label, conventions)
            kept = result.with_means(means[a], means[b]) if pooled else result
            tested = config.wilcoxon and not math.isnan(kept.p)
            p_wilcoxon = wilcoxon(*by_pair(values[a], values[b], clusters)) if tested else math.nan
            yield _Found(label, a, b, kept, effect, p_wilcoxon)


def _jointly(config: ComparisonConfig, family: Sequence[_Found], aligned: Aligned) -> Floats:
    """P values of the primary comparisons by joint sign flips; NaN where there is no test."""
    adjusted = np.full(len(family), np.nan)
    tested = [i for i, each in enumerate(family) if not math.isnan(each.paired.p)]
    values = {
        label: aligned.values(str(label), label.conventions(config.conventions).undefined)
        for label in {family[i].label for i in tested}
    }
    compared = [(family[i].label, family[i].a, family[i].b) for i in tested]
    whose = {label: aligned.whose(label, config.conventions) for label in values}
    adjusted[tested] = max_t(
        [by_pair(values[label][a], values[label][b], whose[label]) for label, a, b in compared],
        resamples=config.resamples,
        seed=config.seed,
    )
    return adjusted


def _swapped(evidence: ComparisonInput) -> Iterator[_Found]:
    """The labels over all users, which no user has a value of: each model against the baseline.

    Lists of several trainings are not swapped: what those models differ by is tested over trainings.
    """
    config, models = evidence.config, evidence.models
    tests = swap_results(evidence)
    for label in config.labels:
        for model in models if label.metric.of_catalogue else ():
            if model == config.baseline:
                continue
            text = str(label)
            a, b = (or_nan(models[name].mean(text)) for name in (model, config.baseline))
            effect = absolute(config.min_effects[text], b)
            if (text, model) in tests:
                test = tests[text, model]
                gap = difference(a, b)
                found = PairedTest(a, b, gap, test.n_users, test.n_nonzero, p=test.p, test="swap")
            else:
                n_users = models[model].summary["metrics"][text]["n_users"]
                found = PairedTest(a, b, difference(a, b), n_users, n_users, test="none")
            if {model, config.baseline} & evidence.unlisted.keys():
                found = found.as_not_comparable()
            yield _Found(label, model, config.baseline, found, effect)


def _difference(
    found: _Found, primary: bool, p_adjusted: float, in_family: int, config: ComparisonConfig
) -> Difference:
    """The row of a pair. in_family : primary comparisons that are tested."""
    paired, upwards = found.paired, found.label.metric.higher_is_better
    return Difference(
        label=str(found.label),
        a=found.a,
        b=found.b,
        vs_baseline=found.b == config.baseline,
        primary=primary,
        mean_a=or_none(paired.mean_a),
        mean_b=or_none(paired.mean_b),
        difference=or_none(paired.difference),
        ci_low=or_none(paired.ci_low),
        ci_high=or_none(paired.ci_high),
        relative=or_none(paired.relative),
        effect_size=or_none(paired.effect_size),
        better=or_none(paired.above if upwards else paired.below),
        equal=or_none(paired.equal),
        worse=or_none(paired.below if upwards else paired.above),
        n_users=paired.n_users,
        n_nonzero=paired.n_nonzero,
        caution=paired.caution,
        p=or_none(paired.p),
        p_adjusted=or_none(p_adjusted),
        p_wilcoxon=or_none(found.p_wilcoxon),
        test=paired.test,
        adjustment=config.adjustment if primary else "bh",
        min_effect=or_none(found.min_effect),
        verdict=verdict(
            paired,
            p_adjusted,
            alpha=config.alpha,
            min_effect=found.min_effect,
            higher_is_better=upwards,
            tests=in_family if primary and config.adjustment == "holm" else 1,
        ),
    )
