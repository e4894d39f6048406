"""Simulated evaluations, and the accidents that happen to them.

A world has a catalogue of items with a Zipf-like popularity, users with a taste, what they had
(`train`) and what they had later (`truth`), and the lists of three honest models: the most popular
items, and two that know the taste with a small and with a large error.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

import concord as cc
from benchmarks.simulated import Floats

FACTORS, DEPTH = 8, 30
Rows = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]  # user and item


@dataclass(frozen=True)
class World:
    """What `concord.compare` takes.

    Attributes
    ----------
    models : dict
        Name -> lists: user, item, score.
    truth, train : DataFrame
        user, item.
    items : DataFrame
        item.
    options : dict
        Other arguments of `compare`.
    """

    models: Mapping[str, pl.DataFrame]
    truth: pl.DataFrame
    train: pl.DataFrame | None
    items: pl.DataFrame | None
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `compare` on these data."""
        tables = {"train": self.train, "items": self.items}
        given = {name: table for name, table in tables.items() if table is not None}
        return {"models": dict(self.models), "truth": self.truth, **given, **self.options}


def world(
    rng: np.random.Generator,
    *,
    n_users: int = 300,
    n_items: int = 1_000,
    had: int = 20,
    relevant: tuple[int, int] = (3, 9),
    taste: float = 2.0,
    known: tuple[float, float] = (0.6, 1.0),
) -> World:
    """Return a world of honest models.

    Parameters
    ----------
    had : int
        Number of items that each user had.
    relevant : (int, int)
        Smallest and largest number of relevant items of a user.
    taste : float
        Weight of the users' taste, in units of the logarithm of popularity.
    known : (float, float)
        Standard error of the taste that the two models know.
    """
    popularity = -np.log(np.arange(1, n_items + 1)) * 0.8
    of_users, of_items = (rng.normal(size=(n, FACTORS)) for n in (n_users, n_items))
    utility = popularity + taste * (of_users @ of_items.T) / np.sqrt(FACTORS)
    order = np.argsort(-(utility + rng.gumbel(size=utility.shape)), axis=1)  # without replacement
    numbers = rng.integers(relevant[0], relevant[1] + 1, n_users)
    seen = [row[:had] for row in order]
    wanted = [row[had : had + n] for row, n in zip(order, numbers, strict=True)]
    for row in seen, wanted:
        for each in row:
            rng.shuffle(each)
    train, truth = _frame(seen), _frame(wanted)
    names = {"popularity": 0.0, "model-a": known[0], "model-b": known[1]}
    counts = np.bincount(np.concatenate(seen), minlength=n_items)
    scores = {
        name: np.tile(counts + rng.uniform(0, 0.01, n_items), (n_users, 1))
        if not error
        else utility + rng.normal(size=utility.shape) * error
        for name, error in names.items()
    }
    models = {name: _lists(each, seen) for name, each in scores.items()}
    items = pl.DataFrame({"item": _item_ids(np.arange(n_items))})
    return World(models, truth, train, items)


def _item_ids(numbers: np.ndarray[Any, Any]) -> list[str]:
    return [f"i{number}" for number in numbers]


def _frame(rows: list[np.ndarray[Any, Any]]) -> pl.DataFrame:
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return pl.DataFrame(
        {"user": [f"u{number}" for number in users], "item": _item_ids(np.concatenate(rows))}
    )


def _lists(scores: Floats, seen: list[np.ndarray[Any, Any]]) -> pl.DataFrame:
    """Return each user's items with the highest scores, without those that the user had."""
    scores = scores.copy()
    for user, items in enumerate(seen):
        scores[user, items] = -np.inf
    top = np.argsort(-scores, axis=1)[:, :DEPTH]
    lists = _frame(list(top))
    return lists.with_columns(score=np.take_along_axis(scores, top, axis=1).ravel())


def sampled(rng: np.random.Generator, **options: Any) -> World:
    """Return a world whose lists are the ranked candidates: relevant items and 99 others."""
    base = world(rng, relevant=(1, 1), **options)
    assert base.items is not None
    ids, models = base.items["item"], {}
    negatives = {
        user: rng.choice(ids.to_numpy(), 99, replace=False) for user in base.truth["user"].unique()
    }
    drawn = pl.DataFrame(
        [(user, item) for user, each in sorted(negatives.items()) for item in each],
        schema=["user", "item"],
        orient="row",
    )
    candidates = pl.concat([base.truth, drawn]).unique(maintain_order=True)
    quality = dict(zip(base.models, (0.5, 2.0, 1.0), strict=True))
    for name, gain in quality.items():
        relevant = base.truth.with_columns(r=1.0)
        is_relevant = candidates.join(relevant, on=["user", "item"], how="left")
        score = is_relevant["r"].fill_null(0.0).to_numpy() * gain + rng.normal(size=len(candidates))
        models[name] = candidates.with_columns(score=score)
    return replace(base, models=models)


def sessions(rng: np.random.Generator) -> World:
    """Return a world whose users have two sessions each, with every second relevant item."""
    base = world(rng, relevant=(4, 10))
    number = (pl.int_range(pl.len()).over("user") % 2).cast(pl.String)
    truth = base.truth.with_columns(session=number)
    both = pl.DataFrame({"session": ["0", "1"]})
    models = {name: lists.join(both, how="cross") for name, lists in base.models.items()}
    conventions = cc.preset("standard", unit_mean="requests")
    options = {"unit": ("user", "session"), "conventions": conventions}
    return replace(base, models=models, truth=truth, options=options)


def known_items(rng: np.random.Generator, n_topics: int = 200) -> World:
    """Return an easy search: one relevant document per query, nearly always first."""
    topics = [f"q{number}" for number in range(n_topics)]
    truth = pl.DataFrame({"user": topics, "item": [f"d{number}" for number in range(n_topics)]})
    models = {}
    for name, first in (("popularity", 0.80), ("model-a", 0.93), ("model-b", 0.90)):
        rank = np.where(rng.random(n_topics) < first, 1, rng.integers(2, 20, n_topics))
        rows = [
            (topic, f"d{number}" if r == at else f"x{rng.integers(100_000)}-{r}", float(-r))
            for number, (topic, at) in enumerate(zip(topics, rank, strict=True))
            for r in range(1, DEPTH + 1)
        ]
        models[name] = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    words = {"user": "query", "item": "document"}
    return World(models, truth, None, None, {"words": words})


def sparse(rng: np.random.Generator) -> World:
    """Return a world of many items, where 2 to 4 % of the lists hold the one relevant item."""
    return world(rng, n_items=20_000, relevant=(1, 1), taste=0.5, known=(1.0, 1.5))


def leave_one_out(rng: np.random.Generator) -> World:
    """Return a world with one relevant item per user."""
    return world(rng, relevant=(1, 1))


def topics(rng: np.random.Generator, n_topics: int = 50) -> World:
    """Return topics of TREC: many graded documents, of which honest runs find many first."""
    truth, models = [], {}
    relevant = {f"t{number}": int(rng.integers(3, 120)) for number in range(n_topics)}
    for topic, n in relevant.items():
        truth += [(topic, f"{topic}-d{d}", int(rng.integers(1, 4))) for d in range(n)]
        truth += [(topic, f"{topic}-n{d}", 0) for d in range(3 * n)]
    for name, precision in (("popularity", 0.45), ("model-a", 0.75), ("model-b", 0.6)):
        rows = []
        for topic, n in relevant.items():
            share = np.clip(precision + rng.normal() * 0.25, 0.02, 0.97)
            is_relevant = rng.random(100) < share * np.exp(-np.arange(100) / max(n, 10))
            good, bad = rng.permutation(n), rng.permutation(3 * n)
            n_good = n_bad = 0
            for rank, hit in enumerate(is_relevant):
                if hit and n_good < n:
                    item, n_good = f"{topic}-d{good[n_good]}", n_good + 1
                elif n_bad < 3 * n:
                    item, n_bad = f"{topic}-n{bad[n_bad]}", n_bad + 1
                else:
                    item = f"{topic}-x{rank}"
                rows.append((topic, item, float(-rank)))
        models[name] = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    judged = pl.DataFrame(truth, schema=["user", "item", "grade"], orient="row")
    return World(models, judged, None, None, {"words": {"user": "topic", "item": "document"}})


def _replaced(base: World, name: str, lists: pl.DataFrame) -> World:
    return replace(base, models={**base.models, name: lists})


def holds_truth(base: World, name: str, share: float, rng: np.random.Generator) -> World:
    """Return the world with the relevant items first in a share of a model's lists."""
    users = base.truth["user"].unique(maintain_order=True).to_list()
    leaked = rng.permutation(users)[: round(share * len(users))].tolist()
    first = base.truth.select("user", "item").filter(pl.col("user").is_in(leaked))
    lists = base.models[name]
    rest = lists.join(first, on=["user", "item"], how="anti")
    top = first.with_columns(score=1e6 - pl.int_range(pl.len()).cast(pl.Float64))
    return _replaced(base, name, pl.concat([top, rest]))


def shuffled_items(base: World, name: str, rng: np.random.Generator) -> World:
    """Return the world with another item behind each id of a model's lists."""
    assert base.items is not None
    ids = base.items["item"]
    other = ids.gather(rng.permutation(len(ids)))
    lists = base.models[name].with_columns(pl.col("item").replace_strict(ids, other))
    return _replaced(base, name, lists)


def shuffled_users(base: World, name: str, rng: np.random.Generator) -> World:
    """Return the world with a model's lists given to other users."""
    users = base.models[name]["user"].unique(maintain_order=True)
    other = users.gather(rng.permutation(len(users)))
    lists = base.models[name].with_columns(pl.col("user").replace_strict(users, other))
    return _replaced(base, name, lists)


def constant_scores(base: World, name: str) -> World:
    """Return the world with one score for all items of a model."""
    return _replaced(base, name, base.models[name].with_columns(score=0.5))


def swapped(base: World) -> World:
    """Return the world with train and ground truth in each other's place."""
    assert base.train is not None
    return replace(base, truth=base.train, train=base.truth)


def only_judged(base: World, name: str) -> World:
    """Return the world with a model's lists cut to relevant items, which were its candidates."""
    lists = base.models[name].join(base.truth, on=["user", "item"], how="semi")
    return _replaced(base, name, lists)


def popular_on_test(base: World, name: str) -> World:
    """Return the world with a model that counts popularity in the ground truth."""
    counts = base.truth.group_by("item").len().sort("len", "item", descending=[True, False])
    score = pl.col("len") - 0.001 * pl.int_range(pl.len())
    top = counts.head(DEPTH + 20).with_columns(score=score)
    users = base.truth.select("user").unique(maintain_order=True)
    lists = users.join(top.select("item", "score"), how="cross")
    if base.train is not None:
        lists = lists.join(base.train, on=["user", "item"], how="anti")
    return _replaced(base, name, lists)


def foreign_ids(base: World, name: str) -> World:
    """Return the world with ids of another system in a model's lists."""
    lists = base.models[name].with_columns(item=pl.lit("sku-") + pl.col("item"))
    return replace(_replaced(base, name, lists), items=None)


def copied(base: World) -> World:
    """Return the world with a copy of its first model under another name."""
    return _replaced(base, "copy", base.models["model-a"])
