"""Equal inputs give equal bits: repeated lists, and the same items in another order."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.typing import ConventionOptions, Data

USERS, ITEMS, K = 60, 80, 10
RNG = np.random.default_rng(27)
NAMES = [f"i{n:02d}" for n in range(ITEMS)]
LETTERS = list("abcdefg")
TRUTH = pl.DataFrame(
    {
        "user": np.repeat(np.arange(USERS), 12),
        "item": [NAMES[(5 * user + n) % ITEMS] for user in range(USERS) for n in range(12)],
        "grade": RNG.integers(1, 60, 12 * USERS) / 10,
    }
)
TRAIN = pl.DataFrame(
    {
        "user": np.repeat(np.arange(USERS), 15),
        "item": np.array(NAMES)[(ITEMS * RNG.random(15 * USERS) ** 2).astype(int)],
    }
).unique(maintain_order=True)
CATEGORIES = pl.DataFrame(
    {
        "item": NAMES,
        "categories": [
            RNG.choice(LETTERS, RNG.integers(1, 5), replace=False).tolist() for _ in NAMES
        ],
    }
)
VECTORS = pl.DataFrame({"item": NAMES, "vector": RNG.normal(size=(ITEMS, 8)).tolist()})
LISTS = pl.DataFrame(
    {
        "user": np.repeat(np.arange(USERS), K),
        "item": [NAMES[(5 * user + 2 * n) % ITEMS] for user in range(USERS) for n in range(K)],
        "rank": np.tile(np.arange(1, K + 1), USERS),
    }
)
RERANKED = LISTS.with_columns(
    rank=pl.Series(np.concatenate([RNG.permutation(K) + 1 for _ in range(USERS)]))
)
OF_SETS = [
    "P",
    "R",
    "F1",
    "Hit",
    "CG",
    "Novelty",
    "ARP",
    "LongTail",
    "ILD",
    "Serendipity",
    "Calibration",
    "Coverage",
    "Gini",
    "Entropy",
    "Personalization",
]
OF_ORDER = ["nDCG", "AP", "RR", "RBP(p=0.8)"]
BY_HISTORY: ConventionOptions = {"serendipity_kind": "history"}
JACCARD: ConventionOptions = {"ild_distance": "jaccard", **BY_HISTORY}
WEIGHTS = {"popularity": 0.7, "clip": 0.01, "fewest": 1}


@pytest.mark.parametrize(
    ("names", "conventions", "items"),
    [
        pytest.param(OF_SETS, BY_HISTORY, CATEGORIES, id="categories"),
        pytest.param(OF_SETS, JACCARD, CATEGORIES, id="jaccard"),
        pytest.param(["ILD", "Serendipity"], BY_HISTORY, VECTORS, id="vectors"),
        pytest.param(["P", "R", "CG"], {"propensity": WEIGHTS}, None, id="weights"),
        pytest.param(
            ["R", "CG"],
            {"propensity": {**WEIGHTS, "normalised": "per_user"}},
            None,
            id="shares of weights",
        ),
    ],
)
def test_the_same_items_in_another_order_have_the_same_bits(
    names: list[str], conventions: ConventionOptions, items: pl.DataFrame | None
) -> None:
    labels = [f"{name}@{K}" for name in names]
    how: dict[str, Any] = {"metrics": labels, "train": TRAIN, "items": items}
    how["conventions"] = cc.preset("standard", **conventions)

    one, other = (cc.evaluate(recs, TRUTH, **how) for recs in (LISTS, RERANKED))
    comparison = cc.compare({"a": LISTS, "b": RERANKED}, TRUTH, baseline="a", panel=False, **how)

    for label in one.per_user.columns[1:]:
        assert (
            one.per_user[label].to_numpy().tobytes() == other.per_user[label].to_numpy().tobytes()
        ), label
    assert {each.difference for each in comparison.pairs} == {0.0}


@pytest.mark.parametrize("replicates", [3, 7])
def test_one_model_as_several_replicates_has_the_same_bits(replicates: int) -> None:
    """A sum of three is rounded, and its third is not always the number again."""
    models: dict[str, Data] = {
        "once": LISTS,
        "often": {"replicates": dict.fromkeys(range(replicates), LISTS)},
    }
    metrics = [f"{name}@{K}" for name in [*OF_SETS, *OF_ORDER]]

    comparison = cc.compare(
        models,
        TRUTH,
        metrics=metrics,
        baseline="once",
        primary=["nDCG@10", "RR@10"],
        conventions=cc.preset("standard", **BY_HISTORY),
        train=TRAIN,
        items=CATEGORIES,
        segments={
            "activity": {"by": "activity", "edges": [10]},
            "popularity": {"by": "truth_item", "shares": [0.5, 0.8]},
        },
    )

    assert {each.difference for each in comparison.pairs} == {0.0}
    assert {each.verdict for each in comparison.primary_pairs} == {"identical"}
    assert comparison.replicates is not None
    assert all(pair.chance is None and pair.n_reversed == 0 for pair in comparison.replicates.pairs)
    means: dict[str, list[float | None]] = {label: [] for label in metrics}
    for score in comparison.scores:
        means[score.label].append(score.mean)
    assert all(once == often for once, often in means.values())
    for panel in comparison.panel:
        for definition in panel.definitions:
            assert len({*definition.values.values()}) == 1
    cells = [cell for segment in comparison.segments for cell in segment.cells]
    assert {cell.difference for cell in cells if cell.model == "often"} == {0.0}


def test_the_mean_of_equal_items_is_that_of_one() -> None:
    """log2 of seven times seven, rounded, is not always seven times log2 of seven."""
    items = [f"i{n}" for n in range(7)]
    train = pl.DataFrame({"user": items, "item": items})

    result = cc.evaluate(
        {f"u{n}": items[:n] for n in range(1, 8)},
        {f"u{n}": items[:1] for n in range(1, 8)},
        metrics=["Novelty"],
        conventions="standard",
        train=train,
    )

    assert len(set(result.per_user["Novelty"].to_list())) == 1
