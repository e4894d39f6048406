"""Compute the inputs of a gate: differences to the baseline, over all users and in segments."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.differences import compute_differences, compute_swap_intervals
from concord.metrics_core.comparison.gate import decide, decide_guardrail
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import to_absolute
from concord.metrics_core.comparison.segment_groups import (
    GroupValues,
    group_items,
    group_users,
)
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.metrics.label import Label, parse
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
from concord.metrics_core.stats.paired_test import PairedTest, UserValues, paired_test
from concord.metrics_core.stats.sign_flip_test import MarginTest

_TEST: Mapping[str, Literal["t", "sign_flips", "jackknife", "none"]] = {
    "t": "t",
    "sign_flips": "sign_flips",
    "swap": "jackknife",
    "none": "none",
}


@dataclass(frozen=True)
class _MarginInput:
    """A measured difference, and its sign-flip test against a margin if few users differ."""

    measured: MeasuredDifference
    margin_test: MarginTest | None


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


def compute_gate_differences(inputs: ComparisonInput, gate: Gate) -> list[Difference]:
    """Return the differences that a gate needs, if no comparison has computed them."""
    config = inputs.config
    labels = [label for label in config.labels if str(label) in gate.labels]
    return compute_differences(
        replace(inputs, config=replace(config, labels=labels, adjustment="holm"))
    )


def measure_gate_metrics(
    inputs: ComparisonInput, gate: Gate, models: Sequence[str], pairs: Sequence[Difference]
) -> dict[str, GateMetrics]:
    """Return model -> its guardrails, of all users and then of segments, and success metrics."""
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
                margin_input = _segment_difference(inputs, name, group_values, segment, model)
                if margin_input is not None:
                    mean = or_nan(margin_input.measured.reference)
                    guardrails.append(_guardrail(config, margin_input, margin, mean))
        results[model] = guardrails, [over_all[model, label].measured for label in gate.success]
    return results


def _guardrail(
    config: ComparisonConfig, margin_input: _MarginInput, setting: Margin, reference: float
) -> Guardrail:
    measured = margin_input.measured
    effect = config.min_effects[measured.label] if setting == MIN_EFFECT else setting
    margin = or_none(to_absolute(effect, reference))
    return decide_guardrail(measured, setting, margin, margin_input.margin_test)


def _overall_differences(
    inputs: ComparisonInput, gate: Gate, models: Sequence[str], pairs: Sequence[Difference]
) -> dict[tuple[str, str], _MarginInput]:
    """Return (model, label) -> the difference over all users.

    Metrics that have one value over all users have a jackknife interval.
    """
    config, aligned = inputs.config, inputs.aligned
    labels = [parse(text) for text in dict.fromkeys([*gate.guardrails, *gate.success])]
    differences_of = {(pair.a, pair.label): pair for pair in pairs if pair.b == config.baseline}
    intervals = compute_swap_intervals(inputs, labels, models)
    margin_inputs: dict[tuple[str, str], _MarginInput] = {}
    for label in labels:
        text, upwards = str(label), label.metric.higher_is_better
        columns: dict[str, UserValues] = {}
        if not label.metric.is_aggregate:
            clusters = aligned.clusters_for(label, config.conventions)
            bounds = label.bounds(config.conventions)
            undefined = label.conventions(config.conventions).undefined
            columns = {
                model: UserValues(column, clusters, bounds)
                for model, column in aligned.values(text, undefined).items()
            }
        for model in models:
            pair = differences_of[model, text]
            both = (columns[model], columns[config.baseline]) if columns else None
            margin_test = None
            if both and pair.test == "sign_flips":
                paired = paired_test(*both, confidence=config.confidence)
                margin_test = paired.margin_test(higher_is_better=upwards, alpha=config.alpha)
            measured = _measured(inputs, label, model, pair, both)
            if pair.test == "swap" and pair.n_nonzero >= MIN_DIFFERING_USERS:
                scale = scale_of(label.bounds(config.conventions))
                low, high = (difference(end, 0.0, scale) for end in intervals[text, model])
                measured = replace(measured, ci_low=low, ci_high=high)
            margin_inputs[model, text] = _MarginInput(measured, margin_test)
    return margin_inputs


def _measured(
    inputs: ComparisonInput,
    label: Label,
    model: str,
    test: Difference | PairedTest,
    sides: tuple[UserValues, UserValues] | None,
) -> MeasuredDifference:
    """Return a tested difference to the baseline; no sides for a metric over all users."""
    return replace(
        measured_difference(label, test),
        n_lost=_count_lost(*sides) if sides else 0,
        n_requests=_shared_requests(*sides) if sides else None,
        n_unlisted=_count_unlisted(inputs, model),
    )


def measured_difference(label: Label, test: Difference | PairedTest) -> MeasuredDifference:
    """Return a tested difference over all users who have a value with both."""
    return MeasuredDifference(
        label=str(label),
        higher_is_better=label.metric.higher_is_better,
        segmentation=None,
        segment=None,
        mean=test.mean_a,
        reference=test.mean_b,
        difference=test.difference,
        ci_low=test.ci_low,
        ci_high=test.ci_high,
        n_users=test.n_users,
        n_nonzero=test.n_nonzero,
        n_lost=0,
        test=_TEST[test.test],
        p=test.p,
    )


def _count_unlisted(inputs: ComparisonInput, model: str) -> int | None:
    """Return how many users lack a list of the model or baseline; None if both are compared."""
    counts = [inputs.unlisted.get(each, 0) for each in (model, inputs.config.baseline)]
    return max(counts) or None


def _count_lost(model: UserValues, reference: UserValues) -> int:
    """Return how many users or requests have a value with the reference alone."""
    return int((reference.defined & ~model.defined).sum())


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
            for text in margins:
                yield name, group_items(inputs, segmentation, parse(text).k or 0)
            continue
        groups = group_users(inputs, name, segmentation)
        for text in margins:
            yield name, groups.values(inputs, parse(text))


def _segment_difference(
    inputs: ComparisonInput, name: str, group_values: GroupValues, segment: str, model: str
) -> _MarginInput | None:
    """Return the difference of a model in a group; None if no user in it has a value."""
    config = inputs.config
    values, reference = (group_values.column(segment, each) for each in (model, config.baseline))
    if not (values.n_defined or reference.n_defined):
        return None
    pair = paired_test(values, reference, confidence=config.confidence)
    label = parse(group_values.text)
    measured = replace(
        _measured(inputs, label, model, pair, (values, reference)),
        mean=values.mean,
        reference=reference.mean,
        segmentation=name,
        segment=segment,
        n_without_list=group_values.count_users(segment, inputs.without_list.get(model, False))
        or None,
    )
    margin_test = pair.margin_test(
        higher_is_better=label.metric.higher_is_better, alpha=config.alpha
    )
    return _MarginInput(measured, margin_test)
