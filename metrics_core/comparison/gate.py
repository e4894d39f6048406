"""Decide a gate: a non-inferiority test per guardrail, and at least one success metric that is better."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from concord.metrics_core.results.gate import (
    Decision,
    Guardrail,
    Kind,
    Margin,
    Measured,
    ModelDecision,
    Outcome,
    Success,
    UnmatchedModels,
)
from concord.metrics_core.stats.adjustment import holm
from concord.metrics_core.stats.sign_flip_test import MarginTest

_WORST_FIRST: tuple[Outcome, ...] = ("worse", "undecided", "pass")


def decide(
    models: Mapping[str, tuple[Sequence[Guardrail], Sequence[Measured]]],
    *,
    against: Kind,
    reference: str,
    confidence: float,
    undecided_passes: bool,
) -> Decision:
    """Return the decision on every model, from its guardrails and its success metrics.

    The outcome of a model is the worst of its guardrails, and `undecided` if there are success metrics and none is
    better, unless the model is unchanged since a revision. Guardrails are not adjusted for their number: all must hold,
    so more of them make it harder to pass, not easier. `undecided_passes` concerns guardrails alone.
    """
    successes_of = {
        model: successes(success, confidence=confidence) for model, (_, success) in models.items()
    }
    decisions = tuple(
        ModelDecision(
            model,
            _outcome(
                guardrails, successes_of[model], against=against, undecided_passes=undecided_passes
            ),
            tuple(guardrails),
            tuple(successes_of[model]),
        )
        for model, (guardrails, _) in models.items()
    )
    outcome = _worst(each.outcome for each in decisions) if decisions else "undecided"
    return Decision(
        against=against,
        reference=reference,
        confidence=confidence,
        undecided_passes=undecided_passes,
        outcome=outcome,
        models=decisions,
    )


def joined(decision: Decision, new: Decision) -> Decision:
    """Return the decision on the models of both; models that are new to a revision keep their own reference."""
    added = (replace(each, reference=new.reference) for each in new.models)
    models = (*decision.models, *added)
    outcome = _worst(each.outcome for each in models)
    return replace(decision, outcome=outcome, models=models)


def with_unmatched(decision: Decision, unmatched: UnmatchedModels) -> Decision:
    """Return the decision where new models may be vanished ones by another name: undecided, unless a model is worse."""
    outcome: Outcome = "worse" if decision.outcome == "worse" else "undecided"
    return replace(decision, outcome=outcome, unmatched=unmatched)


def guarded(
    measured: Measured,
    asked: Margin,
    margin: float | None,
    test: MarginTest | None = None,
) -> Guardrail:
    """Return the guardrail of a measured difference.

    `pass` if the lower end of the interval of the gain is above -margin, or no user's value or list differs; `worse` if
    its upper end is below -margin; `undecided` otherwise, also if it would pass but a user has a value with the reference
    alone.

    Parameters
    ----------
    test : MarginTest, optional
        Test that must confirm the interval if few users differ.
    """
    outcome = _guarded(measured, margin, test)
    return Guardrail(**vars(measured), asked=str(asked), margin=margin, outcome=outcome)


def successes(measured: Sequence[Measured], *, confidence: float) -> list[Success]:
    """Return the success metrics with p-values adjusted by Holm.

    A metric is better if it gained, its adjusted p-value is below 1 - confidence, and every user with a value with the
    reference has one with the model.
    """
    p = np.array([np.nan if each.p is None else each.p for each in measured], dtype=np.float64)
    return [
        Success(
            **vars(each),
            p_adjusted=None if np.isnan(adjusted) else float(adjusted),
            better=bool(adjusted < 1 - confidence) and _gained(each) and not each.n_lost,
        )
        for each, adjusted in zip(measured, holm(p), strict=True)
    ]


def _gained(measured: Measured) -> bool:
    """True if there is a gain; if p is that of sign flips, if its whole interval is a gain."""
    end = measured.gain_low if measured.test == "sign_flips" else measured.gain
    return (end or 0.0) > 0


def _guarded(measured: Measured, margin: float | None, test: MarginTest | None) -> Outcome:
    if measured.identical:
        return "pass"
    if measured.n_unlisted is not None:
        return "undecided"
    low, high = measured.gain_low, measured.gain_high
    if margin is None or low is None or high is None:
        return "undecided"
    if low > -margin:
        agreed = test is None or test.is_above(-margin)
        return "pass" if agreed and not measured.n_lost else "undecided"
    if high < -margin:
        agreed = test is None or test.is_below(-margin)
        return "worse" if agreed else "undecided"
    return "undecided"


def _outcome(
    guardrails: Sequence[Guardrail],
    success: Sequence[Success],
    *,
    against: Kind,
    undecided_passes: bool,
) -> Outcome:
    outcome = _worst(each.outcome for each in guardrails)
    if not all(each.is_comparable for each in (*guardrails, *success)):
        return "worse" if outcome == "worse" else "undecided"  # whatever is let pass
    if outcome == "undecided" and undecided_passes:
        outcome = "pass"
    is_unchanged = against == "revision" and all(each.identical for each in success)
    has_gain = is_unchanged or any(each.better for each in success) or not success
    return "undecided" if outcome == "pass" and not has_gain else outcome


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    return min(outcomes, key=_WORST_FIRST.index, default="pass")
