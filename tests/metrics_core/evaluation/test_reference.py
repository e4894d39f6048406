"""References: chance and best possible against all lists, most popular against real lists."""

import math
import statistics
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.presets import resolve_conventions
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.evaluation import listable_items
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.dataset import TableLoader, load_dataset
from concord.metrics_core.evaluation.reference import compute_references
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.reference import Reference, References

approx = pytest.approx
Truth = dict[str, dict[str, float]]
NAMES = ("P", "R", "F1", "Hit", "AP", "RR", "CG", "DCG", "nDCG", "RBP(p=0.8)", "HLU(halflife=3)")
NAMES = (*NAMES, "ERR", "nERR", "Q(beta=1)", "O(beta=1)", "Bpref", "AP(rel=2)")
ITEMS = list("abcde")
# z is not in the catalogue; 0 is below the threshold
TRUTH: Truth = {"u": {"a": 3, "b": 1, "z": 2}, "v": {"c": 2, "d": 1, "e": 0}, "w": {"b": 2}}


def references_of(truth: Any, metrics: Any, **options: Any) -> References:
    """Return the references of labels; options: conventions, train, items, words."""
    conventions = resolve_conventions(options.get("conventions", "standard"))
    labels = [parse(metric) for metric in metrics]
    config = EvaluationConfig.of_one_model(labels, conventions)
    loader = TableLoader(
        config,
        parse_policies({}),
        {},
        options.get("unit", ()),
        options.get("words"),
        allows_none_relevant=True,
    )
    side_data = {role: options.get(role) for role in ("train", "items")}
    data = load_dataset(loader, {NO_FOLD: truth}, side_data).data
    references = compute_references(labels, conventions, data)
    assert references is not None
    return references


def reference_of(truth: Any, metric: str, **options: Any) -> Reference:
    """Return the reference of one label."""
    (reference,) = references_of(truth, [metric], **options).values
    return reference


def catalogue(items: Any) -> pl.DataFrame:
    return pl.DataFrame({"item": items})


A = {"u": ["a", "b"]}  # two relevant items in a catalogue of five


# label, chance, best possible of A; weights of ranks 1, 2, 3 are 1, 1/log2 3, 1/2
@pytest.mark.parametrize(
    ("metric", "chance", "best"),
    [
        ("P@3", 2 / 5, 2 / 3),  # each rank hits with probability 2/5
        ("R@3", 3 * (2 / 5) / 2, 1),
        ("F1@3", 2 * (3 * 2 / 5) / (3 + 2), 2 * 2 / (3 + 2)),  # 2 hits / (k + R)
        ("Hit@2", 1 - (3 / 5) * (2 / 4), 1),
        ("RR@2", 2 / 5 + (1 / 2) * (3 / 5) * (2 / 4), 1),
        # rank 1 hits: P@1 = 1; rank 2 hits: the other hit is above with probability 1/4
        ("AP@2", ((2 / 5) * 1 + (2 / 5) * (1 + 1 / 4) / 2) / 2, 1),
        ("DCG@2", (2 / 5) * (1 + 1 / math.log2(3)), 1 + 1 / math.log2(3)),
        ("nDCG@2", 2 / 5, 1),
        ("CG@2", 2 * 2 / 5, 2),
        ("RBP(p=0.5)@2", 0.5 * (2 / 5) * (1 + 0.5), 0.5 * (1 + 0.5)),
    ],
)
def test_two_relevant_items_among_five(metric: str, chance: float, best: float) -> None:
    reference = reference_of(A, metric, items=catalogue(ITEMS))

    assert reference.chance == approx(chance)
    assert reference.best_possible == approx(best)


def test_the_best_list_of_err_has_the_best_grade_first() -> None:
    reference = reference_of({"u": {"a": 1, "b": 4}}, "ERR@2", items=catalogue(ITEMS))

    # 15/16 satisfied by b, the others with 1/16 by a
    assert reference.best_possible == approx(15 / 16 + (1 / 2) * (1 / 16) * (1 / 16))


def test_hits_of_all_users_in_the_top_k() -> None:
    truth = {"u": ["a", "b", "z"], "v": ["c"]}  # z cannot be listed

    hits = references_of(truth, ["P@1", "R@3"], items=catalogue(ITEMS)).hits

    assert [(each.k, each.best_possible) for each in hits] == [(1, 1 + 1), (3, 2 + 1)]
    assert [each.chance for each in hits] == approx([(2 + 1) * 1 / 5, (2 + 1) * 3 / 5])


def every_list(truth: Truth, metrics: list[str], conventions: Any) -> dict[str, Any]:
    """Return label -> user -> the values of all lists of the catalogue's items, by their length."""
    lists, judged = {}, {}
    for user, items in truth.items():
        for n in range(1, len(ITEMS) + 1):
            for number, order in enumerate(permutations(ITEMS, n)):
                lists[f"{user}-{n}-{number}"] = list(order)
                judged[f"{user}-{n}-{number}"] = items
    table = cc.evaluate(lists, judged, metrics=metrics, conventions=conventions).per_user
    found: dict[str, Any] = {metric: {user: {} for user in truth} for metric in metrics}
    for row in table.iter_rows(named=True):
        user, n, _ = row["user"].split("-")
        for metric in metrics:
            found[metric][user].setdefault(int(n), []).append(row[metric])
    return found


CONVENTIONS: list[dict[str, Any]] = [
    {},
    {"precision_denominator": "len", "ap_denominator": "relevant", "gain": "exp2"},
    {"precision_denominator": "min_k_relevant", "recall_denominator": "min_k_relevant"},
    {"precision_denominator": "min_len_relevant", "ap_denominator": "min_len_relevant"},
    {"ap_denominator": "hits", "hit_kind": "count", "rbp_gain": "linear", "ideal": "truth"},
    {"ap_denominator": "hits", "ap_sum_over": "all_ranks", "rbp_norm": "sum_weights"},
    {"ap_denominator": "k", "ap_sum_over": "all_ranks", "rr_cutoff": "none"},
    {"ap_denominator": "min_len_relevant", "ap_sum_over": "all_ranks", "hlu_norm": "none"},
    {"gain": {"map": {1: 5, 2: 1, 3: 0}}, "ideal": "retrieved_at_k", "discount": {"jk": 2}},
    {"gain": "binary", "ideal": "full_k", "relevance_threshold": 2},
    {"ideal": "retrieved", "relevance_threshold": None, "discount": {"geometric": 0.5}},
    {"ideal": "truth_at_min_k_len", "user_empty_truth": "zero", "relevance_threshold": 3},
    {"truth_visible": "retrieved"},
]


@pytest.mark.parametrize("changes", CONVENTIONS, ids=str)
def test_all_lists_have_these_means_and_maxima(changes: dict[str, Any]) -> None:
    conventions = {"preset": "custom", **cc.preset("standard").as_dict(), **changes}
    conventions["preset"] = "custom"
    metrics = [f"{name}@{k}" for name in NAMES for k in (1, 2, 4)]
    copies = 100  # of each user, so that draws have small errors
    truth = {f"{user}{n}": items for user, items in TRUTH.items() for n in range(copies)}
    lists = every_list(TRUTH, metrics, conventions)

    references = references_of(truth, metrics, conventions=conventions, items=catalogue(ITEMS))

    n_best = 0
    for reference in references.values:
        users = [by_length for by_length in lists[reference.label].values()]
        whole = [[x for x in each[len(ITEMS)] if not math.isnan(x)] for each in users]
        whole = [each for each in whole if each]  # undefined users are skipped
        assert reference.chance is not None or changes == {"truth_visible": "retrieved"}
        if reference.chance is not None:
            errors = [statistics.pvariance(each) / (20 * copies) for each in whole]
            error = 4 * math.sqrt(sum(errors)) / len(whole)
            expected = statistics.fmean(map(statistics.fmean, whole))
            is_close = reference.chance == approx(expected, rel=1e-12)
            assert is_close or abs(reference.chance - expected) < error, reference.label
            assert is_close or is_drawn(reference.label, changes), reference.label
        if reference.best_possible is not None:
            best = [np.nanmax(sum(each.values(), [])) for each in users if not all_nan(each)]
            assert reference.best_possible == approx(statistics.fmean(best)), reference.label
            n_best += 1
    assert n_best >= 40 or changes == {"truth_visible": "retrieved"}


def all_nan(by_length: dict[int, list[float]]) -> bool:
    return all(math.isnan(value) for values in by_length.values() for value in values)


def is_drawn(label: str, changes: dict[str, Any]) -> bool:
    """True if ties have no expected value."""
    name = label.partition("@")[0].partition("(")[0]
    no_closed_form = changes.get("ap_denominator") == "hits" or "ap_sum_over" in changes
    return (
        name in {"ERR", "nERR", "Q", "O", "Bpref", "HLU"}
        or (name == "AP" and no_closed_form)
        or (name == "nDCG" and changes.get("ideal") == "retrieved_at_k")
    )
