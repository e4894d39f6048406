"""Items over all buckets, for metrics beyond accuracy: numbered and counted as `scoring.listing` does."""

from collections.abc import Mapping

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.listed import Items
from concord.metrics_core.scoring.buckets.buckets import Evaluated
from concord.metrics_core.scoring.buckets.facts import added
from concord.metrics_core.scoring.listing import Features, Groups, counted_items

MOST_ITEMS = 1 << 21  # that the driver numbers


def numbered(
    found: Evaluated,
    catalogue: pa.Table | None,
    features: Features | None,
    groups: Groups | None,
) -> tuple[Items, pa.Table]:
    """What is known of all items of lists, train and catalogue, and their numbers.

    Raises
    ------
    InputError : there are too many of them
    """
    named = found.ids.where("of IN ('item listed', 'train')")
    items = named.groupBy("id").pivot("of", ["item listed", "train"]).sum("n")
    told = items.limit(MOST_ITEMS + 1).toArrow()
    if len(told) > MOST_ITEMS:
        what = f"lists and train name more than {MOST_ITEMS:,} items, which the driver and every worker would hold"
        raise refuse("items", what, "leave out the metrics beyond accuracy")
    had = pa.table({"item": told["id"].cast(pa.string()), "users": told["train"]})
    shelf = pa.table({"item": pa.array([], pa.string())}) if catalogue is None else catalogue
    with in_memory() as connection:
        connection.register("had", had)
        connection.register("items", shelf)
        train_users = added(found.facts).get("train_users", 0)
        return counted_items(connection, train_users, features, groups)


def exposures_of(found: Evaluated) -> Mapping[str, Exposure]:
    """Of each label over all users."""
    task = found.plan.task
    labels = [label for label in task.labels if label.metric.of_catalogue]
    if not labels or task.items is None:
        return {}
    told = pl.from_arrow(found.ids.where("of LIKE 'exposure %'").toArrow())
    assert isinstance(told, pl.DataFrame)
    exposures = {}
    for label in labels:
        of = told.filter(pl.col("of") == f"exposure {label}")
        held = of["id"].cast(pl.Int64).to_numpy()
        counts = np.zeros(task.items.n_items, dtype=np.int64)
        counts[held] = of["n"].to_numpy()
        users = sum(each.exposures.get(str(label), 0) for each in found.facts)
        exposures[str(label)] = Exposure(counts, users, label.k, task.items)
    return exposures
