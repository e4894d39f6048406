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

FEWEST_FOR_TAU = 10  # experiments; under them the interval of tau is not to be trusted
_TAU_SPREAD = 0.437  # of Fieller, Hartley & Pearson
_LOG2_E = 1.4426950408889634
_MOST = 400  # experiments that a plan looks at


def sign_interval(agree: int, n: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share: the shares p under which neither tail beyond `agree` is too rare.

    low solves P(X >= agree) = (1 - confidence) / 2 for X ~ B(n, p), high P(X <= agree) = (1 - confidence) / 2. It
    covers at least as often as it says, whatever n is; for agree = n it is ((1 - confidence) / 2)^(1/n) to 1.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), 404-413.  doi:10.1093/biomet/26.4.404
    """
    if not n:
        return math.nan, math.nan
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(agree, n - agree + 1, tail)) if agree else 0.0
    high = float(betaincinv(agree + 1, n - agree, 1 - tail)) if agree < n else 1.0
    return low, high


def tau_b(x: Floats, y: Floats) -> float:
    """tau_b = sum of sign(x_i - x_j) sign(y_i - y_j) over pairs / sqrt(pairs untied in x * pairs untied in y).

    NaN where all of x or all of y are tied.

    References
    ----------
    Kendall (1945), Biometrika 33(3), 239-251.  doi:10.1093/biomet/33.3.239
    """
    of_x, of_y = pair_signs(x), pair_signs(y)
    untied = int(np.count_nonzero(of_x)) * int(np.count_nonzero(of_y))
    return float((of_x * of_y).sum()) / math.sqrt(untied) if untied else math.nan


def pair_signs(values: Floats) -> Floats:
    """(..., n) -> (..., n (n - 1) / 2) the signs of values_i - values_j for i < j; 0 where one is NaN."""
    i, j = np.triu_indices(values.shape[-1], 1)
    return np.nan_to_num(np.sign(values[..., i] - values[..., j]))


def tau_interval(tau: float, n: int, confidence: float) -> tuple[float, float]:
    """tanh(atanh(tau) -+ z sqrt(0.437 / (n - 4))); NaN under ten experiments.

    The spread is Fieller's, which holds for normal variables and any that are monotone in them. A tau of 1 or -1 has no
    finite atanh: the inner end is that of a tau of half a pair less, 1 - 1 / pairs, and the outer end is 1 or -1.

    References
    ----------
    Fieller, Hartley & Pearson (1957), Biometrika 44(3/4), 470-481.  doi:10.1093/biomet/44.3-4.470
    Bonett & Wright (2000), Psychometrika 65, 23-28.  doi:10.1007/BF02294183
    """
    if n < FEWEST_FOR_TAU or math.isnan(tau):
        return math.nan, math.nan
    from scipy.special import ndtri

    most = 1 - 2 / (n * (n - 1))
    kept = min(max(tau, -most), most)
    odds = (1 + kept) / (1 - kept)  # e^(2 atanh(tau)); tanh(x) = (e^(2x) - 1) / (e^(2x) + 1)
    half = float(ndtri((1 + confidence) / 2)) * math.sqrt(_TAU_SPREAD / (n - 4))
    spread = float(exp2(2 * half * _LOG2_E))
    low = -1.0 if tau <= -most else (odds / spread - 1) / (odds / spread + 1)
    high = 1.0 if tau >= most else (odds * spread - 1) / (odds * spread + 1)
    return low, high


def chance(agree: int, n: int) -> float:
    """P(X >= agree) for X ~ B(n, 1/2): tosses of a coin; exact."""
    return sum(math.comb(n, i) for i in range(agree, n + 1)) / 2**n


def chance_of_best(agree: int, n: int, labels: int) -> float:
    """1 - (1 - P(X >= agree))^labels: the best of so many coins, were they independent."""
    return 1 - float(powers(1 - chance(agree, n), labels + 1)[-1])


def mcnemar(only_a: int, only_b: int) -> float:
    """McNemar's exact p: min(1, 2 P(X >= max(only_a, only_b))) for X ~ B(only_a + only_b, 1/2).

    only_a, only_b : experiments in which only a, only b had the right sign

    References
    ----------
    McNemar (1947), Psychometrika 12(2), 153-157.  doi:10.1007/BF02295996
    """
    return min(1.0, 2 * chance(max(only_a, only_b), only_a + only_b))


@cache
def experiments_needed(share: float, alpha: float, power: float) -> int:
    """The fewest n from which on a two-sided exact sign test finds `share` to differ from 1/2 with this power.

    Power goes up and down with n, for agreement is counted; from this n up to 400 it never falls below again.
    """
    short = [n for n in range(1, _MOST + 1) if _power(n, share, alpha) < power]
    return (short[-1] if short else 0) + 1


def _power(n: int, share: float, alpha: float) -> float:
    """P(X >= c) for X ~ B(n, share), c the fewest agreements of which twice the chance is at most alpha."""
    above, at = 0, n + 1
    while at > 0 and 2 * (above + math.comb(n, at - 1)) <= alpha * 2**n:
        at -= 1
        above += math.comb(n, at)
    found, missed = powers(share, n + 1).tolist(), powers(1 - share, n + 1).tolist()
    return math.fsum(math.comb(n, i) * found[i] * missed[n - i] for i in range(at, n + 1))


RESAMPLES = 1_999
SEED = 20_240_825  # pinned: the same files give the same p values
_MOST_TRIED = 5_040  # 7!: up to 7 experiments all orders are tried
_PAIRS = 1 << 22  # signs of pairs that are held at a time
_EXACT = 1 << 24  # up to here whole numbers are exact in float32, whose products take half the time


@dataclass(frozen=True)
class Chances:
    """(labels,) p values, one-sided: the agreement is at least as good. `best`: that of the best of all labels."""

    sign: Floats
    sign_best: Floats
    tau: Floats
    tau_best: Floats


def by_permutation(offline: Floats, online: Floats, settled: Floats) -> Chances:
    """Online lifts change places among the experiments: were they unrelated to the offline ones, that changes nothing.

    The statistic of signs is the experiments that agree minus those that do not, that of order is tau_b. p is
    (1 + count) / (1 + 1,999), or count / n! where all n! orders are tried. For the best, each order's largest statistic
    over the labels is counted: labels that hang together cost less than independent ones would, and p holds for
    whichever label is looked at. How many lifts are positive, online and offline, stays as it is: where all are, signs
    agree without telling anything, and p is 1.

    Parameters
    ----------
    offline : (labels, experiments) differences, NaN where there is none
    online  : (experiments,) lifts
    settled : (experiments,) their signs; 0 where a sign is not settled

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing, Wiley (single-step max T).
    """
    signs = np.nan_to_num(np.sign(offline))
    pairs = pair_signs(offline)
    untied = np.count_nonzero(pairs, axis=1)
    scale = np.sqrt(np.where(untied, untied, 1))[:, None]
    first, second = np.triu_indices(len(online), 1)
    exact: Any = np.float32 if len(first) <= _EXACT else np.float64
    pairs = pairs.astype(exact)
    online_signs = np.sign(online[:, None] - online).astype(exact)
    seen_sign = signs @ settled[:, None]
    seen_tau = pairs @ online_signs[first, second][:, None] / scale
    counts = np.zeros((4, len(offline)))
    total = 0
    for order in _orders(len(online)):
        of_signs = signs @ settled[order].T
        of_tau = pairs @ online_signs[order[:, first], order[:, second]].T / scale
        total += len(order)
        counts += [
            (of_signs >= seen_sign).sum(axis=1),
            (of_signs.max(axis=0) >= seen_sign).sum(axis=1),
            (of_tau >= seen_tau).sum(axis=1),
            (of_tau.max(axis=0) >= seen_tau).sum(axis=1),
        ]
    extra = 0 if _all_are_tried(len(online)) else 1
    sign, sign_best, tau, tau_best = (counts + extra) / (total + extra)
    no_sign = ~(signs.any(axis=1) & settled.any())
    no_tau = ~(pairs.any(axis=1) & online_signs.any())
    sign[no_sign] = sign_best[no_sign] = tau[no_tau] = tau_best[no_tau] = np.nan
    return Chances(sign, sign_best, tau, tau_best)


def _all_are_tried(n: int) -> bool:
    return math.factorial(min(n, 20)) <= _MOST_TRIED


def _orders(n: int) -> Iterator[Ints]:
    """Blocks of (orders, n) places."""
    if _all_are_tried(n):
        yield np.array(list(permutations(range(n))))
        return
    random = np.random.Generator(np.random.PCG64(SEED))
    at_once = max(_PAIRS // (n * (n - 1) // 2), 1)
    for start in range(0, RESAMPLES, at_once):
        shape = (min(at_once, RESAMPLES - start), n)
        yield np.argsort(random.random(shape), axis=1, kind="stable")
