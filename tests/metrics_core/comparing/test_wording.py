"""The sentences of a comparison: what is said, and what is not said, of users' values that can be checked by eye."""

import math
from dataclasses import replace
from typing import Any

import pytest

from concord.metrics_core.comparing.sentences.wording import verdict_sentences
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Segmentation
from tests.metrics_core.comparing.tables import cell_of, comparison_of

POP = [0.2] * 100
FAR = [0.6] * 50 + [0.4] * 50  # mean 0.5; 0.3 above POP, spread 0.1
NEAR = [0.6] * 50 + [0.4] * 40 + [0.2] * 10  # 10 users are 0.2 below FAR
SWAPPED = [0.4] * 50 + [0.6] * 49 + [0.4]  # one user is 0.2 below FAR, the others change places


def sentences(values: dict[str, dict[str, list[float]]], **settings: object) -> list[str]:
    return _said(comparison_of(values, **settings))


def _said(comparison: Comparison) -> list[str]:
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in verdict_sentences(comparison)]


def ndcg(**models: list[float]) -> dict[str, dict[str, list[float]]]:
    return {model: {"nDCG@10": values} for model, values in models.items()}


def test_a_clear_winner_with_a_clear_runner_up() -> None:
    said = sentences(ndcg(pop=POP, far=FAR, near=[0.3] * 100))

    half = 1.984 * math.sqrt(100 / 99 * 0.1**2) / math.sqrt(100)  # t of 99 degrees of freedom
    assert half == pytest.approx(0.0199, abs=0.0001)
    assert said == [
        "far is best on nDCG@10: 0.500, 0.300 above pop (95 % interval 0.280 to 0.320, +150.0 %).",
        "The runner-up, near, is 0.200 below far (95 % interval 0.180 to 0.220, 40.0 %): "
        "significant, and more than 0.005.",
        "On nDCG@10, far differs significantly from every other model.",
        "Against pop on nDCG@10, far and near are better by more than 0.005.",
    ]


def test_a_winner_that_cannot_be_told_from_the_runner_up_is_not_called_best() -> None:
    said = sentences(ndcg(pop=POP, far=FAR, swapped=SWAPPED))

    assert said[0].startswith("far has the highest nDCG@10: 0.500, 0.300 above pop")
    assert said[1].startswith(
        "The runner-up, swapped, is 0.002 below far (95 % interval −0.038 to 0.042"
    )
    assert said[1].endswith("not decided, as the interval includes 0.")
    assert said[2] == "On nDCG@10, far differs significantly from every other model except swapped."
    assert said[-1] == (
        "Of 3 comparisons on primary metrics 1 is undecided: these users do not settle which model is better."
    )


def test_a_difference_that_may_be_too_small_to_matter_is_not_called_more() -> None:
    said = sentences(ndcg(pop=POP, far=FAR, near=NEAR), min_effect=0.015)

    assert "The runner-up, near, is 0.020 below far" in said[1]
    assert said[1].endswith("significant, though perhaps less than 0.015.")
    assert (
        "Take with caution, as fewer than 30 users have different values: far against near on nDCG@10 (10 users)."
        in said
    )


@pytest.mark.parametrize(("effect", "words"), [(0.05, "±0.05."), ("25%", "±25 % of pop.")])
def test_a_difference_within_the_threshold_is_equivalent(effect: Any, words: str) -> None:
    verdict = sentences(ndcg(pop=POP, far=FAR, near=NEAR), min_effect=effect)[1]

    assert verdict.endswith(f"too small to matter, as the interval lies within {words}")


@pytest.mark.parametrize("effect", ["7.5%", {"default": "7.5%"}])
def test_a_share_of_the_baseline_is_told_as_it_was_written(effect: Any) -> None:
    """POP has 0.2 in the mean: 7.5 % of it is 0.015."""
    said = sentences(ndcg(pop=POP, far=FAR, near=NEAR), min_effect=effect)

    assert said[1].endswith("significant, though perhaps less than 7.5 % of pop.")
    assert any("better by more than 7.5 % of pop" in sentence for sentence in said)
    assert not any("0.015" in sentence for sentence in said)


def test_with_no_threshold_none_is_named() -> None:
    said = sentences(ndcg(pop=POP, far=FAR), min_effect=0.0)

    assert said[1:] == ["Against pop on nDCG@10, far is better."]


def test_a_baseline_that_leads_is_named_as_such() -> None:
    said = sentences(ndcg(far=FAR, pop=POP))

    assert said[0] == "far, the baseline, is best on nDCG@10: 0.500."
    assert said[1].startswith(
        "The runner-up, pop, is 0.300 below far (95 % interval 0.280 to 0.320, 60.0 %)"
    )
    assert said[2] == "Against far on nDCG@10, pop is worse by more than 0.005."


def test_models_with_the_same_values_share_the_lead() -> None:
    said = sentences(ndcg(pop=POP, far=FAR, copy=FAR))

    assert said[0].startswith("far and copy share the highest nDCG@10: 0.500, 0.300 above pop")
    assert said[1] == "Against pop on nDCG@10, far and copy are better by more than 0.005."


def test_too_few_users_who_differ_are_counted() -> None:
    said = sentences(ndcg(pop=POP, one=[0.9] + [0.2] * 99))

    assert said == [
        "one has the highest nDCG@10: 0.207, 0.007 above pop (+3.5 %).",
        "Against pop on nDCG@10, one is not judged, for too few users have different values.",
        "No interval, as fewer than 10 users have different values: one against pop on nDCG@10 (1 user).",
    ]


def test_metrics_that_agree_and_metrics_that_do_not() -> None:
    low = [0.1] * 99 + [0.2]
    both = {"pop": {"nDCG@10": POP, "R@10": POP}, "far": {"nDCG@10": FAR, "R@10": FAR}}
    one = {**both, "far": {"nDCG@10": FAR, "R@10": low}}

    agreeing, disagreeing = sentences(both), sentences(one)

    assert "The primary metrics agree on who leads: far (nDCG@10 and R@10)." in agreeing
    assert "The primary metrics disagree on who leads: far on nDCG@10, pop on R@10." in disagreeing
    assert "far is better than pop on nDCG@10, but worse on R@10." in disagreeing
    assert not any("agree" in text for text in sentences(ndcg(pop=POP, far=FAR)))


def test_long_lists_of_models_are_cut() -> None:
    many = {f"m{i}": [0.6 + i / 100] * 50 + [0.4] * 50 for i in range(9)}

    said = sentences(ndcg(pop=POP, **many))

    standing = next(text for text in said if text.startswith("Against pop"))
    assert standing == (
        "Against pop on nDCG@10, m8, m7, m6, m5, m4, m3 and 3 more are better by more than 0.005."
    )


def test_a_metric_without_any_mean_leads_to_one_sentence() -> None:
    nothing = [math.nan] * 20

    said = sentences(ndcg(pop=nothing, far=nothing))

    assert said[0] == "No model has a mean of nDCG@10: it is undefined for too many users."


def test_an_untested_order_is_called_untested() -> None:
    values = {"pop": {"P@10": POP}, "far": {"P@10": FAR}, "near": {"P@10": NEAR}}

    said = sentences(values, precision_aggregate="micro")

    assert said == [
        "far has the highest P@10: 0.500, 0.300 above pop (+150.0 %).",
        "The runner-up, near, is 0.020 below far (4.0 %): not tested, as the mean is pooled over users.",
        "Against pop on P@10, far and near are not tested, as the mean is pooled over users.",
    ]


def test_significance_that_the_correction_takes_away_is_told() -> None:
    """61 users up and 39 down by 0.1: t = 2.2, p = 0.026, times three comparisons is more than 0.05."""
    models = {"pop": [0.5] * 100, "a": [0.6] * 61 + [0.4] * 39, "b": [0.4] * 50 + [0.6] * 50}

    said = sentences(ndcg(**models))

    assert (
        said[0]
        == "a has the highest nDCG@10: 0.522, 0.022 above pop (95 % interval 0.003 to 0.041, +4.4 %)."
    )
    assert said[-2].startswith(
        "Open on nDCG@10: a against pop is not significant once corrected for 3 comparisons; b is level with pop "
        "(95 % interval −0.020 to 0.020): not decided, as the interval includes 0"
    )


def test_of_a_metric_where_lower_is_better_the_lowest_leads() -> None:
    assert sentences({"pop": {"ARP@10": FAR}, "als": {"ARP@10": POP}}) == [
        "als is best on ARP@10: 0.200, 0.300 below pop (95 % interval 0.280 to 0.320, 60.0 %).",
        "Against pop on ARP@10, als is better by more than 0.005.",
    ]


def test_for_whom_it_is_the_other_way_round_is_told_with_the_answer() -> None:
    better = [value + 0.1 + 0.01 * (n % 3) for n, value in enumerate(FAR)]
    cell = cell_of("als", "0", "worse", turns=True, label="nDCG@10")
    segmentation = Segmentation(
        name="activity",
        kind="user",
        question="",
        labels=("nDCG@10",),
        segments=(),
        cells=(cell, replace(cell, turns=False)),
        fewest_in_gap=30,
        gaps=(),
        flags=(),
    )
    comparison = replace(comparison_of(ndcg(pop=FAR, als=better)), segments=(segmentation,))

    said = _said(comparison)

    turned = "On nDCG@10, als is above pop over all users, but below it for activity “0”."
    assert said[2] == turned
    assert said.count(turned) == 1
