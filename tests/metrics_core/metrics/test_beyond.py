"""The metrics beyond accuracy: worked examples, the definitions on random worlds, and the edges."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import log, log2, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.metrics import beyond_accuracy, exposure
from concord.metrics_core.metrics.exposure import Exposure, count_exposure
from concord.metrics_core.metrics.ranked_lists import Items, RankedLists
from tests.metrics_core.metrics import reference_beyond as reference
from tests.metrics_core.metrics.reference_beyond import World

approx = pytest.approx
nan = math.nan

# Train users: item 0 has 4, item 1 has 2, items 2 and 3 have 1, items 4 and 5 are cold.
# 4 users, 8 interactions.
# Item 5 is in no catalogue and in no category.
WORLD = World(
    n_items=6,
    train={"ann": [0, 1], "bob": [0, 1, 2], "cy": [0], "dee": [0, 3]},
    catalogue={0, 1, 2, 3, 4},
    features={
        0: (1, 0, 0),
        1: (1, 1, 0),
        2: (0, 1, 0),
        3: (0, 0, 1),
        4: (0, 1, 1),
        5: (0, 0, 0),
    },
    lists={"ann": [2, 4, 0], "bob": [0, 1], "cy": [], "eve": [5]},
    relevant={"ann": {4, 0, 3}, "bob": {1}},
)

Options = Mapping[str, Any]
MIUF: Options = {
    "novelty_population": "users",
    "novelty_norm": "none",
    "novelty_denominator": "len",
    "cold_item": "one_user",
}
COSINE, JACCARD, HAMMING = (
    {"ild_distance": distance, "ild_one_item": "undefined"}
    for distance in ("cosine", "jaccard", "hamming")
)

# metric, options, k, then ann, bob, cy (no list) and eve (one cold item, no history)
WORKED: list[tuple[Any, ...]] = [
    ("user_coverage", {"user_coverage_kind": "any"}, 3, 1, 1, 0, 1),
    ("user_coverage", {"user_coverage_kind": "full"}, 3, 1, 0, 0, 0),
    ("user_coverage", {"user_coverage_kind": "full"}, 1, 1, 1, 0, 1),
    ("user_coverage", {"user_coverage_kind": "full"}, None, 1, 1, 0, 1),
    # users 1, cold, 4 | 4, 2 | cold, of 4
    ("novelty", MIUF, 3, (log2(4) + log2(4) + 0) / 3, (0 + log2(2)) / 2, nan, log2(4)),
    ("novelty", MIUF, 1, log2(4), 0, nan, log2(4)),
    ("novelty", {**MIUF, "novelty_denominator": "k"}, 3, 4 / 3, 1 / 3, nan, 2 / 3),
    ("novelty", {**MIUF, "cold_item": "skip"}, 3, (log2(4) + 0) / 2, log2(2) / 2, nan, nan),
    ("novelty", {**MIUF, "cold_item": "zero"}, 3, (log2(4) + 0) / 3, log2(2) / 2, nan, 0),
    (
        "novelty",
        {**MIUF, "novelty_norm": "log2_users"},
        3,
        (2 / log2(4) + 2 / log2(4) + 0) / 3,
        (1 / log2(4)) / 2,
        nan,
        1,
    ),
    (
        "novelty",
        {**MIUF, "novelty_population": "interactions", "cold_item": "zero"},
        3,
        (log2(8 / 1) + log2(8 / 4)) / 3,
        (log2(8 / 4) + log2(8 / 2)) / 2,
        nan,
        0,
    ),
    ("average_popularity", {}, 3, (1 + 0 + 4) / 3, (4 + 2) / 2, nan, 0),
    ("average_popularity", {}, 1, 1, 4, nan, 0),
    # 4 of 8 interactions are half of them: the head is item 0; beyond that item 1 belongs to it
    ("long_tail", {"longtail_head": 0.5}, 3, 2 / 3, 1 / 2, nan, 1),
    ("long_tail", {"longtail_head": 0.51}, 3, 2 / 3, 0 / 2, nan, 1),
    ("long_tail", {"longtail_head": 0.8}, 3, 1 / 3, 0 / 2, nan, 1),  # 7 of 8: item 2 before item 3
    ("long_tail", {"longtail_head": 1.0}, 3, 1 / 3, 0 / 2, nan, 1),  # a cold item is tail
    # ann: {1}, {1, 2}, {0}; bob: {0}, {0, 1}
    (
        "intra_list_diversity",
        COSINE,
        3,
        ((1 - 1 / sqrt(2)) + 1 + 1) / 3,
        1 - 1 / sqrt(2),
        nan,
        nan,
    ),
    ("intra_list_diversity", JACCARD, 3, (1 / 2 + 1 + 1) / 3, 1 / 2, nan, nan),
    ("intra_list_diversity", HAMMING, 3, (1 + 3 + 2) / 3, 1, nan, nan),
    ("intra_list_diversity", {**HAMMING, "ild_one_item": "zero"}, 3, (1 + 3 + 2) / 3, 1, nan, 0),
    ("intra_list_diversity", HAMMING, 2, 1, 1, nan, nan),
    # catalogue of 5; popularity ranks: item 0 has 1, item 1 has 2, items 2 and 3 have 3
    (
        "serendipity",
        {"serendipity_kind": "popularity"},
        3,
        (0 + (4 / 5 - 0) + 0) / 3,  # item 2 is not relevant; item 0 at rank 3: 3/5 - 5/5 < 0
        (0 + 0) / 2,  # item 1 at rank 2: 4/5 - 4/5
        nan,
        0,
    ),
    # ann had {0} and {0, 1}; item 4 is {1, 2}, item 0 is {0}.
    # bob had those and {1}; item 1 is {0, 1}.
    (
        "serendipity",
        {"serendipity_kind": "history"},
        3,
        (0 + (1 - (0 + 1 / 2) / 2) + (1 - (1 + 1 / sqrt(2)) / 2)) / 3,
        (0 + (1 - (1 / sqrt(2) + 1 + 1 / sqrt(2)) / 3)) / 2,
        nan,
        nan,
    ),
    # ann: p = (3/4, 1/4, 0), q = (1/3, 1/2, 1/6). bob: p = (1/2, 1/2, 0), q = (3/4, 1/4, 0)
    (
        "calibration",
        {"calibration_alpha": 0.1},
        3,
        3 / 4 * log((3 / 4) / (0.9 / 3 + 0.1 * 3 / 4)) + 1 / 4 * log((1 / 4) / (0.9 / 2 + 0.1 / 4)),
        1 / 2 * log((1 / 2) / (0.9 * 3 / 4 + 0.1 / 2)) + 1 / 2 * log((1 / 2) / (0.9 / 4 + 0.1 / 2)),
        nan,
        nan,
    ),
    # ann: ranks by popularity 2, 3, 1 of items at ranks 1, 2, 3: 1 - 6 (1 + 1 + 4) / (3 (9 - 1))
    ("popularity_correlation", {}, 3, 1 - 6 * (1 + 1 + 4) / (3 * 8), 1, nan, nan),
    ("popularity_correlation", {}, 1, nan, nan, nan, nan),
]

# Top 2: item 0 and item 1 for bob, 2 and 4 for ann, 5 for eve. Top 3: item 0 for ann, too.
WORKED_EXPOSURE = [
    ("coverage", {"coverage_items": "catalogue"}, 2, 4 / 5),  # item 5 is not in the catalogue
    ("coverage", {"coverage_items": "train"}, 2, 3 / 4),  # items 4 and 5 are cold
    ("coverage", {"coverage_items": "catalogue"}, 1, 2 / 5),
    # of the catalogue, top 3: 0 1 1 1 2
    ("gini", {"gini_items": "catalogue"}, 3, (-4 * 0 - 2 * 1 + 0 * 1 + 2 * 1 + 4 * 2) / (5 * 5)),
    ("gini", {"gini_items": "recommended"}, 3, (-4 - 2 + 0 + 2 + 4 * 2) / (5 * 6)),
    ("gini", {"gini_items": "recommended"}, 2, 0),
    ("entropy", {"entropy_base": 2, "entropy_norm": "none"}, 2, log2(5)),
    ("entropy", {"entropy_base": "2", "entropy_norm": "none"}, 2, log2(5)),
    ("entropy", {"entropy_base": "e", "entropy_norm": "none"}, 3, 2 / 6 * log(3) + 4 / 6 * log(6)),
    ("entropy", {"entropy_base": "e", "entropy_norm": "recommended_items"}, 2, log(5) / 5),
    # three users with a list; only ann and bob share an item: overlaps 1/3, 0, 0
    ("personalization", {}, 3, 1 - (1 / 3 + 0 + 0) / 3),
    ("personalization", {}, 2, 1),
]


# how the world differs, metric, options, k, then a value per user of its lists
NO_TRAIN: dict[str, Any] = {"train": {}}
ONE_TRAIN_USER: dict[str, Any] = {"train": {"ann": [0, 1]}}  # nothing to divide by
EQUAL_FEATURES: dict[str, Any] = {"features": dict.fromkeys(range(6), (0.0, 1.0))}
IN_PROPORTION: dict[str, Any] = {"lists": {"ann": [1, 0], "bob": [2, 1, 0]}}
COPY: dict[str, Any] = {"lists": {"ann": [1, 0, 1], "bob": [1]}}
EDGES: list[tuple[Any, ...]] = [
    (NO_TRAIN, "novelty", MIUF, 3, nan, nan, nan, nan),
    (NO_TRAIN, "average_popularity", {}, 3, 0, 0, nan, 0),
    (NO_TRAIN, "long_tail", {"longtail_head": 0.8}, 3, 1, 1, nan, 1),
    (ONE_TRAIN_USER, "novelty", MIUF, 2, 0, 0, nan, 0),
    (ONE_TRAIN_USER, "novelty", {**MIUF, "novelty_norm": "log2_users"}, 2, nan, nan, nan, nan),
    *(
        (EQUAL_FEATURES, "intra_list_diversity", distance, 3, 0, 0, nan, nan)
        for distance in (COSINE, JACCARD, HAMMING)
    ),
    (EQUAL_FEATURES, "serendipity", {"serendipity_kind": "history"}, 3, 0, 0, nan, nan),
    (IN_PROPORTION, "calibration", {"calibration_alpha": 0.01}, None, 0, 0),
    (COPY, "average_popularity", {}, 3, (2 + 4 + 2) / 3, 2),
]

NO_LISTS: dict[str, Any] = {"lists": {"ann": [], "bob": []}}
ONE_USER: dict[str, Any] = {"lists": {"ann": [0, 1]}}
ONE_ITEM: dict[str, Any] = {"lists": {"ann": [0], "bob": [0], "cy": [0]}}
EXPOSURE_EDGES: list[tuple[dict[str, Any], str, Options, int, float]] = [
    (NO_TRAIN, "coverage", {"coverage_items": "train"}, 3, nan),
    (NO_LISTS, "coverage", {"coverage_items": "catalogue"}, 3, 0),
    (NO_LISTS, "gini", {"gini_items": "catalogue"}, 3, nan),
    (NO_LISTS, "entropy", {"entropy_base": 2, "entropy_norm": "none"}, 3, nan),
    (NO_LISTS, "personalization", {}, 3, nan),
    (ONE_USER, "personalization", {}, 2, nan),
    (ONE_ITEM, "personalization", {}, 1, 0),
    (ONE_ITEM, "entropy", {"entropy_base": 2, "entropy_norm": "none"}, 1, 0),
    (ONE_ITEM, "gini", {"gini_items": "recommended"}, 1, 0),
    (ONE_ITEM, "gini", {"gini_items": "catalogue"}, 1, 4 * 3 / (5 * 3)),  # (n - 1) / n
]


def _items(world: World) -> Items:
    number = np.arange(world.n_items)
    vectors = np.array([world.features[int(i)] for i in number], dtype=float)
    return Items(
        n_train_users=world.n_train_users,
        n_interactions=world.n_interactions,
        users=np.array([world.train_users(int(i)) for i in number], dtype=np.int64),
        in_catalogue=np.isin(number, sorted(world.catalogue)),
        features=vectors,
    )


def _listed(world: World) -> RankedLists:
    users = list(world.lists)
    rows = [
        (number, rank, item, item in world.relevant.get(user, set()))
        for number, user in enumerate(users)
        for rank, item in enumerate(world.lists[user], 1)
    ]
    before = [(number, item) for number, user in enumerate(users) for item in world.history(user)]
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    history = np.array(before, dtype=np.int64).reshape(-1, 2)
    return RankedLists(
        n_users=len(users),
        n_listed=np.array([len(world.lists[user]) for user in users], dtype=np.int64),
        row_user=table[:, 0],
        row_rank=table[:, 1],
        row_item=table[:, 2],
        row_relevant=table[:, 3].astype(bool),
        history_user=history[:, 0],
        history_item=history[:, 1],
        items=_items(world),
    )


@pytest.mark.parametrize("example", [*(({}, *example) for example in WORKED), *EDGES])
def test_worked_example(example: tuple[Any, ...]) -> None:
    changes, metric, options, k, *of_users = example

    values = getattr(beyond_accuracy, metric)(_listed(replace(WORLD, **changes)), k, **options)

    assert list(values) == approx(of_users, rel=1e-14, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize(
    ("changes", "metric", "options", "k", "expected"),
    [*(({}, *example) for example in WORKED_EXPOSURE), *EXPOSURE_EDGES],
)
def test_worked_example_over_all_users(
    changes: dict[str, Any], metric: str, options: Options, *, k: int | None, expected: float
) -> None:
    value = getattr(exposure, metric)(
        count_exposure(_listed(replace(WORLD, **changes)), k), **options
    )

    assert value == approx(expected, rel=1e-14, abs=1e-15, nan_ok=True)


def _all(**of_metrics: dict[str, tuple[Any, ...]]) -> list[tuple[str, dict[str, Any]]]:
    """Return each metric with every combination of its options' values."""
    return [
        (metric, dict(zip(values, selected, strict=True)))
        for metric, values in of_metrics.items()
        for selected in product(*values.values())
    ]


PER_USER = _all(
    user_coverage={"user_coverage_kind": ("any", "full")},
    novelty={
        "novelty_population": ("users", "interactions"),
        "novelty_norm": ("none", "log2_users"),
        "novelty_denominator": ("len", "k"),
        "cold_item": ("one_user", "skip", "zero"),
    },
    average_popularity={},
    long_tail={"longtail_head": (0.07, 0.2, 0.5, 0.8, 1.0)},
    intra_list_diversity={
        "ild_distance": ("cosine", "jaccard", "hamming"),
        "ild_one_item": ("undefined", "zero"),
    },
    serendipity={"serendipity_kind": ("popularity", "history")},
    calibration={"calibration_alpha": (0.01, 0.3, 1.0)},
    popularity_correlation={},
)
OVER_USERS = _all(
    coverage={"coverage_items": ("catalogue", "train")},
    gini={"gini_items": ("catalogue", "recommended")},
    entropy={"entropy_base": (2, "e"), "entropy_norm": ("none", "recommended_items")},
    personalization={},
)
CUTOFFS = (None, 1, 2, 3, 10)
USERS = ("u0", "u1", "u2", "u3", "u4")
BINARY = st.sampled_from((0.0, 1.0))
REAL = st.floats(-3, 3).map(lambda x: round(x, 2))


@st.composite
def worlds(draw: st.DrawFn, *, numbers: st.SearchStrategy[float] = BINARY) -> World:
    """Return users with and without a list or history, and items with and without properties."""
    n_items = draw(st.integers(1, 8))
    item = st.integers(0, n_items - 1)
    depth = draw(st.sampled_from((1, 3, 9)))
    vector = st.lists(numbers, min_size=depth, max_size=depth)
    vectors = st.lists(vector, min_size=n_items, max_size=n_items)
    user = st.sampled_from(USERS)
    distinct = st.lists(item, unique=True, max_size=6)
    return World(
        n_items=n_items,
        train=draw(st.dictionaries(st.sampled_from((*USERS, "other")), distinct)),
        catalogue=draw(st.sets(item)),
        features=dict(enumerate(draw(vectors))),
        lists=draw(st.dictionaries(user, distinct)),
        relevant=draw(st.dictionaries(user, st.sets(item))),
    )


def _differences(world: World, metrics: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    listed = _listed(world)
    results = []
    for (metric, options), k in product(metrics, CUTOFFS):
        actual = getattr(beyond_accuracy, metric)(listed, k, **options)
        expected = [getattr(reference, metric)(world, user, k, **options) for user in world.lists]
        same = approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)
        results += [] if list(actual) == same else [(metric, options, k, list(actual), expected)]
    return results


@given(world=worlds())
def test_every_metric_equals_its_definition_under_every_convention(world: World) -> None:
    assert _differences(world, PER_USER) == []


@given(world=worlds(numbers=REAL))
def test_cosines_of_vectors_equal_their_definitions(world: World) -> None:
    of_vectors: list[tuple[str, dict[str, Any]]] = [
        ("intra_list_diversity", COSINE),
        ("serendipity", {"serendipity_kind": "history"}),
    ]

    assert _differences(world, of_vectors) == []


@given(world=worlds())
def test_every_metric_over_all_users_equals_its_definition(world: World) -> None:
    for (metric, options), k in product(OVER_USERS, CUTOFFS):
        actual = getattr(exposure, metric)(count_exposure(_listed(world), k), **options)
        expected = getattr(reference, metric)(world, k, **options)
        assert actual == approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), (metric, options, k)


@given(world=worlds(), cut=st.integers(0, 5))
def test_partitions_give_the_same_bits(world: World, cut: int) -> None:
    users = list(world.lists)
    parts = [
        _listed(replace(world, lists={u: world.lists[u] for u in some}))
        for some in (users[:cut], users[cut:])
    ]
    whole = _listed(world)

    for (metric, options), k in product(PER_USER, CUTOFFS):
        kernel = getattr(beyond_accuracy, metric)
        separate = np.concatenate([kernel(part, k, **options) for part in parts])
        assert separate.tobytes() == kernel(whole, k, **options).tobytes()
    for k in CUTOFFS:
        added = count_exposure(parts[0], k) + count_exposure(parts[1], k)
        together = count_exposure(whole, k)
        assert added.counts.tolist() == together.counts.tolist()
        assert added.n_users == together.n_users


def test_a_copy_in_a_list_counts_once_in_the_exposure() -> None:
    listed = _listed(replace(WORLD, lists={"ann": [1, 0, 1], "bob": [1]}))

    assert count_exposure(listed, 3).counts.tolist() == [1, 2, 0, 0, 0, 0]
    assert count_exposure(listed, 1).counts.tolist() == [0, 2, 0, 0, 0, 0]


@pytest.mark.parametrize("n_categories", [3, 5, 6])
def test_rounding_takes_no_distance_and_no_divergence_below_0(n_categories: int) -> None:
    equal = dict.fromkeys(range(6), (1.0,) * n_categories)
    listed = _listed(replace(WORLD, features=equal, lists={"cy": [0, 1, 2]}))

    assert beyond_accuracy.intra_list_diversity(listed, 3, **COSINE) >= 0
    assert beyond_accuracy.calibration(listed, 3, calibration_alpha=0.01) >= 0


def test_popular_first_is_exactly_1_popular_last_exactly_minus_1_and_equals_are_undefined() -> None:
    lists = {"up": [0, 1, 2, 4], "down": [4, 2, 1, 0], "tied": [2, 3]}

    up, down, tied = beyond_accuracy.popularity_correlation(
        _listed(replace(WORLD, lists=lists)), None
    )

    assert (up, down) == (1.0, -1.0)
    assert math.isnan(tied)


@pytest.mark.parametrize("distance", ["jaccard", "hamming"])
def test_features_that_are_not_0_or_1_are_refused_as_categories(distance: str) -> None:
    listed = _listed(replace(WORLD, features=dict.fromkeys(range(6), (0.5, 1.0))))

    with pytest.raises(ValueError, match="features of 0 and 1"):
        beyond_accuracy.intra_list_diversity(listed, 3, ild_distance=distance, ild_one_item="zero")


def test_negative_features_have_no_distribution() -> None:
    listed = _listed(replace(WORLD, features=dict.fromkeys(range(6), (-1.0, 2.0))))

    with pytest.raises(ValueError, match="none below 0"):
        beyond_accuracy.calibration(listed, 3, calibration_alpha=0.01)


def test_the_sums_of_an_exposure_stay_whole_numbers_at_a_hundred_million_users() -> None:
    items = replace(_items(WORLD), in_catalogue=np.ones(2, dtype=bool))
    recommended = Exposure(np.array([10**8, 10**8]), 10**8, 2, items)

    assert exposure.personalization(recommended) == 0
    assert exposure.gini(recommended, gini_items="catalogue") == 0
