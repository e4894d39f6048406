"""The decision of a gate as the report shows it: a word, what decided, and a line a guardrail."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.gate import (
    Decision,
    Measured,
    ModelDecision,
    Outcome,
    Success,
    allowed,
    lost,
    place,
)
from concord.reports.writing import numbers

GLYPHS: Mapping[Outcome, str] = {"pass": "better", "worse": "worse", "undecided": "undecided"}
_WORST_FIRST: tuple[Outcome, ...] = ("worse", "undecided", "pass")


@dataclass(frozen=True)
class Line:
    """A guardrail or a success metric of a model."""

    model: str
    what: str
    difference: str
    interval: str
    allowed: str
    outcome: Outcome
    said: str
    why: str


def head(decision: Decision) -> str:
    """`Gate: pass`, or what was let through; `no decision` where there is nobody to decide on."""
    if not decision.models:
        return "no decision"
    return "pass, though undecided" if decision.outcome == "pass" and decision.waived else decision.outcome  # fmt: skip


def first(decision: Decision) -> str:
    """Whom it concerns, without the word that stands above it."""
    said = decision.lines[0].removeprefix(f"{decision.outcome}, ")
    return said[:1].upper() + said[1:]


def lines(comparison: Comparison) -> list[Line]:
    """Everything that was checked, the worst first, else as it was asked for."""
    return [] if comparison.gate is None else lines_of(comparison.gate)


def lines_of(decision: Decision) -> list[Line]:
    """Everything that was checked, the worst first, else as it was asked for."""
    found = [line for model in decision.models for line in _lines(model)]
    return sorted(found, key=lambda line: _WORST_FIRST.index(line.outcome))


def _lines(model: ModelDecision) -> Iterator[Line]:
    for each in model.guardrails:
        yield Line(
            model=model.model,
            **_measured(each),
            allowed=allowed(each),
            outcome=each.outcome,
            said=each.outcome,
            why=each.why,
        )
    for success in model.success:
        yield Line(
            model=model.model,
            **_measured(success),
            allowed="better" if len(model.success) == 1 else "one of these better",
            outcome="pass" if success.better else "undecided",
            said="better" if success.better else "not shown",
            why=f"{_p(success)}; {lost(success)}" if success.n_lost else _p(success),
        )


def _measured(found: Measured) -> dict[str, str]:
    digits = numbers.decimals([found], [found.mean, found.reference])
    return {
        "what": place(found),
        "difference": numbers.signed(found.difference, digits),
        "interval": numbers.signed_interval(found.ci_low, found.ci_high, digits),
    }


def _p(success: Success) -> str:
    return (
        "no test"
        if success.p_adjusted is None
        else f"p {numbers.p_value(success.p_adjusted)}, adjusted by Holm"
    )
