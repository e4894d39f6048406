"""A gate, checked before it is run: can these users show what it asks, of a model that is as good as the reference?"""

from typing import Any

from concord.metrics_core.comparison.gate import Decision, Guardrail, Success
from concord.metrics_core.planning.pairs import fewest_users, spread_of
from concord.metrics_core.planning.parts import Outlook, PlannedGuardrail, PlannedSuccess
from concord.metrics_core.statistics.needed import smallest_effect, users_needed
from concord.metrics_core.statistics.power import Claim, Spread, chance, different, not_worse


def planned_guardrails(decision: Decision, power: float) -> list[PlannedGuardrail]:
    """One a model and guardrail, in the order of the decision; identical models pass and need no plan."""
    return [
        _guardrail(each.model, guardrail, decision.confidence, power)
        for each in decision.models
        for guardrail in each.guardrails
        if not guardrail.identical
    ]


def planned_successes(
    decision: Decision, power: float, effect: float | None
) -> list[PlannedSuccess]:
    """One a model and success metric; they are corrected for their number by Holm, at its worst alpha / number."""
    alpha = 1 - decision.confidence
    family = {
        each.model: max(sum(success.p is not None for success in each.success), 1)
        for each in decision.models
    }
    return [
        PlannedSuccess(
            model=each.model,
            label=success.label,
            n_users=success.n_users,
            tests=family[each.model],
            **_gain(
                success, different(alpha / family[each.model]), decision.confidence, power, effect
            ),
        )
        for each in decision.models
        for success in each.success
    ]


def _spread(found: Guardrail | Success, confidence: float) -> Spread | None:
    """Of users' differences; a number over all users has none."""
    if found.test != "t":
        return None
    return spread_of(found.ci_low, found.ci_high, found.n_users, confidence)


def _guardrail(model: str, found: Guardrail, confidence: float, power: float) -> PlannedGuardrail:
    alpha, margin, spread = 1 - confidence, found.margin, _spread(found, confidence)
    shown, passed, needed = None, None, None
    if spread is not None:
        shown = smallest_effect(different(alpha), spread, power=power, users=found.n_users)
    if spread is not None and margin is not None:
        claim = not_worse(margin, alpha)
        passed = chance(claim, 0.0, spread, users=found.n_users)
        needed = users_needed(claim, 0.0, spread, power=power) if margin > 0 else None
        needed = needed and max(needed, fewest_users(found.n_users, found.n_nonzero))
    return PlannedGuardrail(
        model=model,
        label=found.label,
        segmentation=found.segmentation,
        segment=found.segment,
        asked=found.asked,
        margin=margin,
        n_users=found.n_users,
        n_nonzero=found.n_nonzero,
        sd=None if spread is None else spread.of_one_training,
        half_width=_half_width(found),
        chance=passed,
        users_needed=needed,
        margin_shown=shown,
        outlook=_outlook(found, passed, power),
    )


def _half_width(found: Guardrail) -> float | None:
    if found.ci_low is None or found.ci_high is None:
        return None
    return (found.ci_high - found.ci_low) / 2


def _outlook(found: Guardrail, passed: float | None, power: float) -> Outlook:
    half = _half_width(found)
    if half is None or found.margin is None:
        return "unknown"
    if half >= found.margin:
        return "cannot"
    return "shown" if passed is None or passed >= power else "seldom"


def _gain(
    found: Success, claim: Claim, confidence: float, power: float, effect: float | None
) -> dict[str, Any]:
    """What is planned of a gain: how users vary, the smallest that is found, and the users that `effect` needs."""
    spread, needed = _spread(found, confidence), None
    if spread is None:
        return {"sd": None, "smallest": None, "effect": effect, "users_needed": None}
    if effect is not None:
        needed = users_needed(claim, effect, spread, power=power)
        needed = needed and max(needed, fewest_users(found.n_users, found.n_nonzero))
    return {
        "sd": spread.of_one_training,
        "smallest": smallest_effect(claim, spread, power=power, users=found.n_users),
        "effect": effect,
        "users_needed": needed,
    }
