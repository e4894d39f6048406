"""Corner cases: evaluated users, divisors without a cutoff, and ids of tied items."""

import math
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.data import list_batches, read_columnar, workers
from concord.metrics_core.errors import InputError
from concord.metrics_core.metrics import custom_metric
from concord.metrics_core.metrics.label import parse
from concord.typing import ConventionOptions, PresetName


def _scored(items: list[int], user: str = "u") -> pl.DataFrame:
    """Return one list with equal scores."""
    return pl.DataFrame({"user": user, "item": items, "score": 1.0})


LISTS = {"A": ["x", "y"], "B": ["z"]}


@pytest.mark.parametrize("preset", ["standard", "ir_measures", "pytrec_eval", "ranx", "lenskit"])
def test_evaluated_users_are_chosen_before_unjudged_items_are_removed(preset: PresetName) -> None:
    """A's list without x is [y]; B is only in the lists, with or without items."""
    truth = {"A": {"y": 1}}
    labels = ["nDCG@2", "nDCG(judged_only=true)@2"]

    result = cc.evaluate(LISTS, truth, metrics=labels, conventions=cc.preset(preset))

    evaluated = [result.per_user.drop_nulls(label)["user"].to_list() for label in labels]
    assert evaluated[0] == evaluated[1]
    alone = cc.evaluate({"A": ["y"]}, truth, metrics=["nDCG@2"], conventions=cc.preset(preset))
    users = len(evaluated[0])
    assert result["nDCG(judged_only=true)@2"] == alone["nDCG@2"] / users  # lenskit counts B as 0


ONE, STANDARD, TREC = {"u": ["x"]}, cc.preset("standard"), cc.preset("pytrec_eval")
SHORT_IDEAL = cc.preset("standard", ideal="truth_at_min_k_len")
AVERAGE = cc.preset("standard", ties="average")
TIED = pl.DataFrame({"user": "u", "item": ["a", "x", "b", "c"], "score": 1.0})


@pytest.mark.parametrize(
    ("label", "lists", "truth", "conventions", "values"),
    [
        # A: 1 of 2. B, whose only item is removed: 0 of 2, and not left out as without a list.
        ("P@2", LISTS, {"A": {"y": 1}, "B": {"y": 1}}, TREC, {"A": 0.5, "B": 0.0}),
        # 0 and not 0/0: the truth has a gain
        ("nDCG@2", ONE, {"u": {"y": 1}}, SHORT_IDEAL, {"u": 0.0}),
        ("nDCG", ONE, {"u": {"y": 0}}, STANDARD, {"u": math.nan}),
        # of a, x, b, c, all tied, x is not judged: b is equally likely first, second or third
        ("RR", TIED, {"u": {"a": 0, "b": 1, "c": 0}}, AVERAGE, {"u": (1 + 1 / 2 + 1 / 3) / 3}),
    ],
)
def test_a_list_is_still_a_list_when_its_unjudged_items_are_taken_out(
    label: str,
    lists: Any,
    truth: Any,
    *,
    conventions: cc.metrics.Conventions,
    values: dict[str, float],
) -> None:
    name, at, k = label.partition("@")
    label = f"{name}(judged_only=true){at}{k}"

    result = cc.evaluate(lists, truth, metrics=[label], conventions=conventions)

    assert dict(result.per_user.iter_rows()) == pytest.approx(values, abs=1e-15, nan_ok=True)
    for user, value in values.items():
        derived = cc.explain(lists, truth, user=user, metric=label, conventions=conventions)
        assert derived.value == pytest.approx(value, nan_ok=True)
        assert "user_no_recs: drop" not in derived.summary.splitlines()


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
    label: str, changed: ConventionOptions, value: float
) -> None:
    conventions = cc.preset("standard", **changed)

    assert cc.evaluate(SHORT, FOUR, metrics=[label], conventions=conventions)[
        label
    ] == pytest.approx(value)
    derived = cc.explain(SHORT, FOUR, user="u", metric=label, conventions=conventions)
    assert derived.value == pytest.approx(value)
    assert label != "R" or "R = 1 / 4  (hits / min_k_relevant)" in derived.summary.splitlines()


@pytest.mark.parametrize(("ties", "rank"), [("item_asc", 2), ("item_text_asc", 1)])
def test_lists_are_ranked_by_their_own_ids_whatever_the_truth_has(
    ties: Literal["item_asc", "item_text_asc"], rank: int
) -> None:
    """2 and 10 tie; the pipeline ranks a file before it reads the truth."""
    conventions = cc.preset("standard", ties=ties)

    for truth in ({"u": [10]}, {"u": ["10"]}):
        result = cc.evaluate(_scored([2, 10]), truth, metrics=["RR"], conventions=conventions)
        assert result["RR"] == 1 / rank


@pytest.mark.parametrize(
    ("label", "value"), [("RR", 1), ("RR@5", 1 / 3), ("RBP(p=0.5,rel=1)", 0.5**2 * 0.5)]
)
def test_ir_measures_orders_equal_scores_by_provider(label: str, value: float) -> None:
    """RR is trec_eval's: 9, 2, 10 (text, descending); RR@k msmarco's: 10, 2, 9.

    RBP is cwl_eval's: the order given.
    """
    conventions, lists, truth = cc.preset("ir_measures"), _scored([2, 10, 9]), {"u": [9]}

    assert cc.evaluate(lists, truth, metrics=[label], conventions=conventions)[label] == value
    derived = cc.explain(lists, truth, user="u", metric=label, conventions=conventions)
    assert derived.value == value
    assert f"\n{1 if label == 'RR' else 3}     9 " in str(derived)


def test_an_override_for_labels_with_a_cutoff_goes_before_that_of_the_metric() -> None:
    conventions = cc.preset(
        "standard",
        overrides={"RR": {"rr_cutoff": "none", "ties": "input"}, "RR@k": {"ties": "item_desc"}},
    )

    with_k, without = parse("RR@5").conventions(conventions), parse("RR").conventions(conventions)

    assert (with_k.rr_cutoff, with_k.ties) == ("none", "item_desc")
    assert (without.rr_cutoff, without.ties) == ("none", "input")
    assert [ranking.ties for ranking in conventions.rankings] == ["item_asc", "input", "item_desc"]


@pytest.mark.parametrize(
    ("key", "fix"), [("RR@10", "'RR@k'"), ("Rprec@k", "'Rprec'"), ("rr@k", "'RR@k'")]
)
def test_a_key_that_names_no_labels_is_refused(key: str, fix: str) -> None:
    conventions = cc.preset("standard", overrides={key: {"ties": "input"}})

    with pytest.raises(InputError, match=f"{key}.*is not a metric\n.*did you mean {fix}"):
        cc.evaluate(SHORT, FOUR, metrics=["RR"], conventions=conventions)


@pytest.mark.parametrize("name", ["Novelty", "Coverage", "UserCoverage", "ILD"])
def test_metric_of_whole_lists_takes_no_judged_only(name: str) -> None:
    with pytest.raises(ValueError, match=f"'judged_only=true' is not a parameter of {name}"):
        parse(f"{name}(judged_only=true)@10")


def test_lists_whose_ids_become_text_keep_their_ranks_beyond_accuracy() -> None:
    """10 is behind 2 as a number and before it as text."""
    lists = pl.DataFrame({"user": [2, 2, 10, 10], "item": [1, 2, 2, 1], "rank": [1, 2, 1, 2]})
    truth = pl.DataFrame({"user": ["2", "10"], "item": ["1", "2"]})
    train = pl.DataFrame({"user": [2, 2, 10, 3, 4], "item": [1, 2, 1, 1, 1]})
    labels = ["Novelty@1", "ARP@1", "nDCG@1"]

    result = cc.evaluate(lists, truth, metrics=labels, train=train)

    assert result.per_user.rows() == [("10", 2.0, 1.0, 1.0), ("2", 0.0, 4.0, 1.0)]


def test_a_relevant_item_outside_the_catalogue_belongs_to_no_group_of_another_user() -> None:
    items = pl.DataFrame({"item": list("abc"), "provider": ["g", "h", "h"]})
    values = [
        cc.evaluate(
            {"u1": ["a", "b"], "u2": ["b", "c"]},
            {"u1": {"a": 1}, "u2": {"c": 1, **outside}},
            metrics=["AWRF@2", "EEL@2"],
            items=items,
            columns={"items": {"group": "provider"}},
            conventions=cc.preset("standard", fairness_target="relevant"),
        ).per_user
        for outside in ({}, {"zz": 1})
    ]

    assert values[0].equals(values[1])


def test_a_metric_may_evaluate_lists_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_metric, "_registry", custom_metric.Registry())
    monkeypatch.setattr(list_batches, "MIN_ROWS", 4)
    monkeypatch.setattr(read_columnar, "BATCH_ROWS", 4)
    monkeypatch.setattr(workers, "count_cores", lambda: 2)
    ids = {"user": sorted([*range(9)] * 3), "item": [1, 2, 3] * 9}
    recs = pl.DataFrame({**ids, "rank": ids["item"]})
    truth = pl.DataFrame({"user": range(9), "item": [2] * 9})

    @cc.metric()
    def innermost(lists: cc.metrics.Judged, k: int) -> Any:
        """innermost = hits."""
        return lists.count(k)

    @cc.metric()
    def outermost(lists: cc.metrics.Judged, k: int) -> Any:
        """outermost = the mean of another metric."""
        inner = cc.evaluate(recs, truth, metrics=["innermost@2"])["innermost@2"]
        return np.full(lists.n_users, inner)

    assert cc.evaluate(recs, truth, metrics=["outermost@2"])["outermost@2"] == 1.0
