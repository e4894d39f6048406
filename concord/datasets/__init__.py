"""Data for examples and tutorials."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

__all__ = ["Demo", "load_demo"]

_FOLDER = Path(__file__).parent / "demo"
_MODELS = ("popularity", "item-knn", "ease", "ease-recent", "als")


@dataclass(frozen=True, eq=False, repr=False)
class Demo:
    """Recommendations of five models for 300 users of a simulated shop.

    Attributes
    ----------
    models : dict of str to polars.DataFrame
        For each model, its recommendations: user, item, and score, rank or both.
    truth : polars.DataFrame
        Interactions after the split: user, item, grade, time. Grades: 1 viewed, 2 added to the
        basket, 3 bought.
    train : polars.DataFrame
        Interactions before the split, with the same columns.
    items : polars.DataFrame
        Item features: item, title, category (a list of text), maker.
    users : polars.DataFrame
        User features: user, channel, country.

    Examples
    --------
    >>> import concord as cc
    >>> demo = cc.datasets.load_demo()
    >>> demo.items.columns
    ['item', 'title', 'category', 'maker']
    """

    models: Mapping[str, pl.DataFrame]
    truth: pl.DataFrame
    train: pl.DataFrame
    items: pl.DataFrame
    users: pl.DataFrame

    def __repr__(self) -> str:
        tables = {name: getattr(self, name) for name in ("truth", "train", "items", "users")}
        return "\n".join(
            [
                f"Demo: a simulated shop with {len(self.users)} users and {len(self.items)} items",
                f"models  {', '.join(self.models)}",
                *(
                    f"{name}   {len(frame):,} rows: {', '.join(frame.columns)}"
                    for name, frame in tables.items()
                ),
            ]
        )


def load_demo() -> Demo:
    """Return the demo data that the package ships: an excerpt with 300 users.

    The data are simulated, public domain (CC0 1.0), and read without a network.

    Returns
    -------
    Demo
        Polars frames: `models`, a dict of recommendations, and `truth`, `train`, `items`, `users`.

    Examples
    --------
    >>> import concord as cc
    >>> demo = cc.datasets.load_demo()
    >>> demo
    Demo: a simulated shop with 300 users and 700 items
    models  popularity, item-knn, ease, ease-recent, als
    truth   4,869 rows: user, item, grade, time
    train   8,669 rows: user, item, grade, time
    items   700 rows: item, title, category, maker
    users   300 rows: user, channel, country
    >>> result = cc.evaluate(
    ...     demo.models["ease"], demo.truth, metrics=["nDCG@10"], conventions="standard"
    ... )
    >>> round(result["nDCG@10"], 4)
    0.2151
    """
    return Demo(
        models={name: _read(name) for name in _MODELS},
        truth=_read("truth"),
        train=_read("train"),
        items=_read("items"),
        users=_read("users"),
    )


def _read(name: str) -> pl.DataFrame:
    return pl.read_parquet(_FOLDER / f"{name}.parquet")
