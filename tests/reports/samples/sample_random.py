"""Random comparisons of values, of few or many users, with values that are undefined or missing."""

import math
import random
from itertools import product

import concord
from concord.metrics_core.results.comparison import Comparison

PRIMARY, SECONDARY = ("A@10", "B@10", "C"), "D"


def random_comparison(seed: int) -> Comparison:
    """Return models with small and large differences, undefined values and missing users."""
    rng = random.Random(seed)
    users = range(rng.choice([5, 8, 12, 30, 60, 150]))
    names = [f"m{n}" for n in range(rng.choice([2, 2, 3, 3, 4, 6, 8, 13]))]
    labels = [*PRIMARY[: rng.choice([1, 1, 2, 3])], SECONDARY]
    base = {label: [rng.random() for _ in users] for label in labels}
    models = {name: {label: _values(rng, base[label]) for label in labels} for name in names}
    for model in models.values():
        if rng.random() < 0.1:
            for user, label in product(rng.sample(users, len(users) // 2), labels):
                del model[label][user]
    effects: list[float | str] = [0, 0.02, 0.05, 0.1, "10%"]
    return concord.compare_values(
        models,
        baseline=rng.choice(names),
        primary=labels[:-1],
        higher_is_better={label: rng.random() < 0.75 for label in labels},
        min_effect=rng.choice(effects),
        family=rng.choice(["baseline", "all"]),
        tried=rng.choice([None, None, 40]),
        confidence=rng.choice([0.95, 0.8]),
        max_missing_lists=rng.choice([0.01, 0.3]),
        resamples=99,
    )


def _values(rng: random.Random, base: list[float]) -> dict[int, float]:
    effect = rng.choice([0, 0, 0.02, 0.05, 0.1, 0.3]) * rng.choice([1, -1])
    spread = rng.choice([0, 0.001, 0.05, 0.5])
    values = {user: x + effect + rng.gauss(0, spread) for user, x in enumerate(base)}
    if rng.random() < 0.15:
        n_undefined = math.ceil(len(base) * rng.choice([0.1, 0.4, 1]))
        values.update(dict.fromkeys(rng.sample(range(len(base)), n_undefined), math.nan))
    return values
