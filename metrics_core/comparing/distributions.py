"""How users' differences are spread: percentiles of those that are not 0, each primary label against the baseline."""

from collections.abc import Iterator

import numpy as np

from concord.metrics_core.comparing.evidence.aligned import Aligned
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparison.parts import Distribution
from concord.metrics_core.metrics.judged import Floats

PERCENTILES = np.arange(101)


def distributions(asked: Asked, aligned: Aligned) -> Iterator[Distribution]:
    """One a primary label and challenger."""
    for label in asked.of_primary:
        values = aligned.values(str(label), label.conventions(asked.conventions).undefined)
        for model in values:
            if model != asked.baseline:
                gaps = aligned.by_user(values[model] - values[asked.baseline])
                yield _of_pair(str(label), model, asked.baseline, gaps)


def _of_pair(label: str, a: str, b: str, gaps: Floats) -> Distribution:
    gaps = gaps[~np.isnan(gaps)]
    differing = gaps[gaps != 0]
    n_zero = len(gaps) - len(differing)
    return Distribution(label, a, b, len(gaps), n_zero, _percentiles(differing))


def _percentiles(gaps: Floats) -> tuple[float, ...]:
    """Values that occur, so that no machine's rounding enters; nothing where nobody differs."""
    if not len(gaps):
        return ()
    return tuple(np.percentile(gaps, PERCENTILES, method="inverted_cdf").tolist())
