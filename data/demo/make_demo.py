"""Make the demo data again, bit for bit: `python data/demo/make_demo.py [FOLDER]`."""

import gzip
import json
import sys
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from recommenders import als, ease, item_knn, popularity
from shop import (
    CATEGORIES,
    CHANNELS,
    COUNTRIES,
    ITEMS,
    MAKERS,
    SPLIT_DAY,
    USERS,
    Floats,
    Shop,
    simulate,
)
from titles import titles

SEED = 20_260_301
DEPTH = 30
DIGITS = 5  # of scores: rounding keeps the last bits of a machine's algebra out of the files
OPENING = datetime(2026, 1, 5)
HALF_LIFE = 60.0  # days: how fast `ease-recent` forgets
PARTS = 3


def main(folder: Path) -> None:
    """Simulate the shop, train the models on its first weeks and write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    shop = simulate(SEED)
    rng = np.random.default_rng(SEED + 1)
    train = shop.second < SPLIT_DAY * 86_400
    _write_shop(folder, shop, train, titles([CATEGORIES[c] for c in shop.item_category], rng))
    weights = _weights(shop, train, np.ones(len(shop.user)))
    age = (SPLIT_DAY * 86_400 - shop.second) / 86_400
    recent = _weights(shop, train, 0.5 ** (age / HALF_LIFE))
    known = weights > 0
    with_history = known.any(axis=1)
    _write_popularity(folder / "popularity.csv", _top(popularity(weights), known))
    _write_knn(folder / "item-knn.parquet", item_knn(weights), known, rng)
    _write_ease(folder / "ease.jsonl.gz", _top(ease(weights), known, with_history))
    _write_recent(folder / "ease-recent", _top(ease(recent), known, with_history))
    _write_als(folder / "als.run.gz", _top(als(weights, rng), known, with_history))


Lists = list[tuple[int, NDArray[np.int64], Floats]]  # user, items best first, their scores


def _weights(shop: Shop, train: NDArray[np.bool_], value: Floats) -> Floats:
    weights = np.zeros((USERS, ITEMS))
    weights[shop.user[train], shop.item[train]] = value[train]
    return weights


def _top(
    scores: Floats, known: NDArray[np.bool_], listed: NDArray[np.bool_] | None = None
) -> Lists:
    """Return the best items that a user does not know yet; ties by item."""
    rounded = np.where(known, -np.inf, np.round(scores, DIGITS))
    order = np.argsort(-rounded, axis=1, kind="stable")[:, :DEPTH]
    users = np.arange(USERS) if listed is None else np.flatnonzero(listed)
    return [(int(user), order[user], rounded[user, order[user]]) for user in users]


def _user(number: int) -> str:
    return f"u{number:04d}"


def _item(number: int) -> str:
    return f"sku-{number:03d}"


def _write_shop(folder: Path, shop: Shop, train: NDArray[np.bool_], names: list[str]) -> None:
    events = pl.DataFrame(
        {
            "user": [_user(user) for user in shop.user],
            "item": [_item(item) for item in shop.item],
            "grade": shop.grade,
            "time": [OPENING + timedelta(seconds=int(second)) for second in shop.second],
        }
    )
    events.filter(pl.Series(train)).write_parquet(folder / "train.parquet")
    events.filter(pl.Series(~train)).write_parquet(folder / "truth.parquet")
    categories = [
        sorted({CATEGORIES[first], CATEGORIES[second]})
        for first, second in zip(shop.item_category, shop.second_category, strict=True)
    ]
    items = {
        "item": [_item(i) for i in range(ITEMS)],
        "title": names,
        "category": categories,
        "maker": [MAKERS[maker] for maker in shop.maker],
    }
    pl.DataFrame(items).write_parquet(folder / "items.parquet")
    users = {
        "user": [_user(user) for user in range(USERS)],
        "channel": [CHANNELS[channel] for channel in shop.channel],
        "country": [COUNTRIES[country] for country in shop.country],
    }
    pl.DataFrame(users).write_parquet(folder / "users.parquet")


def _write_popularity(path: Path, lists: Lists) -> None:
    """Write CSV with other column names and no scores."""
    rows = [
        f"{_user(user)},{_item(item)},{rank}"
        for user, items, _ in lists
        for rank, item in enumerate(items, 1)
    ]
    path.write_text(
        "\n".join(["customer,product,position", *rows]) + "\n", encoding="utf-8", newline="\n"
    )


def _write_knn(
    path: Path, scores: Floats, known: NDArray[np.bool_], rng: np.random.Generator
) -> None:
    """Write rounded scores with ties, rows shuffled; items without neighbours are left out."""
    lists = _top(np.round(scores, 2), known)
    rows = [
        (_user(user), _item(item), float(score))
        for user, items, best in lists
        for item, score in zip(items, best, strict=True)
        if score > 0
    ]
    frame = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    frame[rng.permutation(len(frame))].write_parquet(path)


def _write_ease(path: Path, lists: Lists) -> None:
    """Write one line per user, best item first."""
    lines = (
        json.dumps(
            {
                "user": _user(user),
                "items": [_item(item) for item in items],
                "scores": [round(float(score), DIGITS) for score in scores],
            }
        )
        for user, items, scores in lists
    )
    _write_gzip(path, lines)


def _write_recent(folder: Path, lists: Lists) -> None:
    """Write a folder of parquet parts with ranks and scores."""
    folder.mkdir(exist_ok=True)
    rows = [
        (_user(user), _item(item), rank, float(score))
        for user, items, scores in lists
        for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
    ]
    frame = pl.DataFrame(rows, schema=["user", "item", "rank", "score"], orient="row")
    per_part = -(-len(frame) // PARTS)
    for part in range(PARTS):
        frame[part * per_part : (part + 1) * per_part].write_parquet(
            folder / f"part-{part}.parquet"
        )


def _write_als(path: Path, lists: Lists) -> None:
    """Write a TREC run."""
    lines = (
        f"{_user(user)} Q0 {_item(item)} {rank} {score:.{DIGITS}f} als"
        for user, items, scores in lists
        for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
    )
    _write_gzip(path, lines)


def _write_gzip(path: Path, lines: Iterable[str]) -> None:
    """Write gzip without the time, which would change the bytes."""
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
