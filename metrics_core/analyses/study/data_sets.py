"""Several data sets: interval of a mean over them, average ranks, intervals of ranks."""

import math
from collections.abc import Collection, Mapping, Sequence

from concord.metrics_core.stats.mean_interval import t_quantile
from concord.metrics_core.stats.paired_difference import Reference

MIN_DATASETS = 4


def mean(values: Sequence[float]) -> float:
    """Return the mean, the same bits in any order of the values."""
    return math.fsum(values) / len(values)


def covariance(x: Sequence[float], y: Sequence[float]) -> float:
    """Return Σ (x - mean of x)(y - mean of y) / (D - 1)."""
    mean_x, mean_y = mean(x), mean(y)
    products = ((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return math.fsum(products) / (len(x) - 1)


def mean_difference_interval(
    differences: Sequence[float], baseline_means: Sequence[float] | None = None, *, level: float
) -> tuple[float, float] | None:
    """Return the interval of the mean of D differences, mean(y) ± t(D - 1) sd(y) / √D.

    With the baseline's means b on these data sets, it is Fieller's interval of mean(y) / |mean(b)|,
    times |mean(b)|; None if the interval of mean(b) contains 0.

    References
    ----------
    Fieller (1954), Journal of the Royal Statistical Society B 16(2), 175-185.
    """
    count, t = len(differences), t_quantile(len(differences), level)
    y, error = mean(differences), math.sqrt(covariance(differences, differences) / count)
    if baseline_means is None:
        return y - t * error, y + t * error
    b, error_b = mean(baseline_means), math.sqrt(covariance(baseline_means, baseline_means) / count)
    if abs(b) <= t * error_b:
        return None
    size = math.copysign(b, 1)
    shared = covariance(differences, baseline_means) / count * (size / b)
    low, high = Reference(size, error_b, shared).fieller(y, error, t)
    return low * size, high * size


def average_ranks(values: Mapping[str, float], *, higher_is_better: bool) -> dict[str, float]:
    """Return the rank 1 + #better + (#equal - 1) / 2 of each value; ties have their mean rank."""
    sign = 1 if higher_is_better else -1
    signed = {name: sign * value for name, value in values.items()}
    return {
        name: 1
        + sum(other > value for other in signed.values())
        + (sum(other == value for other in signed.values()) - 1) / 2
        for name, value in signed.items()
    }


def rank_intervals(
    models: Sequence[str], different: Collection[tuple[str, str]]
) -> dict[str, tuple[int, int]]:
    """Return the interval [1 + #better, m - #worse] of each rank, by pairs that differ.

    If the intervals of all pairs hold together with probability 1 - alpha, so do these.

    Parameters
    ----------
    models : sequence of str
        The m ranked models.
    different : collection of (str, str)
        Pairs (better, worse) whose interval excludes 0.

    Returns
    -------
    dict of str to (int, int)
        Lowest and highest rank of each model.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91(1), 476-518.
    doi:10.1093/restud/rdad006
    """
    above = {model: sum(worse == model for _, worse in different) for model in models}
    below = {model: sum(better == model for better, _ in different) for model in models}
    return {model: (1 + above[model], len(models) - below[model]) for model in models}
