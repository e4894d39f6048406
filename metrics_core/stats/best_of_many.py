"""The best of many candidates: an estimate that allows for its choice."""

import math

import numpy as np

from concord.metrics_core.metrics.judged import Floats

_BISECTIONS = 60
_DIGITS = 9  # of the estimate, so that the order of models changes no digit


def shrunk_best(differences: Floats, covariance: Floats, best: int) -> float:
    """Return the estimate of the best of m differences, shrunk towards their mean.

    With d ~ N(theta, S) and theta_j ~ N(mu, tau²), independent,

        theta_hat = mu + tau² (S + tau² I)⁻¹ (d - mu),  mu by generalised least squares,

    where tau² solves (d - mu)' (S + tau² I)⁻¹ (d - mu) = m - 1, or is 0. The largest of m
    differences is too large on average, because it is chosen for its errors, too. This estimate is
    not, if the true differences of the candidates are like a normal sample.

    Parameters
    ----------
    differences : (m,) float64
        Differences to the baseline.
    covariance : (m, m) float64
        Covariance S of their errors, which share the baseline and the users.
    best : int
        Position of the chosen difference.

    Returns
    -------
    float
        The estimate, to nine digits.

    References
    ----------
    Efron & Morris (1975), Journal of the American Statistical Association 70(350), 311-319.
    doi:10.1080/01621459.1975.10479864
    Paule & Mandel (1982), Journal of Research of the NBS 87(5), 377-385 (tau²).
    doi:10.6028/jres.087.022
    """
    m = len(differences)
    values, vectors = np.linalg.eigh(covariance)
    rotated, ones = vectors.T @ differences, vectors.T @ np.ones(m)
    floor = 1e-12 * float(values.max())

    def residuals(tau2: float) -> tuple[float, Floats, Floats]:
        weights = 1 / (np.maximum(values, floor) + tau2)
        mu = float((weights * ones * rotated).sum() / (weights * ones * ones).sum())
        return mu, weights, rotated - mu * ones

    def excess(tau2: float) -> float:
        _, weights, rest = residuals(tau2)
        return float((weights * rest * rest).sum()) - (m - 1)

    tau2 = 0.0
    if excess(0.0) > 0:
        low, high = 0.0, float(((differences - differences.mean()) ** 2).sum())
        for _ in range(_BISECTIONS):
            tau2 = (low + high) / 2
            low, high = (tau2, high) if excess(tau2) > 0 else (low, tau2)
    mu, weights, rest = residuals(tau2)
    estimate = mu + tau2 * float((vectors[best] * weights * rest).sum())
    return float(f"{estimate:.{_DIGITS}g}") if math.isfinite(estimate) else math.nan
