"""`cc.explain` derives what `cc.evaluate` computes, in the arithmetic of the worked examples."""

import math
from functools import cache
from itertools import product
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.reports.text.explain import path_sentences
from tests.metrics_core.metrics.strategies import label_of

LISTS = {"U1": [1, 6, 8], "U2": [1, 2, 3, 4, 5], "U3": [], "U4": [1, 2, 3, 4], "U5": []}
TRUTH = {"U1": [1, 2, 3, 4, 5, 6], "U2": [2, 4, 6], "U3": [2, 4, 6], "U4": [], "U5": []}
STEPPED = [m for m in CATALOGUE if m.family in {"accuracy", "agreement"}]
LABELS = [label_of(metric) for metric in STEPPED]
CUT = [label_of(metric, 3) for metric in STEPPED if metric.takes_k]


@cache
def _evaluated(label: str) -> pl.DataFrame:
    """Each label once, for all users."""
    return cc.evaluate(LISTS, TRUTH, metrics=[label], conventions=cc.preset("bellei")).per_user


@pytest.mark.parametrize(
    ("user", "label"),
    [*product(LISTS, LABELS), *product(("U1", "U2"), CUT)],  # policies do not depend on the cutoff
)
def test_the_derived_value_is_the_evaluated_value(user: str, label: str) -> None:
    bellei = cc.preset("bellei")
    values = _evaluated(label)
    expected = values.filter(values["user"] == user)[label][0]

    derived = cc.explain(LISTS, TRUTH, user=user, metric=label, conventions=bellei)

    assert derived.value is not None
    assert derived.value == expected or (math.isnan(derived.value) and math.isnan(expected))
    assert derived.summary.splitlines()[0] == f"{label} of user {user!r}"
    assert derived.summary.splitlines()[-1] == f"{label} = {expected:.6g}"


def test_average_precision_is_derived_as_on_paper(capsys: pytest.CaptureFixture[str]) -> None:
    cc.explain(LISTS, TRUTH, user="U2", metric="AP@5", conventions=cc.preset("bellei"))

    assert capsys.readouterr().out == (
        "AP@5 of user 'U2'\n"
        "relevant: grade >= 1; 3 relevant item(s) in the truth, 5 in the list\n"
        "  rank 1: 1\n"
        "  rank 2: 2, grade 1: hit  [1/2]\n"
        "  rank 3: 3\n"
        "  rank 4: 4, grade 1: hit  [2/4]\n"
        "  rank 5: 5\n"
        "AP = (1/2 + 2/4) / 2  (sum / hits)\n"
        "AP@5 = 0.5\n"
    )


def test_policy_is_named_where_it_replaces_the_formula() -> None:
    derived = cc.explain(LISTS, TRUTH, user="U3", metric="P@5", conventions=cc.preset("bellei"))

    assert "user_no_recs: zero" in derived.summary.splitlines()


def test_integer_users_are_found_by_their_text() -> None:
    derived = cc.explain(
        {7: [1, 2]}, {7: [2]}, user="7", metric="RR", conventions=cc.preset("standard")
    )

    assert derived.value == 1 / 2


def test_an_unknown_user_is_refused() -> None:
    with pytest.raises(ValueError, match="user 'nobody': is neither in the lists nor in the truth"):
        cc.explain(LISTS, TRUTH, user="nobody", metric="P@5", conventions=cc.preset("bellei"))


# The arithmetic that stands in the texts, line for line.
PAPER = [
    ("bellei", "P@5", [1, 2, 3, 4, 5], [2, 4, 6], "P = 2 / 5  (hits / k)", 2 / 5),
    ("bellei", "F1@3", [1, 2, 3, 4, 5], [2, 4, 6], "F1 = 2 × 0.333333 × 0.333333 / (0.333333 + 0.333333)", 1 / 3),
    ("bellei", "RR@3", [1, 2, 3, 4, 5], [2, 4, 6], "RR = 1 / 2  (the first hit)", 1 / 2),
    ("minnesota", "AP", list("abcde"), list("acd"), "AP = (1/1 + 2/3 + 3/4) / 3  (sum / hits)", (1 + 2 / 3 + 3 / 4) / 3),
    ("amitness", "AP", list("abcde"), list("ace"), "AP = (1/1 + 2/3 + 3/5) / 3  (sum / relevant)", (1 + 2 / 3 + 3 / 5) / 3),
    ("amitness", "CG@3", list("abcde"), {"a": 3, "b": 2, "c": 3, "e": 1}, "CG = 3 + 2 + 3", 8),
    ("amitness", "nDCG@5", list("abcde"), {"a": 3, "b": 2, "c": 3, "e": 1}, "ideal DCG = 3 × 1 + 3 × 0.63093 + 2 × 0.5 + 1 × 0.430677 = 6.32347  (retrieved)", 0.9723643),
    ("minnesota", "nDCG", list("ABCD"), {"A": 4, "B": 3, "C": 0, "D": 5}, "nDCG = 9.5 / 10.8928", 0.8721359),
    ("wikipedia", "DCG@6", list("abcdef"), {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2}, "DCG = 3 + 1.26186 + 1.5 + 0.386853 + 0.712414 = 6.86113", 6.861127),
]  # fmt: skip


@pytest.mark.parametrize(("preset", "label", "listed", "truth", "line", "value"), PAPER)
def test_the_seeds_are_derived_as_on_paper(
    preset: str, label: str, listed: Any, *, truth: Any, line: str, value: float
) -> None:
    derived = cc.explain(
        {"u": listed}, {"u": truth}, user="u", metric=label, conventions=cc.preset(preset)
    )

    assert line in derived.summary.splitlines()
    assert derived.value == pytest.approx(value, abs=1e-6)


def _versus(label: str, versus: str) -> cc.ExplanationDiff:
    bellei = cc.preset("bellei")
    return cc.explain(LISTS, TRUTH, user="U2", metric=label, conventions=bellei, versus=versus)


def test_versus_names_the_one_convention_that_makes_the_difference() -> None:
    both = _versus("AP@5", "rectools")

    assert (both.ours.value, both.theirs.value) == (1 / 2, 1 / 3)
    assert both.path.decisive == ("ap_denominator",)
    assert both.path.alone["ap_denominator"] == 1 / 3
    assert "ap_denominator: 0.5 becomes 0.333333" in path_sentences(both.path)


def test_versus_names_two_conventions_where_it_takes_two() -> None:
    both = _versus("nDCG@5", "lenskit")

    assert both.path.decisive == ("discount", "ideal")
    assert both.theirs.value == pytest.approx((1 + 1 / 2) / (1 + 1 + 1 / math.log2(3)))


def test_versus_says_so_where_both_agree() -> None:
    assert tuple(path_sentences(_versus("R@5", "ranx").path)) == (
        "nothing on this list: both give 0.666667",
    )


OF_P = {"P": {"relevance_threshold": 4}}
STANDARD = cc.preset("standard")
FROM_4 = cc.preset("standard", relevance_threshold=4, err_max_grade=5)


@pytest.mark.parametrize(
    ("label", "conventions", "versus", "changed"),
    [
        # a preset keeps the scale of the data: none makes an item of one star a hit
        *((label, FROM_4, "standard", False) for label in ("P@2", "nDCG@2", "ERR@2")),
        ("P@2", cc.preset("standard", overrides=OF_P), "rectools", False),
        # other conventions are taken by value
        ("P@2", cc.preset("standard", relevance_threshold=4), STANDARD, True),
    ],
)
def test_versus_a_preset_keeps_the_relevance_threshold(
    label: str, conventions: cc.Conventions, versus: Any, changed: bool
) -> None:
    """The list has an item of one star and one of five."""
    lists, truth = {"u": ["a", "b"]}, {"u": {"a": 1, "b": 5}}
    both = cc.explain(lists, truth, user="u", metric=label, conventions=conventions, versus=versus)

    assert (both.ours.value == both.theirs.value) is not changed
    assert ("relevance_threshold" in both.path.changed) is changed
    assert both.path.decisive == (("relevance_threshold",) if changed else ())
    assert conventions != FROM_4 or tuple(path_sentences(both.path)) == (
        "nothing: the two define this metric alike",
    )


@pytest.mark.parametrize("label", ["P@3", "Hit@3", "AP@3", "RR@3", "nDCG@3"])
def test_averaged_ties_are_explained_by_their_probabilities(label: str) -> None:
    tied = pl.DataFrame({"user": ["u"] * 3, "item": list("abc"), "score": [2.0, 1.0, 1.0]})
    derived = cc.explain(
        tied, {"u": ["b"]}, user="u", metric=label.replace("3", "2"),
        conventions=cc.preset("standard", ties="average"),
    )  # fmt: skip

    assert "  rank 2: b, grade 1: hit  [any of ranks 2 to 3, in the top 2 with chance 0.5]" in derived.summary.splitlines()  # fmt: skip


def test_markdown_escapes_what_would_break_the_table() -> None:
    derived = cc.explain(
        {"u": ["a|b"]}, {"u": ["a|b"]}, user="u", metric="P@1", conventions=cc.preset("standard")
    )

    assert "| 1 | a\\|b | 1 | hit | hit |" in derived.to_markdown()
