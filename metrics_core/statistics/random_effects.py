"""A random-effects mean: each data set has a true difference of its own, drawn about a common mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.scoring.numerics.student import half_width, two_sided_p

MIN_DATASETS = 3
_STEPS = 100  # of the bisection: more than a float64 has bits


@dataclass(frozen=True)
class RandomEffects:
    """The common mean mu with its interval, and tau² between data sets.

    Attributes
    ----------
    predicted : (float, float)
        Interval of the true difference on another such data set.
    shrunk : tuple of (float, float, float)
        Estimate, low and high of each data set's own true difference.
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
    """y_d ~ N(theta_d, s_d²),  theta_d ~ N(mu, tau²):  mu = Σ w_d y_d / Σ w_d,  w_d = 1 / (s_d² + tau²).

    tau² is Paule and Mandel's: Σ w_d (y_d - mu)² = D - 1, or 0 if the sum is less even then. The interval of mu is the modified
    one of Hartung, Knapp, Sidik and Jonkman, mu ± t_{D-1} · √(max(1, q) / Σ w_d) with q = Σ w_d (y_d - mu)² / (D - 1): with
    few data sets tau² is hardly known, and a normal interval about DerSimonian and Laird's mean is far too narrow. q is 1
    if tau² > 0. If tau² = 0, differences agree better than their own errors let expect; without max(1, q) the interval
    would be shorter than these errors allow, down to a point. The interval for another data set is
    mu ± t_{D-2} · √(tau² + se²). theta_d is shrunk towards mu: B_d y_d + (1 - B_d) mu, B_d = tau² / (tau² + s_d²), with
    the variance B_d s_d² + (1 - B_d)² se², tau² taken as known.

    Parameters
    ----------
    differences : sequence of float
        One per data set, in the unit of the metric.
    standard_errors : sequence of float
        Of these differences, above 0; they are taken as known.
    confidence : float
        Of the intervals.

    Raises
    ------
    ValueError
        Fewer than 3 data sets.

    References
    ----------
    Paule & Mandel (1982), Journal of Research of the NBS 87(5), 377-385.  doi:10.6028/jres.087.022
    Sidik & Jonkman (2002), Statistics in Medicine 21(21), 3153-3159.  doi:10.1002/sim.1262
    Röver, Knapp & Friede (2015), BMC Medical Research Methodology 15, 99: max(1, q).  doi:10.1186/s12874-015-0091-1
    IntHout, Ioannidis & Borm (2014), BMC Medical Research Methodology 14, 25.  doi:10.1186/1471-2288-14-25
    Higgins, Thompson & Spiegelhalter (2009), JRSS A 172(1), 137-159.  doi:10.1111/j.1467-985X.2008.00552.x
    """
    count = len(differences)
    if count < MIN_DATASETS:
        raise ValueError(f"needs {MIN_DATASETS} data sets, got {count}")
    variances = [each * each for each in standard_errors]
    tau2 = paule_mandel(differences, variances)
    weights = [1 / (variance + tau2) for variance in variances]
    mu, total = weighted_mean(differences, weights), math.fsum(weights)
    scale = max(1.0, _spread(differences, weights) / (count - 1))
    error = math.sqrt(scale / total)
    quantile = half_width(count, confidence)
    predicted_half = half_width(count - 1, confidence) * math.sqrt(tau2 + error * error)
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
        p=two_sided_p(count, mu / error),
        standard_error=error,
        tau2=tau2,
        predicted=(mu - predicted_half, mu + predicted_half),
        shrunk=tuple(shrunk),
    )


def paule_mandel(differences: Sequence[float], variances: Sequence[float]) -> float:
    """Return the tau² with Σ w (y - mu)² = D - 1, by bisection: the sum falls as tau² rises."""
    expected = len(differences) - 1

    def excess(tau2: float) -> float:
        return _spread(differences, [1 / (variance + tau2) for variance in variances]) - expected

    if excess(0.0) <= 0:
        return 0.0
    mean = math.fsum(differences) / len(differences)
    low, high = 0.0, math.fsum((y - mean) ** 2 for y in differences)  # the sum is at most 1 there
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Σ w y / Σ w."""
    products = (w * y for w, y in zip(weights, values, strict=True))
    return math.fsum(products) / math.fsum(weights)


def _spread(values: Sequence[float], weights: Sequence[float]) -> float:
    """Σ w (y - mu)²."""
    mu = weighted_mean(values, weights)
    return math.fsum(w * (y - mu) ** 2 for w, y in zip(weights, values, strict=True))
