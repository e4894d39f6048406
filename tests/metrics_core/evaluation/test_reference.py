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
NAMES = (
    *("P", "R", "F1", "Hit", "AP", "RR", "CG", "DCG", "nDCG", "RBP(p=0.8)", "HLU(halflife=3)"),
    *("ERR", "nERR", "Q(beta=1)", "O(beta=1)", "Bpref", "AP(rel=2)"),
)
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
    lists_unknown_items = options.get("lists_unknown_items", False)
    references = compute_references(
        labels, conventions, data, lists_unknown_items=lists_unknown_items
    )
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
    conventions = {**STANDARD, **changes}
    metrics = [f"{name}@{k}" for name in NAMES for k in (1, 2, 4)]
    copies = 100  # of each user, so that draws have small errors
    truth = {f"{user}{n}": items for user, items in TRUTH.items() for n in range(copies)}
    lists = every_list(TRUTH, metrics, conventions)

    references = references_of(truth, metrics, conventions=conventions, items=catalogue(ITEMS))

    n_best = 0
    for reference in references.values:
        users = [*lists[reference.label].values()]
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
            best = [
                np.nanmax(np.concatenate([*each.values()])) for each in users if not all_nan(each)
            ]
            assert reference.best_possible == approx(statistics.fmean(best)), reference.label
            n_best += 1
    assert n_best >= 36 or changes == {"truth_visible": "retrieved"}


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


def interactions(seed: int, n_users: int, n_items: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return train and ground truth without a common pair, with text ids whose order is not 1, 2"""
    random = np.random.default_rng(seed)
    drawn = pl.DataFrame(
        {
            "user": random.integers(0, n_users, 12 * n_users),
            "item": np.minimum(random.geometric(0.1, 12 * n_users), n_items),
            "grade": random.integers(1, 4, 12 * n_users).astype(float),
        }
    ).unique(["user", "item"], maintain_order=True)
    rows = drawn.with_columns(pl.col("user", "item").cast(pl.String))
    return rows.head(8 * n_users).select("user", "item"), rows.slice(8 * n_users)


def most_popular_lists(
    train: pl.DataFrame, users: list[str], *, repeats: bool = False, allowed: Any = None
) -> dict[str, list[str]]:
    """Return what a recommender of the most popular items returns, in plain Python."""
    own: dict[str, set[str]] = {}
    for user, item in train.iter_rows():
        own.setdefault(str(user), set()).add(str(item))
    count = Counter(item for items in own.values() for item in items)
    order = sorted(count, key=lambda item: (-count[item], item))
    order = [item for item in order if allowed is None or item in allowed]
    return {
        user: [item for item in order if repeats or item not in own.get(user, ())] for user in users
    }


MEASURED = ["nDCG@5", "AP@10", "RR@3", "P@5", "Hit@1", "ERR@10", "R@10"]
STANDARD: Any = {**cc.preset("standard").as_dict(), "preset": "custom"}


@pytest.mark.parametrize("has_items", [True, False])
def test_most_popular_is_the_value_of_real_lists(has_items: bool) -> None:
    train, truth = interactions(1, 300, 60)
    items = [str(n) for n in range(1, 61) if n != 3] if has_items else None  # a popular one lacks
    lists = most_popular_lists(train, truth["user"].unique().to_list(), allowed=items)
    real = cc.evaluate(lists, truth, metrics=MEASURED)

    references = references_of(
        truth, MEASURED, train=train, items=None if items is None else catalogue(items)
    )

    assert not references.repeats
    for each in references.values:
        assert each.most_popular == approx(real[each.label], rel=1e-14), each.label


def test_train_that_the_ground_truth_repeats_stays_in_the_lists() -> None:
    train, truth = interactions(2, 200, 40)
    repeated = train.group_by("user").first().with_columns(grade=pl.lit(1.0))
    truth = pl.concat([truth, repeated.select("user", "item", "grade")])
    lists = most_popular_lists(train, truth["user"].unique().to_list(), repeats=True)
    real = cc.evaluate(lists, truth, metrics=["nDCG@5", "P@5"])

    references = references_of(truth, ["nDCG@5", "P@5"], train=train)

    assert references.repeats
    for each in references.values:
        assert each.most_popular == approx(real[each.label], rel=1e-14)


def test_blocks_types_of_ids_and_order_of_rows_change_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, truth = interactions(3, 300, 50)
    expected = references_of(truth, ["nDCG@5", "RR@5"], train=train)

    shuffled = truth.sample(fraction=1, shuffle=True, seed=1)
    assert references_of(shuffled, ["nDCG@5", "RR@5"], train=train.reverse()) == expected
    numbers = references_of(truth, ["nDCG@5", "RR@5"], train=train.cast(pl.Int64))
    assert numbers == expected
    monkeypatch.setattr(listable_items, "ROWS_PER_BLOCK", 7)
    assert references_of(truth, ["nDCG@5", "RR@5"], train=train) == expected


def test_draws_do_not_depend_on_the_order_of_rows() -> None:
    train, truth = interactions(4, 100, 50)
    shuffled = truth.sample(fraction=1, shuffle=True, seed=1)

    first, second = (
        references_of(rows, ["ERR@5", "Bpref@5"], train=train) for rows in (truth, shuffled)
    )

    assert first == second


def test_lists_that_may_hold_unknown_items_reach_items_outside_the_catalogue() -> None:
    options = {"items": catalogue(list("abc"))}

    known = reference_of({"u": ["a", "z"]}, "R@2", **options)
    unknown = reference_of({"u": ["a", "z"]}, "R@2", lists_unknown_items=True, **options)

    assert (known.best_possible, unknown.best_possible) == (1 / 2, 1)
    assert known.chance == approx((2 / 3) / 2)
    assert unknown.chance == approx(2 / 4)


def test_excluded_items_are_not_listed() -> None:
    truth = {"a": ["b"], "x": ["b", "c"]}  # the catalogue has a, and no x
    conventions = {"preset": "standard", "exclude": "same_id"}
    train = pl.DataFrame({"user": list("ppqqr"), "item": list("abacb")})
    options = {"conventions": conventions, "items": catalogue(list("abc")), "train": train}

    references = references_of(truth, ["P@1"], **options)

    assert references.values[0].chance == approx((1 / 2 + 2 / 3) / 2)
    assert references.values[0].most_popular == approx((1 + 0) / 2)  # b is second to a
    assert references.hits[0].chance == approx(1 / 2 + 2 / 3)
    pairs = cc.data.excluded_pairs({"x": ["a", "c"], "a": ["a"]})
    options["conventions"] = {"preset": "standard", "exclude": pairs}
    truth = {"a": ["b"], "x": ["b"]}
    assert reference_of(truth, "P@1", **options) == Reference(
        "P@1", chance=(1 / 2 + 1) / 2, most_popular=1.0, best_possible=1.0
    )


def test_chance_of_sampled_candidates_is_that_of_a_full_ranking() -> None:
    candidates = {"negatives": 10, "catalogue": 50, "sampling": "uniform"}
    conventions: Any = {"preset": "standard", "candidates": candidates}
    truth = {f"u{n}": ["a"] for n in range(11)}
    ranks = {f"u{n}": [*map(str, range(n)), "a", *map(str, range(n, 10))] for n in range(11)}
    metrics = ["nDCG@5", "Hit@10", "RR@20"]
    every_rank = cc.evaluate(ranks, truth, metrics=metrics, conventions=conventions)

    references = references_of(truth, metrics, conventions=conventions)

    for each in references.values:
        assert each.chance == approx(every_rank[each.label])  # each rank is equally likely
        assert each.best_possible == 1
    assert references.values[0].chance == approx(10 / 50)
    assert references.hits[0].chance == approx(11 * 5 / 11)  # of lists of 11 candidates
    assert references.values[0].most_popular is None


def test_sessions_read_the_train_of_their_user() -> None:
    train = pl.DataFrame({"user": ["u", "u", "v"], "item": ["a", "b", "a"]})
    truth = pl.DataFrame(
        {"user": ["u", "u", "v"], "session": ["1", "2", "1"], "item": ["c", "d", "b"]}
    )
    conventions = {"preset": "standard", "unit_mean": "users"}
    options = {"conventions": conventions, "unit": ["user", "session"], "train": train}

    references = references_of(truth, ["RR@2"], **options)

    # all items are a, b, c, d; u has a and b, v has a: v's list is b
    assert references.values[0].most_popular == approx(((0 + 0) / 2 + 1) / 2)
    assert references.values[0].chance == approx(1 / 4 + (1 / 2) * (1 / 4))


@pytest.mark.parametrize(
    ("options", "known"),
    [
        ({}, (False, False)),
        ({"items": catalogue(ITEMS)}, (True, False)),
        ({"train": pl.DataFrame({"user": ["u"], "item": ["e"]})}, (True, True)),
    ],
    ids=str,
)
def test_chance_needs_known_items_and_popularity_needs_train(
    options: Any, known: tuple[bool, bool]
) -> None:
    references = references_of({"u": ["a", "b"]}, ["P@1", "P@4"], **options)
    first = references.values[0]

    assert (first.chance is not None, first.most_popular is not None) == known
    assert (references.hits[0].chance is not None) == known[0]
    assert [each.best_possible for each in references.values] == [1, 2 / 4]


def test_users_without_items_count_by_their_policy() -> None:
    truth = {"u": ["a"], "v": []}
    conventions = {**STANDARD, "user_empty_truth": "zero"}
    items = catalogue(ITEMS)

    assert reference_of(truth, "Hit@1", items=items).best_possible == 1
    zero = reference_of(truth, "Hit@1", items=items, conventions=conventions)
    assert zero.best_possible == 1 / 2
    conventions["user_empty_truth"] = "error"  # concerns lists of models only
    error = reference_of(truth, "Hit@1", items=items, conventions=conventions)
    assert error.best_possible == 1
