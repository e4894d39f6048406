"""Effect of `duplicates: keep` on each metric, for lists that repeat items."""

import random
from functools import cache
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.metric import Metric
from tests.metrics_core.metrics.strategies import label_of

ITEMS = "abcdefgh"
LENGTH = 6  # the whole list, also where it closes up


def _drawn() -> dict[str, Any]:
    """Lists with copies, graded truth, train and a catalogue with categories."""
    draw = random.Random(20261121)
    users = [f"u{number}" for number in range(40)]
    recs = {user: draw.choices(ITEMS[:5], k=LENGTH) for user in users}
    truth = {user: {i: draw.randint(0, 4) for i in draw.sample(ITEMS, 4)} for user in users}
    judged = [
        (user, item, subtopic, grade)
        for user, grades in truth.items()
        for item, grade in grades.items()
        for subtopic in ("st" if item in "abc" else "tv")
    ]
    return {
        "recs": recs,
        "truth": pl.DataFrame(judged, ["user", "item", "subtopic", "grade"], orient="row"),
        "train": pl.DataFrame(
            [(user, item) for user in users[:9] for item in draw.sample(ITEMS, 3)],
            schema=["user", "item"],
            orient="row",
        ),
        "items": pl.DataFrame(
            {
                "item": list(ITEMS),
                "categories": [draw.sample("xyz", 2) for _ in ITEMS],
                "group": [*"ppqqrrpq"],
            }
        ),
        "columns": {"items": {"group": "group"}, "truth": {"subtopic": "subtopic"}},
    }


DATA = _drawn()


def _evaluate(labels: list[str], duplicates: str, **options: Any) -> cc.results.Evaluation:
    pinned = cc.preset(
        "standard",
        **{"duplicates": duplicates, "ties": "given", "fairness_target": "catalogue", **options},
    )
    return cc.evaluate(**DATA, metrics=labels, conventions=pinned)


@cache
def _means(duplicates: str, convention: str = "", value: str = "") -> cc.results.Evaluation:
    """Evaluate all metrics, or those that read a convention with a word of it."""
    labels = [
        label_of(metric, LENGTH)
        for metric in CATALOGUE
        if not convention or convention in metric.conventions
    ]
    return _evaluate(labels, duplicates, **({convention: value} if convention else {}))


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_copies_count_where_the_metric_says_so(metric: Metric) -> None:
    """Other metrics count copies as misses, or skip them if the metric is beyond accuracy."""
    without = "drop" if metric.family == "beyond" else "first"
    options = [CONVENTION[name] for name in metric.conventions if name in CONVENTION]
    ways = [
        (convention.name, value)
        for convention in options
        for value in convention.values
        if value != "full_k"
    ]
    remaining, settled = (
        [_means(duplicates, *way)[label_of(metric, LENGTH)] for way in [(), *ways]]
        for duplicates in ("keep", without)
    )

    assert metric.counts_copies is (remaining != settled)


def test_judged_only_counts_first_copies() -> None:
    labels = [label_of(m, LENGTH, judged_only=True) for m in CATALOGUE if m.family != "beyond"]
    remaining, dropped = (_evaluate(labels, duplicates) for duplicates in ("keep", "drop"))

    assert {label: remaining[label] for label in labels} == {
        label: dropped[label] for label in labels
    }
