"""What a gate looks at: each model against the reference, over all users and in the segments that it names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.differences import differences, swap_intervals
from concord.metrics_core.comparison.gate import decide, guarded
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.min_effect import absolute
from concord.metrics_core.comparison.segment_groups import Grouped, item_groups, user_groups
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison_parts import Difference, or_nan, or_none
from concord.metrics_core.results.gate import MIN_EFFECT, Decision, Gate, Guardrail, Measured
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.stats.paired_test import UserValues, paired_test
from concord.metrics_core.stats.sign_flip_test import MarginTest
from concord.metrics_core.stats.tolerance import difference

_TEST: Mapping[str, Literal["t", "sign_flips", "jackknife", "none"]] = {
    "t": "t",
    "sign_flips": "sign_flips",
    "swap": "jackknife",
    "none": "none",
}


@dataclass(frozen=True)
class _Tested:
    """What is measured of a model, and sign flips of its gains where few users differ."""

    measured: Measured
    margin_test: MarginTest | None


Checked = tuple[list[Guardrail], list[Measured]]  # guardrails, and what may be a success


def decided(evidence: ComparisonInput, pairs: Sequence[Difference]) -> Decision | None:
    """The decision on each challenger against the baseline, from differences that are there; None without a gate."""
    config = evidence.config
    if config.gate is None:
        return None
    challengers = challengers_of(config, evidence.models)
    return decide(
        checked(evidence, config.gate, challengers, pairs) if challengers else {},
        against="baseline",
        reference=config.baseline,
        confidence=config.confidence,
        undecided_passes=config.gate.undecided_passes,
    )


def challengers_of(config: ComparisonConfig, models: Iterable[str]) -> list[str]:
    """Whom a gate decides on against the baseline: nobody, where only the baseline is named or there."""
    named = (config.gate.models if config.gate else ()) or models
    return [model for model in named if model != config.baseline]


def for_gate(evidence: ComparisonInput, gate: Gate) -> ComparisonInput:
    """The same evidence, of which nothing is asked but what a gate looks at."""
    named = [label for label in evidence.config.labels if str(label) in gate.labels]
    return replace(evidence, config=replace(evidence.config, labels=named, adjustment="holm"))


def gate_differences(evidence: ComparisonInput, gate: Gate) -> list[Difference]:
    """The differences that a gate needs, where no comparison has them."""
    return differences(for_gate(evidence, gate))


def checked(
    evidence: ComparisonInput, gate: Gate, models: Sequence[str], pairs: Sequence[Difference]
) -> dict[str, Checked]:
    """Model -> its guardrails, over all users and then in segments, and its success metrics."""
    config = evidence.config
    over_all = _over_all_users(evidence, gate, models, pairs)
    inside = list(_in_segments(evidence, gate))
    found: dict[str, Checked] = {}
    for model in models:
        guardrails = [
            _guardrail(config, over_all[model, label], margin, _mean(evidence, label))
            for label, margin in gate.guardrails.items()
        ]
        for name, grouped in inside:
            margin = gate.segments[name][grouped.text]
            for segment in grouped.values:
                tested = _in_segment(evidence, name, grouped, segment, model)
                if tested is not None:
                    reference = or_nan(tested.measured.reference)
                    guardrails.append(_guardrail(config, tested, margin, reference))
        found[model] = guardrails, [over_all[model, label].measured for label in gate.success]
    return found


def _guardrail(
    config: ComparisonConfig, tested: _Tested, margin: float | str, reference: float
) -> Guardrail:
    effect = config.min_effects[tested.measured.label] if margin == MIN_EFFECT else margin
    allowed = or_none(absolute(effect, reference))
    return guarded(tested.measured, margin, allowed, tested.margin_test)


def _mean(evidence: ComparisonInput, label: str) -> float:
    return or_nan(evidence.models[evidence.config.baseline].mean(label))


def _over_all_users(
    evidence: ComparisonInput, gate: Gate, models: Sequence[str], pairs: Sequence[Difference]
) -> dict[tuple[str, str], _Tested]:
    """(model, label) -> what is measured over all users; numbers over all users get an interval of their own."""
    baseline = evidence.config.baseline
    wanted = {*gate.guardrails, *gate.success}
    known = {(pair.a, pair.label): pair for pair in pairs if pair.b == baseline}
    intervals = swap_intervals(evidence, [parse(text) for text in wanted], models)
    found: dict[tuple[str, str], _Tested] = {}
    for label in wanted:
        metric = parse(label).metric
        columns = {} if metric.of_catalogue else _columns(evidence, label)
        for model in models:
            pair = known[model, label]
            both = (columns[model], columns[baseline]) if columns else None
            low, high = pair.ci_low, pair.ci_high
            margin_test = None
            if both and pair.test == "sign_flips":
                again = paired_test(*both, confidence=evidence.config.confidence)
                margin_test = again.margin_test(
                    higher_is_better=metric.higher_is_better, alpha=evidence.config.alpha
                )
            if pair.test == "swap" and pair.n_nonzero >= MIN_DIFFERING_USERS:
                low, high = map(_without_noise, intervals[label, model])
            measured = Measured(
                label=label,
                higher_is_better=metric.higher_is_better,
                segmentation=None,
                segment=None,
                mean=pair.mean_a,
                reference=pair.mean_b,
                difference=pair.difference,
                ci_low=low,
                ci_high=high,
                n_users=pair.n_users,
                n_nonzero=pair.n_nonzero,
                n_lost=_lost(*both) if both else 0,
                test=_TEST[pair.test],
                p=pair.p,
                n_requests=_shared_requests(*both) if both else None,
                n_unlisted=_unlisted(evidence, model),
            )
            found[model, label] = _Tested(measured, margin_test)
    return found


def _unlisted(evidence: ComparisonInput, model: str) -> int | None:
    """How many users have no list of the model or of the reference, where they are too many for a comparison."""
    return max(
        (
            evidence.unlisted[each]
            for each in (model, evidence.config.baseline)
            if each in evidence.unlisted
        ),
        default=None,
    )


def _without_noise(end: float | None) -> float | None:
    """An end of an interval, 0 where it differs from 0 by rounding alone."""
    return None if end is None else difference(end, 0.0)


def _columns(evidence: ComparisonInput, text: str) -> dict[str, UserValues]:
    """Model -> its values of a label."""
    aligned, pinned, label = evidence.aligned, evidence.config.conventions, parse(text)
    values = aligned.values(text, label.conventions(pinned).undefined)
    whose, bounds = aligned.whose(label, pinned), label.bounds(pinned)
    return {model: UserValues(column, whose, bounds) for model, column in values.items()}


def _lost(ours: UserValues, theirs: UserValues) -> int:
    """How many users, or requests, have a value with the reference alone."""
    return int((theirs.defined & ~ours.defined).sum())


def _shared_requests(ours: UserValues, theirs: UserValues) -> int | None:
    """How many requests have a value with both; None where values are those of users."""
    of_requests = ours.clusters is not None and ours.clusters.has_repeated_users
    return int((ours.defined & theirs.defined).sum()) if of_requests else None


def _in_segments(evidence: ComparisonInput, gate: Gate) -> Iterator[tuple[str, Grouped]]:
    """Each segmentation and label that the gate names, in the segmentation's groups."""
    for name, margins in gate.segments.items():
        segmentation = evidence.config.segments[name]
        if isinstance(segmentation, ByPopularity):
            for text in margins:
                yield name, item_groups(evidence, segmentation, parse(text).k or 0)
            continue
        groups = user_groups(evidence, name, segmentation)
        for text in margins:
            yield name, groups.grouped(evidence, parse(text))


def _in_segment(
    evidence: ComparisonInput, name: str, grouped: Grouped, segment: str, model: str
) -> _Tested | None:
    """A model in a group; None where nobody in it has a value with the model or with the reference."""
    config = evidence.config
    ours, theirs = (grouped.column(segment, name) for name in (model, config.baseline))
    if not (ours.n_defined or theirs.n_defined):
        return None
    pair = paired_test(ours, theirs, confidence=config.confidence)
    label = parse(grouped.text)
    measured = Measured(
        label=grouped.text,
        higher_is_better=label.metric.higher_is_better,
        segmentation=name,
        segment=segment,
        mean=or_none(ours.mean),
        reference=or_none(theirs.mean),
        difference=or_none(pair.difference),
        ci_low=or_none(pair.ci_low),
        ci_high=or_none(pair.ci_high),
        n_users=pair.n_users,
        n_nonzero=pair.n_nonzero,
        n_lost=_lost(ours, theirs),
        test=_TEST[pair.test],
        p=or_none(pair.p),
        n_requests=_shared_requests(ours, theirs),
        n_unlisted=_unlisted(evidence, model),
    )
    upwards = label.metric.higher_is_better
    return _Tested(measured, pair.margin_test(higher_is_better=upwards, alpha=config.alpha))
