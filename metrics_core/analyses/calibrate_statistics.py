"""Agreement of offline and online differences: intervals, exact tests and permutation tests."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from concord.metrics_core.metrics.elementary import exp2, powers
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.results.calibration import MIN_FOR_TAU

RESAMPLES = 1_999
SEED = 20_240_825  # fixed: the same files give the same p-values
_TAU_VARIANCE = 0.437  # Fieller, Hartley & Pearson
_LOG2_E = 1.4426950408889634
_MAX_EXPERIMENTS = 400  # largest number that `experiments_needed` considers
_MAX_ORDERS = 5_040  # 7!: up to 7 experiments, all orders are enumerated
_MAX_SIGNS = 1 << 22  # signs of pairs in memory
_MAX_FLOAT32 = 1 << 24  # integers up to this one are exact in float32, which takes half the time


def tau_b(x: Floats, y: Floats) -> float:
    """Return Kendall's tau_b = Σ sign(x_i - x_j) sign(y_i - y_j) / √(n_x n_y).

    The sum is over all pairs i < j; n_x and n_y are the numbers of pairs without a tie. NaN if all
    of x or all of y are tied.

    References
    ----------
    Kendall (1945), Biometrika 33(3), 239-251.  doi:10.1093/biomet/33.3.239
    """
    x_signs, y_signs = pair_signs(x), pair_signs(y)
    untied = int(np.count_nonzero(x_signs)) * int(np.count_nonzero(y_signs))
    return float((x_signs * y_signs).sum()) / math.sqrt(untied) if untied else math.nan


def pair_signs(values: Floats) -> Floats:
    """Return sign(values_i - values_j) for i < j, shape (..., n (n - 1) / 2); 0 if one is NaN."""
    i, j = np.triu_indices(values.shape[-1], 1)
    return np.nan_to_num(np.sign(values[..., i] - values[..., j]))


def tau_interval(tau: float, n: int, confidence: float) -> tuple[float, float]:
    """Return tanh(atanh(tau) ± z √(0.437 / (n - 4))); NaN for fewer than ten experiments.

    The variance is Fieller's for normal variables and their monotone transformations. A tau of 1
    or -1 has no finite atanh: one end of its interval is 1 or -1, the other that of ±(1 - 1/pairs).

    References
    ----------
    Fieller, Hartley & Pearson (1957), Biometrika 44(3/4), 470-481.  doi:10.1093/biomet/44.3-4.470
    Bonett & Wright (2000), Psychometrika 65, 23-28.  doi:10.1007/BF02294183
    """
    if n < MIN_FOR_TAU or math.isnan(tau):
        return math.nan, math.nan
    from scipy.special import ndtri

    limit = 1 - 2 / (n * (n - 1))
    inner = min(max(tau, -limit), limit)
    odds = (1 + inner) / (1 - inner)  # e^(2 atanh(tau)); tanh(x) = (e^(2x) - 1) / (e^(2x) + 1)
    half = float(ndtri((1 + confidence) / 2)) * math.sqrt(_TAU_VARIANCE / (n - 4))
    factor = float(exp2(2 * half * _LOG2_E))
    low = -1.0 if tau <= -limit else (odds / factor - 1) / (odds / factor + 1)
    high = 1.0 if tau >= limit else (odds * factor - 1) / (odds * factor + 1)
    return low, high


def sign_test_p(agree: int, n: int) -> float:
    """Return the p-value of the exact one-sided sign test, P(X >= agree) for X ~ B(n, 1/2)."""
    return sum(math.comb(n, i) for i in range(agree, n + 1)) / 2**n


def best_sign_test_p(agree: int, n: int, labels: int) -> float:
    """Return 1 - (1 - P(X >= agree))^labels, the p-value of the best of independent sign tests."""
    return 1 - float(powers(1 - sign_test_p(agree, n), labels + 1)[-1])


def mcnemar(only_a: int, only_b: int) -> float:
    """Return McNemar's exact p-value, min(1, 2 P(X >= max(a, b))) for X ~ B(a + b, 1/2).

    Parameters
    ----------
    only_a, only_b : int
        Number a of experiments in which only one label has the right sign, and number b of those
        in which only the other one has.

    Returns
    -------
    float
        Two-sided p-value.

    References
    ----------
    McNemar (1947), Psychometrika 12(2), 153-157.  doi:10.1007/BF02295996
    """
    return min(1.0, 2 * sign_test_p(max(only_a, only_b), only_a + only_b))


@cache
def experiments_needed(share: float, alpha: float, power: float) -> int:
    """Return the n from which a two-sided exact sign test of `share` against 1/2 has this power.

    The power is not monotone in n because counts are integers. From this n up to 400 it is never
    below `power`.
    """
    too_few = [n for n in range(1, _MAX_EXPERIMENTS + 1) if _power(n, share, alpha) < power]
    return (too_few[-1] if too_few else 0) + 1


def _power(n: int, share: float, alpha: float) -> float:
    """Return P(X >= c), X ~ B(n, share), c the smallest count with two-sided p <= alpha."""
    tail, critical = 0, n + 1
    while critical > 0 and 2 * (tail + math.comb(n, critical - 1)) <= alpha * 2**n:
        critical -= 1
        tail += math.comb(n, critical)
    success, failure = powers(share, n + 1).tolist(), powers(1 - share, n + 1).tolist()
    return math.fsum(math.comb(n, i) * success[i] * failure[n - i] for i in range(critical, n + 1))


@dataclass(frozen=True)
class PermutationPValues:
    """One-sided p-values of each label, shape (labels,).

    Attributes
    ----------
    sign, tau : (labels,) float64
        For agreement in sign and in order.
    sign_best, tau_best : (labels,) float64
        The same, adjusted for the selection of the best of all labels.
    """

    sign: Floats
    sign_best: Floats
    tau: Floats
    tau_best: Floats


def permutation_p_values(offline: Floats, online: Floats, settled: Floats) -> PermutationPValues:
    """Compute p-values of agreement by permuting the online lifts among the experiments.

    The statistic of signs is the number of experiments that agree minus the number of those that
    disagree; the statistic of order is tau_b. The p-value is (1 + count) / (1 + 1,999), or
    count / n! if all n! orders are enumerated.

    The p-values of the best label use the largest statistic over all labels (max-T). They are
    valid for whichever label is selected, and correlated labels are corrected less than
    independent ones.

    Permutations preserve the number of positive lifts: if all lifts are positive, online and
    offline, signs agree in every order, and p is 1.

    Parameters
    ----------
    offline : (labels, experiments) float64
        Offline differences; NaN if missing.
    online : (experiments,) float64
        Online lifts.
    settled : (experiments,) float64
        Signs of the lifts; 0 if a sign is not settled.

    Returns
    -------
    PermutationPValues
        p-values of each label; NaN if nothing varies.

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing, Wiley (single-step max T).
    """
    signs = np.nan_to_num(np.sign(offline))
    pairs = pair_signs(offline)
    untied = np.count_nonzero(pairs, axis=1)
    scale = np.sqrt(np.where(untied, untied, 1))[:, None]
    first, second = np.triu_indices(len(online), 1)
    dtype: Any = np.float32 if len(first) <= _MAX_FLOAT32 else np.float64
    pairs = pairs.astype(dtype)
    online_signs = np.sign(online[:, None] - online).astype(dtype)
    observed_sign = signs @ settled[:, None]
    observed_tau = pairs @ online_signs[first, second][:, None] / scale
    counts = np.zeros((4, len(offline)))
    total = 0
    for order in _orders(len(online)):
        sign_statistic = signs @ settled[order].T
        tau_statistic = pairs @ online_signs[order[:, first], order[:, second]].T / scale
        total += len(order)
        counts += [
            (sign_statistic >= observed_sign).sum(axis=1),
            (sign_statistic.max(axis=0) >= observed_sign).sum(axis=1),
            (tau_statistic >= observed_tau).sum(axis=1),
            (tau_statistic.max(axis=0) >= observed_tau).sum(axis=1),
        ]
    added = 0 if _has_few_orders(len(online)) else 1
    sign, sign_best, tau, tau_best = (counts + added) / (total + added)
    no_sign = ~(signs.any(axis=1) & settled.any())
    no_tau = ~(pairs.any(axis=1) & online_signs.any())
    sign[no_sign] = sign_best[no_sign] = tau[no_tau] = tau_best[no_tau] = np.nan
    return PermutationPValues(sign, sign_best, tau, tau_best)


def _has_few_orders(n: int) -> bool:
    """True if all n! orders are enumerated instead of drawn."""
    return math.factorial(min(n, 20)) <= _MAX_ORDERS


def _orders(n: int) -> Iterator[Ints]:
    """Yield permutations of n in blocks of shape (orders, n)."""
    if _has_few_orders(n):
        yield np.array(list(permutations(range(n))))
        return
    random = np.random.Generator(np.random.PCG64(SEED))
    block = max(_MAX_SIGNS // (n * (n - 1) // 2), 1)
    for start in range(0, RESAMPLES, block):
        shape = (min(block, RESAMPLES - start), n)
        yield np.argsort(random.random(shape), axis=1, kind="stable")
