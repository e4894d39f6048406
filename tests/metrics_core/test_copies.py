"""What `duplicates: keep` does to each metric of the catalogue, measured on lists that repeat items."""

import random
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.conventions import KNOB, KNOBS
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC
from concord.metrics_core.metrics.metric import Metric
from docs.make_docs import conventions_page, metric_page

ITEMS = "abcdefgh"
LENGTH = 6
INSIDE = {"RBP": "(p=0.8)", "HLU": "(halflife=5)"}
ONCE = {
    *("RR", "Bpref", "HLU", "AUC", "Judged", "Spearman", "Kendall", "FCP"),
    *("Coverage", "Gini", "Entropy", "Personalization"),
}


def _drawn() -> dict[str, Any]:
    """Lists with copies, graded truth, train and a catalogue with categories."""
    draw = random.Random(20261121)
    users = [f"u{number}" for number in range(40)]
    return {
        "recs": {user: draw.choices(ITEMS[:5], k=LENGTH) for user in users},
        "truth": {user: {i: draw.randint(0, 4) for i in draw.sample(ITEMS, 4)} for user in users},
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
        "columns": {"items": {"group": "group"}},
    }


DATA = _drawn()


def _label(metric: Metric) -> str:
    cutoff = f"@{LENGTH}" if metric.takes_k else ""  # the whole list, also where it closes up
    return f"{metric.name}{INSIDE.get(metric.name, '')}{cutoff}"


def _mean(label: str, duplicates: str, **knobs: Any) -> float:
    pinned = cc.preset(
        "standard", duplicates=duplicates, ties="given", fairness_target="catalogue", **knobs
    )
    return cc.evaluate(**DATA, metrics=[label], conventions=pinned)[label]


def _ways(metric: Metric) -> list[dict[str, Any]]:
    """`standard`, and with each word of each convention of the metric."""
    able = [KNOB[name] for name in metric.knobs if name in KNOB]
    return [
        {},
        *({knob.name: value} for knob in able for value in knob.values if value != "full_k"),
    ]


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_copies_count_where_the_metric_says_so(metric: Metric) -> None:
    """Else a list with copies is worth what it is with misses in their places; beyond accuracy, without them."""
    without = "drop" if metric.family == "beyond" else "first"
    label = _label(metric)
    kept = [_mean(label, "keep", **way) for way in _ways(metric)]
    settled = [_mean(label, without, **way) for way in _ways(metric)]

    assert metric.counts_copies is (kept != settled)


@pytest.mark.parametrize(
    "metric", [m for m in CATALOGUE if m.family != "beyond"], ids=lambda metric: metric.name
)
def test_judged_only_counts_first_copies(metric: Metric) -> None:
    inside = INSIDE.get(metric.name, "()").replace(")", ",judged_only=true)").replace("(,", "(")
    label = f"{metric.name}{inside}" + (f"@{LENGTH}" if metric.takes_k else "")

    assert _mean(label, "keep") == _mean(label, "drop")


def test_those_that_count_first_copies_are_named() -> None:
    assert {metric.name for metric in CATALOGUE if not metric.counts_copies} == ONCE
    (said,) = (line for line in conventions_page().splitlines() if line.startswith("Under `keep`"))
    assert all(f"{name}" in said for name in ONCE)
    assert not any(f" {name}," in said for name in METRIC if name not in ONCE)


def test_no_text_says_more_than_the_metrics_do() -> None:
    (duplicates,) = (knob for knob in KNOBS if knob.name == "duplicates")

    assert "where the metric counts copies" in duplicates.means("keep")
    assert "counts first copies only" in metric_page(METRIC["HLU"])
    assert "counts each copy" in metric_page(METRIC["P"])
