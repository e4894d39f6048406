"""Popularity drift, against SciPy and simulation."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

import concord as cc
from concord.metrics_core.analyses.audit.effects import divergence, random_divisions

RUNS = 400
_counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=30)


@given(_counts.filter(lambda pairs: all(map(sum, zip(*pairs, strict=True)))))
def test_divergence_is_scipys_distance_squared(pairs: list[tuple[int, int]]) -> None:
    train, truth = (np.array(counts) for counts in zip(*pairs, strict=True))

    result = divergence(train, truth).sum()

    assert result == pytest.approx(jensenshannon(train, truth, base=2) ** 2, abs=1e-9)
    assert -1e-12 <= result <= 1 + 1e-12


def test_false_positive_rate_of_drift_is_a_twentieth() -> None:
    """Without drift, the observed divergence and 19 random ones are exchangeable."""
    random, shares = np.random.default_rng(6), 1 / np.arange(1, 61)
    reported = 0
    for _ in range(RUNS):
        train, truth = (random.multinomial(n, shares / shares.sum()) for n in (800, 300))
        observed = divergence(train, truth).sum()
        reported += observed > max(
            divergence(*sides).sum() for sides in random_divisions(train, truth)
        )

    assert 0.02 <= reported / RUNS <= 0.085  # 0.05 ± 3 standard errors


@pytest.mark.parametrize("has_drift", [False, True])
def test_one_item_that_becomes_popular_is_drift(has_drift: bool) -> None:
    """Equal shares on both sides; or item 0, a 50th of train, in the truth of half the users."""
    random = np.random.default_rng(4)
    train, truth = (
        pl.DataFrame({"user": np.repeat(np.arange(400), 12), "item": random.integers(1, 50, 4800)})
        .unique()
        .sort("user", "item")
        for _ in range(2)
    )
    if has_drift:
        rows = pl.DataFrame({"user": range(0, 400, 2), "item": [0] * 200})
        train, truth = pl.concat([train, rows[:80]]), pl.concat([truth, rows])
    lists = {user: [0, 1] for user in range(400)}

    audit = cc.audit({"als": lists}, truth, train=train, metrics=["Hit@2"], conventions="standard")

    count = audit["popularity_drift"].count
    assert (count.severity is not None) == has_drift
    assert count.bits_by_chance == pytest.approx(0.004, abs=0.001)
    assert (count.rows, count.users, count.items) == ((200, 200, 1) if has_drift else (0, 0, 0))
