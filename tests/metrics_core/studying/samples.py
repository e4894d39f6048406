"""Comparisons on several data sets, in memory, with means that a test chooses."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from concord.metrics_core.comparing.differences import differences
from concord.metrics_core.comparing.leaderboard import metrics_of, scores
from concord.metrics_core.comparing.provenance import conventions
from concord.metrics_core.comparison.comparison import Comparison
from tests.metrics_core.comparing.tables import evidence_of

USERS = 60


def comparison_of(means: Mapping[str, float], seed: int = 1, **settings: Any) -> Comparison:
    """Models with these means of nDCG@10, up to some error over users; the first is the baseline."""
    rng = np.random.default_rng(seed)
    noise = {model: rng.normal(0, 0.1, USERS) for model in means}
    values = {m: {"nDCG@10": (mean + noise[m] - noise[m].mean()).tolist()} for m, mean in means.items()}  # fmt: skip
    evidence = evidence_of(values, **settings)
    asked, pairs = evidence.asked, differences(evidence)
    return Comparison(
        title=asked.title,
        baseline=asked.baseline,
        primary=tuple(asked.primary),
        confidence=asked.confidence,
        models=tuple(means),
        metrics=tuple(metrics_of(asked)),
        ks=tuple(asked.ks),
        scores=tuple(scores(asked, evidence.models, pairs)),
        pairs=tuple(pairs),
        conventions=conventions(asked),
    )
