"""Who is evaluated, what is divided by without a cutoff, and how ids are compared where scores tie."""

import math

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.conventions import ConventionError
from concord.metrics_core.metrics.catalogue import parse


def _scored(items: list[int], user: str = "u") -> pl.DataFrame:
    """One list in which all scores are equal."""
    return pl.DataFrame({"user": user, "item": items, "score": 1.0})


LISTS = {"A": ["x", "y"], "B": ["z"]}


@pytest.mark.parametrize("preset", ["standard", "ir_measures", "pytrec_eval", "ranx", "lenskit"])
def test_who_is_evaluated_is_decided_before_items_that_nobody_judged_are_taken_out(
    preset: str,
) -> None:
    """A's list is [y] when x is gone; B stands in the lists only, with or without items."""
    truth = {"A": {"y": 1}}
    labels = ["nDCG@2", "nDCG(judged_only=true)@2"]

    found = cc.evaluate(LISTS, truth, metrics=labels, conventions=cc.preset(preset))

    evaluated = [found.per_user.drop_nulls(label)["user"].to_list() for label in labels]
    assert evaluated[0] == evaluated[1]
    alone = cc.evaluate({"A": ["y"]}, truth, metrics=["nDCG@2"], conventions=cc.preset(preset))
    users = len(evaluated[0])
    assert found["nDCG(judged_only=true)@2"] == alone["nDCG@2"] / users  # lenskit counts B as 0


def test_a_list_of_which_nothing_is_judged_is_still_a_list() -> None:
    """P@2 of A: 1 of 2; of B, whose only item goes, 0 of 2, and not left out as one without list."""
    truth = {"A": {"y": 1}, "B": {"y": 1}}
    own = cc.preset("pytrec_eval")
    label = "P(judged_only=true)@2"

    found = cc.evaluate(LISTS, truth, metrics=[label], conventions=own)

    assert dict(found.per_user.iter_rows()) == {"A": 0.5, "B": 0.0}
    derived = cc.explain(LISTS, truth, user="B", metric=label, conventions=own)
    assert derived.value == 0.0
    assert "user_no_recs: drop" not in derived.lines


def test_a_list_without_judged_items_earns_nothing_of_an_ideal_that_its_length_cuts() -> None:
    """0 of what there is to find, and not 0/0: the truth holds a gain."""
    own = cc.preset("standard", ideal="truth_at_min_k_len")
    label = "nDCG(judged_only=true)@2"

    assert cc.evaluate({"u": ["x"]}, {"u": {"y": 1}}, metrics=[label], conventions=own)[label] == 0
    derived = cc.explain({"u": ["x"]}, {"u": {"y": 1}}, user="u", metric=label, conventions=own)
    assert derived.value == 0


def test_equal_scores_are_averaged_over_the_places_that_judged_items_have() -> None:
    """Of a, x, b, c, all equal, x is not judged: b is first, second or third alike. RR = (1 + 1/2 + 1/3) / 3."""
    lists = pl.DataFrame({"user": "u", "item": ["a", "x", "b", "c"], "score": 1.0})
    truth = {"u": {"a": 0, "b": 1, "c": 0}}
    own = cc.preset("standard", ties="average")

    found = cc.evaluate(lists, truth, metrics=["RR(judged_only=true)"], conventions=own)

    assert found["RR(judged_only=true)"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-15)


SHORT = {"u": ["a", "x"]}  # one hit in a list of 2
FOUR = {"u": ["a", "b", "c", "d"]}  # four relevant items


@pytest.mark.parametrize(
    ("label", "changed", "value"),
    [
        ("R", {"recall_denominator": "min_k_relevant"}, 1 / 4),
        ("R@2", {"recall_denominator": "min_k_relevant"}, 1 / 2),
        ("P", {"precision_denominator": "min_k_relevant"}, 1 / 4),
        ("P@3", {"precision_denominator": "min_k_relevant"}, 1 / 3),
        ("P", {"precision_denominator": "k"}, 1 / 2),
        ("AP", {"ap_denominator": "min_k_relevant"}, 1 / 4),
        ("AP@3", {"ap_denominator": "min_k_relevant"}, 1 / 3),
        ("AP", {"ap_denominator": "min_len_relevant"}, 1 / 2),
        ("AP", {"ap_denominator": "k"}, 1 / 2),
        ("F1", {"recall_denominator": "min_k_relevant"}, 2 * 1 / 2 * 1 / 4 / (1 / 2 + 1 / 4)),
        ("Hit", {"hit_kind": "count"}, 1),
    ],
)
def test_without_a_cutoff_no_length_takes_its_place_among_the_relevant_items(
    label: str, changed: dict[str, str], value: float
) -> None:
    own = cc.preset("standard", **changed)

    assert cc.evaluate(SHORT, FOUR, metrics=[label], conventions=own)[label] == pytest.approx(value)
    derived = cc.explain(SHORT, FOUR, user="u", metric=label, conventions=own)
    assert derived.value == pytest.approx(value)


def test_the_derivation_divides_by_what_the_metric_divides_by() -> None:
    own = cc.preset("lenskit")

    derived = cc.explain(SHORT, FOUR, user="u", metric="R", conventions=own)

    assert "R = 1 / 4  (hits / min_k_relevant)" in derived.lines


def test_pytrec_eval_evaluates_users_with_a_list_only() -> None:
    """A has a list; B is judged and has none, C is judged not relevant and has none."""
    lists, truth = {"A": ["x"]}, {"A": {"x": 1}, "B": {"x": 1}, "C": {"x": 0}}

    found = cc.evaluate(lists, truth, metrics=["P@1"], conventions=cc.preset("pytrec_eval"))

    assert found["P@1"] == 1.0
    assert found.per_user.drop_nulls()["user"].to_list() == ["A"]


@pytest.mark.parametrize(
    ("ties", "order"),
    [
        ("item_asc", [2, 10, 100]),
        ("item_desc", [100, 10, 2]),
        ("item_text_asc", [10, 100, 2]),
        ("item_text_desc", [2, 100, 10]),
    ],
)
def test_integers_are_compared_as_numbers_or_as_text(ties: str, order: list[int]) -> None:
    own = cc.preset("standard", ties=ties)

    ranks = {
        item: 1 / cc.evaluate(_scored([10, 2, 100]), {"u": [item]}, metrics=["RR"], conventions=own)["RR"]
        for item in order
    }  # fmt: skip

    assert sorted(ranks, key=ranks.__getitem__) == order


@pytest.mark.parametrize(("ties", "rank"), [("item_asc", 2), ("item_text_asc", 1)])
def test_lists_are_ranked_by_their_own_ids_whatever_the_truth_has(ties: str, rank: int) -> None:
    """2 and 10, equal; the pipeline ranks a file before it reads the truth."""
    own = cc.preset("standard", ties=ties)

    for truth in ({"u": [10]}, {"u": ["10"]}):
        found = cc.evaluate(_scored([2, 10]), truth, metrics=["RR"], conventions=own)
        assert found["RR"] == 1 / rank


def test_ir_measures_orders_equal_scores_by_provider() -> None:
    """trec_eval: 9, 2, 10 (text, descending); msmarco, which has RR@k: 10, 2, 9; cwl_eval, which has RBP: as given."""
    own = cc.preset("ir_measures")
    labels = ["RR", "RR@5", "RBP(p=0.5,rel=1)"]

    found = cc.evaluate(_scored([2, 10, 9]), {"u": [9]}, metrics=labels, conventions=own)

    assert [found[label] for label in labels] == [1, 1 / 3, 0.5**2 * 0.5]


@pytest.mark.parametrize("metric", ["RR", "RR@5"])
def test_explain_ranks_as_the_label_does(metric: str) -> None:
    own = cc.preset("ir_measures")
    value = cc.evaluate(_scored([2, 10, 9]), {"u": [9]}, metrics=[metric], conventions=own)[metric]

    derived = cc.explain(_scored([2, 10, 9]), {"u": [9]}, user="u", metric=metric, conventions=own)

    assert derived.value == value
    assert f"rank {round(1 / value)}: 9" in str(derived)


def test_an_override_for_labels_with_a_cutoff_goes_before_that_of_the_metric() -> None:
    own = cc.preset(
        "standard", overrides={"RR": {"rr_cutoff": "none", "ties": "input"}, "RR@k": {"ties": "item_desc"}}
    )  # fmt: skip

    with_k, without = parse("RR@5").conventions(own), parse("RR").conventions(own)

    assert (with_k.rr_cutoff, with_k.ties) == ("none", "item_desc")
    assert (without.rr_cutoff, without.ties) == ("none", "input")
    assert [ranking.ties for ranking in own.rankings] == ["item_asc", "input", "item_desc"]


@pytest.mark.parametrize(
    ("key", "fix"), [("RR@10", "'RR@k'"), ("Rprec@k", "'Rprec'"), ("rr@k", "'RR@k'")]
)
def test_a_key_that_names_no_labels_is_refused(key: str, fix: str) -> None:
    own = cc.preset("standard", overrides={key: {"ties": "input"}})

    with pytest.raises(ConventionError, match=f"{key}.*is no metric\n.*did you mean {fix}"):
        cc.evaluate(SHORT, FOUR, metrics=["RR"], conventions=own)


@pytest.mark.parametrize("name", ["Novelty", "Coverage", "UserCoverage", "ILD"])
def test_what_reads_whole_lists_takes_no_judged_only(name: str) -> None:
    with pytest.raises(ValueError, match=f"'judged_only=true' is no parameter of {name}"):
        parse(f"{name}(judged_only=true)@10")


def test_a_user_whose_grades_are_0_stays_undefined_with_judged_items_only() -> None:
    found = cc.evaluate(
        {"u": ["x"]},
        {"u": {"y": 0}},
        metrics=["nDCG(judged_only=true)"],
        conventions=cc.preset("standard"),
    )

    assert math.isnan(found["nDCG(judged_only=true)"])
