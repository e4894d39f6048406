"""Bounds of the mean over full rankings that agree with sampled ranks."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from concord.metrics_core.conventions.conventions import Candidates
from concord.metrics_core.evaluation.sampled_candidates import rank_probabilities
from concord.metrics_core.metrics.judged import Floats, Ints

_N_SINGLE_CUTS = 10  # first sampled ranks, each with its own bounds
_N_WIDE_CUTS = 20  # cuts of the sampled ranks below
_RANKS_PER_DEVIATION = 10  # of the grid, in the standard deviation of a sampled rank
_DIGITS = 6  # of a bound


@dataclass(frozen=True)
class RankBounds:
    """Bounds of the distribution of sampled ranks: low <= P(sampled rank <= cut) <= high.

    Attributes
    ----------
    candidates : Candidates
        How candidates were sampled.
    cuts : (n_cuts,) int64
        Sampled ranks.
    low, high : (n_cuts,) float64
        Bounds of the share of users with a sampled rank of at most the cut.
    """

    candidates: Candidates
    cuts: Ints
    low: Floats
    high: Floats


def rank_bounds(
    counts: Floats | Ints, n_users: int, candidates: Candidates, alpha: float
) -> RankBounds:
    """Return simultaneous bounds of P(sampled rank <= cut), with confidence 1 - alpha.

    Clopper and Pearson's intervals at each cut, with Bonferroni's correction over the cuts: valid
    for any number of users.

    Parameters
    ----------
    counts : (m + 1,) array
        Number, or share, of users by sampled rank; of all replicates, if there are several.
    n_users : int
        Number of users.
    candidates : Candidates
        How candidates were sampled.
    alpha : float
        One minus the confidence.

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
    return RankBounds(
        candidates,
        cuts,
        np.where(below > 0, low, 0.0),
        np.where(below < n_users, high, 1.0),
    )


def _cuts(negatives: int) -> Ints:
    """Return the first sampled ranks, then wider steps; bounds at all ranks would be too wide."""
    top = np.arange(1, min(_N_SINGLE_CUTS, negatives) + 1)
    if negatives <= _N_SINGLE_CUTS:
        return top
    below = np.rint(np.geomspace(_N_SINGLE_CUTS, negatives, _N_WIDE_CUTS)).astype(np.int64)
    return np.union1d(top, below)


def grid(depth: int, candidates: Candidates) -> Ints:
    """Return full ranks that represent all: the first `depth`, then those that samples distinguish.

    Their steps are the standard deviation of a sampled rank / `_RANKS_PER_DEVIATION`. It is
    proportional to sqrt(x (1 - x)) at x = (R - 1) / (N - 1).
    """
    count = int(np.ceil(4 * np.sqrt(candidates.negatives) * _RANKS_PER_DEVIATION))
    up = np.linspace(0.0, 1.0, count)
    down = 1.0 - up
    share = up * up / (up * up + down * down)
    spaced = np.rint(1 + candidates.others * share).astype(np.int64)
    return np.union1d(np.arange(1, min(depth, candidates.catalogue) + 1), spaced)


def mean_bounds(by_rank: Floats, ranks: Ints, cut_bounds: RankBounds) -> tuple[float, float] | None:
    """Return the smallest and the largest mean of M(R) over all distributions within the bounds.

    min and max of sum p(R) M(R) with p >= 0, sum p(R) = 1, low <= sum p(R) P(r <= cut | R) <= high:
    two linear programs, solved by HiGHS. There is no assumption on the shape of p.

    Parameters
    ----------
    by_rank : (n_ranks,) float64
        M(R) at the full ranks.
    ranks : (n_ranks,) int64
        Full ranks, from `grid`.
    cut_bounds : RankBounds
        Bounds of the distribution of sampled ranks.

    Returns
    -------
    tuple of float or None
        None if no distribution is within the bounds.
    """
    from scipy.optimize import linprog

    at_most = _cumulative_probabilities(
        ranks.tobytes(), cut_bounds.cuts.tobytes(), cut_bounds.candidates
    )
    solutions = [
        linprog(
            sign * by_rank,
            A_ub=np.vstack([at_most, -at_most]),
            b_ub=np.concatenate([cut_bounds.high, -cut_bounds.low]),
            A_eq=np.ones((1, len(ranks))),
            b_eq=[1.0],
            method="highs",
        )
        for sign in (1.0, -1.0)
    ]
    low, high = (solution.fun for solution in solutions)
    if low is None or high is None:
        return None
    return round(float(low), _DIGITS) + 0.0, round(float(-high), _DIGITS) + 0.0


@lru_cache(maxsize=8)
def _cumulative_probabilities(ranks: bytes, cuts: bytes, candidates: Candidates) -> Floats:
    """Return (n_cuts, n_ranks) P(r <= cut | R)."""
    full, cut = (np.frombuffer(each, dtype=np.int64) for each in (ranks, cuts))
    return np.cumsum(rank_probabilities(full, candidates), axis=1)[:, cut - 1].T
