"""Could as good an agreement come about by chance, of one offline label, or of the best of all of them?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from concord.metrics_core.calibrating.agreement import pair_signs
from concord.metrics_core.metrics.judged import Floats, Ints

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
