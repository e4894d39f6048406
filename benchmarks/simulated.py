"""Users' values as ranking metrics have them: many zeros, few different values, models that hang together."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DEPTH = 10
_GAINS = 1 / np.log2(np.arange(2, DEPTH + 2))  # of one hit at each rank
SHARED = 0.7  # of the luck of two models
NOISE = 0.15  # of the values of a metric that the others do not share


def pair(
    rng: np.random.Generator, users: int, hit_rate: float, lift: float = 0.0
) -> tuple[Floats, Floats]:
    """(users,) nDCG@10 of two models for users with one relevant item each.

    Both find it with probability `hit_rate`, the first with `hit_rate` x (1 + lift), at any rank alike.
    """
    luck = rng.random(users)
    return (
        _values(rng, luck, hit_rate * (1 + lift)),
        _values(rng, luck, hit_rate),
    )


def _values(rng: np.random.Generator, luck: Floats, hit_rate: float) -> Floats:
    own = np.where(rng.random(len(luck)) < SHARED, luck, rng.random(len(luck)))
    return np.where(own < hit_rate, rng.choice(_GAINS, len(luck)), 0.0)


def mean_of_pair(hit_rate: float, lift: float) -> float:
    """The true mean difference of such a pair."""
    return float(hit_rate * lift * _GAINS.mean())


def skewed(rng: np.random.Generator, users: int, mean: float = 0.0) -> Floats:
    """(users,) differences: nine in ten of those who differ gain 0.1, one in ten loses so much that this is the mean."""
    return rng.choice([0.1, -0.9 + mean / 0.05, 0.0], users, p=[0.45, 0.05, 0.5])


def table(
    rng: np.random.Generator, users: int, models: int, metrics: int, better: float = 0.0
) -> Floats:
    """(models, metrics, users) values that hang together; the last model is better by `better` on all metrics."""
    hits = np.stack([pair(rng, users, 0.4)[0] for _ in range(models)])
    noise = rng.random((models, metrics, users)) < NOISE
    values = np.where(noise, rng.random((models, metrics, users)) * 0.5, hits[:, None, :])
    values[-1] += better
    return values


def lists(rng: np.random.Generator, users: int, items: int, steepness: float) -> NDArray[np.int64]:
    """(users, DEPTH) items of each user's list, item n with weight n ** -steepness: the steeper, the fewer are covered."""
    keys = -steepness * np.log(np.arange(1, items + 1)) + rng.gumbel(size=(users, items))
    return np.argsort(-keys, axis=1)[:, :DEPTH]
