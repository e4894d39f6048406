"""`concord.explain`: values of `evaluate`, derived as in the worked examples."""

import math
from functools import cache
from itertools import product
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.reports.explain.text import path_sentences
from concord.typing import ConventionOptions, PresetName
from tests.metrics_core.metrics.strategies import label_of

LISTS = {"U1": [1, 6, 8], "U2": [1, 2, 3, 4, 5], "U3": [], "U4": [1, 2, 3, 4], "U5": []}
TRUTH = {"U1": [1, 2, 3, 4, 5, 6], "U2": [2, 4, 6], "U3": [2, 4, 6], "U4": [], "U5": []}
METRICS = [m for m in CATALOGUE if m.family in {"accuracy", "agreement"} and not m.reads_subtopics]
LABELS = [label_of(metric) for metric in METRICS]
CUTOFF_LABELS = [label_of(metric, 3) for metric in METRICS if metric.takes_k]


@cache
def _values(label: str) -> pl.DataFrame:
    return cc.evaluate(LISTS, TRUTH, metrics=[label], conventions=cc.preset("bellei")).per_user


@pytest.mark.parametrize(
    ("user", "label"),
    # policies do not depend on the cutoff
    [*product(LISTS, LABELS), *product(("U1", "U2"), CUTOFF_LABELS)],
)
def test_the_derived_value_equals_the_evaluated_one(user: str, label: str) -> None:
    bellei = cc.preset("bellei")
    values = _values(label)
    expected = values.filter(values["user"] == user)[label][0]

    derivation = cc.explain(LISTS, TRUTH, user=user, metric=label, conventions=bellei)

    assert derivation.value is not None
    assert derivation.value == expected or (math.isnan(derivation.value) and math.isnan(expected))
    first = f"{label} of user {user!r}, conventions bellei {bellei.fingerprint}"
    assert derivation.summary.splitlines()[0] == first
    assert derivation.summary.splitlines()[-1] == f"{label} = {expected:.6g}"


def test_average_precision_is_derived_as_by_hand() -> None:
    bellei = cc.preset("bellei")
    derivation = cc.explain(LISTS, TRUTH, user="U2", metric="AP@5", conventions=bellei)

    assert derivation.summary == (
        f"AP@5 of user 'U2', conventions bellei {bellei.fingerprint}\n"
        "relevant: grade >= 1; relevant items: 3 in the ground truth, 5 in the list\n"
        "rank  item  grade  judged  adds\n"
        "1     1\n"
        "2     2     1      hit     1/2\n"
        "3     3\n"
        "4     4     1      hit     2/4\n"
        "5     5\n"
        "AP = (1/2 + 2/4) / 2  (sum / hits)\n"
        "AP@5 = 0.5"
    )


def test_a_policy_replaces_the_formula() -> None:
    derivation = cc.explain(LISTS, TRUTH, user="U3", metric="P@5", conventions=cc.preset("bellei"))

    assert "user_no_recs: zero" in derivation.summary.splitlines()


def test_integer_users_match_their_text() -> None:
    derivation = cc.explain(
        {7: [1, 2]}, {7: [2]}, user="7", metric="RR", conventions=cc.preset("standard")
    )

    assert derivation.value == 1 / 2


def test_an_unknown_user_is_refused() -> None:
    with pytest.raises(
        ValueError, match="user 'nobody': is neither in the lists nor in the ground truth"
    ):
        cc.explain(LISTS, TRUTH, user="nobody", metric="P@5", conventions=cc.preset("bellei"))


BELLEI: tuple[Any, Any] = ([1, 2, 3, 4, 5], [2, 4, 6])
AMITNESS: tuple[Any, Any] = (list("abcde"), {"a": 3, "b": 2, "c": 3, "e": 1})
MINNESOTA: tuple[Any, Any] = (list("ABCD"), {"A": 4, "B": 3, "C": 0, "D": 5})
WIKIPEDIA: tuple[Any, Any] = (list("abcdef"), {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2})
# Lines of the published examples.
PUBLISHED = [
    ("bellei", "P@5", BELLEI, "P = 2 / 5  (hits / k)", 2 / 5),
    (
        "bellei",
        "F1@3",
        BELLEI,
        "F1 = 2 × 0.333333 × 0.333333 / (0.333333 + 0.333333)",
        1 / 3,
    ),
    ("bellei", "RR@3", BELLEI, "RR = 1 / 2  (the first hit)", 1 / 2),
    (
        "minnesota",
        "AP",
        (list("abcde"), list("acd")),
        "AP = (1/1 + 2/3 + 3/4) / 3  (sum / hits)",
        (1 + 2 / 3 + 3 / 4) / 3,
    ),
    (
        "amitness",
        "AP",
        (list("abcde"), list("ace")),
        "AP = (1/1 + 2/3 + 3/5) / 3  (sum / relevant)",
        (1 + 2 / 3 + 3 / 5) / 3,
    ),
    ("amitness", "CG@3", AMITNESS, "CG = 3 + 2 + 3", 8),
    (
        "amitness",
        "nDCG@5",
        AMITNESS,
        "ideal DCG = 3 × 1 + 3 × 0.63093 + 2 × 0.5 + 1 × 0.430677 = 6.32347  (retrieved)",
        0.9723643,
    ),
    ("minnesota", "nDCG", MINNESOTA, "nDCG = 9.5 / 10.8928", 0.8721359),
    (
        "wikipedia",
        "DCG@6",
        WIKIPEDIA,
        "DCG = 3 + 1.26186 + 1.5 + 0.386853 + 0.712414 = 6.86113",
        6.861127,
    ),
]


@pytest.mark.parametrize(("preset", "label", "data", "line", "value"), PUBLISHED)
def test_published_examples_are_derived_as_printed(
    preset: PresetName, label: str, data: tuple[Any, Any], line: str, value: float
) -> None:
    ranked, truth = data
    derivation = cc.explain(
        {"u": ranked}, {"u": truth}, user="u", metric=label, conventions=cc.preset(preset)
    )

    assert line in derivation.summary.splitlines()
    assert derivation.value == pytest.approx(value, abs=1e-6)


def _versus(label: str, versus: PresetName) -> cc.results.ExplanationDiff:
    bellei = cc.preset("bellei")
    return cc.explain(LISTS, TRUTH, user="U2", metric=label, conventions=bellei, versus=versus)


def test_versus_names_the_decisive_convention() -> None:
    both = _versus("AP@5", "rectools")

    assert (both.ours.value, both.theirs.value) == (1 / 2, 1 / 3)
    assert both.path.decisive == ("ap_denominator",)
    assert both.path.alone["ap_denominator"] == 1 / 3
    assert next(path_sentences(both.path)) == (
        "ap_denominator: hits → relevant (the relevant items): 0.5 becomes 0.333333"
    )


def test_versus_tells_of_the_second_list_only_what_differs() -> None:
    same = _versus("AP@5", "rectools").summary.splitlines()
    other_gains = _versus("nDCG@5", "recbole").summary

    assert (
        same[same.index(f"--- rectools {cc.preset('rectools').fingerprint}") + 1] == "the same list"
    )
    assert sum(line.startswith("rank ") for line in same) == 1
    assert "the other ranks as above" in other_gains


def test_versus_shows_a_list_that_lost_its_copies_in_full() -> None:
    both = cc.explain(
        {"u": ["a", "b", "c", "b"]},
        {"u": ["a"]},
        user="u",
        metric="nDCG@10",
        conventions=cc.preset("standard", duplicates="keep"),
        versus=cc.preset("standard", duplicates="drop"),
    )

    _, ours, theirs = str(both).split("rank  item  grade  judged  adds\n")
    assert ("4     b" in ours, "4     b" in theirs) == (True, False)
    assert theirs.startswith("1     a     1      hit     1 × 1 = 1\n2     b\n3     c\n")


def test_versus_names_two_decisive_conventions() -> None:
    both = _versus("nDCG@5", "lenskit")

    assert both.path.decisive == ("discount", "ideal")
    assert both.theirs.value == pytest.approx((1 + 1 / 2) / (1 + 1 + 1 / math.log2(3)))


def test_versus_of_equal_values_names_no_convention() -> None:
    assert tuple(path_sentences(_versus("R@5", "ranx").path)) == (
        "nothing on this list: both give 0.666667",
    )


P_OVERRIDE: dict[str, ConventionOptions] = {"P": {"relevance_threshold": 4}}
STANDARD = cc.preset("standard")
FROM_4 = cc.preset("standard", relevance_threshold=4, err_max_grade=5)


@pytest.mark.parametrize(
    ("label", "conventions", "versus", "changed"),
    [
        # a preset keeps the scale of the data: an item of one star is no hit
        *((label, FROM_4, "standard", False) for label in ("P@2", "nDCG@2", "ERR@2")),
        ("P@2", cc.preset("standard", overrides=P_OVERRIDE), "rectools", False),
        # other conventions are used as they are
        ("P@2", cc.preset("standard", relevance_threshold=4), STANDARD, True),
    ],
)
def test_versus_a_preset_keeps_the_relevance_threshold(
    label: str, conventions: cc.metrics.Conventions, versus: Any, changed: bool
) -> None:
    """The list has an item with one star and one with five."""
    lists, truth = {"u": ["a", "b"]}, {"u": {"a": 1, "b": 5}}
    both = cc.explain(lists, truth, user="u", metric=label, conventions=conventions, versus=versus)

    assert (both.ours.value == both.theirs.value) is not changed
    assert ("relevance_threshold" in both.path.changed) is changed
    assert both.path.decisive == (("relevance_threshold",) if changed else ())
    assert conventions != FROM_4 or tuple(path_sentences(both.path)) == (
        "nothing: both define this metric in the same way",
    )


@pytest.mark.parametrize("label", ["P@2", "Hit@2", "AP@2", "RR@2", "nDCG@2"])
def test_averaged_ties_are_explained_by_their_probabilities(label: str) -> None:
    tied = pl.DataFrame({"user": ["u"] * 3, "item": list("abc"), "score": [2.0, 1.0, 1.0]})
    derivation = cc.explain(
        tied,
        {"u": ["b"]},
        user="u",
        metric=label,
        conventions=cc.preset("standard", ties="average"),
    )

    assert (
        "2     b     1      hit     any of ranks 2 to 3, in the top 2 with chance 0.5"
        in derivation.summary.splitlines()
    )


def test_markdown_escapes_pipes() -> None:
    derivation = cc.explain(
        {"u": ["a|b"]}, {"u": ["a|b"]}, user="u", metric="P@1", conventions=cc.preset("standard")
    )

    assert "\n| 1 | a\\|b | 1 | hit |\n" in derivation.to_markdown()


def test_a_derivation_has_the_words_of_the_ground_truth() -> None:
    qrels = pl.DataFrame({"qid": ["1"], "docno": ["b"], "label": [1]})
    lists = {"1": ["a", "b"]}

    for result in (
        cc.explain(lists, qrels, user="1", metric="RR@2"),
        cc.explain(lists, qrels, user="1", metric="RR@2", versus="pytrec_eval"),
    ):
        assert "RR@2 of query '1'" in str(result)
        assert "relevant documents: 1" in str(result)
        assert "user" not in str(result)
