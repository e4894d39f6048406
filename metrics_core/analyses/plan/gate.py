"""Planned gate: power of the gate's requirements for a model that equals the reference."""

from collections.abc import Iterator, Mapping

from concord.metrics_core.analyses.plan.result import Outlook, PlannedGuardrail, PlannedSuccess
from concord.metrics_core.comparison.min_effect import Effect, to_absolute
from concord.metrics_core.results.comparison_parts import or_nan, or_none
from concord.metrics_core.results.gate import Decision, Guardrail
from concord.metrics_core.stats.power import (
    claim_power,
    difference_claim,
    min_users,
    non_inferiority_claim,
    smallest_effect,
    users_needed,
    variance_from_error,
    variance_from_interval,
)


def plan_guardrails(decision: Decision, power: float) -> Iterator[PlannedGuardrail]:
    """Yield one plan per model and guardrail; identical models pass without a plan."""
    for model in decision.models:
        for guardrail in model.guardrails:
            if not guardrail.identical:
                yield _plan_guardrail(model.model, guardrail, decision.confidence, power)


def _plan_guardrail(
    model: str, guardrail: Guardrail, confidence: float, power: float
) -> PlannedGuardrail:
    alpha, margin, n_users = 1 - confidence, guardrail.margin, guardrail.n_users
    variance = None
    if guardrail.test in {"t", "sign_flips"}:
        ends = guardrail.ci_low, guardrail.ci_high
        variance = variance_from_interval(*ends, n_users, confidence)
    margin_shown, probability, needed = None, None, None
    if variance is not None:
        margin_shown = smallest_effect(
            difference_claim(alpha), variance, power=power, users=n_users
        )
    if variance is not None and margin is not None:
        claim = non_inferiority_claim(margin, alpha)
        probability = claim_power(claim, 0.0, variance, users=n_users)
        needed = users_needed(claim, 0.0, variance, power=power) if margin > 0 else None
        needed = needed and max(needed, min_users(n_users, guardrail.n_nonzero))
    half_width = or_none((or_nan(guardrail.ci_high) - or_nan(guardrail.ci_low)) / 2)
    return PlannedGuardrail(
        model=model,
        label=guardrail.label,
        segmentation=guardrail.segmentation,
        segment=guardrail.segment,
        margin_setting=guardrail.margin_setting,
        margin=margin,
        n_users=n_users,
        n_nonzero=guardrail.n_nonzero,
        sd=variance.sd_one_seed if variance else None,
        half_width=half_width,
        chance=probability,
        users_needed=needed,
        margin_shown=margin_shown,
        outlook=_outlook(half_width, margin, probability, power),
    )


def _outlook(
    half_width: float | None, margin: float | None, probability: float | None, power: float
) -> Outlook:
    if half_width is None or margin is None:
        return "unknown"
    if half_width >= margin:
        return "cannot"
    return "shown" if probability is None or probability >= power else "seldom"


def plan_success(
    decision: Decision, power: float, effects: Mapping[str, Effect]
) -> Iterator[PlannedSuccess]:
    """Yield one plan per model and success metric, each at the level α / m of m metrics.

    Parameters
    ----------
    decision : Decision
        Decision of the gate.
    power : float
        Probability to detect the gain.
    effects : dict of str to (float or str)
        True gain in each label: a number, or a share of the reference's mean.

    Yields
    ------
    PlannedSuccess
        Plan of one success metric.
    """
    alpha = 1 - decision.confidence
    for model in decision.models:
        tests = max(sum(success.p is not None for success in model.success), 1)
        claim = difference_claim(alpha / tests)
        for success in model.success:
            n_users = success.n_users
            effect = to_absolute(effects[success.label], success.reference or 0.0)
            variance = variance_from_error(success.standard_error, n_users)
            smallest, needed = None, None
            if variance is not None:
                smallest = smallest_effect(claim, variance, power=power, users=n_users)
            if variance is not None and effect > 0:
                needed = users_needed(claim, effect, variance, power=power)
                needed = needed and max(needed, min_users(n_users, success.n_nonzero))
            yield PlannedSuccess(
                model=model.model,
                label=success.label,
                n_users=n_users,
                sd=variance.sd_one_seed if variance else None,
                tests=tests,
                smallest=smallest,
                effect=effect or None,
                users_needed=needed,
            )
