"""The sentences of a comparison, for users' values that can be checked by eye."""

import math
from dataclasses import replace
from typing import Any

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation
from concord.reports.text.history import against_baseline, headline
from concord.reports.text.verdicts import verdict_sentences
from tests.metrics_core.comparison.tables import cell_of, comparison_of
from tests.reports.samples.sample_history import HISTORY, standing

POP = [0.2] * 100
FAR = [0.6] * 50 + [0.4] * 50  # mean 0.5; 0.3 above POP, spread 0.1
NEAR = [0.6] * 50 + [0.4] * 40 + [0.2] * 10  # 10 users are 0.2 below FAR
SWAPPED = [0.4] * 50 + [0.6] * 49 + [0.4]  # one user is 0.2 below FAR, the others change places


def _sentences(comparison: Comparison) -> list[str]:
    return [text.replace("\N{NO-BREAK SPACE}", " ") for text in verdict_sentences(comparison)]


def ndcg(**models: list[float]) -> dict[str, dict[str, list[float]]]:
    return {model: {"nDCG@10": values} for model, values in models.items()}


CAUTION = (
    "Take with caution, as fewer than 30 users have different values: far against near on nDCG@10 "
    "(10 users)."
)
FAR_IS_AHEAD = "Against pop, nDCG@10: far +0.300 (+150.0 %)."
# Their difference is far below its error, so both have the same mean: (0.300 + 0.298) / 2.
TIED = (
    "Against pop, nDCG@10: far +0.300 (+150.0 %, allowing for the choice of the best of 2: "
    "+0.299), swapped +0.298 (+149.0 %)."
)
# 0.300 − 0.298 ± 1.984 · 0.2 / √100; with a probability of 80 %: (1.984 + 0.845) · 0.2 / √100
OPEN = (
    "On nDCG@10, far is 0.002 above swapped (95 % interval −0.038 to +0.042): not decided, as the "
    "interval includes 0; these 100 users can show 0.057."
)
SAME = OPEN.replace("(95", "(joint 95")  # of two tests, if all else is exchanged: 1.995, not 1.984
# of two tests with a correlation of 0.995: 2.02 by a bivariate t, 2.036 as it is rounded up
JOINT = SAME.replace("−0.038 to +0.042", "−0.039 to +0.043").replace("0.057", "0.058")
THREE = ndcg(pop=POP, far=FAR, near=NEAR)
POOLED = {"pop": {"P@10": POP}, "far": {"P@10": FAR}, "near": {"P@10": NEAR}}
UNCORRECTED = ndcg(pop=[0.5] * 100, a=[0.6] * 61 + [0.4] * 39, b=[0.4] * 50 + [0.6] * 50)
SMALL = [0.206 + 0.02 * (n % 3 - 1) for n in range(99)]  # 0.006 ± 0.0033 above POP
TINY = [0.2 + 0.002 * (n % 3 - 1) for n in range(99)]
BOTH = {"pop": {"nDCG@10": POP, "R@10": POP}, "far": {"nDCG@10": FAR, "R@10": FAR}}
SENTENCES: dict[str, tuple[dict[str, dict[str, list[float]]], dict[str, Any], list[str]]] = {
    "a clear winner": (ndcg(pop=POP, far=FAR, near=[0.3] * 100), {}, [
        "far is best on nDCG@10.", FAR_IS_AHEAD,
    ]),
    "a clear winner over the baseline alone": (BOTH, {}, [
        "far beats pop on nDCG@10 and R@10.",
        "Against pop, nDCG@10: far +0.300 (+150.0 %). R@10: far +0.300 (+150.0 %).",
    ]),
    "a tie at the top": (ndcg(pop=POP, far=FAR, swapped=SWAPPED), {}, [
        "far and swapped are too close to call; both beat pop.", TIED, OPEN,
    ]),
    "a tie with another leader on each metric": ({
        "pop": {"nDCG@10": POP, "R@10": POP},
        "far": {"nDCG@10": FAR, "R@10": SWAPPED},
        "swapped": {"nDCG@10": SWAPPED, "R@10": FAR},
    }, {}, [
        "far and swapped are too close to call; both beat pop.",
        f"{TIED[:-1]}. R@10: swapped +0.300 (+150.0 %, allowing for the choice of the best of 2: "
        "+0.299), far +0.298 (+149.0 %).",
        SAME.replace("joint ", ""),  # both pairs have the same differences, which count once
        SAME.replace("joint ", "")
        .replace("nDCG", "R")
        .replace("swapped", "far")
        .replace("far is", "swapped is"),
    ]),
    "a tie on one metric": ({
        "pop": {"nDCG@10": POP, "R@10": POP},
        "far": {"nDCG@10": FAR, "R@10": FAR},
        "swapped": {"nDCG@10": SWAPPED, "R@10": [0.3] * 100},
    }, {}, [
        "far and swapped are too close to call on nDCG@10; far is best on R@10; both beat pop.",
        f"{TIED[:-1]}. R@10: far +0.300 (+150.0 %), swapped +0.100 (+50.0 %).",
        JOINT,
    ]),
    "a tie with the baseline on one metric": ({
        "pop": {"nDCG@10": POP, "R@10": FAR}, "far": {"nDCG@10": FAR, "R@10": SWAPPED},
    }, {}, [
        "far beats pop on nDCG@10; pop and far are too close to call on R@10.",
        "Against pop, nDCG@10: far +0.300 (+150.0 %). R@10: far −0.002 (−0.4 %).",
        JOINT.replace("nDCG", "R").replace("far is", "pop is").replace("swapped", "far"),
    ]),
    "a tie that beats the baseline on one metric": ({
        "pop": {"nDCG@10": POP, "R@10": POP},
        "far": {"nDCG@10": FAR, "R@10": POP},
        "swapped": {"nDCG@10": SWAPPED, "R@10": POP},
    }, {}, [
        "far and swapped are too close to call; both beat pop on nDCG@10.",
        f"{TIED[:-1]}. R@10: far 0.000 (0.0 %), swapped 0.000 (0.0 %).",
        OPEN,
        "On R@10, pop is level with far: every user has the same value with both.",
    ]),
    "many tied models": (ndcg(pop=POP, far=FAR, a=SWAPPED, b=SWAPPED[::-1], c=SWAPPED), {}, [
        "far, a, b and 1 more are too close to call; all beat pop.",
        f"{TIED[:-1].replace('swapped', 'a').replace('of 2', 'of 4')}, b +0.298 (+149.0 %) and 1 "
        "more.",
        JOINT.replace("swapped", "a"),
    ]),
    **{f"equivalent within {effect}": (THREE, {"min_effect": effect}, [
        "far and near are equivalent; both beat pop.",
        f"{FAR_IS_AHEAD[:-1]}, near +0.280 (+140.0 %).",
        "On nDCG@10, far is 0.020 above near (95 % interval +0.008 to +0.032): too small to "
        f"matter, as the interval lies within ±{words}.",
        CAUTION,
    ]) for effect, words in ((0.05, "0.05"), ("25%", "25 % of pop"))},
    "a small lead over the runner-up": (THREE, {"min_effect": 0.015}, [
        "far is best on nDCG@10.", FAR_IS_AHEAD, CAUTION,
    ]),
    "a small lead over the baseline": (ndcg(pop=POP[:99], a=SMALL), {}, [
        "a beats pop on nDCG@10, perhaps by less than 0.005.",
        "Against pop, nDCG@10: a +0.006 (+3.0 %).",
    ]),
    "a small lead by a margin in percent": (ndcg(pop=POP[:99], a=SMALL), {"min_effect": "2.5%"}, [
        "a beats pop on nDCG@10, perhaps by less than 2.5 %.",
        "Against pop, nDCG@10: a +0.006 (+3.0 %).",
    ]),
    "a small loss": (ndcg(pop=SMALL, a=POP[:99]), {}, [
        "No model beats pop on nDCG@10: a is worse, perhaps by less than 0.005.",
        "Against pop, nDCG@10: a −0.006 (−2.9 %).",
    ]),
    "a small loss and a large one": ({
        "pop": {"nDCG@10": SMALL, "R@10": FAR[:99]}, "a": {"nDCG@10": POP[:99], "R@10": SMALL},
    }, {"min_effect": {"nDCG@10": 0.005, "R@10": 0.01}}, [
        "No model beats pop on nDCG@10 or R@10: a is worse on R@10 and worse on nDCG@10, perhaps "
        "by less than 0.005.",
        "Against pop, nDCG@10: a −0.006 (−2.9 %). R@10: a −0.295 (−58.9 %).",
    ]),
    "small losses by two margins": ({
        "pop": dict.fromkeys(("nDCG@10", "R@10", "AP@10"), SMALL),
        "a": {"nDCG@10": POP[:99], "R@10": POP[:99], "AP@10": SMALL},
    }, {"min_effect": {"nDCG@10": 0.005, "R@10": 0.004, "AP@10": 0.005}}, [
        "No model beats pop on nDCG@10, R@10 or AP@10: a is worse on nDCG@10, perhaps by less than "
        "0.005, worse on R@10, perhaps by less than 0.004, and identical on AP@10.",
        "Against pop, nDCG@10: a −0.006 (−2.9 %). R@10: a −0.0060 (−2.9 %). AP@10: a 0.000 "
        "(0.0 %).",
        "On AP@10, pop is level with a: every user has the same value with both.",
    ]),
    "a small lead over the baseline, the best of others": (
        ndcg(pop=POP[:99], a=SMALL, b=[0.1] * 99), {}, [
            "a is best on nDCG@10, though perhaps less than 0.005 ahead of pop.",
            "Against pop, nDCG@10: a +0.006 (+3.0 %).",
        ],
    ),
    "models with the same values": (ndcg(pop=POP, far=FAR, copy=FAR), {}, [
        "far and copy are identical; both beat pop.",
        f"{FAR_IS_AHEAD[:-1]}, copy +0.300 (+150.0 %).",
        "On nDCG@10, far is level with copy: every user has the same value with both.",
    ]),
    "a baseline that leads": (ndcg(far=FAR, pop=POP), {}, [
        "No model beats far on nDCG@10: pop is worse.",
        "Against far, nDCG@10: pop −0.300 (−60.0 %).",
    ]),
    "nothing better than the baseline": (ndcg(pop=POP[:99], a=TINY, b=[0.1] * 98 + [0.12]), {}, [
        "No model beats pop on nDCG@10: a is equivalent; b is worse.",
        "Against pop, nDCG@10: a 0.000 (0.0 %).",
        "On nDCG@10, pop is level with a (joint 95 % interval −0.000 to +0.000): too small to "
        "matter, as the interval lies within ±0.005.",
    ]),
    "too few users who differ": (ndcg(pop=POP, one=[0.9] + [0.2] * 99), {}, [
        "No model is shown to beat pop on nDCG@10: one is not testable, as too few users differ.",
        "Against pop, nDCG@10: one +0.007 (+3.5 %).",
        "On nDCG@10, one is 0.007 above pop: only 1 user has different values; a 95 % "
        "interval needs at least 6.",
    ]),
    # 61 users up and 39 down by 0.1: t = 2.25, p = 0.027, of two tests whose correlation is −0.8.
    # The joint interval is 0.022 ± 2.202 · 0.0098, from 0.0004 (2.18 by a bivariate t).
    "one of two, shown by the joint interval": (UNCORRECTED, {}, [
        "a and b are too close to call; a beats pop, perhaps by less than 0.005.",
        "Against pop, nDCG@10: a +0.022 (+4.4 %, allowing for the choice of the best of 2: "
        "+0.014), b 0.000 (0.0 %).",
        "On nDCG@10, a is 0.022 above b (95 % interval −0.015 to +0.059): not decided, as the "
        "interval includes 0; these 100 users can show 0.053.",
    ]),
    # The same models as the rest of 20 that were tried: two tests share 2 / 20 of 5 %.
    "one of two, the others were left out": (UNCORRECTED, {"tried": 20}, [
        "No model is shown to beat pop on nDCG@10: a and b are undecided.",
        "Against pop, nDCG@10: a +0.022 (+4.4 %), b 0.000 (0.0 %).",
        "On nDCG@10, a is 0.022 above pop (joint 95 % interval −0.008 to +0.052): not decided, as "
        "the interval includes 0; these 100 users can show 0.039.",
    ]),
    "metrics that disagree": ({**BOTH, "far": {"nDCG@10": FAR, "R@10": [0.1] * 99 + [0.2]}}, {}, [
        "The primary metrics disagree: far beats pop on nDCG@10; pop, the baseline, is best on "
        "R@10.",
        "Against pop, nDCG@10: far +0.300 (+150.0 %). R@10: far −0.099 (−49.5 %).",
    ]),
    "no mean": (ndcg(pop=[math.nan] * 20, far=[math.nan] * 20), {}, [
        "No model has a mean of nDCG@10.", "Against pop, nDCG@10: no model has a mean.",
    ]),
    "an order that is not tested": (POOLED, {"precision_aggregate": "micro"}, [
        "No model is shown to beat pop on P@10: far and near are not tested.",
        "Against pop, P@10: far +0.300 (+150.0 %), near +0.280 (+140.0 %).",
        "On P@10, far is 0.020 above near: not tested, as the mean is pooled over users.",
    ]),
    "the lowest leads if lower is better": ({"pop": {"ARP@10": FAR}, "als": {"ARP@10": POP}}, {}, [
        "als beats pop on ARP@10.", "Against pop, ARP@10: als −0.300 (−60.0 %).",
    ]),
    "one model": (ndcg(far=FAR), {}, [
        "far is the only model: there is nothing to compare it with.",
        "nDCG@10: 0.500 (0.480 to 0.520).",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("case", SENTENCES)
def test_sentences_of_a_comparison(case: str) -> None:
    values, settings, sentences = SENTENCES[case]

    assert _sentences(comparison_of(values, **settings)) == sentences


def test_segments_with_the_opposite_order_are_named_with_the_verdict() -> None:
    better = [value + 0.1 + 0.01 * (n % 3) for n, value in enumerate(FAR)]
    cell = cell_of("als", "0", "worse", is_reversed=True, label="nDCG@10")
    segmentation = Segmentation(
        name="activity",
        kind="user",
        question="",
        labels=("nDCG@10",),
        segments=(),
        cells=(cell, replace(cell, is_reversed=False)),
        fewest_in_gap=30,
        gaps=(),
    )
    comparison = replace(comparison_of(ndcg(pop=FAR, als=better)), segments=(segmentation,))

    sentences = _sentences(comparison)

    turned = "On nDCG@10, als is above pop over all users, but below it for activity “0”."
    assert sentences[-1] == turned
    assert sentences.count(turned) == 1


@pytest.mark.parametrize(
    ("min_effect", "words"),
    [(0.01, "0.01"), (0.004972123, "0.00497"), (None, "the minimum relevant difference")],
)
def test_a_history_says_than_what_a_difference_may_be_less(
    min_effect: float | None, words: str
) -> None:
    row = replace(standing("a", 0.3, "worse_below_threshold"), min_effect=min_effect)
    revision = replace(HISTORY.revisions[-1], standings=(row,), baseline="b")

    text = headline(replace(HISTORY, revisions=(revision,)))

    assert text.endswith(f": a 0.300, worse than b, perhaps by less than {words}")
    assert against_baseline(revision, row, 3) == (
        f"worse, +0.020 (+0.010 to +0.030), perhaps by less than {words}"
    )
