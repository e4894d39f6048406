"""A gate is suspicious if lists or baseline are near certainly not what they should be."""

from typing import Any

import pytest

from concord.metrics_core.comparison.gate import decide_guardrail, with_findings, with_undecided
from concord.metrics_core.results.comparison_parts import Acknowledgement, DataWarning
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.text_format import PERCENT
from concord.reports.text import gate_cells as gate
from tests.metrics_core.comparison.test_gate import Models, decide_models, make_difference

ENDS = {"pass": (0.0, 0.001), "worse": (-0.010, -0.005), "undecided": (-0.01, 0.01)}


def _decision(**outcomes: str) -> Decision:
    models: Models = {
        model: ([decide_guardrail(make_difference(*ENDS[outcome]), 0.004, 0.004)], [])
        for model, outcome in outcomes.items()
    }
    return decide_models(models)


def _warning(*models: str, code: str = "holds_truth", reason: str | None = None) -> DataWarning:
    details: dict[str, Any] = {"share": 0.98, "n_users": 284}
    if code == "no_better_than_chance":
        details = {"k": 20, "hits": 3, "expected": 12.0}
    accepted = None if reason is None else Acknowledgement(reason, None, is_exceeded=False)
    return DataWarning(code, "serious", models, details, accepted)


@pytest.mark.parametrize("outcome", ["pass", "worse", "undecided"])
def test_suspicion_comes_before_every_other_outcome(outcome: str) -> None:
    decision = with_findings(_decision(als=outcome, ease="pass"), [], [_warning("als")])

    assert decision.outcome == "suspicious"
    assert [each.outcome for each in decision.models] == ["suspicious", "pass"]
    assert gate.headline(decision) == "Gate suspicious: als."
    first, reason, remedy = decision.lines
    assert first == "suspicious, against popularity: als is suspicious; ease passes."
    assert reason.startswith(f"For 98{PERCENT} of 284 users with several relevant items, als has")
    assert remedy.startswith("Check that it was trained without the ground truth")
    assert "acknowledge `holds_truth`, with models and a reason." in remedy


def test_a_suspicious_baseline_makes_every_model_suspicious() -> None:
    warning = _warning("popularity", code="no_better_than_chance")
    decision = with_findings(_decision(als="pass", ease="worse"), [], [warning])

    assert {each.outcome for each in decision.models} == {"suspicious"}
    assert gate.headline(decision) == "Gate suspicious: popularity."
    assert decision.lines[0] == "suspicious, against popularity: als and ease are suspicious."
    assert decision.lines[1].startswith(
        "The top 20 of popularity hold 3 relevant items, and chance brings 12: its ids may"
    )


@pytest.mark.parametrize(
    "warning",
    [_warning("slim"), _warning("als", code="near_ceiling"), _warning("als", reason="ok")],
)
def test_other_models_other_warnings_and_acknowledged_ones_change_no_outcome(
    warning: DataWarning,
) -> None:
    decision = with_findings(_decision(als="pass", ease="worse"), [], [warning])

    assert decision.outcome == "worse"
    assert [each.outcome for each in decision.models] == ["pass", "worse"]


def test_the_reason_of_an_acknowledged_warning_is_shown() -> None:
    warning = _warning("als", reason="als is an oracle that we show on purpose")
    decision = with_findings(_decision(als="pass"), [], [warning])

    accepted = "Accepted (als, holds_truth): als is an oracle that we show on purpose."
    assert accepted in decision.lines[2]


def test_undecided_guardrails_that_pass_do_not_waive_suspicion() -> None:
    decision = with_findings(_decision(als="undecided"), [], [_warning("als")])

    assert with_undecided(decision, undecided_passes=True).outcome == "suspicious"
    waived = with_undecided(
        with_findings(_decision(als="undecided"), [], []), undecided_passes=True
    )
    assert waived.outcome == "pass"
