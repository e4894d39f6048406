"""Errors in well-known texts: printed numbers and the values of their own formulas."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import concord as cc
from concord.typing import PresetName

BELLEI_LISTS = {"U1": [1, 6, 8], "U2": [1, 2, 3, 4, 5], "U3": [], "U4": [1, 2, 3, 4], "U5": []}
BELLEI_TRUTH = {"U1": [1, 2, 3, 4, 5, 6], "U2": [2, 4, 6], "U3": [2, 4, 6], "U4": [], "U5": []}
BELLEI = "Bellei 2017, The confusion over information retrieval metrics in Recommender Systems"
WIKIPEDIA = "Wikipedia, Discounted cumulative gain (2^rel - 1, p = 6)"
RECOHUT = "recohut, NDCG"
AMITNESS = "Evaluation Metrics For Information Retrieval"
BREUER = "Breuer et al. 2020, How to Measure the Reproducibility of System-oriented IR Experiments"
LENSKIT = "LensKit 2025.8.1, Getting Started"
LIST = {"u": list("abcdef")}


@dataclass(frozen=True)
class Erratum:
    """A printed number or sentence, the correct one, and the reason."""

    text: str
    subject: str
    printed: str
    right: Callable[[], float | str]
    why: str
    digits: int = 4


def _constant(text: str) -> Callable[[], str]:
    return lambda: text


def _mean(lists: Any, truth: Any, label: str, preset: PresetName) -> Callable[[], float]:
    def value() -> float:
        return cc.evaluate(lists, truth, metrics=[label], conventions=cc.preset(preset))[label]

    return value


def _bellei(label: str) -> Callable[[], float]:
    return _mean(BELLEI_LISTS, BELLEI_TRUTH, label, "bellei")


def _graded(label: str, preset: PresetName, grades: list[int]) -> Callable[[], float]:
    return _mean(LIST, {"u": dict(zip("abcdef", grades, strict=False))}, label, preset)


def _binary(label: str) -> Callable[[], float]:
    return _mean({"u": list("abcde")}, {"u": list("ace")}, label, "amitness")


ERRATA: tuple[Erratum, ...] = (
    Erratum(BELLEI, "MRR@3", "1/3", _bellei("RR@3"), "(1 + 1/2 + 0) / 3, the terms of the text"),
    Erratum(BELLEI, "MRR@5", "1/3", _bellei("RR@5"), "the same three terms"),
    Erratum(
        BELLEI,
        "formula of recall",
        "TP / (TP + TN)",
        _constant("TP / (TP + FN)"),
        "missed items are false negatives",
    ),
    Erratum(
        BELLEI,
        "AP's denominator",
        "min(k, γ)",
        _constant("hits in the top k"),
        "formula and code of the text divide by the hits",
    ),
    Erratum(
        BELLEI,
        "`mrrAtk`",
        "0 for a first hit at rank 4, cutoffs 5 and 10",
        _constant("1/4"),
        "the code compares the rank with the index of k in the list of cutoffs",
    ),
    Erratum(
        WIKIPEDIA,
        "DCG6 of 3, 2, 3, 0, 1, 2",
        "16.047",
        _graded("DCG@6", "wikipedia_exp", [3, 2, 3, 0, 1, 2]),
        "the term of rank 5 was added as its discount, 2.585, instead of 1/2.585",
        digits=3,
    ),
    Erratum(
        RECOHUT,
        "`ndcg_one` with a hit below k",
        "IndexError",
        _constant("the hit does not count"),
        "the list is longer than k",
    ),
    Erratum(
        RECOHUT,
        "`ndcg_one` and `ndcg_at_k_v2`",
        "two values for one list",
        _constant("two definitions"),
        "the ideal list is that of the top k in one, of all retrieved items in the other",
    ),
    Erratum(AMITNESS, "AP of 1, 0, 1, 0, 1", "0.7575", _binary("AP@5"), "(1 + 2/3 + 3/5) / 3"),
    Erratum(AMITNESS, "F1@5", "0.749", _binary("F1@5"), "2 × 3/5 × 1 / (3/5 + 1)"),
    Erratum(
        AMITNESS,
        "nDCG@3 of 3, 2, 3, 0, 1",
        "0.9777",
        _graded("nDCG@3", "amitness", [3, 2, 3, 0, 1]),
        "truncated instead of rounded",
    ),
    Erratum(
        AMITNESS,
        "nDCG@5 of 3, 2, 3, 0, 1",
        "0.9723",
        _graded("nDCG@5", "amitness", [3, 2, 3, 0, 1]),
        "truncated instead of rounded",
    ),
    Erratum(
        BREUER,
        "appendix, table 1: p of AP, rpl_wcr0405_tf_4",
        "0.015",
        _constant("0.016"),
        "0.0158, truncated instead of rounded, as are 30 others of the 60 p-values",
    ),
    Erratum(
        BREUER,
        "appendix, table 2: p of nDCG, rpd_C_1",
        "54E-06",
        _constant("5.8E-06"),
        "unpaired t-test of the published values of each topic",
    ),
    Erratum(
        LENSKIT,
        "RBP of ALS and II",
        "0.088839 and 0.036945",
        _constant("RBP with patience 0.5"),
        "the page was run before the default became 0.85",
    ),
)
