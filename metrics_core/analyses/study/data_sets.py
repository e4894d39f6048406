"""Several data sets: random effects, average ranks, intervals of ranks."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from concord.metrics_core.stats.mean_interval import t_quantile, t_test_p

MIN_DATASETS = 3
_BISECTIONS = 100  # more than a float64 has bits


@dataclass(frozen=True)
class RandomEffects:
    """Mean difference over data sets, and the variance between data sets.

    Attributes
    ----------
    mu : float
        Mean difference.
    ci_low, ci_high, p, standard_error : float
        Confidence interval, p-value and standard error of mu.
    tau2 : float
        Variance tau² of the true differences.
    predicted : (float, float)
        Prediction interval of the true difference on another data set.
    shrunk : tuple of (float, float, float)
        Shrunk estimate of each data set's true difference, with the ends of its interval.
    """

    mu: float
    ci_low: float
    ci_high: float
    p: float
    standard_error: float
    tau2: float
    predicted: tuple[float, float]
    shrunk: tuple[tuple[float, float, float], ...]


def random_effects(
    differences: Sequence[float], standard_errors: Sequence[float], *, confidence: float
) -> RandomEffects:
    """Fit the random-effects model y_d ~ N(theta_d, s_d²), theta_d ~ N(mu, tau²) of D data sets.

    mu = Σ w_d y_d / Σ w_d with w_d = 1 / (s_d² + tau²), and tau² is `paule_mandel`.

    The interval of mu is the modified Hartung-Knapp-Sidik-Jonkman interval
    mu ± t_{D-1} · √(max(1, q) / Σ w_d) with q = Σ w_d (y_d - mu)² / (D - 1). With few data sets,
    tau² is very uncertain, and DerSimonian and Laird's normal interval is too narrow. If tau² > 0,
    q is 1. If tau² = 0, the differences agree better than their errors predict, and the interval
    without max(1, q) would be too short, down to a point.

    The prediction interval is mu ± t_{D-2} · √(tau² + se²). The shrunk estimate of theta_d is
    B_d y_d + (1 - B_d) mu with B_d = tau² / (tau² + s_d²) and variance B_d s_d² + (1 - B_d)² se²,
    which treats tau² as known.

    Parameters
    ----------
    differences : sequence of float
        Difference y_d on each of at least 3 data sets.
    standard_errors : sequence of float
        Standard error s_d of each difference, above 0; treated as known.
    confidence : float
        Level of the intervals.

    Returns
    -------
    RandomEffects
        Estimates and intervals.

    References
    ----------
    Paule & Mandel (1982), Journal of Research of the NBS 87(5), 377-385.  doi:10.6028/jres.087.022
    Sidik & Jonkman (2002), Statistics in Medicine 21(21), 3153-3159.  doi:10.1002/sim.1262
    Röver, Knapp & Friede (2015), BMC Medical Research Methodology 15, 99 (max(1, q)).
    doi:10.1186/s12874-015-0091-1
    IntHout, Ioannidis & Borm (2014), BMC Medical Research Methodology 14, 25.
    doi:10.1186/1471-2288-14-25
    Higgins, Thompson & Spiegelhalter (2009), JRSS A 172(1), 137-159 (prediction interval).
    doi:10.1111/j.1467-985X.2008.00552.x
    """
    count = len(differences)
    variances = [error * error for error in standard_errors]
    tau2 = paule_mandel(differences, variances)
    weights = [1 / (variance + tau2) for variance in variances]
    mu, total = weighted_mean(differences, weights), math.fsum(weights)
    scale = max(1.0, _weighted_squares(differences, weights) / (count - 1))
    error = math.sqrt(scale / total)
    quantile = t_quantile(count, confidence)
    predicted_half = t_quantile(count - 1, confidence) * math.sqrt(tau2 + error * error)
    shrunk = []
    for y, variance in zip(differences, variances, strict=True):
        b = tau2 / (tau2 + variance)
        estimate = b * y + (1 - b) * mu
        half = quantile * math.sqrt(b * variance + (1 - b) ** 2 * error * error)
        shrunk.append((estimate, estimate - half, estimate + half))
    return RandomEffects(
        mu=mu,
        ci_low=mu - quantile * error,
        ci_high=mu + quantile * error,
        p=t_test_p(count, mu / error),
        standard_error=error,
        tau2=tau2,
        predicted=(mu - predicted_half, mu + predicted_half),
        shrunk=tuple(shrunk),
    )


def paule_mandel(differences: Sequence[float], variances: Sequence[float]) -> float:
    """Return the tau² with Σ w (y - mu)² = D - 1; 0 if the sum is smaller than that for tau² = 0.

    The sum decreases in tau², so tau² is found by bisection.
    """
    expected = len(differences) - 1

    def excess(tau2: float) -> float:
        weights = [1 / (variance + tau2) for variance in variances]
        return _weighted_squares(differences, weights) - expected

    if excess(0.0) <= 0:
        return 0.0
    mean = math.fsum(differences) / len(differences)
    low, high = 0.0, math.fsum((y - mean) ** 2 for y in differences)  # excess(high) <= 0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return Σ w y / Σ w."""
    products = (w * y for w, y in zip(weights, values, strict=True))
    return math.fsum(products) / math.fsum(weights)


def _weighted_squares(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return Σ w (y - mu)²."""
    mu = weighted_mean(values, weights)
    return math.fsum(w * (y - mu) ** 2 for w, y in zip(weights, values, strict=True))


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
    """Return the interval [1 + #significantly better, m - #significantly worse] of each rank.

    If the tests control the family-wise error rate over all pairs at alpha, the intervals are
    simultaneous: all of them contain the true ranks with probability 1 - alpha or more.

    Parameters
    ----------
    models : sequence of str
        The m ranked models.
    different : collection of (str, str)
        Pairs (better, worse) that differ significantly.

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
