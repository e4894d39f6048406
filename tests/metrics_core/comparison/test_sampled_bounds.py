"""Bounds of a mean from sampled ranks: by hand, on a lattice of distributions, and simulated."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta

from concord.metrics_core.comparison.warnings.sampling import (
    RankBounds,
    grid,
    mean_bounds,
    rank_bounds,
)
from concord.metrics_core.conventions.conventions import Candidates
from concord.metrics_core.evaluation.sampled_candidates import rank_probabilities


def _exactly(shares: np.ndarray, candidates: Candidates, within: float = 0.0) -> RankBounds:
    cuts = np.arange(1, candidates.negatives + 1)
    below = np.cumsum(shares)[:-1]
    return RankBounds(candidates, cuts, below - within, below + within)


def test_one_negative_of_two_by_hand() -> None:
    # N = 3, m = 1: P(r = 1) = p1 + p2 / 2 = 0.6.
    # The smallest p1 has p1 + p2 = 1: p1 = 0.2, p2 = 0.8. The largest has p2 = 0: p1 = 0.6.
    ranks = np.array([1, 2, 3])
    observed = _exactly(np.array([0.6, 0.4]), Candidates(1, 3))

    assert mean_bounds(np.array([1.0, 0.0, 0.0]), ranks, observed) == pytest.approx((0.2, 0.6))


def test_it_is_the_best_of_all_distributions_on_a_lattice() -> None:
    candidates, ranks, steps = Candidates(2, 5), np.arange(1, 6), 20
    shares = rank_probabilities(ranks, candidates)
    aim = np.array([1.0, 0.6, 0.5, 0.0, 0.0])
    observed = _exactly(np.array([0.5, 0.3, 0.2]), candidates, within=0.05)
    means = []
    for parts in product(range(steps + 1), repeat=4):
        if sum(parts) <= steps:
            p = np.array([*parts, steps - sum(parts)]) / steps
            below = np.cumsum(p @ shares)[:-1]
            if (below >= observed.low - 1e-12).all() and (below <= observed.high + 1e-12).all():
                means.append(float(p @ aim))

    low, high = mean_bounds(aim, ranks, observed) or (np.nan, np.nan)

    assert low <= min(means) <= low + 1 / steps
    assert high - 1 / steps <= max(means) <= high


def test_where_all_items_are_candidates_only_the_sampling_of_users_is_open() -> None:
    # Hit@1 depends on P(r <= 1), with Clopper and Pearson's interval at 1 of 4 cuts.
    counts = np.array([30.0, 20, 10, 25, 15])
    estimate = rank_bounds(counts, 100, Candidates(4, 5), alpha=0.05)

    expected = beta.ppf(0.05 / 8, 30, 71), beta.ppf(1 - 0.05 / 8, 31, 70)
    assert mean_bounds(np.array([1.0, 0, 0, 0, 0]), np.arange(1, 6), estimate) == pytest.approx(
        expected, abs=1e-6
    )


def test_no_user_and_all_users_below_an_edge() -> None:
    estimate = rank_bounds(np.array([0.0, 0, 50]), 50, Candidates(2, 9), alpha=0.05)

    assert estimate.low.tolist() == [0, 0]
    assert estimate.high == pytest.approx(beta.ppf(1 - 0.05 / 4, 1, 50))


def test_ranks_that_no_uniform_sample_gives_fit_nothing() -> None:
    # Half of 100,000 users at sampled rank 50 of 101 exactly, and none beside it.
    counts = np.zeros(101)
    counts[0], counts[50] = 50_000, 50_000
    candidates = Candidates(100, 10_000)
    ranks = grid(10, candidates)

    estimate = rank_bounds(counts, 100_000, candidates, 0.05)
    assert mean_bounds(np.where(ranks <= 10, 1.0, 0.0), ranks, estimate) is None


def test_a_grid_of_ranks_says_what_all_ranks_say() -> None:
    candidates, every = Candidates(50, 3_000), np.arange(1, 3_001)
    rng = np.random.default_rng(5)
    full = np.minimum(rng.geometric(0.004, size=2_000), 3_000)
    drawn = rng.hypergeometric(full - 1, 3_000 - full, 50)
    estimate = rank_bounds(np.bincount(drawn, minlength=51), 2_000, candidates, 0.05)
    few = grid(10, candidates)

    of_few = mean_bounds(np.where(few <= 10, 1 / few, 0.0), few, estimate)
    of_every = mean_bounds(np.where(every <= 10, 1 / every, 0.0), every, estimate)

    assert len(few) < len(every) / 5
    assert of_few == pytest.approx(of_every, abs=2e-3)
