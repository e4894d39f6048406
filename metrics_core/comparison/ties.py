"""What the order of equal scores decides: ranges of means, and the words under averaged ties."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from concord.metrics_core.comparison.differences import compare_pairs
from concord.metrics_core.comparison.families import PairTest, decide_differences
from concord.metrics_core.comparison.inputs import ComparisonInput, tied_models
from concord.metrics_core.comparison.min_effect import to_absolute
from concord.metrics_core.evaluation.model_result import results_by_list
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


def settle_ties(
    inputs: ComparisonInput, tests: Sequence[PairTest], pairs: Sequence[Difference]
) -> list[Difference]:
    """Return the differences; `undecided_by_order` where averaged ties lead to another verdict.

    Only primary labels of models with ties; other verdicts differ by the level of their family
    alone.
    """
    config, averaged = inputs.config, inputs.averaged
    tied = {label: tied_models(inputs.models, str(label)) for label in config.primary_labels}
    tied = {label: models for label, models in tied.items() if models}
    if averaged is None or not tied:
        return [*pairs]
    again = compare_pairs(replace(averaged, config=replace(config, labels=[*tied])))
    by_names = {(each.label, each.a, each.b): each for each in again}
    other_tests = [by_names.get((each.label, each.a, each.b), each) for each in tests]
    others = decide_differences(config, other_tests, len(inputs.models))
    return [
        replace(pair, verdict="undecided_by_order")
        if pair.verdict != other.verdict and {pair.a, pair.b} & tied.get(test.label, set())
        else pair
        for test, pair, other in zip(tests, pairs, others, strict=True)
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
