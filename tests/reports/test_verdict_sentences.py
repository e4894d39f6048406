"""The sentences of a comparison, for users' values that can be checked by eye."""

import math
from dataclasses import replace
from typing import Any

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation
from concord.reports.text.verdicts import verdict_sentences
from tests.metrics_core.comparison.tables import cell_of, comparison_of

POP = [0.2] * 100
FAR = [0.6] * 50 + [0.4] * 50  # mean 0.5; 0.3 above POP, spread 0.1
NEAR = [0.6] * 50 + [0.4] * 40 + [0.2] * 10  # 10 users are 0.2 below FAR
SWAPPED = [0.4] * 50 + [0.6] * 49 + [0.4]  # one user is 0.2 below FAR, the others change places


def _sentences(comparison: Comparison) -> list[str]:
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in verdict_sentences(comparison)]


def ndcg(**models: list[float]) -> dict[str, dict[str, list[float]]]:
    return {model: {"nDCG@10": values} for model, values in models.items()}


FAR_IS_BEST = (
    "far is best on nDCG@10: 0.500, 0.300 above pop (95 % interval 0.280 to 0.320, +150.0 %)."
)
NEAR_IS_SECOND = "The runner-up, near, is 0.020 below far (95 % interval 0.008 to 0.032, 4.0 %): "
FAR_DIFFERS = "On nDCG@10, far differs significantly from every other model."
CAUTION = (
    "Take with caution, as fewer than 30 users have different values: far against near on nDCG@10 "
    "(10 users)."
)
THREE = ndcg(pop=POP, far=FAR, near=NEAR)
POOLED = {"pop": {"P@10": POP}, "far": {"P@10": FAR}, "near": {"P@10": NEAR}}
UNCORRECTED = ndcg(pop=[0.5] * 100, a=[0.6] * 61 + [0.4] * 39, b=[0.4] * 50 + [0.6] * 50)
THRESHOLDS = (  # 7.5 % of 0.2 is 0.015
    (0.015, "0.015"),
    ("7.5%", "7.5 % of pop"),
    ({"default": "7.5%"}, "7.5 % of pop"),
)
BOTH = {"pop": {"nDCG@10": POP, "R@10": POP}, "far": {"nDCG@10": FAR, "R@10": FAR}}
SENTENCES: dict[str, tuple[dict[str, dict[str, list[float]]], dict[str, Any], list[str]]] = {
    "a clear winner with a clear runner-up": (ndcg(pop=POP, far=FAR, near=[0.3] * 100), {}, [
        FAR_IS_BEST,  # 0.300 ± 1.984 · √(100 / 99 · 0.1²) / √100 = 0.0199, by t of 99 df
        "The runner-up, near, is 0.200 below far (95 % interval 0.180 to 0.220, 40.0 %): "
        "significant, and more than 0.005.",
        FAR_DIFFERS,
        "Against pop on nDCG@10, far and near are better by more than 0.005.",
    ]),
    "a leader that may not be the best": (ndcg(pop=POP, far=FAR, swapped=SWAPPED), {}, [
        "far has the highest nDCG@10: 0.500, 0.300 above pop (95 % interval 0.280 to 0.320, "
        "+150.0 %).",
        "The runner-up, swapped, is 0.002 below far (95 % interval −0.038 to 0.042, 0.4 %): not "
        "decided, as the interval includes 0.",
        "On nDCG@10, far differs significantly from every other model except swapped.",
        "Against pop on nDCG@10, far and swapped are better by more than 0.005.",
        "Of 3 comparisons on primary metrics 1 is undecided: these users do not settle which "
        "model is better.",
    ]),
    **{f"a difference that may be smaller than {effect}": (THREE, {"min_effect": effect}, [
        FAR_IS_BEST,
        f"{NEAR_IS_SECOND}significant, though perhaps less than {words}.",
        FAR_DIFFERS,
        f"Against pop on nDCG@10, far and near are better by more than {words}.",
        CAUTION,
    ]) for effect, words in THRESHOLDS},
    **{f"a difference within {effect}": (THREE, {"min_effect": effect}, [
        FAR_IS_BEST,
        f"{NEAR_IS_SECOND}too small to matter, as the interval lies within ±{words}.",
        FAR_DIFFERS,
        f"Against pop on nDCG@10, far and near are better by more than {words}.",
        CAUTION,
    ]) for effect, words in ((0.05, "0.05"), ("25%", "25 % of pop"))},
    "no minimum relevant difference": (ndcg(pop=POP, far=FAR), {"min_effect": 0.0}, [
        FAR_IS_BEST,
        "Against pop on nDCG@10, far is better.",
    ]),
    "a baseline that leads": (ndcg(far=FAR, pop=POP), {}, [
        "far, the baseline, is best on nDCG@10: 0.500.",
        "The runner-up, pop, is 0.300 below far (95 % interval 0.280 to 0.320, 60.0 %): "
        "significant, and more than 0.005.",
        "Against far on nDCG@10, pop is worse by more than 0.005.",
    ]),
    "models with the same values share the lead": (ndcg(pop=POP, far=FAR, copy=FAR), {}, [
        "far and copy share the highest nDCG@10: 0.500, 0.300 above pop (95 % interval 0.280 to "
        "0.320, +150.0 %).",
        "Against pop on nDCG@10, far and copy are better by more than 0.005.",
    ]),
    "too few users who differ": (ndcg(pop=POP, one=[0.9] + [0.2] * 99), {}, [
        "one has the highest nDCG@10: 0.207, 0.007 above pop (+3.5 %).",
        "Against pop on nDCG@10, one is not judged, for too few users have different values.",
        "Not tested, as too few users have different values: one against pop on nDCG@10 (1 user).",
    ]),
    "metrics that agree": (BOTH, {}, [
        FAR_IS_BEST,
        "Against pop on nDCG@10, far is better by more than 0.005.",
        "The primary metrics agree on who leads: far (nDCG@10 and R@10).",
        "far is best on R@10: 0.500, 0.300 above pop (95 % interval 0.280 to 0.320, +150.0 %).",
        "Against pop on R@10, far is better by more than 0.005.",
    ]),
    "metrics that disagree": ({**BOTH, "far": {"nDCG@10": FAR, "R@10": [0.1] * 99 + [0.2]}}, {}, [
        FAR_IS_BEST,
        "Against pop on nDCG@10, far is better by more than 0.005.",
        "The primary metrics disagree on who leads: far on nDCG@10, pop on R@10.",
        "far is better than pop on nDCG@10, but worse on R@10.",
        "pop, the baseline, is best on R@10: 0.200.",
        "The runner-up, far, is 0.099 below pop (95 % interval 0.097 to 0.101, 49.5 %): "
        "significant, and more than 0.005.",
        "Against pop on R@10, far is worse by more than 0.005.",
    ]),
    "no mean": (ndcg(pop=[math.nan] * 20, far=[math.nan] * 20), {}, [
        "No model has a mean of nDCG@10: it is undefined for too many users.",
        "Not tested, as too few users have different values: far against pop on nDCG@10 (0 users).",
    ]),
    "an order that is not tested": (POOLED, {"precision_aggregate": "micro"}, [
        "far has the highest P@10: 0.500, 0.300 above pop (+150.0 %).",
        "The runner-up, near, is 0.020 below far (4.0 %): not tested, as the mean is pooled over "
        "users.",
        "Against pop on P@10, far and near are not tested, as the mean is pooled over users.",
    ]),
    # 61 users up and 39 down by 0.1: t = 2.2, p = 0.026, times three comparisons is more than 0.05
    "significance without correction": (UNCORRECTED, {}, [
        "a has the highest nDCG@10: 0.522, 0.022 above pop (95 % interval 0.003 to 0.041, +4.4 %).",
        "On nDCG@10, a does not differ significantly from any other model.",
        "Against pop on nDCG@10, a and b are not decided.",
        "Open on nDCG@10: a against pop is not significant once corrected for 3 comparisons; b is "
        "level with pop (95 % interval −0.020 to 0.020): not decided, as the interval includes 0.",
        "Of 3 comparisons on primary metrics 3 are undecided: these users do not settle which "
        "model is better.",
    ]),
    "the lowest leads if lower is better": ({"pop": {"ARP@10": FAR}, "als": {"ARP@10": POP}}, {}, [
        "als is best on ARP@10: 0.200, 0.300 below pop (95 % interval 0.280 to 0.320, 60.0 %).",
        "Against pop on ARP@10, als is better by more than 0.005.",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_sentences_of_a_comparison(case: str) -> None:
    values, settings, sentences = SENTENCES[case]

    assert _sentences(comparison_of(values, **settings)) == sentences


def test_long_lists_of_models_are_cut() -> None:
    many = {f"m{i}": [0.6 + i / 100] * 50 + [0.4] * 50 for i in range(9)}

    sentence = (
        "Against pop on nDCG@10, m8, m7, m6, m5, m4, m3 and 3 more are better by more than 0.005."
    )
    assert sentence in _sentences(comparison_of(ndcg(pop=POP, **many)))


def test_segments_with_the_opposite_order_are_named_with_the_verdict() -> None:
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
    )
    comparison = replace(comparison_of(ndcg(pop=FAR, als=better)), segments=(segmentation,))

    sentences = _sentences(comparison)

    turned = "On nDCG@10, als is above pop over all users, but below it for activity “0”."
    assert sentences[2] == turned
    assert sentences.count(turned) == 1
