"""Decide a gate: non-inferiority of each guardrail, and at least one better success metric."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from concord.metrics_core.results.gate import (
    Decision,
    Guardrail,
    Kind,
    Margin,
    MeasuredDifference,
    ModelDecision,
    Outcome,
    Success,
    UnmatchedModels,
)
from concord.metrics_core.stats.adjustment import holm
from concord.metrics_core.stats.sign_flip_test import MarginTest

_WORST_FIRST: tuple[Outcome, ...] = ("worse", "undecided", "pass")


def decide(
    models: Mapping[str, tuple[Sequence[Guardrail], Sequence[MeasuredDifference]]],
    *,
    against: Kind,
    reference: str,
    confidence: float,
    undecided_passes: bool,
) -> Decision:
    """Return the decision on every model, from its guardrails and its success metrics.

    The outcome of a model is the worst of its guardrails. It is `undecided` if there are success
    metrics and none is better, unless the model is unchanged since a revision.
    p-values of guardrails are not adjusted: all must hold, so that more of them make it harder to
    pass, not easier. `undecided_passes` concerns guardrails alone.
    """
    decisions = []
    for model, (guardrails, measured) in models.items():
        success = decide_success(measured, confidence=confidence)
        outcome = _outcome(guardrails, success, against=against, undecided_passes=undecided_passes)
        decisions.append(ModelDecision(model, outcome, tuple(guardrails), tuple(success)))
    return Decision(
        against=against,
        reference=reference,
        confidence=confidence,
        undecided_passes=undecided_passes,
        outcome=_worst(each.outcome for each in decisions) if decisions else "undecided",
        models=tuple(decisions),
    )


def with_undecided(decision: Decision, *, undecided_passes: bool) -> Decision:
    """Return the decision against the baseline with another rule for undecided guardrails."""
    return decide(
        {each.model: (each.guardrails, each.success) for each in decision.models},
        against=decision.against,
        reference=decision.reference,
        confidence=decision.confidence,
        undecided_passes=undecided_passes,
    )


def join_decisions(decision: Decision, new: Decision) -> Decision:
    """Return the decision on the models of both.

    Models that are new to a revision keep their own reference.
    """
    added = (replace(each, reference=new.reference) for each in new.models)
    models = (*decision.models, *added)
    outcome = _worst(each.outcome for each in models)
    return replace(decision, outcome=outcome, models=models)


def with_unmatched(decision: Decision, unmatched: UnmatchedModels) -> Decision:
    """Return the decision if new models may be vanished models under another name.

    It is undecided, unless a model is worse.
    """
    outcome: Outcome = "worse" if decision.outcome == "worse" else "undecided"
    return replace(decision, outcome=outcome, unmatched=unmatched)


def decide_guardrail(
    measured: MeasuredDifference,
    margin_setting: Margin,
    margin: float | None,
    test: MarginTest | None = None,
) -> Guardrail:
    """Return the guardrail of a measured difference.

    The outcome is `pass` if the lower end of the interval of the gain is above -margin, or if no
    user's value or list differs. It is `worse` if the upper end is below -margin.
    Otherwise it is `undecided`, also if it would pass but a user has a value with the reference
    alone.

    Parameters
    ----------
    margin_setting : float or str
        The margin as written: a number, a share such as "2%", or "min_effect".
    margin : float or None
        The margin as a number; None if it is a share of a mean that does not exist.
    test : MarginTest, optional
        Test that must confirm the interval if few users differ.
    """
    outcome = _guardrail_outcome(measured, margin, test)
    return Guardrail(
        **vars(measured), margin_setting=str(margin_setting), margin=margin, outcome=outcome
    )


def decide_success(measured: Sequence[MeasuredDifference], *, confidence: float) -> list[Success]:
    """Return the success metrics with p-values adjusted by Holm.

    A metric is better if it gained, its adjusted p-value is below 1 - confidence, and every user
    who has a value with the reference has one with the model.
    """
    p = np.array([np.nan if each.p is None else each.p for each in measured], dtype=np.float64)
    return [
        Success(
            **vars(each)
            | {
                "p_adjusted": float(adjusted),
                "better": bool(adjusted < 1 - confidence) and _has_gain(each) and not each.n_lost,
            }
        )
        for each, adjusted in zip(measured, holm(p), strict=True)
    ]


def _has_gain(measured: MeasuredDifference) -> bool:
    """True if there is a gain; for sign flips, if the whole interval is a gain."""
    end = measured.gain_low if measured.test == "sign_flips" else measured.gain
    return (end or 0.0) > 0


def _guardrail_outcome(
    measured: MeasuredDifference, margin: float | None, test: MarginTest | None
) -> Outcome:
    if measured.identical:
        return "pass"
    if measured.n_unlisted is not None:
        return "undecided"
    low, high = measured.gain_low, measured.gain_high
    if margin is None or low is None or high is None:
        return "undecided"
    if low > -margin:
        is_confirmed = test is None or test.is_above(-margin)
        return "pass" if is_confirmed and not measured.n_lost else "undecided"
    if high < -margin and (test is None or test.is_below(-margin)):
        return "worse"
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
        return "worse" if outcome == "worse" else "undecided"  # even with `undecided_passes`
    if outcome == "undecided" and undecided_passes:
        outcome = "pass"
    is_unchanged = against == "revision" and all(each.identical for each in success)
    has_gain = is_unchanged or any(each.better for each in success) or not success
    return "undecided" if outcome == "pass" and not has_gain else outcome


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    return min(outcomes, key=_WORST_FIRST.index, default="pass")
