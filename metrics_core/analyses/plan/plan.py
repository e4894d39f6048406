"""`plan`: power analysis: users and seeds that a comparison needs, and its smallest effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from concord.metrics_core.analyses.plan.differences import (
    PerUserValues,
    PowerTarget,
    from_comparison,
    from_values,
    min_effect_of,
    plan_difference,
)
from concord.metrics_core.analyses.plan.gate import plan_guardrails, plan_success
from concord.metrics_core.analyses.plan.result import Plan
from concord.metrics_core.comparison.config import (
    ABOVE_CONFIDENCE,
    CONFIDENCE_FIX,
    MAX_CONFIDENCE,
    baseline_problems,
    is_confidence,
    model_problems,
)
from concord.metrics_core.comparison.min_effect import (
    EFFECT_FIX,
    Effect,
    is_effect,
    unreachable_problems,
)
from concord.metrics_core.conventions.convention import format_value, is_number
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.metrics.label import parse, to_result_spelling
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import OF_VALUES
from concord.metrics_core.stats.power import MIN_COUNT, VarianceComponents

CONFIDENCE = 0.95
POWER = 0.8
MAX_COUNT = 10**12


def plan(
    source: Comparison | PerUserValues | None = None,
    *,
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    sd: float | VarianceComponents | None = None,
    users: int | None = None,
    seeds: int | None = None,
    tests: int = 1,
    effect: Effect | None = None,
    power: float = POWER,
    confidence: float | None = None,
) -> Plan:
    """Return the minimum detectable effects, and the users and seeds that an effect needs.

    The rules are those of verdicts and gates: two-sided paired t intervals of users' differences,
    at the level of the family, which is alpha / tests without a comparison. A plan uses the
    observed variance between users, but not the observed differences.

    Parameters
    ----------
    source : Comparison, dict or None
        A comparison; or a dict that maps each model to its per-user values (a result of `evaluate`,
        or a frame with `user` and a column per label). None plans from `sd` and `users`.
    metrics : list of str, optional
        Labels. Default: the primary ones of a comparison, or all columns.
    baseline : str, optional
        The model that the others are compared with. For per-user values only.
    sd : float or VarianceComponents, optional
        Standard deviation of users' differences; `VarianceComponents` if seeds vary, too.
    users : int, optional
        Number of users.
    seeds : int, optional
        Number of seeds of each model, if `sd` is a `VarianceComponents`.
    tests : int, default=1
        Number of comparisons in the family, with `sd` and `users`.
    effect : float or str, optional
        True difference to detect: a number, or a share of the baseline's mean such as "2%".
        Default: the minimum relevant difference of a comparison.
    power : float, default=0.8
        Probability to detect it.
    confidence : float, optional
        Level of the intervals, 0.95 by default. A comparison has its own.

    Returns
    -------
    Plan
        One planned difference per label and model; the gate's metrics if the comparison has a gate.

    Raises
    ------
    InputError
        If an argument is invalid, or not used with the others.

    Examples
    --------
    >>> import concord as cc
    >>> plan = cc.plan(sd=0.2, users=1000, effect=0.02)
    >>> plan.differences[0].users_needed
    787
    """
    raise_problems(_number_problems(effect=effect, power=power, confidence=confidence))
    if isinstance(metrics, str):
        raise refuse(
            "metrics", f"{metrics!r} is not a list", f"write a list of labels: [{metrics!r}]"
        )
    numbers = {"sd": sd, "users": users, "seeds": seeds, "tests": None if tests == 1 else tests}
    level = CONFIDENCE if confidence is None else confidence
    unused: dict[str, Any]
    if isinstance(source, Comparison):
        unused = {**numbers, "baseline": baseline, "confidence": confidence}
        raise_problems(_unused_problems("a comparison", unused))
        return _plan_comparison(source, metrics, effect=effect, power=power)
    if source is not None:
        raise_problems(_unused_problems("per-user values", numbers))
        raise_problems(model_problems(source, "source", "values"))
        raise_problems(baseline_problems(baseline or "", source))
        if len(source) == 1:
            raise _only_baseline_error(baseline or "")
        differences = from_values(
            source, metrics, baseline=baseline or "", effect=effect, power=power, confidence=level
        )
        return Plan(power, level, tuple(differences))
    unused = {"metrics": metrics, "baseline": baseline}
    raise_problems(_unused_problems("`sd` and `users`", unused))
    raise_problems(_sample_size_problems(sd, users, seeds, tests, effect))
    assert users is not None
    variance = sd if isinstance(sd, VarianceComponents) else VarianceComponents(float(sd or 0.0))
    target = PowerTarget(power, 1 - level, None if effect is None else float(effect), tests=tests)
    return Plan(power, level, (plan_difference(target, variance, users, seeds=seeds),))


def _plan_comparison(
    comparison: Comparison, metrics: Sequence[str] | None, *, effect: Effect | None, power: float
) -> Plan:
    """Return the plan of a comparison, with that of its gate if it has one."""
    if not comparison.compared_models:
        raise _only_baseline_error(comparison.baseline)
    requested_labels = comparison.primary if metrics is None else metrics
    labels = [to_result_spelling(text, comparison.labels) for text in requested_labels]
    if effect is not None and not isinstance(effect, str):
        requested = [comparison.metric(label) for label in labels]
        computed = [parse(metric.label) for metric in requested if metric.family != OF_VALUES]
        raise_problems(unreachable_problems(effect, computed, "effect"))
    differences = tuple(from_comparison(comparison, labels, effect=effect, power=power))
    plan = Plan(power, comparison.confidence, differences, words=comparison.words)
    gate = comparison.gate
    if gate is None:
        return plan
    effects = {
        label: min_effect_of(comparison, label) if effect is None else effect
        for label in comparison.labels
    }
    return replace(
        plan,
        guardrails=tuple(plan_guardrails(gate, power)),
        success=tuple(plan_success(gate, power, effects)),
        reference=gate.reference,
        undecided_passes=gate.undecided_passes,
    )


def _only_baseline_error(baseline: str) -> InputError:
    problem = f"there is no model besides the baseline, {baseline}"
    fix = (
        "add a second one, or plan from `sd`, the standard deviation of users' differences, "
        "and `users`"
    )
    return refuse("models", problem, fix)


def _number_problems(*, effect: Any, power: Any, confidence: Any) -> Iterator[Problem]:
    """Yield the problems of the numbers that all plans have."""
    if effect is not None and not (is_effect(effect) and float(str(effect).removesuffix("%")) > 0):
        yield Problem("effect", f"is {format_value(effect)}", f"{EFFECT_FIX}; above 0")
    if not is_number(power) or not ABOVE_CONFIDENCE <= power <= MAX_CONFIDENCE:
        fix = f"write a number from {ABOVE_CONFIDENCE} to {MAX_CONFIDENCE}, such as {POWER}"
        yield Problem("power", f"is {format_value(power)}", fix)
    if confidence is not None and not is_confidence(confidence):
        yield Problem("confidence", f"is {format_value(confidence)}", CONFIDENCE_FIX)


def _unused_problems(kind: str, arguments: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in arguments.items():
        if value is not None:
            yield Problem(name, f"is not used with {kind}", "leave it out")


def _sample_size_problems(
    sd: Any, users: Any, seeds: Any, tests: Any, effect: Any
) -> Iterator[Problem]:
    if sd is None or users is None:
        fix = "pass a comparison, per-user values, or `sd=` and `users=`"
        yield Problem("source", "is missing", fix)
        return
    has_seeds = isinstance(sd, VarianceComponents)
    deviations = [*vars(sd).values()] if has_seeds else [sd]
    are_valid = all(is_number(each) and 0 <= each < MAX_COUNT for each in deviations)
    if not are_valid or max(deviations) == 0:
        yield Problem("sd", f"is {format_value(sd)}", "write a number above 0, such as 0.2")
    counts = {"users": (users, MIN_COUNT), "seeds": (seeds, MIN_COUNT), "tests": (tests, 1)}
    for name, (value, minimum) in counts.items():
        is_valid = type(value) is int and minimum <= value <= MAX_COUNT
        if not is_valid and not (name == "seeds" and value is None):
            fix = f"write a whole number, {minimum} or more"
            yield Problem(name, f"is {format_value(value)}", fix)
    if (seeds is not None) != has_seeds:
        fix = "pass `sd=VarianceComponents(…)` and `seeds=`, or neither"
        yield Problem("seeds", "requires the variance of seeds, and vice versa", fix)
    if isinstance(effect, str):
        problem = f"{effect!r} is a share of the baseline's mean, which is unknown"
        yield Problem("effect", problem, "write a number")
