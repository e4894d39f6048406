"""What sampled ranks leave open: the means of a metric over all distributions of full ranks that fit them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from concord.metrics_core.conventions.candidates import Candidates
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.scoring.sampled.chances import chances

_TOP = 10  # sampled ranks that are held one by one
_BELOW = 20  # steps in which those below are held
_FINE = 10  # ranks of the grid in the standard deviation of a sampled rank, at least
_DIGITS = 6  # of a bound


@dataclass(frozen=True)
class Fit:
    """The distributions of full ranks that fit counts of sampled ranks: low <= P(sampled rank <= cut) <= high.

    cuts      : (cuts,) sampled ranks
    low, high : (cuts,) of the share of users whose sampled rank is at most the cut
    """

    candidates: Candidates
    cuts: Ints
    low: Floats
    high: Floats


def fit(counts: Floats | Ints, n_users: int, candidates: Candidates, alpha: float) -> Fit:
    """What the counts of sampled ranks say of P(sampled rank <= cut), all at once with confidence 1 - alpha.

    Clopper and Pearson's intervals at each cut, Bonferroni over the cuts: exact however few the users are.

    Parameters
    ----------
    counts  : (m + 1,) users by sampled rank, or their shares; of a model with several trainings those of all
    n_users : the users who were counted

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), 404-413.  doi:10.1093/biomet/26.4.404
    """
    from scipy.special import betaincinv

    cuts = _cuts(candidates.negatives)
    below = np.cumsum(counts)[cuts - 1] * (n_users / counts.sum())
    level = alpha / (2 * len(cuts))
    low = betaincinv(np.maximum(below, 1e-9), n_users - below + 1, level)
    high = betaincinv(below + 1, np.maximum(n_users - below, 1e-9), 1 - level)
    return Fit(
        candidates,
        cuts,
        np.where(below > 0, low, 0.0),
        np.where(below < n_users, high, 1.0),
    )


def _cuts(negatives: int) -> Ints:
    """Each of the first sampled ranks, then ever wider steps; all m + 1 ranks are no statement."""
    top = np.arange(1, min(_TOP, negatives) + 1)
    if negatives <= _TOP:
        return top
    below = np.rint(np.geomspace(_TOP, negatives, _BELOW)).astype(np.int64)
    return np.union1d(top, below)


def grid(depth: int, candidates: Candidates) -> Ints:
    """Full ranks that stand for all: each of the first `depth`, then as many as sampled ranks can tell apart.

    Their steps are the standard deviation of a sampled rank, which goes with sqrt(x (1 - x)) at x = (R - 1) / (N - 1),
    through `_FINE`.
    """
    count = int(np.ceil(4 * np.sqrt(candidates.negatives) * _FINE))
    up = np.linspace(0.0, 1.0, count)
    down = 1.0 - up
    share = up * up / (up * up + down * down)
    spaced = np.rint(1 + candidates.others * share).astype(np.int64)
    return np.union1d(np.arange(1, min(depth, candidates.catalogue) + 1), spaced)


def bounds(by_rank: Floats, ranks: Ints, found: Fit) -> tuple[float, float] | None:
    """The smallest and the largest mean of M(R) of a distribution of full ranks that fits; None: none fits.

    min and max of sum p(R) M(R) over p >= 0, sum p(R) = 1, low <= sum p(R) P(r <= cut | R) <= high: two linear
    programs, solved by HiGHS. Nothing is taken for granted of the shape of p.

    Parameters
    ----------
    by_rank : (ranks,) M(R) at the full ranks of `grid`
    """
    from scipy.optimize import linprog

    at_most = _up_to(ranks.tobytes(), found.cuts.tobytes(), found.candidates)
    solved = [
        linprog(
            sign * by_rank,
            A_ub=np.vstack([at_most, -at_most]),
            b_ub=np.concatenate([found.high, -found.low]),
            A_eq=np.ones((1, len(ranks))),
            b_eq=[1.0],
            method="highs",
        )
        for sign in (1.0, -1.0)
    ]
    least, most = (each.fun for each in solved)
    if least is None or most is None:
        return None
    return round(float(least), _DIGITS) + 0.0, round(float(-most), _DIGITS) + 0.0


@lru_cache(maxsize=8)
def _up_to(ranks: bytes, cuts: bytes, candidates: Candidates) -> Floats:
    """(cuts, ranks) P(r <= cut | R)."""
    full, cut = (np.frombuffer(each, dtype=np.int64) for each in (ranks, cuts))
    return np.cumsum(chances(full, candidates), axis=1)[:, cut - 1].T
