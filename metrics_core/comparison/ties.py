"""What the order of equal scores decides: ranges of means, and the words under averaged ties."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from concord.metrics_core.comparison.differences import compare_pairs
from concord.metrics_core.comparison.families import PairTest
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import to_absolute
from concord.metrics_core.data.tables import scan, schema_of
from concord.metrics_core.evaluation.model_result import ModelResult, results_by_list
from concord.metrics_core.evaluation.ties import AVERAGE, tie_column
from concord.metrics_core.results.comparison_parts import (
    DataWarning,
    Difference,
    TieRange,
    or_nan,
)

_FLOOR = 0.1  # share of the highest mean, if any difference is relevant


def compute_tie_ranges(inputs: ComparisonInput) -> list[TieRange]:
    """Return the range of each mean that depends on the order of equal scores, by list."""
    return [
        TieRange(name, label, **ties[label])
        for name, result in results_by_list(inputs.models).items()
        for label in map(str, inputs.config.labels)
        if label in (ties := result.summary.get("ties", {}))
    ]


def tied_models(inputs: ComparisonInput, label: str) -> list[str]:
    """Return the models whose value of a label is another under `ties: average`."""
    return [
        model
        for model, result in inputs.models.items()
        for each in result.replicate_results
        if each.summary.get("ties", {}).get(label, {}).get(AVERAGE) is not None
    ]


def with_averaged_ties(inputs: ComparisonInput, labels: Collection[str]) -> ComparisonInput | None:
    """Return the inputs with labels under `ties: average`; None if no value differs."""
    if not any(tied_models(inputs, label) for label in labels):
        return None
    models = {model: _averaged(result, labels) for model, result in inputs.models.items()}
    return replace(inputs, models=models)


def _averaged(result: ModelResult, labels: Iterable[str]) -> ModelResult:
    trainings = {name: _averaged(each, labels) for name, each in result.trainings.items()}
    known = schema_of(result.values)
    columns = {label: tie_column(AVERAGE, label) for label in labels}
    averaged = [pl.coalesce(c, label).alias(label) for label, c in columns.items() if c in known]
    values = scan(result.values).with_columns(averaged).collect() if averaged else result.values
    return replace(result, values=values, trainings=trainings)


def retest_ties(inputs: ComparisonInput, tests: Sequence[PairTest]) -> list[PairTest]:
    """Return the tests, those of primary labels under `ties: average`; empty if none changes."""
    config = inputs.config
    labels = [label for label in config.primary_labels if tied_models(inputs, str(label))]
    averaged = with_averaged_ties(inputs, config.primary)
    if averaged is None:
        return []
    again = compare_pairs(replace(averaged, config=replace(config, labels=labels)))
    by_names = {(each.label, each.a, each.b): each for each in again}
    return [by_names.get((each.label, each.a, each.b), each) for each in tests]


def settle_verdicts(
    inputs: ComparisonInput, pairs: Sequence[Difference], averaged: Iterable[Difference]
) -> list[Difference]:
    """Return the differences; `undecided_by_order` where averaged ties lead to another verdict.

    Only primary labels of models with ties; other words differ by the level of their family alone.
    """
    by_names = {(each.label, each.a, each.b): each.verdict for each in averaged}
    tied = {label: tied_models(inputs, label) for label in inputs.config.primary}
    return [
        replace(pair, verdict="undecided_by_order")
        if {pair.a, pair.b} & {*tied.get(pair.label, ())}
        and by_names.get((pair.label, pair.a, pair.b), pair.verdict) != pair.verdict
        else pair
        for pair in pairs
    ]


def tie_warnings(inputs: ComparisonInput, ranges: Iterable[TieRange]) -> Iterator[DataWarning]:
    """Yield a warning for each list with a primary mean whose range is a relevant difference."""
    config = inputs.config
    wide: dict[str, list[Any]] = {}
    for each in ranges:
        if each.label in config.primary:
            low, high = or_nan(each.low), or_nan(each.high)
            mean = or_nan(inputs.models[config.baseline].mean(each.label))
            margin = to_absolute(config.min_effects[each.label], mean)
            if high - low > (margin or _FLOOR * high):
                wide.setdefault(each.model, []).append([each.label, low, high])
    for model, shown in wide.items():
        yield DataWarning("tie_range", "serious", (model,), {"model": model, "ranges": shown})
