"""Corrected values of lists that rank the relevant item among sampled candidates."""

from functools import lru_cache

import numpy as np

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.conventions.data_conventions import CORRECTED_METRICS
from concord.metrics_core.errors import Refusal, ScoringError
from concord.metrics_core.metrics.judged import Bools, Floats, Ints, Judged
from concord.metrics_core.metrics.label import Label, is_pooled


def rank_probabilities(ranks: Ints, candidates: Candidates) -> Floats:
    """P(r | R) = C(R - 1, r - 1) C(N - R, m - r + 1) / C(N - 1, m), with r = 1 … m + 1 along a row.

    r - 1 of the R - 1 items above the relevant one are among the m negatives. The distribution is
    hypergeometric, as the negatives of a list differ. Rows are built from their mode outwards by
    ratios of neighbours, so that nothing overflows; with the four operations alone, the bits are
    equal on all machines.

    Parameters
    ----------
    ranks : (n_ranks,) int64
        Full ranks R, from 1 to N.
    candidates : Candidates
        m negatives of a catalogue of N items.

    Returns
    -------
    (n_ranks, m + 1) float64
        Probabilities of the sampled ranks, by full rank.
    """
    m, others = candidates.negatives, candidates.others
    above = ranks.astype(np.float64)[:, None] - 1.0
    drawn = np.arange(m, dtype=np.float64)
    more = np.maximum((above - drawn) * (m - drawn), 0.0)  # P(j + 1) : P(j) = more : fewer
    fewer = np.maximum((drawn + 1.0) * (others - m - above + drawn + 1.0), 0.0)
    rises = more >= fewer
    up = np.where(rises, 1.0, more / np.where(rises, 1.0, fewer))
    down = np.where(rises, fewer / np.where(rises, np.maximum(more, 1.0), 1.0), 1.0)
    ones = np.ones((len(ranks), 1))
    above_mode = np.hstack([ones, np.cumprod(up, axis=1)])
    below_mode = np.hstack([np.cumprod(down[:, ::-1], axis=1)[:, ::-1], ones])
    weights = above_mode * below_mode
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


GAMMA = 0.01  # weight of the variance: intervals cover variance but not bias, so bias weighs more
_CORRECTION_DIGITS = 12  # LAPACK's results may differ in the last bits
_MAX_PROBABILITIES = 1 << 18  # in memory at once


def correction(by_rank: Floats, candidates: Candidates, gamma: float = GAMMA) -> Floats:
    """The f that minimises the mean over R of (E[f(r) | R] - M(R))^2 + gamma Var[f(r) | R].

    R runs over 1 … N with equal weight. With T the matrix of P(r | R), this is the linear system
    ((1 - gamma) T'T (m + 1) / N + gamma I) f = T'M (m + 1) / N, as all sampled ranks are equally
    likely. The eigenvectors of T'T are the discrete Legendre polynomials, which are also those of a
    tridiagonal matrix. The eigenvalues of T'T (m + 1) / N are
    prod over j <= d of (m + 1 - j) (N + j) / ((m + 1 + j) (N - j)), d = 0 … m.
    So no matrix needs N rows. If all items are candidates (m = N - 1), f is M.

    Parameters
    ----------
    by_rank : (depth,) float64
        M(R) for R = 1 … depth; 0 from there to N.
    candidates : Candidates
        m negatives of a catalogue of N items.
    gamma : float
        Weight of the variance.

    Returns
    -------
    (m + 1,) float64
        Corrected value f(r) of each sampled rank.

    References
    ----------
    Krichene & Rendle (2020), KDD, 1748-1757.  doi:10.1145/3394486.3403226
    (they draw with replacement)
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
    """Return (m + 1,) E[M(R) | r] for a uniform prior of full ranks."""
    count = candidates.negatives + 1
    total = np.zeros(count)
    step = max(_MAX_PROBABILITIES // count, 1)
    for first in range(0, len(by_rank), step):
        block = by_rank[first : first + step]
        ranks = np.arange(first + 1, first + 1 + len(block))
        total += (block[:, None] * rank_probabilities(ranks, candidates)).sum(axis=0)
    return total * count / candidates.catalogue


@lru_cache(maxsize=16)
def _spectrum(candidates: Candidates) -> tuple[Floats, Floats]:
    """Return the eigenvectors, as columns, and the eigenvalues of T'T (m + 1) / N."""
    from scipy.linalg import eigh_tridiagonal

    m, n = candidates.negatives, candidates.catalogue
    index = np.arange(m, dtype=np.float64)
    off_diagonal = (index + 1.0) * (m - index)
    diagonal = np.concatenate([off_diagonal, [0.0]]) + np.concatenate([[0.0], off_diagonal])
    # In the order of the degree d: its eigenvalues are d (d + 1).
    _, vectors = eigh_tridiagonal(diagonal, -off_diagonal)
    d = np.arange(1, m + 1, dtype=np.float64)
    ratios = (m + 1.0 - d) / (m + 1.0 + d) * ((n + d) / (n - d))
    return np.asarray(vectors, dtype=np.float64), np.concatenate([[1.0], np.cumprod(ratios)])


def moments(values: Floats, ranks: np.ndarray, candidates: Candidates) -> tuple[Floats, Floats]:
    """Return (n_ranks,) E[f(r) | R] and Var[f(r) | R] of corrected values f at full ranks R."""
    shares = rank_probabilities(ranks, candidates)
    mean = (shares * values).sum(axis=1)
    deviation = values - mean[:, None]
    return mean, (shares * (deviation * deviation)).sum(axis=1)


UNBIASED = "AUC"  # its mean over samples is that of all items (Krichene & Rendle 2020)
_REFUSAL_ORDER = 3  # after hits (0), ideals (1) and cases (2)
_MAX_LISTS = 1 << 16  # in memory at once, one for each full rank


def correction_problem(label: Label, conventions: Conventions) -> str:
    """Return why a label cannot be corrected for sampled candidates; empty if it can."""
    if conventions.candidates is None:
        return ""
    if label.name not in (*CORRECTED_METRICS, UNBIASED):
        return (
            f"there is no correction for sampled candidates: {label.name} is no function of the "
            "rank of one relevant item. Take it out of the metrics "
            f"({', '.join((*CORRECTED_METRICS, UNBIASED))} stay), or rank all items"
        )
    if conventions.ties == "average":
        return "`ties: average` leaves no rank to correct under `candidates`; choose another order"
    if label.judged_only:
        problem = "`judged_only` closes lists up, so that no sampled rank is left to correct"
        return f"{problem}; leave it out"
    if is_pooled(label, conventions):
        return (
            "a pooled mean of corrected values is not defined; "
            "take precision_aggregate: macro and f1_aggregate: per_user"
        )
    return ""


def correct_values(
    lists: Judged, label: Label, conventions: Conventions, candidates: Candidates
) -> Floats:
    """Return (n_users,) f(r) of each user's sampled rank r.

    f depends on the grade of the relevant item. The value is 0 without a list or a relevant item.

    Raises
    ------
    ScoringError
        If a user has several relevant items, a list of another length, or a list without the
        relevant item.
    """
    ranks = sampled_ranks(lists, label, candidates)
    values = np.zeros(lists.n_users)
    grade = np.zeros(lists.n_users)
    grade[lists.truth_user] = lists.truth_grade
    for distinct_grade in np.unique(grade[ranks > 0]):
        users = (ranks > 0) & (grade == distinct_grade)
        full_values = values_by_rank(label, conventions, float(distinct_grade), candidates)
        values[users] = correction(full_values, candidates)[ranks[users] - 1]
    return values


def sampled_ranks(lists: Judged, label: Label, candidates: Candidates) -> Ints:
    """Return (n_users,) rank of the relevant item among the candidates; 0 if there is none."""
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
            "Keep one row of the ground truth per user, or rank all items",
        ),
        (
            is_complete & (lists.n_listed != m + 1),
            f"have lists of another length: {length}. "
            "Set conventions.candidates.negatives to what was drawn, or make the lists whole",
        ),
        (
            is_complete & (ranks == 0),
            "have lists without their relevant item, so its rank is not known. "
            "Put it among the candidates of its user",
        ),
    )
    for number, (users, reason) in enumerate(reasons):
        _refuse(lists, users, f"{label}: {{users}} user(s) {reason}; first: {{first!r}}", number)
    return np.where(is_complete, ranks, 0)


def _refuse(lists: Judged, users: Bools, text: str, number: int) -> None:
    if users.any():
        (first,) = lists.users[users][:1].tolist()
        raise ScoringError(Refusal(text, (_REFUSAL_ORDER, number), int(users.sum()), first))


def values_by_rank(
    label: Label, conventions: Conventions, grade: float, candidates: Candidates
) -> Floats:
    """Return (depth,) M(R): the value of a full list whose only relevant item is at rank R.

    The metric's own function computes it; beyond `depth` it is 0.
    """
    depth = min(label.depth(conventions) or candidates.catalogue, candidates.catalogue)
    ranks = np.split(np.arange(1, depth + 1), range(_MAX_LISTS, depth, _MAX_LISTS))
    return np.concatenate(
        [values_at_ranks(label, conventions, grade, block, candidates) for block in ranks]
    )


def values_at_ranks(
    label: Label, conventions: Conventions, grade: float, ranks: Ints, candidates: Candidates
) -> Floats:
    """Return (n_ranks,) M(R) at these full ranks."""
    user, grades = np.arange(len(ranks)), np.full(len(ranks), grade)
    lists = Judged(
        users=user,
        known=np.ones(len(ranks), dtype=bool),
        n_listed=np.full(len(ranks), candidates.catalogue),
        hit_user=user,
        hit_rank=ranks,
        hit_grade=grades,
        hit_first=np.ones(len(ranks), dtype=bool),
        truth_user=user,
        truth_grade=grades,
        truth_position=np.ones(len(ranks), dtype=np.int64),
    )
    values: Floats = label.metric.function(
        lists, label.k, **label.metric.arguments(conventions), **label.parameters
    )
    return values
