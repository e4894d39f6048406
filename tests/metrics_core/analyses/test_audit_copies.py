"""Copies that were made on purpose are found, nothing else is, and shares are those of all pairs counted one by one."""

import numpy as np
import polars as pl
import pytest

import concord as cc
from tests.metrics_core.analyses import audit_reference as reference

USERS, ITEMS, COPIED = 300, 80, 20  # item i + 1000 is a copy of item i < 20


def _interactions(same: float, seed: int = 5) -> pl.DataFrame:
    """Users with items at random; whoever took one of the first 20 took its copy too, but for a few."""
    random = np.random.default_rng(seed)
    users, items = np.nonzero(random.random((USERS, ITEMS)) < 0.15)
    twins = (items < COPIED) & (random.random(len(items)) < same)
    return pl.DataFrame(
        {
            "user": np.concatenate([users, users[twins]]),
            "item": np.concatenate([items, items[twins] + 1000]),
        }
    )


def _audit(train: pl.DataFrame, truth: pl.DataFrame, items: pl.DataFrame | None = None) -> cc.Audit:
    lists = truth.group_by("user").agg("item").sort("user")
    recs = dict(zip(*lists.get_columns(), strict=True))
    return cc.audit({"als": recs}, truth, train=train, items=items, metrics=["Hit@10"], conventions="standard")  # fmt: skip


def _sets_by(train: pl.DataFrame, items: str, key: str) -> dict[int, set[int]]:
    actual: dict[int, set[int]] = {}
    for one, member in train.select(items, key).iter_rows():
        actual.setdefault(one, set()).add(member)
    return actual


@pytest.mark.parametrize("same", [1.0, 0.9])
def test_items_with_nearly_the_same_users_are_found(same: float) -> None:
    """The truth wants copies of what a user has: every row of it leaks."""
    train = _interactions(same)
    pairs = reference.similar_pairs(_sets_by(train, "item", "user"), 10, 0.8)
    first = train.filter(pl.col("item") < COPIED).group_by("user").agg(pl.col("item").min())
    truth = first.with_columns(pl.col("item") + 1000).sort("user")
    train = train.join(truth, on=["user", "item"], how="anti")
    copied = {b for a, b in reference.similar_pairs(_sets_by(train, "item", "user"), 10, 0.8)}

    audit = _audit(train, truth)["item_copies"]

    assert {b - a for a, b in pairs} == {1000}
    leaks = truth.filter(pl.col("item").is_in(list(copied)))
    assert audit.count.rows == len(leaks)
    assert len(audit.effects) == bool(copied)


def test_users_who_are_one_person_leak_the_truth_to_each_other() -> None:
    """Users from 900 on have all that users 0 to 4 have, and what these want."""
    train = _interactions(0.0)
    of_first = train.filter(pl.col("user") < 5)
    relevant = pl.DataFrame({"user": range(5), "item": [500 + n for n in range(5)]})
    twins = pl.concat([of_first, relevant]).with_columns(pl.col("user") + 900)
    train = pl.concat([train, twins])
    large = {user for user, items in _sets_by(of_first, "user", "item").items() if len(items) >= 10}

    audit = _audit(train, relevant)["user_copies"]

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


def test_min_hashing_finds_nearly_all_pairs_at_the_threshold() -> None:
    """100 pairs of items with 18 users each, 16 of whom they share: 16 / 20 = 0.8, found with probability 0.985."""
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
    assert 95 <= copies.n_ids / 2 <= 100  # 98.5, and sets of others may be sorted in between


def test_titles_and_vectors_tell_copies_and_empty_ones_do_not() -> None:
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
