"""`cc.evaluate` with train and items: the metrics beyond accuracy on a world that fits on paper."""

import math
from typing import Any

import pandas as pd
import polars as pl
import pytest

import concord as cc

LISTS = {"ann": ["a", "b", "c"], "bob": ["a", "d"], "cy": []}
TRUTH = {"ann": ["c"], "bob": ["d"], "cy": ["a"]}
TRAIN = {"ann": ["a"], "bob": ["a", "b"], "cy": ["a", "b"], "dee": ["a"]}  # a 4, b 2; c, d are cold
ITEMS = {"a": ["x"], "b": ["x", "y"], "c": ["y"], "d": ["z"], "e": ["z"]}
STANDARD = cc.preset("standard")

EXPECTED = [
    ("Novelty@2", "ann", (-math.log2(4 / 4) - math.log2(2 / 4)) / 2),
    ("Novelty@2", "bob", (0 - math.log2(1 / 4)) / 2),  # a cold item as if one user had had it
    ("ARP@2", "ann", (4 + 2) / 2),
    ("ARP@2", "bob", (4 + 0) / 2),
    ("UserCoverage", "bob", 1.0),
    ("UserCoverage", "cy", 0.0),
    ("LongTail@3", "ann", 1 / 3),  # the head holds 4 + 2 of 6 interactions
    ("ILD@2", "ann", 1 - 1 / math.sqrt(2)),
    ("ILD@2", "bob", 1.0),
]
OVERALL = [
    ("Coverage@2", 3 / 5),  # a, b, d of five
    ("Entropy@2", -(0.5 * math.log2(0.5) + 2 * 0.25 * math.log2(0.25))),  # a twice, b and d once
    ("Gini@2", (-4 * 0 - 2 * 0 + 0 * 1 + 2 * 1 + 4 * 2) / (5 * 4)),
    ("Personalization@2", 1 - 1 / 2),  # one of two places in common
]


def _evaluate(labels: list[str], **changed: Any) -> cc.results.Evaluation:
    inputs = {"train": TRAIN, "items": ITEMS} | changed
    return cc.evaluate(LISTS, TRUTH, metrics=labels, conventions=STANDARD, **inputs)


LABELS = [*dict.fromkeys(label for label, *_ in EXPECTED), *(label for label, _ in OVERALL)]


@pytest.fixture(scope="module")
def result() -> cc.results.Evaluation:
    return _evaluate(LABELS)


@pytest.mark.parametrize(("label", "user", "value"), EXPECTED)
def test_values_of_users_are_those_on_paper(
    result: cc.results.Evaluation, label: str, user: str, value: float
) -> None:
    values = dict(result.per_user.select("user", label).iter_rows())

    assert values[user] == pytest.approx(value)


@pytest.mark.parametrize(("label", "value"), OVERALL)
def test_numbers_over_all_users_are_those_on_paper(
    result: cc.results.Evaluation, label: str, value: float
) -> None:
    (row,) = result.to_frame().filter(metric=label).to_dicts()

    assert result[label] == pytest.approx(value)
    assert label not in result.per_user.columns  # no user has a share in it
    assert row["n_users"] == 2
    assert math.isnan(row["ci_low"])


def test_frames_and_integer_ids_give_the_same_as_dicts(result: cc.results.Evaluation) -> None:
    ids = {"a": 10, "b": 9, "c": 100, "d": 7, "e": 8}
    lists = {u: [ids[i] for i in items] for u, items in LISTS.items()}
    truth = {u: [ids[i] for i in items] for u, items in TRUTH.items()}
    train = pd.DataFrame(
        [(u, ids[i]) for u, items in TRAIN.items() for i in items], columns=["user", "item"]
    )
    items = pl.DataFrame({"item": [ids[i] for i in ITEMS], "categories": list(ITEMS.values())})

    of_frames = cc.evaluate(
        lists, truth, metrics=LABELS, conventions=STANDARD, train=train, items=items
    )

    assert of_frames.to_frame().equals(result.to_frame())


def _ild(first: list[float], second: list[float]) -> float:
    lists, items = {"u": ["a", "b"]}, {"a": first, "b": second}
    return cc.evaluate(lists, {"u": ["a"]}, metrics=["ILD@2"], conventions=STANDARD, items=items)[
        "ILD@2"
    ]


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300, 1e-160, 1e160, 5e-324 * 2**20])
def test_diversity_reads_the_direction_of_vectors_whatever_their_length(size: float) -> None:
    """cos((1, 1), (1, 0)) = 1 / sqrt 2, although squares of 1e200 and 1e-200 are infinite and 0."""
    assert _ild([size, size], [1.0, 0.0]) == pytest.approx(1 - 1 / math.sqrt(2), abs=1e-12)


@pytest.mark.parametrize("power", [-900, -3, 5, 900])
def test_a_power_of_two_changes_no_bit(power: int) -> None:
    first, second = [0.3, 0.7, 0.1], [0.2, -0.4, 0.9]
    assert _ild([x * 2.0**power for x in first], second) == _ild(first, second)


def test_an_item_without_features_stays_without() -> None:
    assert _ild([0.0, 0.0], [1.0, 0.0]) == _ild([0.0, 0.0], [1e300, 0.0])


@pytest.mark.parametrize(
    ("label", "inputs", "message"),
    [
        ("Novelty@2", {"train": None}, r"Novelty@2: needs train \(user, item\)"),
        ("Coverage", {"items": None}, r"Coverage: needs items \(the catalogue\)"),
        ("ILD@2", {"items": None}, "ILD@2: needs items with `categories` or `vector`"),
        (
            "Calibration@2",
            {"train": None, "items": None},
            "items with `categories` or `vector` and train",
        ),
        ("Personalization", {}, "Personalization needs a cutoff"),
        (
            "ILD@2",
            {"items": {"a": [1.0], "b": [1.0, 2.0]}},
            r"vectors have different lengths: \[1, 2\]",
        ),
    ],
)
def test_missing_parts_are_named(label: str, inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _evaluate([label], **inputs)
