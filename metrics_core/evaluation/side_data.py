"""What stands behind the lists: train and catalogue, for the metrics beyond accuracy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import Table, create_view, read_frame, scan
from concord.metrics_core.evaluation.judge import PROPENSITY
from concord.metrics_core.evaluation.listing import Features, Groups, number_items
from concord.metrics_core.evaluation.partition import Task
from concord.metrics_core.metrics.elementary import exp2, log2


@dataclass(frozen=True)
class Catalogue:
    """The items, and what is known of them: 0/1 for each category, or a vector; None: nothing.

    numbers : item as text, and the columns of numbers that were named
    groups  : item as text -> its group, of the items that have one; None: groups were not named
    """

    items: pl.DataFrame
    features: Features | None
    numbers: pl.DataFrame
    groups: Groups | None


def catalogue_of(frame: pl.DataFrame) -> Catalogue:
    """The catalogue of a checked frame with `item` [, `categories` | `vector`] [, numbers]."""
    column = next((name for name in ("categories", "vector") if name in frame.columns), None)
    others = [name for name in frame.columns if name not in OF_CATALOGUE]
    numbers = frame.select(pl.col("item").cast(pl.String), *others)
    groups = groups_of(frame) if "group" in frame.columns else None
    if column is None:
        return Catalogue(frame.select("item"), None, numbers, groups)
    ids, values = frame["item"].to_list(), frame[column].to_list()
    known = {str(item): held or [] for item, held in zip(ids, values, strict=True)}
    return Catalogue(frame.select("item"), _features(known), numbers, groups)


def groups_of(frame: pl.DataFrame) -> Groups:
    """Item as text -> its group, of the items that have one."""
    known = frame.select(pl.col("item").cast(pl.String), "group").drop_nulls("group")
    return dict(known.iter_rows())


@dataclass(frozen=True)
class Background:
    """Train and catalogue, checked; None: there is none.

    users : those who are evaluated, where they are named; None: the users of the truth
    """

    train: Table | None = None
    items: Table | None = None
    users: Table | None = None

    @property
    def catalogue(self) -> Catalogue | None:
        """The items, and what is known of them."""
        return None if self.items is None else catalogue_of(read_frame(self.items))

    def with_item_columns(self, task: Task) -> Task:
        """Return the task with what it reads of catalogue or train; see `with_item_columns`."""
        return with_item_columns(task, lambda: self.catalogue, lambda: self.train)


NONE = Background()
OF_CATALOGUE = ("item", "categories", "vector", "title", "group")


def with_items(connection: DuckDBPyConnection, task: Task, background: Background) -> Task:
    """The task with all items of `lists`, train and catalogue numbered; registers `train` and `items`."""
    catalogue = background.catalogue
    refuse_missing(task, has_train=background.train is not None, catalogue=catalogue)
    nobody = pl.DataFrame(schema={"user": pl.String, "item": pl.String})
    create_view(
        connection, "train", nobody if background.train is None else read_frame(background.train)
    )
    create_view(
        connection, "items", nobody.select("item") if catalogue is None else catalogue.items
    )
    known = (None, None) if catalogue is None else (catalogue.features, catalogue.groups)
    return replace(task, items=number_items(connection, *known))


def with_item_columns(
    task: Task, items: Callable[[], Catalogue | None], train: Callable[[], Table | None]
) -> Task:
    """The task with the numbers of the catalogue that its metrics read, or the propensities that the train gives.

    Raises
    ------
    ValueError : the train, the catalogue, or a column of it, was not given
    """
    exponent = (task.conventions.propensity or {}).get("popularity")
    if exponent is not None:
        known = train()
        if known is None:
            msg = "propensity: popularity needs train (user, item); give it, or name a column"
            raise ValueError(msg)
        task = replace(task, shelf=by_popularity(known, exponent).to_arrow())
    if not task.numbers:
        return task
    catalogue = items()
    there = [] if catalogue is None else catalogue.numbers.columns[1:]
    for label in task.labels:
        if lacking := [name for name in label.metric.columns if name not in there]:
            columns = ", ".join(f"{name}: …" for name in lacking)
            msg = f"{label}: needs items with {' and '.join(lacking)}; name them in the columns of items: {{{columns}}}"
            raise ValueError(msg)
    if PROPENSITY in task.numbers and PROPENSITY not in there:
        msg = f"propensity: column: items needs items with {PROPENSITY}; name it in the columns of items"
        raise ValueError(msg)
    assert catalogue is not None
    numbers = catalogue.numbers.select("item", *task.numbers)
    if task.shelf is not None:
        beside = pl.DataFrame(task.shelf)
        numbers = numbers.join(beside, on="item", how="full", coalesce=True)
    return replace(task, shelf=numbers.sort("item").to_arrow())


def by_popularity(train: Table, exponent: float) -> pl.DataFrame:
    """Item as text, and its propensity (n / max n)^exponent, n: its train users.

    References
    ----------
    Yang, Cui, Xuan, Wang, Belongie & Estrin (2018), RecSys, 279-287.  doi:10.1145/3240323.3240355
    """
    users = scan(train).group_by(pl.col("item").cast(pl.String)).agg(n=pl.col("user").n_unique())
    found = users.collect().sort("item")
    n = found["n"].to_numpy().astype(np.float64)
    values = exp2(exponent * log2(n / n.max(initial=1.0)))
    return pl.DataFrame({"item": found["item"], PROPENSITY: values})


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
            "groups": catalogue is not None and catalogue.groups is not None,
            "k": True,
        }
        lacking = sorted(need for need in needs if not given[need])
        if lacking:
            how = {
                "train": "train (user, item)",
                "items": "items (the catalogue)",
                "features": "items with `categories` or `vector`",
                "groups": "items with the column `group` named",
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
    length = max(map(len, known.values()))
    return {item: [float(v) for v in held] or [0.0] * length for item, held in known.items()}


def _indicator(held: Sequence[str], place: Mapping[str, int]) -> list[float]:
    row = [0.0] * len(place)
    for category in held:
        row[place[category]] = 1.0
    return row
