"""Comparisons in memory with given means."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from concord.metrics_core.results.comparison import Comparison
from tests.metrics_core.comparison import tables

USERS = 60


def comparison_of(means: Mapping[str, float], seed: int = 1, **settings: Any) -> Comparison:
    """Return a comparison of models with these means of nDCG@10; the first is the baseline."""
    rng = np.random.default_rng(seed)
    noise = {model: rng.normal(0, 0.1, USERS) for model in means}
    values = {
        m: {"nDCG@10": (mean + noise[m] - noise[m].mean()).tolist()} for m, mean in means.items()
    }
    return tables.comparison_of(values, **settings)
