"""Decisions of a gate: examples, and random numbers against a reference implementation."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.comparison.gate import (
    decide,
    decide_guardrail,
    decide_success,
    join_decisions,
    with_undecided,
    with_unmatched,
)
from concord.metrics_core.results.gate import (
    Decision,
    Guardrail,
    Kind,
    MeasuredDifference,
    UnmatchedModels,
)
from concord.metrics_core.results.text_format import PERCENT
from concord.reports.text import gate_cells as gate
from tests.metrics_core.comparison import gate_reference


def make_difference(
    low: float | None = None,
    high: float | None = None,
    *,
    difference: float | None = None,
    **changes: Any,
) -> MeasuredDifference:
    """Return a difference in the middle of its interval; the mean of the reference is 0.2."""
    middle = (low + high) / 2 if low is not None and high is not None else difference
    mean = None if middle is None else 0.2 + middle
    default = MeasuredDifference(
        label="nDCG@10",
        higher_is_better=True,
        segmentation=None,
        segment=None,
        mean=mean,
        reference=0.2,
        difference=middle,
        ci_low=low,
        ci_high=high,
        level=0.95,
        standard_error=None,
        n_users=1000,
        n_nonzero=400,
        n_lost=0,
        test="t",
        p=None,
    )
    return replace(default, **changes)


Models = dict[str, tuple[list[Guardrail], list[MeasuredDifference]]]


def decide_models(
    models: Models, *, undecided_passes: bool = False, against: Kind = "baseline"
) -> Decision:
    return decide(
        models,
        against=against,
        reference="popularity",
        confidence=0.95,
        undecided_passes=undecided_passes,
    )


EXAMPLES = [
    # Interval of the difference, margin, outcome if higher is better, outcome if lower is better.
    ((-0.003, 0.005), 0.004, "pass", "undecided"),  # -0.003 > -0.004; 0.005 > 0.004
    ((-0.004, 0.001), 0.004, "undecided", "pass"),  # -0.004 is not above -0.004
    ((-0.010, -0.005), 0.004, "worse", "pass"),  # -0.005 < -0.004
    ((-0.010, -0.004), 0.004, "undecided", "pass"),  # -0.004 is not below -0.004
    ((-0.010, -0.001), 0.020, "pass", "pass"),  # worse for sure, and by less than is allowed
    ((-0.001, 0.001), 0.000, "undecided", "undecided"),  # a margin of 0 passes what is better
    ((0.001, 0.002), 0.000, "pass", "worse"),
    ((-0.300, 0.300), 0.004, "undecided", "undecided"),
]


@pytest.mark.parametrize(("interval", "margin", "upwards", "downwards"), EXAMPLES)
def test_a_guardrail_is_decided_by_the_ends_of_its_interval(
    interval: tuple[float, float], margin: float, upwards: str, downwards: str
) -> None:
    assert decide_guardrail(make_difference(*interval), margin, margin).outcome == upwards
    assert (
        decide_guardrail(make_difference(*interval, higher_is_better=False), margin, margin).outcome
        == downwards
    )


@pytest.mark.parametrize(
    ("measurement", "margin", "outcome", "why"),
    [
        (make_difference(difference=0.0, n_nonzero=0), 0.0, "pass",
         "every user has the same value with both"),
        (make_difference(difference=-0.1, n_nonzero=9), 0.001, "undecided",
         "only 9 users of 1,000 differ, too few for an interval"),
        (make_difference(difference=0.1, n_nonzero=1), 0.001, "undecided",
         "only 1 user of 1,000 differ, too few for an interval"),
        (make_difference(difference=-0.1, test="none"), 0.001, "undecided",
         "this metric has no interval"),
        (make_difference(difference=None, n_nonzero=0, n_users=0), 0.001, "undecided",
         "no user has a value with both"),
        (make_difference(0.1, 0.2, n_lost=1), 0.001, "undecided",
         "1 of the 1,001 users who have a value with the reference has none with the model"),
        (make_difference(difference=0.0, n_nonzero=0, n_users=3, n_lost=37), 0.001, "undecided",
         "37 of the 40 users who have a value with the reference have none with the model"),
        (make_difference(-0.2, -0.1, n_lost=37), 0.001, "worse",
         "the whole interval is beyond the margin"),
        (make_difference(0.1, 0.2), None, "undecided",
         "the margin is a share of a mean that is undefined, or may be 0"),
    ],
)  # fmt: skip
def test_a_lack_of_evidence_is_no_pass(
    measurement: MeasuredDifference, margin: float | None, outcome: str, why: str
) -> None:
    guardrail = decide_guardrail(measurement, "2%", margin)

    assert (guardrail.outcome, guardrail.why) == (outcome, why)


@pytest.mark.parametrize(
    ("interval", "upwards", "downwards"),
    [((0.001, 0.01), True, False), ((0.0, 0.01), False, False), ((-0.02, -0.01), False, True)],
)
def test_a_success_metric_is_better_if_its_interval_is_a_gain(
    interval: tuple[float, float], upwards: bool, downwards: bool
) -> None:
    measured = make_difference(*interval, p=0.03)

    (up,), (down,) = (
        decide_success([replace(measured, higher_is_better=each)]) for each in (True, False)
    )

    assert (up.better, down.better) == (upwards, downwards)


def test_p_values_of_success_metrics_are_adjusted_by_holm_and_decide_nothing() -> None:
    gained = make_difference(0.001, 0.01, p=0.03)
    other = make_difference(-0.001, 0.01, label="R@20", p=0.04)

    together = decide_success([gained, other, replace(other, p=None)])

    assert [each.p_adjusted for each in together] == [
        pytest.approx(0.03 * 2),
        pytest.approx(0.06),
        None,
    ]
    assert [each.better for each in together] == [True, False, False]
    assert not decide_success([make_difference(difference=0.1, p=0.001)])[0].better


def test_a_gain_of_the_users_who_are_left_is_no_success() -> None:
    gained = make_difference(0.01, 0.02, p=0.001, n_lost=76, n_users=124)
    assert not decide_success([gained])[0].better

    lines = decide_models({"als": ([], [gained])}).lines
    assert "but 76 of the 200 users who have a value with the reference have none" in lines[1]
    lines = decide_models({"als": ([decide_guardrail(gained, 0.004, 0.004)], [])}).lines
    assert lines[2].startswith(
        "Give every user a value with both models; `user_no_recs: zero` counts"
    )


GOOD = decide_guardrail(make_difference(-0.001, 0.005), 0.004, 0.004)
OPEN = decide_guardrail(make_difference(-0.010, 0.005), 0.004, 0.004)
BAD = decide_guardrail(make_difference(-0.020, -0.010), 0.004, 0.004)
GAIN = [make_difference(0.01, 0.02, p=0.001)]
NO_GAIN = [make_difference(-0.01, 0.02, p=0.5)]


@pytest.mark.parametrize(
    ("guardrails", "success", "outcome", "where_undecided_passes"),
    [
        ([GOOD], [], "pass", "pass"),
        ([GOOD, OPEN], [], "undecided", "pass"),
        ([GOOD, OPEN, BAD], GAIN, "worse", "worse"),
        ([GOOD], GAIN, "pass", "pass"),
        ([GOOD], NO_GAIN, "undecided", "undecided"),
        ([OPEN], NO_GAIN, "undecided", "undecided"),
        ([OPEN], GAIN, "undecided", "pass"),
        ([], GAIN, "pass", "pass"),
        ([], NO_GAIN, "undecided", "undecided"),
        ([BAD], [], "worse", "worse"),
    ],
)
def test_the_worst_guardrail_decides_and_one_success_metric_has_to_be_better(
    guardrails: list[Guardrail],
    success: list[MeasuredDifference],
    outcome: str,
    where_undecided_passes: str,
) -> None:
    models = {"als": (guardrails, success)}

    assert decide_models(models).outcome == outcome
    assert decide_models(models, undecided_passes=True).outcome == where_undecided_passes


def test_a_model_that_is_as_it_was_has_nothing_to_be_better_at() -> None:
    same = make_difference(difference=0.0, n_nonzero=0, p=None)
    models: Models = {"als": ([decide_guardrail(same, "2%", 0.004)], [same])}

    assert decide_models(models, against="revision").outcome == "pass"
    assert decide_models(models).outcome == "undecided"
    assert (
        decide_models({"als": ([GOOD], [same, *NO_GAIN])}, against="revision").outcome
        == "undecided"
    )


def test_waived_rule_is_not_recommended() -> None:
    lines = decide_models({"als": ([OPEN], NO_GAIN)}, undecided_passes=True).lines

    assert lines[1].startswith("No success metric of als is significantly better: ")
    assert "`undecided: pass`" not in "".join(lines)
    assert "`undecided: pass`" in decide_models({"als": ([OPEN], NO_GAIN)}).lines[2]


def test_every_model_has_to_pass() -> None:
    models: Models = {"als": ([GOOD], []), "ease": ([OPEN], []), "knn": ([BAD], [])}
    actual = decide_models(models)

    assert actual.outcome == "worse"
    assert [each.model for each in actual.models if each.outcome == "pass"] == ["als"]
    decision = "worse, against popularity: knn is worse; ease is undecided; als passes."
    assert actual.lines[0] == decision
    assert decide_models({name: models[name] for name in ("als", "ease")}).outcome == "undecided"
    assert decide_models({"als": models["als"]}).outcome == "pass"


def test_the_three_lines_say_what_decided_with_number_interval_and_margin() -> None:
    inside = decide_guardrail(
        make_difference(-0.020, -0.010, segmentation="activity", segment="0"), "2%", 0.004
    )
    lines = decide_models({"als": ([GOOD, inside], []), "ease": ([BAD, OPEN], [])}).lines

    assert len(lines) == 3
    assert lines[1].replace(PERCENT, " %") == (
        "als on nDCG@10 of segment activity=0: −0.0150 (95 % interval −0.0200 to −0.0100), "
        "−0.0040 (2 %) allowed: the whole interval is beyond the margin."
    )
    assert lines[2] == (
        "Also worse: ease on nDCG@10. Undecided: 1 guardrail. "
        "Improve the model or leave it out; if this loss is intended, widen the margin in `gate:`. "
        "Checked: 4 guardrails of 2 models."
    )


def test_a_name_from_a_file_breaks_out_of_no_line() -> None:
    segment = "x\n::warning title=pwn::hi\r\n# y\x1b[2J\u2028z"
    inside = [
        decide_guardrail(make_difference(*ends, segmentation="age", segment=segment), "2%", 0.004)
        for ends in ((-0.020, -0.010), (-0.020, -0.010), (-0.001, 0.001))
    ]
    for guardrails in (inside, inside[2:]):
        for line in decide_models({"als": (guardrails, [])}).lines:
            assert line.splitlines() == [line]
            assert "\x1b" not in line


@pytest.mark.parametrize(
    ("interval", "undecided_passes", "outcome"),
    [
        ((-0.01, -0.005), False, "worse"),
        ((-0.01, 0.01), True, "undecided"),
        ((0.0, 0.001), True, "undecided"),
    ],
)
def test_a_model_that_may_be_a_vanished_one_leaves_the_gate_undecided_unless_another_is_worse(
    interval: tuple[float, float], undecided_passes: bool, outcome: str
) -> None:
    models: Models = {"als": ([decide_guardrail(make_difference(*interval), 0.004, 0.004)], [])}
    decision = decide_models(models, undecided_passes=undecided_passes)
    rules = ("baseline", "ignore")
    unmatched = with_unmatched(
        decision, UnmatchedModels(("bpr",), ("slim", "ease"), "models.slim.was: bpr", rules)
    )

    assert unmatched.outcome == outcome
    assert unmatched.models == decision.models
    assert unmatched.lines[0].startswith(f"{outcome}, against popularity: als ")
    assert unmatched.lines[0].endswith("; bpr is gone while slim and ease are new.")
    assert "Write `models.slim.was: bpr` if slim is the former bpr;" in unmatched.lines[2]


@pytest.mark.parametrize(
    ("other", "outcome"), [((0.0, 0.001), "undecided"), ((-0.01, -0.005), "worse")]
)
def test_a_guardrail_of_another_metric_than_at_the_revision_is_never_waived(
    other: tuple[float, float], outcome: str
) -> None:
    departed = make_difference(difference=None, n_users=0, n_nonzero=0, departed=True)
    guardrails = [
        decide_guardrail(departed, 0.004, None),
        decide_guardrail(make_difference(*other), 0.004, 0.004),
    ]

    decision = decide_models({"als": (guardrails, [])}, undecided_passes=True, against="revision")

    assert decision.outcome == outcome


def test_models_that_are_new_to_a_revision_keep_their_reference() -> None:
    worse, fine = (
        decide_guardrail(make_difference(*x), 0.004, 0.004) for x in ((-0.01, -0.005), (0.0, 0.001))
    )
    decision = decide_models({"als": ([fine], [])}, against="revision")
    new = replace(decide_models({"slim": ([worse], [])}), reference="knn")
    both = join_decisions(decision, new)

    assert both.outcome == "worse"
    assert [each.reference for each in both.models] == [None, "knn"]
    assert (
        both.lines[0] == "worse, against popularity: slim (new, against knn) is worse; als passes."
    )
    assert (
        join_decisions(decide_models({}), new).lines[0]
        == "worse, against popularity: slim (new, against knn) is worse."
    )


def test_without_a_model_to_decide_on_there_is_no_decision() -> None:
    decision = decide_models({})

    assert (decision.outcome, gate.head(decision)) == ("undecided", "no decision")
    assert "there is no other model" in gate.first_line(decision)


@pytest.mark.parametrize(
    ("users", "words"),
    [
        ([8200], "With this difference, 8.2 times the users would decide it with a probability of"),
        ([8200, 121_300], "With these differences, 121 times the users would decide each with a"),
        ([8200, None], "A difference is close to its margin: no number of users decides"),
    ],
)
def test_undecided_guardrails_state_how_many_users_would_decide_the_hardest(
    users: list[int | None], words: str
) -> None:
    undecided = decide_guardrail(make_difference(-0.006, 0.002), "min_effect", 0.004)
    guardrails = [replace(undecided, users_needed=each) for each in users]

    lines = decide_models({"als": (guardrails, [])}).lines

    assert "−0.0040 (min_effect) allowed" in lines[1]
    assert words in lines[2].replace(PERCENT, " %")


def test_an_undecided_gate_names_success_metrics_that_are_not_met() -> None:
    open_ = make_difference(-0.002, 0.006)
    undecided = decide_models({"als": ([OPEN], [open_])})
    gained = decide_models({"als": ([OPEN], GAIN)})

    assert undecided.lines[2].startswith("No success metric of als is better. ")
    assert "No success metric" not in gained.lines[2]


def test_the_table_of_a_gate_says_which_intervals_hold_together() -> None:
    one, two = [GAIN[0]], [GAIN[0], make_difference(-0.002, 0.006, label="R@20")]

    assert gate.intervals_note(decide_models({"als": ([], one)})) == ""
    assert gate.intervals_note(decide_models({"als": ([GOOD], two)})).replace(PERCENT, " %") == (
        "All guardrails must hold, so each has its own 95 % interval. "
        "One success metric is enough, so the intervals of a model's success metrics hold together "
        "with 95 %."
    )


def test_lost_users_and_other_guardrails_have_their_own_advice() -> None:
    lost = decide_guardrail(replace(make_difference(-0.001, 0.005), n_lost=20), 0.004, 0.004)
    other = replace(
        decide_guardrail(make_difference(-0.006, 0.002), 0.004, 0.004), users_needed=8200
    )

    text = decide_models({"als": ([lost, other], [])}).lines[2].replace(PERCENT, " %")

    assert text.startswith(
        "Also undecided: als on nDCG@10. Give every user a value with both models;"
    )
    assert " For the others, with this difference, 8.2 times the users would decide it" in text


def test_a_pass_that_was_let_through_says_so() -> None:
    decision = decide_models({"als": ([OPEN], GAIN)}, undecided_passes=True)

    assert decision.waived
    assert decision.lines[1].startswith("Passes although undecided: als on nDCG@10: −0.002")
    assert "Better: als on nDCG@10: +0.015" in decision.lines[1]
    assert not decide_models({"als": ([GOOD], [])}, undecided_passes=True).waived


def test_a_pass_names_the_guardrail_that_was_closest_to_its_margin() -> None:
    near = decide_guardrail(make_difference(-0.0039, 0.001, label="R@20"), 0.004, 0.004)

    assert decide_models({"als": ([GOOD, near], [])}).lines[1].startswith("Closest: als on R@20: ")


ENDS = st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(lambda ends: tuple(sorted(ends)))
ROWS = st.fixed_dictionaries(
    {
        "ends": ENDS,
        "up": st.booleans(),
        "margin": st.floats(0, 0.5),
        "identical": st.booleans(),
        "p": st.none() | st.floats(1e-6, 1),
    }
)


def _measured_row(row: dict[str, Any]) -> MeasuredDifference:
    if row["identical"]:
        return make_difference(difference=0.0, n_nonzero=0, higher_is_better=row["up"])
    low, high = row["ends"]
    return make_difference(low, high, higher_is_better=row["up"], p=row["p"])


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    result = _measured_row(row)
    low, high = row["ends"]
    return {**row, "low": low, "high": high, "p": result.p, "difference": result.difference}


@given(st.lists(ROWS, max_size=4), st.lists(ROWS, max_size=3), st.booleans())
def test_it_is_what_plain_python_says(
    guardrails: list[dict[str, Any]], success: list[dict[str, Any]], waive: bool
) -> None:
    checked = [
        decide_guardrail(_measured_row(row), row["margin"], row["margin"]) for row in guardrails
    ]
    models = {"als": (checked, [_measured_row(row) for row in success])}
    decision = decide_models(models, undecided_passes=waive)

    assert decision.outcome == gate_reference.decision(
        [_plain(row) for row in guardrails],
        [_plain(row) for row in success],
        undecided_passes=waive,
    )
    assert len(decision.lines) == 3
    other = decide_models(models, undecided_passes=not waive)
    assert with_undecided(other, undecided_passes=waive) == decision


def test_changed_models_are_named_and_unchanged_ones_counted() -> None:
    same = decide_guardrail(make_difference(0.0, 0.0, difference=0.0, n_nonzero=0), 0.004, 0.004)
    models: dict[str, Any] = {
        "als": ([BAD], []),
        **{name: ([same], []) for name in ("ease", "knn", "slim")},
    }

    decision = decide_models(models, against="revision")
    assert decision.lines[0].endswith(": 1 of 4 models changed; als is worse.")
    unchanged = {name: models[name] for name in ("ease", "knn", "slim")}
    assert (
        decide_models(unchanged, against="revision")
        .lines[0]
        .endswith(": all models are unchanged.")
    )
    assert decide_models(models).lines[0].endswith(": als is worse; ease, knn and slim pass.")
