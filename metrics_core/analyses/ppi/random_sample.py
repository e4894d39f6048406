"""Check the declaration that people judged a random sample, with the values of the judge."""

from collections.abc import Iterator, Sequence

import numpy as np

from concord.metrics_core.analyses.ppi.estimates import LabelValues
from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.stats.floating_point import exact_mean
from concord.metrics_core.stats.verdict import model_pairs

LEVEL = 0.001  # probability of a false alarm, over all checks together
DRAWS = 9_999
_ROUNDING = 1e-9  # of standard deviations and of equal statistics, relative to the values


def sample_warnings(labels: Sequence[LabelValues]) -> Iterator[DataWarning]:
    """Yield a warning if the judge's values of the sampled queries differ from those of the others.

    The statistic is the largest standardised difference, over all labels, of a model's mean or of
    two models' mean difference. In a random sample of n queries, each n of the queries are equally
    likely. So p is the share of random samples whose statistic is at least the observed one: an
    exact test for any number of sampled queries, which needs no correction for the checks.
    """
    first = labels[0]
    is_sampled, models = first.is_sampled, [*first.judge]
    columns = [(each, model) for each in labels for model in models]
    values = np.column_stack([each.judge[model] for each, model in columns])
    means = np.array([exact_mean(column) for column in values.T])
    positions = {model: position for position, model in enumerate(models)}
    pairs = [(positions[a], positions[b]) for a, b in model_pairs(models, first.config.baseline)]
    starts = range(0, len(columns), len(models))
    contrasts = [(start + a, start + b) for start in starts for a, b in pairs]
    checks = _Checks(values - means, np.array(contrasts, dtype=np.intp).reshape(-1, 2))
    if not checks.is_refuted(is_sampled):
        return
    largest = int(np.argmax(checks.statistics(np.flatnonzero(is_sampled))))
    if largest < len(columns):
        (of_label, model), versus = columns[largest], None
        worst = of_label.judge[model]
    else:
        a, b = contrasts[largest - len(columns)]
        (of_label, model), (_, versus) = columns[a], columns[b]
        worst = of_label.judge[model] - of_label.judge[versus]
    details = {
        "label": str(of_label.label),
        "model": model,
        "versus": versus,
        "sampled": exact_mean(worst[is_sampled]),
        "others": exact_mean(worst[~is_sampled]),
        "n_sampled": int(is_sampled.sum()),
        "n_others": int((~is_sampled).sum()),
        "n_checks": len(columns) + len(contrasts),
    }
    yield DataWarning("sample_not_random", "serious", (), details)


class _Checks:
    """Standardised sums of columns, and of differences of two columns, over some of the queries."""

    def __init__(self, centred: Floats, contrasts: Ints) -> None:
        self._centred = centred
        self._first, self._second = contrasts.T
        pairs = zip(self._first, self._second, strict=True)
        spreads = [
            *(column.std() for column in centred.T),
            *((centred[:, a] - centred[:, b]).std() for a, b in pairs),
        ]
        is_constant = np.array(spreads) <= _ROUNDING * np.abs(centred).max(initial=0.0)
        self._spreads = np.where(is_constant, np.inf, spreads)

    def statistics(self, queries: Ints) -> Floats:
        """Return (checks,) |sum| / standard deviation."""
        sums = self._centred[queries].sum(axis=0)
        both = np.concatenate([sums, sums[self._first] - sums[self._second]])
        return np.asarray(np.abs(both) / self._spreads)

    def is_refuted(self, is_sampled: Bools) -> bool:
        """True if p < 0.001; draws end as soon as p cannot be so small."""
        n_sampled, n = int(is_sampled.sum()), len(is_sampled)
        observed = self.statistics(np.flatnonzero(is_sampled)).max() * (1 - _ROUNDING)
        smaller = min(n_sampled, n - n_sampled)  # the others deviate as far, with another sign
        n_left = round(LEVEL * (1 + DRAWS)) - 1  # as extreme samples, with which p is not below
        random = np.random.Generator(np.random.PCG64(0))
        for _ in range(DRAWS):
            queries = random.choice(n, smaller, replace=False, shuffle=False)
            if self.statistics(queries).max() >= observed:
                n_left -= 1
                if not n_left:
                    return False
        return True
