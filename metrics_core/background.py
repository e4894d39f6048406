"""What stands behind the lists: train and catalogue, for the metrics beyond accuracy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from metrics_core.frames import Data, frame_of, ids_of, require
from metrics_core.listing import Features
from metrics_core.partition import Task


@dataclass(frozen=True)
class Catalogue:
    """The items, and what is known of them: 0/1 for each category, or a vector; None: nothing."""

    items: pl.DataFrame
    features: Features | None


def train_frame(train: Data) -> pl.DataFrame:
    """user, item: one row a pair.

    Raises
    ------
    ValueError : a column is missing or an id is
    """
    if isinstance(train, Mapping):
        pairs = [(user, item) for user, held in train.items() for item in held]
        users, items = ([pair[n] for pair in pairs] for n in range(2))
        frame = pl.DataFrame({"user": ids_of(users), "item": ids_of(items)})
    else:
        frame = frame_of(train, "train")
        require(frame, "train", ["user", "item"])
        frame = frame.select("user", "item")
    _refuse_nulls(frame, "train")
    return frame.unique()


def catalogue_of(items: Data) -> Catalogue:
    """The catalogue of a frame with `item` [, `categories` | `vector`], or of a dict.

    Raises
    ------
    ValueError : an item stands twice or has no id, vectors differ in length
    """
    if isinstance(items, Mapping):
        known = {str(item): list(values) for item, values in items.items()}
        return Catalogue(pl.DataFrame({"item": ids_of(list(items))}), _features(known))
    frame = frame_of(items, "items")
    require(frame, "items", ["item"])
    _refuse_nulls(frame.select("item"), "items")
    twice = frame.filter(frame["item"].is_duplicated())
    if len(twice):
        msg = f"items: item {twice['item'][0]!r} stands more than once; keep one row an item"
        raise ValueError(msg)
    column = next((name for name in ("categories", "vector") if name in frame.columns), None)
    if column is None:
        return Catalogue(frame.select("item"), None)
    ids, values = frame["item"].to_list(), frame[column].to_list()
    known = {str(item): held or [] for item, held in zip(ids, values, strict=True)}
    return Catalogue(frame.select("item"), _features(known))


def refuse_missing(task: Task, *, has_train: bool, catalogue: Catalogue | None) -> None:
    """Refuse a label whose metric needs what was not given."""
    for label in task.labels:
        own = label.conventions(task.conventions)
        needs = set(label.metric.needs)
        if label.name in {"Coverage", "Gini"}:
            where = own.coverage_items if label.name == "Coverage" else own.gini_items
            needs |= {"train": {"train"}, "catalogue": {"items"}}.get(where, set())
        if label.name == "Serendipity":
            needs |= {"items"} if own.serendipity_kind == "popularity" else {"features"}
        given = {
            "train": has_train,
            "items": catalogue is not None,
            "features": catalogue is not None and catalogue.features is not None,
            "k": True,
        }
        lacking = sorted(need for need in needs if not given[need])
        if lacking:
            how = {
                "train": "train (user, item)",
                "items": "items (the catalogue)",
                "features": "items with `categories` or `vector`",
            }
            msg = f"{label}: needs {' and '.join(how[need] for need in lacking)}; give it, or leave the metric out"
            raise ValueError(msg)


def _features(known: Mapping[str, list[Any]]) -> Features | None:
    if not any(known.values()):
        return None
    if all(isinstance(value, str) for held in known.values() for value in held):
        categories = sorted({value for held in known.values() for value in held})
        place = {category: n for n, category in enumerate(categories)}
        return {item: _indicator(held, place) for item, held in known.items()}
    lengths = {len(held) for held in known.values() if held}
    if len(lengths) > 1:
        msg = f"items: vectors of different lengths {sorted(lengths)}; give all items one length"
        raise ValueError(msg)
    (length,) = lengths
    return {item: [float(v) for v in held] or [0.0] * length for item, held in known.items()}


def _indicator(held: Sequence[str], place: Mapping[str, int]) -> list[float]:
    row = [0.0] * len(place)
    for category in held:
        row[place[category]] = 1.0
    return row


def _refuse_nulls(frame: pl.DataFrame, what: str) -> None:
    wrong = frame.filter(pl.any_horizontal(pl.all().is_null()))
    if len(wrong):
        msg = f"{what}: {len(wrong)} row(s) without id; give every row its ids, or drop the rows"
        raise ValueError(msg)
