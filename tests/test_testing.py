"""`concord.testing`: the gate as a test, from frames and from files."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

import concord as cc
from concord.metrics_core.results.comparison_parts import DataWarning, Severity
from concord.metrics_core.results.text_format import PERCENT
from concord.testing import assert_passes_gate

USERS = range(40)
TRUTH = {user: ["a", "b", "c", "d"] for user in USERS}  # more than a list holds
GOOD = {user: ["a", "b", "c"] for user in USERS}
BAD = {user: ["a", "x", "b"] if user % 2 or not user else ["x", "y", "a"] for user in USERS}
MIXED = {user: ["a", "x", "y"] if user % 2 else ["a", "b", "c"] for user in USERS}
ALSO_MIXED = {user: ["a", "x", "y"] if user % 4 > 1 else ["a", "b", "c"] for user in USERS}
WORSE = (
    "worse, against pop: als is worse.\n"
    "als on P@3: −0.492 (95 % interval −0.546 to −0.438), −0.020 (2 %) allowed: "
    "the whole interval is beyond the margin.\n"
    "Improve the model or leave it out; if this loss is intended, widen the margin in `gate:`. "
    "Checked: 1 guardrail of 1 model."
)


def compared(
    als: Mapping[int, list[str]],
    pop: Mapping[int, list[str]],
    gate: dict[str, object] | None,
) -> cc.results.Comparison:
    return cc.compare(
        {"als": als, "pop": pop}, TRUTH, metrics=["P@3"], baseline="pop", gate=gate, panel=False
    )


LOSS = compared(BAD, GOOD, {"guardrails": {"P@3": "2%"}})
GAIN = compared(GOOD, MIXED, {"guardrails": {"P@3": "2%"}})
OPEN = compared(MIXED, ALSO_MIXED, {"guardrails": {"P@3": "2%"}})


def test_a_model_that_is_worse_fails_with_the_words_of_the_gate() -> None:
    assert_passes_gate(GAIN)
    with pytest.raises(AssertionError) as failure:
        assert_passes_gate(LOSS)

    assert str(failure.value).replace(PERCENT, " %") == WORSE


def test_undecided_fails_unless_the_gate_or_the_argument_lets_it_pass() -> None:
    with pytest.raises(AssertionError, match="undecided, against pop: als is undecided"):
        assert_passes_gate(OPEN)
    assert_passes_gate(OPEN, undecided="pass")
    waived = compared(MIXED, ALSO_MIXED, {"guardrails": {"P@3": "2%"}, "undecided": "pass"})
    assert_passes_gate(waived)
    with pytest.raises(AssertionError, match="undecided, against pop"):
        assert_passes_gate(waived, undecided="fail")
    with pytest.raises(AssertionError, match="worse, against pop"):
        assert_passes_gate(LOSS, undecided="pass")


def test_what_has_no_decision_is_refused() -> None:
    with pytest.raises(cc.InputError, match="comparison: has no gate\n  fix: write `gate:`"):
        assert_passes_gate(compared(GOOD, BAD, None))
    for other in ("results", None):  # stored results may be stale: the fixture compares them
        with pytest.raises(cc.InputError, match=r"comparison: is of type .+\n  fix: pass a result"):
            assert_passes_gate(other)  # type: ignore[arg-type]
    with pytest.raises(cc.InputError, match="undecided: is 'ok'"):
        assert_passes_gate(GAIN, undecided="ok")  # type: ignore[arg-type]
    with pytest.raises(cc.InputError, match=r"undecided: is \['pass'\]"):
        assert_passes_gate(GAIN, undecided=["pass"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "severity"), [("short_lists", "serious"), ("fractions_irrelevant", "notice")]
)
def test_warnings_about_a_pass_are_warned_of(code: str, severity: Severity) -> None:
    warning = DataWarning(code, severity, ("als",), {})

    with pytest.warns(UserWarning, match=f"^warning: {code}"):
        assert_passes_gate(replace(GAIN, warnings=(warning,)))


def test_warnings_are_part_of_a_failure_in_the_words_of_the_comparison() -> None:
    truth = {f"q{n}": ["doc/1"] for n in range(40)}
    models = {"old": truth, "new": {query: ["chunk-7", "chunk-8"] for query in truth}}
    words = {"user": "query", "item": "document"}
    gate = {"guardrails": {"RR@2": "5%"}}
    comparison = cc.compare(models, truth, metrics=["RR@2"], baseline="old", gate=gate, words=words)

    with pytest.raises(AssertionError) as error:
        assert_passes_gate(comparison)
    *_, warning = str(error.value).split("\n")
    assert warning.startswith(
        "warning: No recommended document occurs in the ground truth, for any"
    )
    assert "'chunk-7' is in the lists, 'doc/1' in the ground truth" in warning
