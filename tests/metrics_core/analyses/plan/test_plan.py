"""`concord.plan` from a comparison, from per-user values, and from `sd` and `users`."""

import json
import math
import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.analyses.plan.result import PlannedDifference
from concord.metrics_core.comparison.gate import decide_guardrail
from concord.metrics_core.results.gate import MeasuredDifference
from concord.metrics_core.stats.power import (
    VarianceComponents,
    difference_claim,
    equivalence_claim,
    non_inferiority_claim,
    smallest_effect,
    users_needed,
)
from concord.reports.plan.text import gate_sentences
from tests.metrics_core.analyses.plan import plan_data
from tests.metrics_core.defined import defined


@pytest.fixture(scope="module")
def comparison() -> cc.results.Comparison:
    return plan_data.shop_comparison(gate=plan_data.GATE)


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    return plan_data.per_user()


def row(plan: cc.results.Plan, **fields: Any) -> PlannedDifference:
    (result,) = (p for p in plan.differences if all(getattr(p, k) == v for k, v in fields.items()))
    return result


def test_sd_is_that_of_users_differences(
    comparison: cc.results.Comparison, values: dict[str, Any]
) -> None:
    a, b = (values[name].per_user["nDCG@5"].to_numpy() for name in ("als", "popularity"))

    actual = row(cc.plan(comparison), label="nDCG@5", model="als")

    assert actual.sd == pytest.approx(np.std(a - b, ddof=1))
    assert actual.n_users == 300
    assert actual.n_nonzero == int((a != b).sum())


def test_numbers_equal_those_of_their_claims(comparison: cc.results.Comparison) -> None:
    actual = row(cc.plan(comparison, power=0.9), label="nDCG@5", model="ease")
    variance = VarianceComponents(defined(actual.sd))
    pair = comparison.difference("ease", "popularity", "nDCG@5")
    assert pair is not None
    alpha = 1 - pair.level  # of 2 models x 2 primary metrics, whose errors correlate
    assert 0.05 / 4 <= alpha < 0.05

    assert actual.tests == 2 * 2
    assert actual.effect == actual.min_effect == 0.01
    assert actual.users_needed == users_needed(difference_claim(0.05), 0.01, variance, power=0.9)
    corrected = users_needed(difference_claim(alpha), 0.01, variance, power=0.9)
    assert actual.users_needed_corrected == corrected
    equivalent = users_needed(equivalence_claim(0.01, alpha), 0, variance, power=0.9)
    assert actual.users_equivalent == equivalent
    assert actual.users_better is None  # a difference of min_effect is not above it
    expected = (1.96 + 1.2816) * variance.sd_users / math.sqrt(300)
    assert actual.smallest == pytest.approx(expected, rel=0.01)


def test_shares_are_of_the_baselines_mean(comparison: cc.results.Comparison) -> None:
    baseline = defined(comparison.score("popularity", "R@5").mean)

    assert row(cc.plan(comparison), label="R@5", model="als").effect == baseline * 2 / 100
    plan = cc.plan(comparison, metrics=["R@5"], effect="50%")
    assert {pair.effect for pair in plan.differences} == {baseline / 2}
    assert [pair.label for pair in plan.differences] == ["R@5", "R@5"]
    assert row(plan, model="als").users_better is not None


def test_values_give_the_plan_of_a_comparison(
    comparison: cc.results.Comparison, values: dict[str, Any]
) -> None:
    """Per-user values as different kinds of frames, with users in any order."""
    frames = {
        "popularity": values["popularity"],
        "als": values["als"].per_user.to_pandas(),
        "ease": values["ease"].per_user.sample(fraction=1, shuffle=True, seed=1).lazy(),
    }

    by_frames = cc.plan(frames, baseline="popularity", effect=0.01)
    by_comparison = cc.plan(comparison, effect=0.01)

    for pair in by_frames.differences:
        other = row(by_comparison, label=pair.label, model=pair.model)
        assert pair.tests == other.tests == 4
        assert pair.sd == pytest.approx(other.sd)
        assert pair.users_needed == other.users_needed
        # without the correlations of a comparison: Bonferroni's level
        ratio = defined(pair.smallest_corrected) / defined(other.smallest_corrected)
        assert 1 <= ratio < 1.1


def test_sd_and_users_give_the_plan_of_a_comparison(comparison: cc.results.Comparison) -> None:
    expected = row(cc.plan(comparison, effect=0.01), label="nDCG@5", model="als")

    (actual,) = cc.plan(sd=expected.sd, users=300, tests=4, effect=0.01).differences

    assert actual.users_needed == expected.users_needed
    bonferroni = smallest_effect(
        difference_claim(0.05 / 4), VarianceComponents(defined(expected.sd)), power=0.8, users=300
    )
    assert actual.smallest_corrected == pytest.approx(bonferroni)
    assert defined(actual.smallest_corrected) >= defined(expected.smallest_corrected)
    assert actual.label is None


def test_without_an_effect_the_text_says_how_to_get_the_number_of_users() -> None:
    with_effect = cc.plan(sd=0.2, users=500, effect=0.01)

    assert "pass `effect`: 0.01 or '2%'" in str(cc.plan(sd=0.2, users=500))
    assert str(cc.plan(sd=0.2, users=1000, effect=0.01)).startswith(
        "1,000 users detect a true difference of 0.0177 in 80\N{NO-BREAK SPACE}% of cases; "
        "for 0.01 it takes 3,142 users.\n\n"
    )
    assert "pass `effect`" not in str(with_effect)
    assert "users for: users needed in all to detect it." in str(with_effect)


def _planned(model: str, smallest: float | None, needed: int | None) -> PlannedDifference:
    (base,) = cc.plan(sd=0.2, users=500, effect=0.01).differences
    return replace(
        base,
        label="nDCG@10",
        model=model,
        baseline="old",
        sd=None if smallest is None else 0.2,
        smallest_corrected=smallest,
        users_needed_corrected=needed,
    )


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        (
            {"a": (0.02, 3000), "b": (0.03, 4000)},
            "500 users detect a true difference of 0.0200 to 0.0300 in 80 % of cases; for 0.01 it "
            "takes 3,000 to 4,000 users.",
        ),
        (
            {"a": (0.02, 3000), "b": (0.3, None), "c": (None, None)},
            "500 users detect a true difference of 0.0200 to 0.300 in 80 % of cases; for 0.01 it "
            "takes 3,000 users, and for b no number is enough; no plan for c, as too few users "
            "differ or the mean is pooled over users.",
        ),
        (
            {"a": (0.3, None)},
            "500 users detect a true difference of 0.300 in 80 % of cases; for 0.01 no number of "
            "users is enough.",
        ),
        (
            {"a": (None, None)},
            "no plan, as too few users differ or the mean is pooled over users.",
        ),
    ],
)
def test_the_first_sentence_speaks_of_the_models_that_have_a_plan(
    models: dict[str, tuple[float | None, int | None]], sentence: str
) -> None:
    differences = tuple(_planned(model, *numbers) for model, numbers in models.items())
    plan = replace(cc.plan(sd=0.2, users=500, effect=0.01), differences=differences)

    first = str(plan).partition("\n")[0].replace("\N{NO-BREAK SPACE}", " ")
    assert first == f"nDCG@10: {sentence}"


def test_users_needed_include_thirty_who_differ() -> None:
    """One user in a hundred differs, so thirty who differ need 3,000 users."""
    a = np.zeros(2000)
    a[:20] = 1.0
    frame = pl.DataFrame({"user": np.arange(2000), "R@5": a})
    empty = pl.DataFrame({"user": np.arange(2000), "R@5": np.zeros(2000)})

    (pair,) = cc.plan({"new": frame, "old": empty}, baseline="old", effect=0.5).differences

    assert pair.users_needed == 30 * 100
    few = pl.DataFrame({"user": np.arange(2000), "R@5": np.where(np.arange(2000) < 5, 1.0, 0.0)})
    (pair,) = cc.plan({"new": few, "old": empty}, baseline="old", effect=0.5).differences
    assert (pair.sd, pair.smallest, pair.users_needed) == (None, None, None)


def test_a_gate_is_planned_for_an_equal_model(comparison: cc.results.Comparison) -> None:
    plan = cc.plan(comparison)
    guardrails = {(g.model, g.label, g.segment): g for g in plan.guardrails}

    tight, wide = guardrails["als", "nDCG@5", None], guardrails["als", "R@5", None]
    variance = VarianceComponents(defined(tight.sd))
    needed = users_needed(non_inferiority_claim(0.001, 0.05), 0, variance, power=0.8)
    assert (tight.outlook, tight.users_needed) == ("cannot", needed)
    assert defined(tight.chance) < 0.1
    assert wide.outlook == "shown"
    assert defined(wide.users_needed) <= 300
    coverage = guardrails["als", "Coverage@5", None]
    assert (coverage.outlook, coverage.chance, coverage.users_needed) == ("shown", None, None)
    assert {key[2] for key in guardrails} == {None, "no", "se"}
    sentences = list(gate_sentences(plan))
    assert sentences[0].startswith("This gate passes a model that is just as good")
    assert re.search(r"\d users needed, (300|225|75) available", sentences[0])
    assert "Smallest gains that are a success with 80" in sentences[1]
    assert {each.tests for each in plan.success} == {2}
    gains = {(each.model, each.label): each for each in plan.success}
    assert gains["als", "nDCG@5"].effect == 0.01
    assert gains["als", "nDCG@5"].users_needed == users_needed(
        difference_claim(0.025), 0.01, variance, power=0.8
    )


def test_a_guardrail_that_cannot_pass_fails_with_a_difference_of_zero(
    comparison: cc.results.Comparison,
) -> None:
    """The gate itself, with the same users and variance and a measured difference of 0."""
    measured = {m.model: m.guardrails for m in defined(comparison.gate).models}
    for planned in cc.plan(comparison).guardrails:
        key = (planned.label, planned.segmentation, planned.segment)
        (guardrail,) = (
            g for g in measured[planned.model] if (g.label, g.segmentation, g.segment) == key
        )
        if planned.half_width is None or guardrail.test == "jackknife":
            continue
        values = {each.name: getattr(guardrail, each.name) for each in fields(MeasuredDifference)}
        equal = replace(
            MeasuredDifference(**values),
            difference=0.0,
            ci_low=-planned.half_width,
            ci_high=planned.half_width,
            n_nonzero=50,
        )
        outcome = decide_guardrail(equal, planned.margin_setting, planned.margin).outcome
        assert (outcome == "pass") == (planned.outlook != "cannot")


def test_no_number_of_users_is_enough_for_a_margin_of_zero() -> None:
    gate = {"guardrails": {"R@5": 0.0}}
    plan = cc.plan(plan_data.shop_comparison(gate=gate))

    assert {each.users_needed for each in plan.guardrails} == {None}
    assert {round(each.chance or 0, 4) for each in plan.guardrails} == {0.025}
    sentences = list(gate_sentences(plan))
    assert "no number of users is enough" in sentences[0]


@pytest.mark.parametrize(
    ("margin", "line"),
    [
        (
            0.5,
            "These users can show every guardrail: a model that is just as good as popularity "
            "passes each with 80\N{NO-BREAK SPACE}% power or more.",
        ),
        (
            0.001,
            "Undecided guardrails let a model pass here, so 2 of 2 guardrails give little "
            "protection.",
        ),
    ],
)
def test_the_last_line_states_the_power_of_the_gate(margin: float, line: str) -> None:
    gate = {"guardrails": {"R@5": margin}, "undecided": "pass"}
    lines = list(gate_sentences(cc.plan(plan_data.shop_comparison(gate=gate))))

    assert lines[-1] == line
    assert len(lines) == (1 if margin == 0.5 else 2)


def test_variance_of_seeds_is_planned() -> None:
    variance = VarianceComponents(0.2, 0.01)
    (difference,) = cc.plan(sd=variance, users=1192, seeds=3, effect=0.02).differences

    assert difference.users_needed is None
    assert difference.seeds_needed == 8
    assert (difference.sd, difference.sd_seeds, difference.seeds) == (0.2, 0.01, 3)


def test_tables_have_the_types_of_the_fields(comparison: cc.results.Comparison) -> None:
    plan = cc.plan(comparison, metrics=["R@5"])

    assert plan.to_frame().height == 2
    assert plan.to_frame()["users_needed"].dtype == pl.Int64
    assert plan.to_frame()["seeds_needed"].null_count() == 2
    assert plan.gate.columns[:2] == ["model", "label"]
    assert "\nR@5 against popularity, 300 users\nmodel " in repr(plan)
    assert len(repr(plan).splitlines()) <= 20
    assert "This gate passes" in plan.summary
    assert "<td" in plan._repr_html_()
    assert json.dumps(plan.to_dict()).startswith('{"power": 0.8')


INVALID_NUMBERS: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "source: is missing"),
    "one user": ({"sd": 0.2, "users": 1}, "users: is 1"),
    "no spread": ({"sd": 0.0, "users": 10}, "sd: is 0.0"),
    "not a number": ({"sd": math.nan, "users": 10}, "sd: is nan"),
    "text": ({"sd": "0.2", "users": 10}, "sd: is '0.2'"),
    "power in percent": ({"sd": 0.2, "users": 10, "power": 80}, "power: is 80"),
    "confidence": ({"sd": 0.2, "users": 10, "confidence": 95}, "confidence: is 95"),
    "no effect": ({"sd": 0.2, "users": 10, "effect": 0}, "effect: is 0"),
    "a share without a mean": ({"sd": 0.2, "users": 10, "effect": "2%"}, "effect: '2%' is a share"),
    "no tests": ({"sd": 0.2, "users": 10, "tests": 0}, "tests: is 0"),
    "seeds without spread": ({"sd": 0.2, "users": 10, "seeds": 3}, "seeds: requires the variance"),
    "spread without seeds": (
        {"sd": VarianceComponents(0.2, 0.1), "users": 10},
        "seeds: requires the variance",
    ),
    "a label": ({"sd": 0.2, "users": 10, "metrics": ["R@5"]}, "metrics: is not used with"),
}


@pytest.mark.parametrize("name", list(INVALID_NUMBERS))
def test_invalid_numbers_are_refused(name: str) -> None:
    arguments, message = INVALID_NUMBERS[name]

    with pytest.raises(cc.InputError) as refused:
        cc.plan(**arguments)

    assert str(refused.value).startswith(message)
    assert "\n  fix: " in str(refused.value)


FRAME = pl.DataFrame({"user": ["a", "b"], "R@5": [0.0, 1.0]})
INVALID_VALUES: dict[str, tuple[Any, str | None, str]] = {
    "no models": (
        {},
        "a",
        "source: must be a dict that maps a model's name to its values",
    ),
    "no baseline": ({"a": FRAME}, None, "baseline: is missing"),
    "no frame": ({"a": 3, "b": FRAME}, "b", "a: int is not a frame"),
    "no user": ({"a": FRAME.drop("user"), "b": FRAME}, "b", "a: has no column 'user'"),
    "users twice": ({"a": pl.concat([FRAME, FRAME]), "b": FRAME}, "b", "a: users occur more than"),
    "another label": ({"a": FRAME, "b": FRAME.rename({"R@5": "x"})}, "a", "b: has no numbers"),
    "no label": ({"a": FRAME.drop("R@5"), "b": FRAME}, "b", "metrics: is empty"),
    "text": ({"a": FRAME.cast({"R@5": pl.String}), "b": FRAME}, "b", "a: has no numbers in a"),
    "one model": ({"a": FRAME}, "a", "models: there is no model besides the baseline"),
}


@pytest.mark.parametrize("name", list(INVALID_VALUES))
def test_invalid_values_are_refused(name: str) -> None:
    models, baseline, message = INVALID_VALUES[name]

    with pytest.raises(cc.InputError) as refused:
        cc.plan(models, baseline=baseline)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sd": 0.1}, "sd: is not used with a comparison"),
        ({"tests": 5}, "tests: is not used with a comparison"),
        ({"metrics": ["Coverage@5"]}, "Coverage@5 is one number over all users"),
        ({"metrics": "R@5"}, "metrics: 'R@5' is not a list"),
        ({"metrics": ["R@7"]}, "R@7: was not evaluated"),
        ({"metrics": ["R@5"], "effect": 20}, "effect: is 20, and no two values of R@5 are"),
    ],
)
def test_invalid_options_of_a_comparison_are_refused(
    comparison: cc.results.Comparison, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(cc.InputError, match=message):
        cc.plan(comparison, **options)
