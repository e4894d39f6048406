"""Pools of which only a sample was judged: infAP, and `input.negative_grade: pooled`."""

import random
from typing import Any

import numpy as np
import pytest

import concord as cc
from benchmarks import simulated_pools
from tests.metrics_core.metrics import reference
from tests.metrics_core.metrics.strategies import LABELS

approx = pytest.approx
E = 0.00001
POOLED: Any = {"negative_grade": "pooled"}
UNJUDGED: Any = {"negative_grade": "unjudged"}

# a and c are relevant, b and d are not, p was pooled but not judged, x is not in the pool
SAMPLE = {"a": 1, "b": 0, "c": 1, "d": 0, "p": -1}
WORKED = [
    ("axb", (1 / 1) / 2),
    ("xa", (1 / 2 + (1 / 2) * (0 / 1) * E / (2 * E)) / 2),  # x is not in the pool
    ("pa", (1 / 2 + (1 / 2) * (1 / 1) * E / (2 * E)) / 2),  # p is, and may be relevant
    ("ba", (1 / 2 + (1 / 2) * (1 / 1) * E / (1 + 2 * E)) / 2),
    (
        "apxbc",  # above c, three of four are in the pool, and one of two judged is relevant
        (1 / 1 + (1 / 5 + (4 / 5) * (3 / 4) * (1 + E) / (2 + 2 * E))) / 2,
    ),
]


def _evaluate(
    listed: dict[str, list[str]], truth: Any, metrics: list[str]
) -> cc.results.Evaluation:
    return cc.evaluate(listed, truth, metrics=metrics, conventions="standard", input=POOLED)


@pytest.mark.parametrize(("listed", "value"), WORKED)
def test_worked_example_of_infap(listed: str, value: float) -> None:
    assert _evaluate({"u": list(listed)}, {"u": SAMPLE}, ["infAP"])["infAP"] == approx(value)


def test_infap_of_random_pools_equals_its_definition() -> None:
    draw = random.Random(3)
    lists = {f"u{n}": draw.sample("abcdefghijkl", 8) for n in range(60)}
    truth: dict[str, dict[str | int, float]] = {
        user: {"m": 1.0, **{x: draw.choice((-1.0, -1.0, 0.0, 1.0, 2.0)) for x in "abcdefghi"}}
        for user in lists
    }
    pinned = cc.preset("standard")

    values = dict(_evaluate(lists, truth, ["infAP"]).per_user.iter_rows())

    expected = {u: reference.value("infAP", lists[u], truth[u], None, pinned) for u in lists}
    assert values == approx(expected, rel=1e-12)


def test_infap_of_a_judged_sample_is_near_ap_of_the_whole_pool() -> None:
    rng = np.random.default_rng(7)
    lists, grades = simulated_pools.draw_pools(rng, 100)

    full = simulated_pools.means(lists, grades)
    sampled = simulated_pools.means(lists, simulated_pools.judge_sample(rng, grades, 0.3))

    assert full["infAP"] == approx(full["AP"], abs=1e-5)
    assert sampled["infAP"] == approx(full["AP"], rel=0.1)
    assert sampled["AP"] < 0.6 * full["AP"]


@pytest.mark.parametrize("threshold", [1, None])
def test_other_metrics_read_pooled_items_as_unjudged(threshold: int | None) -> None:
    recs, truth = {"u": list("pabxc")}, {"u": SAMPLE}
    labels = [label for label, (name, _, _) in LABELS.items() if name != "infAP"]
    labels.append("infAP(judged_only=true)")
    conventions = cc.preset("standard", relevance_threshold=threshold)

    pooled, unjudged = (
        cc.evaluate(recs, truth, metrics=labels, conventions=conventions, input=policy)
        for policy in (POOLED, UNJUDGED)
    )

    assert pooled.per_user.equals(unjudged.per_user)
    assert pooled["Judged"] == 3 / 5


def test_a_derivation_names_pooled_items() -> None:
    text = str(
        cc.explain(
            {"u": list("pa")},
            {"u": SAMPLE},
            user="u",
            metric="infAP",
            conventions="standard",
            input=POOLED,
        )
    )

    rows = [line.split() for line in text.splitlines()]
    assert ["1", "p", "-1", "pooled,", "not", "judged"] in rows
    assert ["2", "a", "1", "hit", "0.75"] in rows
    assert "infAP = (0.75) / 2" in text
