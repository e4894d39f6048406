"""Copies of items and users, against a reference that compares all pairs."""

import numpy as np
import polars as pl
import pytest

import concord as cc
from tests.metrics_core.analyses.audit import audit_reference as reference

USERS, ITEMS, N_COPIES = 300, 80, 20  # item i + 1000 is a copy of item i < 20


def _interactions(share: float, seed: int = 5) -> pl.DataFrame:
    """Return random interactions; this share of those with the first 20 items has a copy, too."""
    random = np.random.default_rng(seed)
    users, items = np.nonzero(random.random((USERS, ITEMS)) < 0.15)
    is_copied = (items < N_COPIES) & (random.random(len(items)) < share)
    return pl.DataFrame(
        {
            "user": np.concatenate([users, users[is_copied]]),
            "item": np.concatenate([items, items[is_copied] + 1000]),
        }
    )


def _audit(
    train: pl.DataFrame, truth: pl.DataFrame, items: pl.DataFrame | None = None
) -> cc.results.Audit:
    lists = truth.group_by("user").agg("item").sort("user")
    recs = dict(zip(*lists.get_columns(), strict=True))
    return cc.audit(
        {"als": recs}, truth, train=train, items=items, metrics=["Hit@10"], conventions="standard"
    )


def _sets_by(train: pl.DataFrame, key: str, member: str) -> dict[int, set[int]]:
    sets: dict[int, set[int]] = {}
    for key_id, member_id in train.select(key, member).iter_rows():
        sets.setdefault(key_id, set()).add(member_id)
    return sets


@pytest.mark.parametrize("share", [1.0, 0.9])
def test_items_with_similar_users_are_copies(share: float) -> None:
    """The truth has copies of the users' items: all its rows leak."""
    train = _interactions(share)
    pairs = reference.similar_pairs(_sets_by(train, "item", "user"), 10, 0.8)
    first = train.filter(pl.col("item") < N_COPIES).group_by("user").agg(pl.col("item").min())
    truth = first.with_columns(pl.col("item") + 1000).sort("user")
    train = train.join(truth, on=["user", "item"], how="anti")
    copies = {b for _, b in reference.similar_pairs(_sets_by(train, "item", "user"), 10, 0.8)}

    audit = _audit(train, truth)["item_copies"]

    assert {b - a for a, b in pairs} == {1000}
    leaks = truth.filter(pl.col("item").is_in(list(copies)))
    assert audit.count.rows == len(leaks)
    assert len(audit.effects) == bool(copies)


def test_copies_of_users_leak_the_truth() -> None:
    """Users 900 to 904 have the train and the truth of users 0 to 4."""
    train = _interactions(0.0)
    originals = train.filter(pl.col("user") < 5)
    truth = pl.DataFrame({"user": range(5), "item": [500 + n for n in range(5)]})
    copies = pl.concat([originals, truth]).with_columns(pl.col("user") + 900)
    train = pl.concat([train, copies])
    sets = _sets_by(originals, "user", "item")
    large = {user for user, items in sets.items() if len(items) >= 10}

    audit = _audit(train, truth)["user_copies"]

    assert audit.count.rows == len(large) > 0
    assert audit.count.severity == "serious"
    first = min(large)
    assert audit.examples[0] == {
        "user": f"{first}",
        "item": f"{500 + first}",
        "copy": f"{900 + first}",
    }


def test_only_leaking_pairs_are_reported() -> None:
    train = _interactions(0.0)
    assert reference.similar_pairs(_sets_by(train, "item", "user"), 10, 0.8) == set()
    truth = pl.DataFrame({"user": [0], "item": [1]})

    audit = _audit(train, truth)

    assert audit["item_copies"].count.severity is None
    copies = audit["user_copies"].copies
    assert copies is not None
    assert (copies.n_ids, copies.pairs) == (0, {"items": 0})


def test_min_hashing_detects_most_pairs_at_the_threshold() -> None:
    """100 pairs of items with 16 common users of 20: 0.8, detected with probability 0.985."""
    random = np.random.default_rng(2)
    rows = []
    for pair in range(100):
        users = random.choice(20_000, 20, replace=False)
        rows += [(user, 2 * pair) for user in users[:18]]
        rows += [(user, 2 * pair + 1) for user in users[2:]]
    train = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    assert len(reference.similar_pairs(_sets_by(train, "item", "user"), 10, 0.8)) == 100
    truth = pl.DataFrame({"user": [-1], "item": [-1]})

    copies = _audit(train, truth)["item_copies"].copies

    assert copies is not None
    assert 95 <= copies.n_ids / 2 <= 100  # 98.5, or fewer if other sets are sorted in between


def test_titles_and_vectors_identify_copies_unless_empty() -> None:
    items = pl.DataFrame(
        {
            "item": [1, 2, 3, 4, 5, 6],
            "title": ["Heat  (1995)", "heat (1995) ", "", " ", "Ran", "Ikiru"],
            "vector": [[1.0, 0.0], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0], [0.2, 0.8], [0.2, 0.8]],
        }
    )
    train = pl.DataFrame({"user": [1, 1, 1], "item": [1, 3, 5]})
    truth = pl.DataFrame({"user": [1, 1, 1], "item": [2, 4, 6]})

    audit = _audit(train, truth, items)["item_copies"]

    assert audit.examples == (
        {"user": "1", "item": "2", "copy": "1"},
        {"user": "1", "item": "6", "copy": "5"},
    )
    assert audit.copies is not None
    assert audit.copies.pairs == {"title": 1, "vector": 1, "users": 0}
