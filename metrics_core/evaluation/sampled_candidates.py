"""Lists that rank the relevant item among sampled candidates: bounds and corrected values."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.conventions.data_conventions import CORRECTED_METRICS
from concord.metrics_core.errors import Refusal, ScoringError
from concord.metrics_core.metrics.judged import Bools, Floats, Ints, Judged
from concord.metrics_core.metrics.label import Label, is_pooled


def chances(ranks: Ints, candidates: Candidates) -> Floats:
    """(ranks, negatives + 1) P(r | R) = C(R - 1, r - 1) C(N - R, m - r + 1) / C(N - 1, m), r = 1 … m + 1 along a row.

    Of the R - 1 items above the relevant one, r - 1 are among the m negatives: hypergeometric, as the negatives of a
    list differ. Rows are built from their mode outwards by ratios of neighbours, so nothing overflows, and with
    the four operations alone, so the bits are those of every machine.

    ranks : (ranks,) full ranks R, 1 … N
    """
    m, others = candidates.negatives, candidates.others
    above = ranks.astype(np.float64)[:, None] - 1.0
    drawn = np.arange(m, dtype=np.float64)
    more = np.maximum((above - drawn) * (m - drawn), 0.0)  # P(j + 1) : P(j) = more : fewer
    fewer = np.maximum((drawn + 1.0) * (others - m - above + drawn + 1.0), 0.0)
    rises = more >= fewer
    up = np.where(rises, 1.0, more / np.where(rises, 1.0, fewer))
    down = np.where(rises, fewer / np.where(rises, np.maximum(more, 1.0), 1.0), 1.0)
    one = np.ones((len(ranks), 1))
    above_mode = np.hstack([one, np.cumprod(up, axis=1)])
    below_mode = np.hstack([np.cumprod(down[:, ::-1], axis=1)[:, ::-1], one])
    weights = above_mode * below_mode
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


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
    """Return simultaneous bounds of P(sampled rank <= cut) from counts of sampled ranks, with confidence 1 - alpha.

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
    """Return each of the first sampled ranks, then wider and wider steps; all m + 1 ranks would say nothing."""
    top = np.arange(1, min(_TOP, negatives) + 1)
    if negatives <= _TOP:
        return top
    below = np.rint(np.geomspace(_TOP, negatives, _BELOW)).astype(np.int64)
    return np.union1d(top, below)


def grid(depth: int, candidates: Candidates) -> Ints:
    """Return full ranks that represent all: each of the first `depth`, then as many as sampled ranks can distinguish.

    Their steps are the standard deviation of a sampled rank, which goes with sqrt(x (1 - x)) at x = (R - 1) / (N - 1),
    through `_FINE`.
    """
    count = int(np.ceil(4 * np.sqrt(candidates.negatives) * _FINE))
    up = np.linspace(0.0, 1.0, count)
    down = 1.0 - up
    share = up * up / (up * up + down * down)
    spaced = np.rint(1 + candidates.others * share).astype(np.int64)
    return np.union1d(np.arange(1, min(depth, candidates.catalogue) + 1), spaced)


def bounds(by_rank: Floats, ranks: Ints, fitting: Fit) -> tuple[float, float] | None:
    """Return the smallest and the largest mean of M(R) over the distributions of full ranks that fit; None if none fits.

    min and max of sum p(R) M(R) over p >= 0, sum p(R) = 1, low <= sum p(R) P(r <= cut | R) <= high: two linear
    programs, solved by HiGHS. Nothing is assumed of the shape of p.

    Parameters
    ----------
    by_rank : (ranks,) M(R) at the full ranks of `grid`
    """
    from scipy.optimize import linprog

    at_most = _up_to(ranks.tobytes(), fitting.cuts.tobytes(), fitting.candidates)
    solved = [
        linprog(
            sign * by_rank,
            A_ub=np.vstack([at_most, -at_most]),
            b_ub=np.concatenate([fitting.high, -fitting.low]),
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


GAMMA = 0.01  # the weight of variance: intervals cover variance and no bias, so bias weighs more
_CORRECTION_DIGITS = 12  # that are kept: a routine of LAPACK may differ in the last bits
_AT_ONCE = 1 << 18  # chances that are held


def correction(by_rank: Floats, candidates: Candidates, gamma: float = GAMMA) -> Floats:
    """(m + 1,) f(r) = argmin over f of the mean over R of (E[f(r) | R] - M(R))^2 + gamma Var[f(r) | R].

    R runs over 1 … N with equal weight. With T the matrix of P(r | R) this is the linear system
    ((1 - gamma) T'T (m + 1) / N + gamma I) f = T'M (m + 1) / N: all sampled ranks are then equally likely. The left side
    has the discrete Legendre polynomials as eigenvectors, which are those of a tridiagonal matrix, and the eigenvalues
    prod over j <= d of (m + 1 - j) (N + j) / ((m + 1 + j) (N - j)), d = 0 … m, so that no matrix has N rows. Where all
    items are candidates (m = N - 1) f is M.

    Parameters
    ----------
    by_rank : (depth,) M(R) for R = 1 … depth; 0 from there on to N

    References
    ----------
    Krichene & Rendle (2020), KDD, 1748-1757.  doi:10.1145/3394486.3403226  (they draw with replacement)
    """
    if gamma == GAMMA:
        return _cached_correction(by_rank.tobytes(), candidates)
    return _solve(by_rank, candidates, gamma)


@lru_cache(maxsize=256)
def _cached_correction(by_rank: bytes, candidates: Candidates) -> Floats:
    values = _solve(np.frombuffer(by_rank), candidates, GAMMA)
    values.setflags(write=False)
    return values


def _solve(by_rank: Floats, candidates: Candidates, gamma: float) -> Floats:
    vectors, values = _spectrum(candidates)
    posterior = _posterior_means(np.trim_zeros(by_rank, "b"), candidates)
    within = (vectors * posterior[:, None]).sum(axis=0) / ((1.0 - gamma) * values + gamma)
    return np.asarray(np.round((vectors * within).sum(axis=1), _CORRECTION_DIGITS) + 0.0)  # no -0


def _posterior_means(by_rank: Floats, candidates: Candidates) -> Floats:
    """(m + 1,) E[M(R) | r], all full ranks being equally likely before."""
    count = candidates.negatives + 1
    total = np.zeros(count)
    step = max(_AT_ONCE // count, 1)
    for first in range(0, len(by_rank), step):
        block = by_rank[first : first + step]
        ranks = np.arange(first + 1, first + 1 + len(block))
        total += (block[:, None] * chances(ranks, candidates)).sum(axis=0)
    return total * count / candidates.catalogue


@lru_cache(maxsize=16)
def _spectrum(candidates: Candidates) -> tuple[Floats, Floats]:
    """Eigenvectors, one a column, and eigenvalues of T'T (m + 1) / N."""
    from scipy.linalg import eigh_tridiagonal

    m, n = candidates.negatives, candidates.catalogue
    index = np.arange(m, dtype=np.float64)
    off_diagonal = (index + 1.0) * (m - index)
    diagonal = np.concatenate([off_diagonal, [0.0]]) + np.concatenate([[0.0], off_diagonal])
    _, vectors = eigh_tridiagonal(
        diagonal, -off_diagonal
    )  # by degree: the eigenvalues are d (d + 1)
    d = np.arange(1, m + 1, dtype=np.float64)
    ratios = (m + 1.0 - d) / (m + 1.0 + d) * ((n + d) / (n - d))
    return np.asarray(vectors, dtype=np.float64), np.concatenate([[1.0], np.cumprod(ratios)])


def moments(values: Floats, ranks: np.ndarray, candidates: Candidates) -> tuple[Floats, Floats]:
    """(ranks,) E[f(r) | R] and Var[f(r) | R] of corrected values f, at full ranks R."""
    shares = chances(ranks, candidates)
    mean = (shares * values).sum(axis=1)
    deviation = values - mean[:, None]
    return mean, (shares * (deviation * deviation)).sum(axis=1)


UNBIASED = "AUC"  # its mean over samples is that of all items (Krichene & Rendle 2020)
_REFUSED = 3  # after hits (0), ideals (1) and cases (2)
_CORRECTED_AT_ONCE = 1 << 16  # full ranks whose lists are held


def not_corrected(label: Label, conventions: Conventions) -> str:
    """Return why a label has no value on sampled candidates, whatever the data; empty if it has one."""
    if conventions.candidates is None:
        return ""
    if label.name not in (*CORRECTED_METRICS, UNBIASED):
        return (
            f"there is no correction for sampled candidates: {label.name} is no function of the rank of one relevant "
            f"item. Take it out of the metrics ({', '.join((*CORRECTED_METRICS, UNBIASED))} stay), or rank all items"
        )
    if conventions.ties == "average":
        return "`ties: average` leaves no rank to correct under `candidates`; choose another order"
    if label.judged_only:
        return "`judged_only` closes lists up, so that no sampled rank is left to correct; leave it out"
    if is_pooled(label, conventions):
        return "a pooled mean of corrected values is not defined; take precision_aggregate: macro and f1_aggregate: per_user"
    return ""


def corrected(
    lists: Judged, label: Label, conventions: Conventions, candidates: Candidates
) -> Floats:
    """(users,) f(r) of each user's sampled rank r; 0 for users without a list or without a relevant item.

    Where relevant items differ in their grade, so does f.

    Raises
    ------
    ScoringError : a user has several relevant items, a list of another length, or one that lacks the relevant item
    """
    ranks = sampled_ranks(lists, label, candidates)
    values = np.zeros(lists.n_users)
    grade = np.zeros(lists.n_users)
    grade[lists.truth_user] = lists.truth_grade
    for each in np.unique(grade[ranks > 0]):
        users = (ranks > 0) & (grade == each)
        aim = by_rank(label, conventions, float(each), candidates)
        values[users] = correction(aim, candidates)[ranks[users] - 1]
    return values


def sampled_ranks(lists: Judged, label: Label, candidates: Candidates) -> Ints:
    """(users,) the rank of the relevant item among the candidates; 0 for users without list or relevant item."""
    m = candidates.negatives
    is_complete = (lists.n_listed > 0) & (lists.n_relevant > 0)
    first = lists.hit_number == 1
    ranks = np.zeros(lists.n_users, dtype=np.int64)
    ranks[lists.hit_user[first]] = lists.hit_rank[first]
    length = f"negatives: {m} makes lists of {m + 1:,} items"
    reasons = (
        (
            is_complete & (lists.n_relevant > 1),
            "have more than one relevant item, and the correction is for one. "
            "Keep one row of the truth per user, or rank all items",
        ),
        (
            is_complete & (lists.n_listed != m + 1),
            f"have lists of another length: {length}. "
            "Set conventions.candidates.negatives to what was drawn, or make the lists whole",
        ),
        (
            is_complete & (ranks == 0),
            "have lists without their relevant item, so its rank is not known. Put it among the candidates of its user",
        ),
    )
    for number, (users, reason) in enumerate(reasons):
        _refuse(lists, users, f"{label}: {{users}} user(s) {reason}; first: {{first!r}}", number)
    return np.where(is_complete, ranks, 0)


def _refuse(lists: Judged, users: Bools, text: str, number: int) -> None:
    if users.any():
        (first,) = lists.users[users][:1].tolist()
        raise ScoringError(Refusal(text, (_REFUSED, number), int(users.sum()), first))


def by_rank(label: Label, conventions: Conventions, grade: float, candidates: Candidates) -> Floats:
    """(depth,) M(R): the label's value of a list of the whole catalogue whose one relevant item stands at rank R.

    Made by the label's own function; beyond `depth` it is 0.
    """
    whole = label.k is None or (label.name == "RR" and conventions.rr_cutoff == "none")
    depth = candidates.catalogue if whole else min(label.k or 0, candidates.catalogue)
    return np.concatenate(
        [of_full_ranks(label, conventions, grade, ranks, candidates) for ranks in _blocks(depth)]
    )


def of_full_ranks(
    label: Label, conventions: Conventions, grade: float, ranks: Ints, candidates: Candidates
) -> Floats:
    """(ranks,) M(R) at these full ranks."""
    each, grades = np.arange(len(ranks)), np.full(len(ranks), grade)
    lists = Judged(
        users=each,
        known=np.ones(len(ranks), dtype=bool),
        n_listed=np.full(len(ranks), candidates.catalogue),
        hit_user=each,
        hit_rank=ranks,
        hit_grade=grades,
        hit_first=np.ones(len(ranks), dtype=bool),
        truth_user=each,
        truth_grade=grades,
        truth_position=np.ones(len(ranks), dtype=np.int64),
    )
    values: Floats = label.metric.function(
        lists, label.k, **label.metric.arguments(conventions), **label.parameters
    )
    return values


def _blocks(depth: int) -> Iterator[Ints]:
    for first in range(1, depth + 1, _CORRECTED_AT_ONCE):
        yield np.arange(first, min(first + _CORRECTED_AT_ONCE, depth + 1))
