"""`plan`: a comparison, users' values or a few stated numbers in; how many users and trainings it takes out."""

from collections.abc import Iterable, Sequence

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparing.evidence.asked import (
    Effect,
    Finding,
    baseline_findings,
    model_findings,
    wide_findings,
)
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import OF_VALUES
from concord.metrics_core.metrics.catalogue import spelled
from concord.metrics_core.planning.checks import (
    POWER,
    idle_findings,
    number_findings,
    stated_findings,
)
from concord.metrics_core.planning.of_comparison import min_effect_of, planned_pairs
from concord.metrics_core.planning.of_gate import planned_guardrails, planned_successes
from concord.metrics_core.planning.of_values import Values, planned_values
from concord.metrics_core.planning.pairs import Observed, Wanted, planned
from concord.metrics_core.planning.parts import Plan
from concord.metrics_core.planning.wording import gate_lines
from concord.metrics_core.statistics.power import Spread

CONFIDENCE = 0.95


def plan(
    given: Comparison | Values | None = None,
    *,
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    sd: float | Spread | None = None,
    users: int | None = None,
    seeds: int | None = None,
    tests: int = 1,
    effect: Effect | None = None,
    power: float = POWER,
    confidence: float | None = None,
    segments: bool = False,
) -> Plan:
    """The smallest differences that users can settle, and the users and trainings that a difference needs.

    The rules are those of verdicts and gates: paired t intervals of users' differences, two-sided, corrected at Holm's
    worst (alpha / tests). The differences that were found have no part in it, only how much users vary.

    Parameters
    ----------
    given      : a Comparison; or model -> users' values (`evaluate(…).per_user`, or any frame with `user` and a column a
                 label); None: stated numbers
    metrics    : labels; else the primary ones of a comparison, or every column
    baseline   : of users' values: the model that the others are held against
    sd         : standard deviation of users' differences; `Spread` where trainings vary too
    users      : how many there are
    seeds      : trainings of each model, where `sd` is a Spread
    tests      : comparisons that stated numbers are corrected for
    effect     : the true difference that is to be found: a number, or a share of the baseline's mean such as "2%"; else
                 the smallest that matters in a comparison
    power      : how probably it is to be found
    confidence : of users' values or stated numbers, 0.95; a comparison has its own
    segments   : each segment of the comparison too

    Raises
    ------
    ValueError : what is wrong, where, and what to do
    """
    _refuse(number_findings(effect=effect, power=power, confidence=confidence))
    level = CONFIDENCE if confidence is None else confidence
    if isinstance(metrics, str):
        raise refuse("metrics", f"{metrics!r} is no list", f"write a list of labels: [{metrics!r}]")
    numbers: dict[str, object] = {"sd": sd, "users": users, "seeds": seeds}
    numbers["tests"] = None if tests == 1 else tests
    if isinstance(given, Comparison):
        idle = {**numbers, "baseline": baseline, "confidence": confidence}
        _refuse(idle_findings("a comparison", idle))
        return of_comparison(given, metrics, effect=effect, power=power, segments=segments)
    if given is not None:
        _refuse(idle_findings("users' values", {**numbers, "segments": segments or None}))
        _refuse(model_findings(given))
        _refuse(baseline_findings(baseline or "", given))
        if len(given) == 1:
            raise nobody_beside(baseline or "")
        rows = planned_values(
            given, metrics, baseline=baseline or "", effect=effect, power=power, confidence=level
        )
        return Plan(power, level, tuple(rows))
    others = {"metrics": metrics, "baseline": baseline, "segments": segments or None}
    _refuse(idle_findings("stated numbers", others))
    _refuse(stated_findings(sd, users, seeds, tests, effect))
    assert users is not None, "refused before"
    spread = sd if isinstance(sd, Spread) else Spread(float(sd or 0.0))
    wanted = Wanted(power, 1 - level, None if effect is None else float(effect))
    row = planned(Observed(users, None, spread, seeds), wanted, min_effect=0.0, tests=tests)
    return Plan(power, level, (row,))


def of_comparison(
    comparison: Comparison,
    metrics: Sequence[str] | None = None,
    *,
    effect: Effect | None = None,
    power: float = POWER,
    segments: bool = False,
) -> Plan:
    """The plan of a comparison, with its gate checked where it has one."""
    if not comparison.challengers:
        raise nobody_beside(comparison.baseline)
    labels = comparison.primary if metrics is None else [spelled(text) for text in metrics]
    if effect is not None and not isinstance(effect, str):
        asked = [comparison.metric(label) for label in labels]
        known = [metric.label for metric in asked if metric.family != OF_VALUES]
        _refuse(wide_findings(effect, known, "effect"))
    rows = planned_pairs(comparison, labels, effect=effect, power=power, segments=segments)
    if comparison.gate is None:
        return Plan(power, comparison.confidence, tuple(rows))
    gate = comparison.gate
    guardrails = planned_guardrails(gate, power)
    effects = {
        label: min_effect_of(comparison, label) if effect is None else effect
        for label in comparison.labels
    }
    success = planned_successes(gate, power, effects)
    lines = gate_lines(
        guardrails,
        success,
        reference=gate.reference,
        power=power,
        undecided_passes=gate.undecided_passes,
    )
    found = tuple(rows)
    return Plan(
        power, comparison.confidence, found, tuple(guardrails), tuple(success), tuple(lines)
    )


def nobody_beside(baseline: str) -> InputError:
    """The refusal of a plan for one model alone."""
    what = f"there is no model beside the baseline, {baseline}, to plan for"
    return refuse("models", what, "add a second one, or state numbers: the standard deviation of users' differences, and how many users")  # fmt: skip


def _refuse(found: Iterable[Finding]) -> None:
    if problems := [Problem(*each) for each in found]:
        raise InputError(problems)
