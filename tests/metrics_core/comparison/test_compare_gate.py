"""`cc.compare(…, gate=…)`: the decision follows from the numbers, and invalid gates are refused."""

from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.stored import to_content
from concord.metrics_core.results.text_format import interval_decimals
from tests.metrics_core.comparison.test_compare import ARGUMENTS, ITEMS, MODELS, TRUTH, USERS
from tests.metrics_core.defined import defined

GATE = {
    "guardrails": {"nDCG@5": "2%", "Coverage@5": "min_effect"},
    "segments": {"country": {"R@5": 0.05}, "wanted": {"R@5": "min_effect"}},
    "success": ["R@5", "nDCG@5"],
}
DATA: dict[str, Any] = {
    "train": {user: [ITEMS[(n + 3) % 12]] for n, user in enumerate(USERS) if n % 2},
    "items": {item: ["a"] for item in ITEMS},
    "users": pl.DataFrame({"user": USERS, "country": ["dk", "no"] * 20}),
    "segments": {
        "country": {"by": "user", "column": "country"},
        "wanted": {"by": "truth_item", "shares": [0.5, 0.8]},
        "shown": {"by": "recommended_item", "shares": [0.5, 0.8]},
    },
}


def _compare(gate: Any, **other: Any) -> cc.results.Comparison:
    arguments = {**ARGUMENTS, "metrics": ["nDCG@5", "R@5", "P@5", "Coverage@5"], "models": MODELS}
    return cc.compare(truth=TRUTH, gate=gate, **{**arguments, **DATA, **other})


def test_the_decision_rests_on_the_numbers_of_the_comparison() -> None:
    comparison = _compare(GATE)
    decision = defined(comparison.gate)

    assert (decision.reference, decision.against) == ("far", "baseline")
    assert [each.model for each in decision.models] == ["near", "twin"]
    for model in decision.models:
        ndcg, covered, *inside = model.guardrails
        pair = defined(comparison.difference(model.model, "far", "nDCG@5"))
        assert (ndcg.difference, ndcg.ci_low, ndcg.ci_high) == (
            pair.difference,
            pair.ci_low,
            pair.ci_high,
        )
        reference = defined(comparison.score("far", "nDCG@5").mean)
        assert ndcg.margin == pytest.approx(0.02 * reference)
        assert covered.margin_setting == "min_effect"
        assert covered.test == "jackknife"
        assert [(g.segmentation, g.segment) for g in inside[:2]] == [
            ("country", "dk"),
            ("country", "no"),
        ]
        assert {g.segmentation for g in inside[2:]} == {"wanted"}
        assert [each.label for each in model.success] == ["R@5", "nDCG@5"]


def test_the_gate_has_the_decimals_of_the_leaderboard() -> None:
    """A fifth of 0.0004 takes 5 decimals, where the interval alone would have 3."""
    comparison = _compare({"guardrails": {"nDCG@5": 0.5}, "success": ["nDCG@5"]}, min_effect=0.0004)
    ((near, *_), digits) = defined(comparison.gate).models, comparison.decimals["nDCG@5"]
    mean = f"{near.guardrails[0].difference:+.{digits}f}".replace("-", "−")

    assert [each.decimals for each in (*near.guardrails, *near.success)] == [digits, digits]
    assert f" nDCG@5: {mean} (" in defined(comparison.gate).lines[1]
    assert digits != interval_decimals(near.guardrails, [0.5])


@pytest.mark.parametrize(("segmentation", "label"), [("country", "nDCG@5"), ("wanted", "R@5")])
def test_a_segment_has_the_numbers_of_the_comparison(segmentation: str, label: str) -> None:
    comparison = _compare({"segments": {segmentation: {label: "5%"}}})
    (segments,) = [each for each in comparison.segments if each.name == segmentation]
    cells = {(c.model, c.segment): c for c in segments.cells if c.label == label}

    for model in defined(comparison.gate).models:
        assert len(model.guardrails) == len(segments.segments)
        for guardrail in model.guardrails:
            cell = cells[model.model, str(guardrail.segment)]
            assert guardrail.difference == cell.difference
            if segmentation == "country":
                reference = cells["far", str(guardrail.segment)].mean
                assert (guardrail.ci_low, guardrail.n_nonzero) == (cell.diff_low, cell.n_nonzero)
                assert guardrail.margin == pytest.approx(0.05 * (reference or 0))


def test_identical_models_pass_with_any_margin() -> None:
    gate = {"guardrails": {"nDCG@5": 0, "Coverage@5": 0}, "models": ["twin"]}
    decision = defined(_compare(gate, baseline="near").gate)

    assert decision.outcome == "pass"
    reasons = {each.why for each in decision.models[0].guardrails}
    assert reasons == {"every user has the same value with both"}


@pytest.mark.parametrize("n_kept", [1, 20, 39])
def test_a_model_that_leaves_users_out_neither_passes_nor_is_a_success(n_kept: int) -> None:
    """Users without a list have no value, so that the others alone would decide."""
    pinned = cc.preset("standard", user_no_recs="nan")
    models = {"far": MODELS["far"], "near": dict(list(MODELS["near"].items())[:n_kept])}
    gate = {
        "guardrails": {"nDCG@5": 0.9},
        "segments": {"country": {"nDCG@5": 0.9}},
        "success": ["nDCG@5"],
    }
    decision = defined(_compare(gate, models=models, conventions=pinned).gate)

    (model,) = decision.models
    assert decision.outcome == "undecided"
    over_all, *inside = model.guardrails
    assert over_all.outcome == "undecided"
    assert "undecided" in {each.outcome for each in inside}
    assert over_all.n_lost == len(TRUTH) - n_kept
    too_many = f"{40 - n_kept} users have no list"
    assert (too_many if n_kept < 20 else f"{40 - n_kept} of the 40 users") in over_all.why
    assert not model.gains


def test_gate_without_a_model_to_decide_on_is_refused() -> None:
    gate = {"guardrails": {"nDCG@5": 0}}
    with pytest.raises(cc.InputError, match="no model besides the baseline, far, to decide on"):
        _compare({**gate, "models": ["far"]})
    with pytest.raises(cc.InputError, match="no model besides the baseline, far, to decide on"):
        cc.compare({"far": MODELS["far"]}, TRUTH, **ARGUMENTS, gate=gate)


def test_a_gate_changes_nothing_else() -> None:
    with_gate, without = to_content(_compare(GATE)), to_content(_compare(None))

    assert without["gate"] is None
    assert {key for key in with_gate if with_gate[key] != without[key]} == {"gate"}


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ([], r"gate: is \[\]"),
        ({"guardrail": {"nDCG@5": "2%"}},
         "'guardrail' is not a key of a gate\n  fix: did you mean 'guardrails'"),
        ({"guardrails": ["nDCG@5"]}, r"gate.guardrails: is \[.nDCG@5.\]"),
        ({"guardrails": {"P@5": 0.0001, "P@05": 0.9}},
         "gate.guardrails: names P@5 as 'P@5' and 'P@05'"),
        ({"segments": {"country": {"P@5": 0.0001, "P @5": 0.9}}},
         "gate.segments.country: names P@5 as"),
        ({"guardrails": {"nDCG@5": "2"}}, "gate.guardrails.nDCG@5: is '2'"),
        ({"guardrails": {"nDCG@5": -1}}, "gate.guardrails.nDCG@5: is -1"),
        ({"guardrails": {"nDCG@5": 5}},
         "gate.guardrails.nDCG@5: is 5, and no two values of nDCG@5 are further apart than 1\n"
         "  fix: write 5%"),
        ({"segments": {"country": {"R@5": 1}}}, "gate.segments.country.R@5: is 1, and no two"),
        ({"guardrails": {"P@5": 0.0001, "precision_5": 0.9}},
         "gate.guardrails: names P@5 as 'P@5' and 'precision_5'"),
        ({"guardrails": {"ndgc@5": "2%"}},
         "gate.guardrails: 'ndgc@5' is not evaluated\n  fix: did you mean 'nDCG@5'"),
        ({"segments": {"countri": {"nDCG@5": 0}}},
         "'countri' is not a segmentation\n  fix: did you mean 'country'"),
        ({"segments": {"shown": {"R@5": 0}}},
         "groups recommended items, of which more or fewer is neither better nor worse"),
        ({"segments": ["country"]}, r"gate.segments: is \[.country.\]"),
        ({"success": "nDCG@5"}, "gate.success: is 'nDCG@5'\n  fix: write a list of names"),
        ({"success": ["nDCG@5"], "undecided": "ok"}, "gate.undecided: is 'ok'"),
        ({"success": ["nDCG@5"], "models": ["neer"]},
         "'neer' is not among the models\n  fix: did you mean 'near'"),
        ({}, "names nothing that must not get worse"),
    ],
)  # fmt: skip
def test_invalid_gate_is_refused(gate: Any, words: str) -> None:
    with pytest.raises(cc.InputError, match=words):
        _compare(gate)


def test_a_pooled_metric_is_refused() -> None:
    pooled = cc.preset("standard", precision_aggregate="micro")

    with pytest.raises(cc.InputError, match="P@5 is pooled over users under these conventions"):
        _compare({"guardrails": {"P@5": 0.1}}, conventions=pooled)
