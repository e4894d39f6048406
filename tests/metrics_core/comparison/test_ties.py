"""Verdicts, gates and warnings where the order of equal scores decides."""

import random
from collections.abc import Callable
from typing import Any

import pytest

import concord as cc
from concord.metrics_core.results.text_format import PERCENT

USERS = range(200)
Scores = dict[int, dict[int, float]]
OTHERS = {u: random.Random(u).sample(range(100, 3000), 100) for u in USERS}
TRUTH = {u: [u % 50] for u in USERS}  # the relevant items come first by id


def _scores(of_item: Callable[[int, int], float]) -> Scores:
    """Return scores of the relevant item (position 0) and of 100 others."""
    return {
        u: {item: of_item(u, n) for n, item in enumerate([*TRUTH[u], *OTHERS[u]])} for u in USERS
    }


RANDOM = _scores(lambda u, n: random.Random(1000 * u + n).random())
CONSTANT = _scores(lambda _u, _n: 0.5)
# The relevant item ties with half of the others: no list has constant scores.
CLIPPED = _scores(lambda _u, n: 1.0 if n <= 50 else 0.1)
TENTH = _scores(lambda u, n: -float(n) if u % 10 == 0 else float(n))  # Hit@10 = 1/10
THIRD = _scores(lambda _u, n: 7.5 if n == 0 else 10.0 - n)  # RR = 1/3


def compare(models: dict[str, Scores], **options: Any) -> cc.results.Comparison:
    options = {"metrics": ["RR@10", "Hit@10"], "primary": ["RR@10"]} | options
    return cc.compare(models, TRUTH, baseline=next(iter(models)), **options)


def codes(comparison: cc.results.Comparison) -> dict[str, tuple[str, ...]]:
    return {each.code: each.models for each in comparison.warnings}


@pytest.fixture(scope="module")
def accident() -> cc.results.Comparison:
    return compare({"rand": RANDOM, "const": CONSTANT})


def test_a_constant_scorer_is_not_better(accident: cc.results.Comparison) -> None:
    """By id its RR@10 is 1; on average (1 + 1/2 + … + 1/10) / 101 = 0.029."""
    pair = accident.difference("const", "rand", "RR@10")
    assert pair is not None
    assert pair.verdict == "undecided_by_order"
    assert pair.ci_low is not None
    assert pair.ci_low > 0.9
    assert not pair.excludes_zero
    (of_primary,) = (each for each in accident.ties if each.label == "RR@10")
    assert of_primary.average == pytest.approx(sum(1 / n for n in range(1, 11)) / 101)
    assert (of_primary.low, of_primary.high, of_primary.n_users) == (0.0, 1.0, 200)
    assert accident.difference("rand", "const", "RR@10").verdict == "undecided_by_order"  # type: ignore[union-attr]


def test_every_view_says_why(accident: cc.results.Comparison) -> None:
    because = "as the order of equal scores decides"
    answer, _, reason, *_ = accident.verdicts
    assert answer == f"No model is shown to beat rand on RR@10: const is undecided, {because}."
    assert reason.startswith("On RR@10, const is 0.9")
    assert reason.endswith(f"not decided, {because}.")
    for text in (accident.to_markdown(), accident.to_html(), str(accident)):
        assert "the order of equal scores decides" in text
        assert "const beats" not in text
        assert "better than rand" not in text


def test_the_accident_is_named(accident: cc.results.Comparison) -> None:
    named = {"constant_scores": ("const",), "tie_range": ("const",)}
    assert {code: codes(accident).get(code) for code in named} == named
    assert "ties_at_cutoff" not in codes(accident)
    texts = {each.code: each.sentence for each in accident.serious}
    assert texts["tie_range"] == (
        "const: RR@10 is between 0.000 and 1.000, by the order of equal scores."
    )
    assert texts["constant_scores"] == (
        f"All scores of a list are equal for 100{PERCENT} of the users of const with at least two "
        "items: the ids decide the order."
    )


def test_the_verdict_stays_if_averaged_ties_give_the_same_word() -> None:
    """Clipped scores give RR = 1 by id, and 4.5/51 = 0.088 on average: better than 0.022."""
    comparison = compare({"rand": RANDOM, "clipped": CLIPPED})
    (pair,) = comparison.pairs_of("RR@10")

    assert pair.verdict == "better"
    assert codes(comparison)["tie_range"] == ("clipped",)
    assert "constant_scores" not in codes(comparison)


GATE = {"guardrails": {"RR@10": 0.05}, "success": ["Hit@10"]}


def test_a_gate_is_undecided_if_averaged_ties_lead_to_another_outcome() -> None:
    """RR is 1 by id against 1/3, and 0.06 on average: passed, or worse by the order alone."""
    decision = compare({"third": THIRD, "clipped": CLIPPED}, gate=GATE).gate
    assert decision is not None
    (model,) = decision.models
    (guardrail,) = model.guardrails
    assert (decision.outcome, guardrail.outcome, guardrail.order_decides) == (
        "undecided",
        "undecided",
        True,
    )
    assert guardrail.gain_low is not None
    assert guardrail.gain_low > 0
    assert guardrail.why == "the order of equal scores decides"
    assert "Write scores with more digits, or choose `ties: average`" in decision.lines[2]


def test_a_success_metric_is_not_better_by_the_order_of_equal_scores() -> None:
    """Hit@10 is 1 by id against 0.1, and 10/101 = 0.099 on average."""
    gate = {"success": ["Hit@10"], "guardrails": {}}
    decision = compare({"tenth": TENTH, "const": CONSTANT}, gate=gate).gate
    assert decision is not None
    (success,) = decision.models[0].success
    assert (success.better, success.order_decides) == (False, True)
    assert decision.outcome == "suspicious"  # constant scores


def test_more_users_do_not_settle_the_order_of_equal_scores() -> None:
    """The success metric alone is undecided; more users would change nothing."""
    accepted = {"constant_scores": {"reason": "on purpose", "models": ["const"]}}
    gate = {"success": ["RR@10"], "guardrails": {}}
    decision = compare({"rand": RANDOM, "const": CONSTANT}, gate=gate, acknowledge=accepted).gate
    assert decision is not None
    assert decision.outcome == "undecided"
    assert decision.lines[2].startswith("Write scores with more digits")


def test_undecided_passes_if_the_gate_waives_it() -> None:
    gate = {**GATE, "success": [], "undecided": "pass"}
    decision = compare({"third": THIRD, "clipped": CLIPPED}, gate=gate).gate
    assert decision is not None
    assert decision.outcome == "pass"


@pytest.mark.parametrize("ties", ["given", "input", "average"])
def test_an_order_that_the_user_chose_decides(ties: Any) -> None:
    conventions = cc.preset("standard", ties=ties)
    comparison = compare({"third": THIRD, "clipped": CLIPPED}, conventions=conventions)

    assert comparison.ties == ()
    assert "undecided_by_order" not in {pair.verdict for pair in comparison.pairs}
    assert not {"tie_range", "constant_scores"} & codes(comparison).keys()
    assert "ties" not in comparison.to_dict()
    alone = cc.evaluate(CONSTANT, TRUTH, metrics=["RR@10"], conventions=conventions)
    assert "constant_scores" not in {each.code for each in alone.warnings}


def test_only_pairs_with_a_tied_model_change() -> None:
    models = {"rand": RANDOM, "third": THIRD, "const": CONSTANT}
    pairs = compare(models).pairs_of("RR@10")
    verdicts = {(pair.a, pair.b): pair.verdict for pair in pairs}

    assert verdicts["third", "rand"] == "better"
    assert verdicts["third", "const"] == "undecided_by_order"
    assert verdicts["const", "rand"] == "undecided_by_order"


def test_replicates_follow_the_verdict() -> None:
    models: Any = {
        "rand": {"replicates": {1: RANDOM, 2: THIRD}},
        "const": {"replicates": {1: CONSTANT, 2: CONSTANT}},
    }
    comparison = compare(models, metrics=["RR@10"])

    assert len({each.model for each in comparison.ties}) == 2
    assert comparison.difference("const", "rand", "RR@10").verdict == "undecided_by_order"  # type: ignore[union-attr]
    assert comparison.retrained("const", "rand", "RR@10").verdict == "undecided_by_order"  # type: ignore[union-attr]


SECOND = _scores(lambda _u, n: 0.5 if n == 0 else 1.0 if n == 1 else -float(n))


@pytest.mark.parametrize(
    ("every", "min_effect", "severity"),
    [
        (10, 0.0, None),  # a range of 0.05 is less than a tenth of 0.55
        (10, 0.02, "serious"),
        (10, "2%", "serious"),  # 2 % of the baseline's mean 0.5
        (10, 0.06, None),
        (4, 0.0, "serious"),  # 0.125 is more than a tenth of 0.625
        (4, 0.1, "serious"),
        (4, "50%", None),
    ],
)
def test_a_range_is_named_if_it_is_relevant(every: int, min_effect: Any, severity: Any) -> None:
    """One of ten, or four, users ties at ranks 1 and 2: means from 0.5 to 0.55, or to 0.625."""
    tied = _scores(lambda u, n: 1.0 if n == 0 and u % every == 0 else [*SECOND[u].values()][n])
    comparison = compare({"second": SECOND, "tied": tied}, min_effect=min_effect)

    of_primary = next(each for each in comparison.ties if each.label == "RR@10")
    high = 0.5 + 0.5 / every
    assert of_primary.low == pytest.approx(0.5)
    assert of_primary.high == pytest.approx(high)
    assert of_primary.average == pytest.approx(0.5 + 0.25 / every)
    named = {each.code: each.severity for each in comparison.warnings}
    assert named.get("tie_range") == severity
    assert not (severity and "ties_at_cutoff" in named)
