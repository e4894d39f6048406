"""Prediction-powered inference: a mean from labels of people for a sample, of a judge for all."""

import math
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds
from concord.metrics_core.stats.floating_point import exact_mean, exact_sum
from concord.metrics_core.stats.mean_interval import (
    SMALL_SAMPLE,
    mean_interval,
    pseudo_spread,
    t_quantile,
)

MIN_SAMPLED = 3  # the tuning of each query needs two others


@dataclass(frozen=True)
class PoweredMean:
    """A prediction-powered mean; NaN for what is undefined.

    Attributes
    ----------
    mean, standard_error, ci_low, ci_high : float
        The estimate, its standard error, and the interval.
    tuning : float
        Lambda, the weight of the judge's values from 0 to 1.
    effective_labels : float
        Number of queries labelled by people that would give the same interval without the judge.
    corrected : (n,) float64
        Value by people of each sampled query - λ (value by the judge - mean of the others).
    """

    mean: float
    standard_error: float
    ci_low: float
    ci_high: float
    tuning: float
    effective_labels: float
    corrected: Floats


def powered_mean(
    people: Floats,
    judged: Floats,
    others: Floats,
    *,
    confidence: float,
    bounds: Bounds = UNBOUNDED,
) -> PoweredMean:
    """Return the prediction-powered mean of independent queries.

    With h and f the values of the n sampled queries by the labels of people and of the judge, F
    those of the N other queries by the judge, and c_i = h_i - λ_i (f_i - mean(F)):

        mean = mean(c), SE² = var(c) / n + mean(λ_i)² var(F) / N, interval = mean ± t(n - 1) SE

    λ_i is the power tuning of PPI++ on the other sampled queries, so that the mean has no bias
    from it. Below 50 queries, var(c) is that of the values and of one more at each bound. If all
    λ_i are 0, the interval is `mean_interval` of the labels of people. A mean beyond the bounds is
    the bound.

    Parameters
    ----------
    people, judged : (n,) float64
        Values of the sampled queries by the labels of people and of the judge.
    others : (N,) float64
        Values of the other queries by the labels of the judge.
    confidence : float
        Level of the interval.
    bounds : (float, float)
        Lowest and highest value of the metric; infinite for differences.

    Returns
    -------
    PoweredMean
        Without an interval if the values do not vary and have no bounds.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Science 382(6671), 669-674.
    doi:10.1126/science.adi6000
    Angelopoulos, Duchi & Zrnic (2023), PPI++.  arXiv:2311.01453
    """
    weights = tunings_without_each(people, judged, others)
    corrected = people - weights * (judged - exact_mean(others))
    centre, n, variance = _spread(corrected, bounds)
    weight = exact_mean(weights)
    variance += weight * weight * _variance(others) / len(others)
    low, high = mean_interval(people, confidence, bounds)
    if variance and weights.any():  # the judge is used
        half = t_quantile(n, confidence) * math.sqrt(variance)
        low, high = (_clipped(end, bounds) for end in (centre - half, centre + half))
    _, _, people_variance = _spread(people, bounds)
    return PoweredMean(
        mean=_clipped(exact_mean(corrected), bounds),
        standard_error=math.sqrt(variance),
        ci_low=low,
        ci_high=high,
        tuning=power_tuning(people, judged, others),
        effective_labels=len(people) * people_variance / variance if variance else math.nan,
        corrected=corrected,
    )


def _clipped(value: float, bounds: Bounds) -> float:
    return min(max(value, bounds[0]), bounds[1])


def power_tuning(people: Floats, judged: Floats, others: Floats) -> float:
    """Return λ = cov(h, f) / ((1 + n / N) var(f)), cut at 0 and 1; 0 if f does not vary.

    The covariance is that of the sampled queries, divided by n; the variance that of all queries.
    """
    products = _centred(people) * _centred(judged)
    covariance = np.array([exact_sum(products) / len(people)])
    return float(_tuned(covariance, judged, others)[0])


def tunings_without_each(people: Floats, judged: Floats, others: Floats) -> Floats:
    """Return (n,) λ of each sampled query, with the covariance of the other sampled queries."""
    n = len(people)
    products = _centred(people) * _centred(judged)
    sums = exact_sum(products) - products * (n / (n - 1))
    return _tuned(sums / (n - 1), judged, others)


def _tuned(covariance: Floats, judged: Floats, others: Floats) -> Floats:
    variance = _variance(np.concatenate([judged, others]))
    if not variance:
        return np.zeros_like(covariance)
    return np.clip(covariance / ((1 + len(judged) / len(others)) * variance), 0.0, 1.0)


def _spread(values: Floats, bounds: Bounds) -> tuple[float, int, float]:
    """Return centre, number of values and variance of their mean, as for `mean_interval`."""
    n, mean, variance = len(values), exact_mean(values), _variance(values)
    if math.isfinite(bounds[1] - bounds[0]) and (n < SMALL_SAMPLE or not variance):
        return pseudo_spread(n, mean, variance * (n - 1), bounds)
    return mean, n, variance / n


def _variance(values: Floats) -> float:
    centred = _centred(values)
    return exact_sum(centred * centred) / (len(values) - 1)


def _centred(values: Floats) -> Floats:
    """Return the values minus their mean; exactly 0 if all are equal."""
    is_constant = values.min() == values.max()
    return np.zeros_like(values) if is_constant else values - exact_mean(values)


def weighted_kappa(first: Floats, second: Floats) -> float:
    """Return Cohen's kappa with quadratic weights of two graders; NaN if neither varies.

    κ = 1 - Σ (x - y)² / Σ (x - y')², where y' takes each value of y with each x.

    References
    ----------
    Cohen (1968), Psychological Bulletin 70(4), 213-220.  doi:10.1037/h0026256
    """
    gaps, shift = first - second, exact_mean(first) - exact_mean(second)
    by_chance = shift * shift + sum(exact_mean(c * c) for c in map(_centred, (first, second)))
    return 1 - exact_mean(gaps * gaps) / by_chance if by_chance else math.nan
