"""Simulated users' values like those of ranking metrics: many zeros and ties, correlated models."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DEPTH = 10
_GAINS = 1 / np.log2(np.arange(2, DEPTH + 2))  # of one hit at each rank
SHARED = 0.7  # share of the draws that two models have in common
NOISE = 0.15  # share of a metric's values that are independent of other metrics


def pair(
    rng: np.random.Generator, users: int, hit_rate: float, lift: float = 0.0
) -> tuple[Floats, Floats]:
    """Return (users,) nDCG@10 of two models for users with one relevant item each.

    The second model has a hit with probability `hit_rate`, the first with `hit_rate` x (1 + lift),
    at a uniform rank.
    """
    luck = rng.random(users)
    return (
        _values(rng, luck, hit_rate * (1 + lift)),
        _values(rng, luck, hit_rate),
    )


def _values(rng: np.random.Generator, luck: Floats, hit_rate: float) -> Floats:
    draws = np.where(rng.random(len(luck)) < SHARED, luck, rng.random(len(luck)))
    return np.where(draws < hit_rate, rng.choice(_GAINS, len(luck)), 0.0)


def mean_of_pair(hit_rate: float, lift: float) -> float:
    """Return the true mean difference of `pair`."""
    return float(hit_rate * lift * _GAINS.mean())


def skewed(rng: np.random.Generator, users: int, mean: float = 0.0) -> Floats:
    """Return (users,) differences with this mean: 45 % gain 0.1, and 5 % lose much."""
    return rng.choice([0.1, -0.9 + mean / 0.05, 0.0], users, p=[0.45, 0.05, 0.5])


def table(
    rng: np.random.Generator, users: int, models: int, metrics: int, better: float = 0.0
) -> Floats:
    """Return (models, metrics, users) correlated values; `better` is added to the last model."""
    hits = np.stack([pair(rng, users, 0.4)[0] for _ in range(models)])
    noise = rng.random((models, metrics, users)) < NOISE
    values = np.where(noise, rng.random((models, metrics, users)) * 0.5, hits[:, None, :])
    values[-1] += better
    return values


def lists(rng: np.random.Generator, users: int, items: int, steepness: float) -> NDArray[np.int64]:
    """Return (users, DEPTH) items of each user's list, item n with weight n ** -steepness."""
    keys = -steepness * np.log(np.arange(1, items + 1)) + rng.gumbel(size=(users, items))
    return np.argsort(-keys, axis=1)[:, :DEPTH]
