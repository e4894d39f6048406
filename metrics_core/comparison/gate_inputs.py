"""Compute the inputs of a gate: differences to the baseline, over all users and in segments."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.differences import compare_pairs, compute_swap_errors
from concord.metrics_core.comparison.families import decide_differences
from concord.metrics_core.comparison.gate import decide, decide_guardrail, decide_success
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import Effect, margin_interval, to_absolute
from concord.metrics_core.comparison.segment_groups import (
    GroupValues,
    group_items,
    group_users,
)
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import Difference, or_nan, or_none
from concord.metrics_core.results.gate import (
    MIN_EFFECT,
    Decision,
    Gate,
    Guardrail,
    Margin,
    MeasuredDifference,
)
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.stats.floating_point import difference, scale_of
from concord.metrics_core.stats.mean_interval import NO_INTERVAL
from concord.metrics_core.stats.paired_difference import UNTESTED, Interval, PairedTest
from concord.metrics_core.stats.paired_test import UserValues, paired_test
from concord.metrics_core.stats.power import detectable_difference, users_to_decide
from concord.metrics_core.stats.randomization_test import JackknifeError


@dataclass(frozen=True)
class _Tested:
    """A difference, and its test; that of a metric over all users has a jackknife error."""

    measured: MeasuredDifference
    test: PairedTest
    jackknife: Callable[[float], Interval] | None = None

    def interval(self, effect: Effect, mean: float, confidence: float) -> tuple[Interval, float]:
        """Return the interval, and the margin as a number; see `margin_interval`."""
        if self.jackknife is None:
            return margin_interval(self.test, effect, mean, confidence)
        return self.jackknife(confidence), to_absolute(effect, mean)


GateMetrics = tuple[list[Guardrail], list[MeasuredDifference]]  # guardrails, and success metrics


def decide_against_baseline(
    inputs: ComparisonInput, pairs: Sequence[Difference]
) -> Decision | None:
    """Return the decision on each model against the baseline; None without a gate."""
    config = inputs.config
    if config.gate is None:
        return None
    models = gate_models(config, inputs.models)
    return decide(
        measure_gate_metrics(inputs, config.gate, models, pairs) if models else {},
        against="baseline",
        reference=config.baseline,
        confidence=config.confidence,
        undecided_passes=config.gate.undecided_passes,
    )


def gate_models(config: ComparisonConfig, models: Iterable[str]) -> list[str]:
    """Return the models that a gate decides on against the baseline; may be empty."""
    names = (config.gate.models if config.gate else ()) or models
    return [model for model in names if model != config.baseline]


def compare_lists_of_gate(inputs: ComparisonInput, gate: Gate) -> list[Difference]:
    """Return the differences of the gate's metrics over all users, if no comparison has them."""
    config = inputs.config
    labels = [x for x in config.labels if str(x) in gate.labels and x.metric.is_aggregate]
    inputs = replace(inputs, config=replace(config, labels=labels))
    return decide_differences(config, compare_pairs(inputs), len(inputs.models))


def measure_gate_metrics(
    inputs: ComparisonInput, gate: Gate, models: Sequence[str], pairs: Sequence[Difference]
) -> dict[str, GateMetrics]:
    """Return model -> its guardrails, of all users and then of segments, and success metrics.

    All guardrails must hold, so each has an interval at the confidence of the comparison. One of
    m success metrics is enough, so the intervals of these have the level 1 - α / m.
    The order of equal scores decides where averaged ties lead to another outcome.
    """
    results = _measure(inputs, gate, models, pairs)
    if inputs.averaged is None:
        return results
    others = _measure(inputs.averaged, gate, models, pairs)
    return {model: _settled(results[model], others[model]) for model in models}


def _settled(pinned: GateMetrics, averaged: GateMetrics) -> GateMetrics:
    """Return the metrics, marked where averaged ties lead to another outcome."""
    guardrails = [
        each
        if each.outcome == other.outcome
        else replace(each, outcome="undecided", order_decides=True, users_needed=None)
        for each, other in zip(pinned[0], averaged[0], strict=True)
    ]
    better = ([each.better for each in decide_success(side[1])] for side in (pinned, averaged))
    success = [
        each if before == after else replace(each, order_decides=True)
        for each, before, after in zip(pinned[1], *better, strict=True)
    ]
    return guardrails, success


def _measure(
    inputs: ComparisonInput, gate: Gate, models: Sequence[str], pairs: Sequence[Difference]
) -> dict[str, GateMetrics]:
    config = inputs.config
    reference = inputs.models[config.baseline]
    over_all = _overall_differences(inputs, gate, models, pairs)
    segmented = list(_segment_values(inputs, gate))
    results: dict[str, GateMetrics] = {}
    for model in models:
        guardrails = [
            _guardrail(config, over_all[model, label], margin, or_nan(reference.mean(label)))
            for label, margin in gate.guardrails.items()
        ]
        for name, group_values in segmented:
            margin = gate.segments[name][group_values.text]
            for segment in group_values.values:
                tested = _segment_difference(inputs, name, group_values, segment, model)
                if tested is not None:
                    mean = or_nan(tested.measured.reference)
                    guardrails.append(_guardrail(config, tested, margin, mean))
        success = [over_all[model, label] for label in gate.success]
        m = sum(each.measured.p is not None for each in success)
        level = 1 - config.alpha / max(m, 1)
        results[model] = guardrails, [_success(each, level) for each in success]
    return results


def _success(tested: _Tested, level: float) -> MeasuredDifference:
    interval, _ = tested.interval(0.0, math.nan, level)
    has_interval = tested.test.has_interval(level)
    is_open = has_interval and interval[0] <= 0 <= interval[1]
    detectable = detectable_difference(tested.test, 1 - level) if is_open else math.nan
    return replace(with_interval(tested.measured, interval, level), detectable=or_none(detectable))


def with_interval(
    measured: MeasuredDifference, interval: Interval, level: float
) -> MeasuredDifference:
    """Return a measured difference with an interval."""
    low, high = map(or_none, interval)
    return replace(measured, ci_low=low, ci_high=high, level=level)


def _guardrail(
    config: ComparisonConfig, tested: _Tested, setting: Margin, reference: float
) -> Guardrail:
    effect = config.min_effects[tested.measured.label] if setting == MIN_EFFECT else setting
    interval, margin = tested.interval(effect, reference, config.confidence)
    measured = with_interval(tested.measured, interval, config.confidence)
    guardrail = decide_guardrail(measured, setting, or_none(margin))
    if guardrail.outcome != "undecided" or guardrail.n_lost:
        return guardrail
    needed = users_to_decide(
        or_nan(guardrail.gain),
        (or_nan(guardrail.gain_low), or_nan(guardrail.gain_high)),
        margin,
        n_users=guardrail.n_users,
        confidence=config.confidence,
    )
    return replace(guardrail, users_needed=needed)


def _overall_differences(
    inputs: ComparisonInput, gate: Gate, models: Sequence[str], pairs: Sequence[Difference]
) -> dict[tuple[str, str], _Tested]:
    """Return (model, label) -> the difference over all users.

    Metrics that have one value over all users have a jackknife interval.
    """
    labels = inputs.config.find_labels([*gate.guardrails, *gate.success])
    of_lists = [label for label in labels if label.metric.is_aggregate]
    tested = _list_differences(inputs, of_lists, models, pairs)
    config, aligned = inputs.config, inputs.aligned
    for label in labels:
        if label.metric.is_aggregate:
            continue
        values = aligned.values(str(label), label.conventions(config.conventions).undefined)
        clusters = aligned.clusters_for(label, config.conventions)
        bounds = label.bounds(config.conventions)
        columns = {m: UserValues(column, clusters, bounds) for m, column in values.items()}
        for model in models:
            sides = columns[model], columns[config.baseline]
            tested[model, str(label)] = _test(inputs, label, model, sides)
    return tested


def _list_differences(
    inputs: ComparisonInput,
    labels: Sequence[Label],
    models: Sequence[str],
    pairs: Sequence[Difference],
) -> dict[tuple[str, str], _Tested]:
    """Return (model, label) -> the difference of a metric over all users."""
    differences_of = {(p.a, p.label): p for p in pairs if p.b == inputs.config.baseline}
    errors = compute_swap_errors(inputs, labels, models)
    tested = {}
    for label in labels:
        text, scale = str(label), scale_of(label.bounds(inputs.config.conventions))
        for model in models:
            pair = differences_of[model, text]
            measured = replace(
                measured_difference(label, pair), n_unlisted=_count_unlisted(inputs, model)
            )
            has_interval = pair.test == "swap" and pair.n_nonzero >= MIN_DIFFERING_USERS
            interval = partial(_rounded, errors.get((text, model)), scale) if has_interval else None
            tested[model, text] = _Tested(measured, UNTESTED, interval)
    return tested


def _rounded(error: JackknifeError | None, scale: float, confidence: float) -> Interval:
    if error is None:
        return NO_INTERVAL
    low, high = (difference(end, 0.0, scale) for end in error.interval(confidence))
    return low, high


def _test(
    inputs: ComparisonInput, label: Label, model: str, sides: tuple[UserValues, UserValues]
) -> _Tested:
    """Return the test of a model against the baseline."""
    values, reference = sides
    test = paired_test(*sides, confidence=inputs.config.confidence, share_of=reference)
    unlisted = _count_unlisted(inputs, model)
    if unlisted:
        test = test.as_not_comparable()
    measured = replace(
        measured_difference(label, test),
        n_lost=int((reference.defined & ~values.defined).sum()),
        n_requests=_shared_requests(*sides),
        n_unlisted=unlisted,
    )
    return _Tested(measured, test)


def measured_difference(label: Label, test: Difference | PairedTest) -> MeasuredDifference:
    """Return a tested difference over all users who have a value with both, without interval."""
    return MeasuredDifference(
        label=str(label),
        higher_is_better=label.metric.higher_is_better,
        segmentation=None,
        segment=None,
        mean=test.mean_a,
        reference=test.mean_b,
        difference=test.difference,
        ci_low=None,
        ci_high=None,
        level=None,
        standard_error=test.standard_error,
        n_users=test.n_users,
        n_nonzero=test.n_nonzero,
        n_lost=0,
        test="jackknife" if test.test == "swap" else test.test,  # type: ignore[arg-type] # a kind
        p=test.p,
    )


def _count_unlisted(inputs: ComparisonInput, model: str) -> int | None:
    """Return how many users lack a list of the model or baseline; None if both are compared."""
    counts = [inputs.unlisted.get(each, 0) for each in (model, inputs.config.baseline)]
    return max(counts) or None


def _shared_requests(model: UserValues, reference: UserValues) -> int | None:
    """Return how many requests have a value with both; None if values are per user."""
    if model.clusters is None or not model.clusters.has_repeated_users:
        return None
    return int((model.defined & reference.defined).sum())


def _segment_values(inputs: ComparisonInput, gate: Gate) -> Iterator[tuple[str, GroupValues]]:
    """Yield the name of each segmentation of the gate, with each of its labels by group."""
    for name, margins in gate.segments.items():
        segmentation = inputs.config.segments[name]
        if isinstance(segmentation, ByPopularity):
            for label in inputs.config.find_labels(margins):
                yield name, group_items(inputs, segmentation, label.k or 0)
            continue
        groups = group_users(inputs, name, segmentation)
        for label in inputs.config.find_labels(margins):
            yield name, groups.values(inputs, label)


def _segment_difference(
    inputs: ComparisonInput, name: str, group_values: GroupValues, segment: str, model: str
) -> _Tested | None:
    """Return the difference of a model in a group; None if no user in it has a value."""
    values, reference = (
        group_values.column(segment, each) for each in (model, inputs.config.baseline)
    )
    if not (values.n_defined or reference.n_defined):
        return None
    (label,) = inputs.config.find_labels([group_values.text])
    tested = _test(inputs, label, model, (values, reference))
    measured = replace(
        tested.measured,
        segmentation=name,
        segment=segment,
        n_without_list=group_values.count_users(segment, inputs.without_list.get(model, False))
        or None,
    )
    return replace(tested, measured=measured)
