"""A gate, checked before it is run: can these users show what it asks, of a model that is as good as the reference?"""

from collections.abc import Mapping
from dataclasses import dataclass

from concord.metrics_core.comparing.evidence.asked import Effect, absolute
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
    decision: Decision, power: float, effects: Mapping[str, Effect]
) -> list[PlannedSuccess]:
    """One a model and success metric; they are corrected for their number by Holm, at its worst alpha / number.

    effects : label -> the gain that is to be found, a number or a share of the reference's mean
    """
    alpha, found = 1 - decision.confidence, []
    for each in decision.models:
        tests = max(sum(success.p is not None for success in each.success), 1)
        for success in each.success:
            effect = absolute(effects[success.label], success.reference or 0.0)
            spread = _spread(success, decision.confidence)
            gain = _Gain(success, spread, different(alpha / tests), power)
            found.append(
                PlannedSuccess(
                    model=each.model,
                    label=success.label,
                    n_users=success.n_users,
                    sd=None if spread is None else spread.of_one_training,
                    tests=tests,
                    smallest=gain.smallest,
                    effect=effect or None,
                    users_needed=gain.users_needed(effect),
                )
            )
    return found


@dataclass(frozen=True)
class _Gain:
    """What is planned of a gain; None where it is not known how much users vary."""

    found: Success
    spread: Spread | None
    claim: Claim
    power: float

    @property
    def smallest(self) -> float | None:
        if self.spread is None:
            return None
        users = self.found.n_users
        return smallest_effect(self.claim, self.spread, power=self.power, users=users)

    def users_needed(self, effect: float) -> int | None:
        if self.spread is None or effect <= 0:
            return None
        needed = users_needed(self.claim, effect, self.spread, power=self.power)
        return needed and max(needed, fewest_users(self.found.n_users, self.found.n_nonzero))


def _spread(found: Guardrail | Success, confidence: float) -> Spread | None:
    """Of users' differences; a number over all users has none."""
    if found.test not in {"t", "sign_flips"}:
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
