"""A label's values of lists that rank the relevant item among sampled candidates, corrected user by user."""

from collections.abc import Iterator

import numpy as np

from concord.metrics_core.checking.refused import Refusal, ScoringError
from concord.metrics_core.conventions.candidates import Candidates
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.catalogue import Label, is_pooled
from concord.metrics_core.metrics.judged import Bools, Floats, Ints, Judged
from concord.metrics_core.scoring.sampled.correction import correction

CORRECTED = ("P", "R", "F1", "Hit", "AP", "RR", "CG", "DCG", "nDCG", "Rprec", "RBP", "ERR")
UNBIASED = "AUC"  # its mean over samples is that of all items (Krichene & Rendle 2020)
_REFUSED = 3  # after hits (0), ideals (1) and cases (2)
_AT_ONCE = 1 << 16  # full ranks whose lists are held


def not_corrected(label: Label, own: Conventions) -> str:
    """Why a label has no value on sampled candidates, whatever the data; empty where it has one."""
    if own.candidates is None:
        return ""
    if label.name not in (*CORRECTED, UNBIASED):
        return (
            f"there is no correction for sampled candidates: {label.name} is no function of the rank of one relevant "
            f"item. Take it out of the metrics ({', '.join((*CORRECTED, UNBIASED))} stay), or rank all items"
        )
    if own.ties == "average":
        return "`ties: average` leaves no rank to correct under `candidates`; choose another order"
    if label.judged_only:
        return "`judged_only` closes lists up, so that no sampled rank is left to correct; leave it out"
    if is_pooled(label, own):
        return "a pooled mean of corrected values is not defined; take precision_aggregate: macro and f1_aggregate: per_user"
    return ""


def corrected(lists: Judged, label: Label, own: Conventions, candidates: Candidates) -> Floats:
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
        here = (ranks > 0) & (grade == each)
        aim = by_rank(label, own, float(each), candidates)
        values[here] = correction(aim, candidates)[ranks[here] - 1]
    return values


def sampled_ranks(lists: Judged, label: Label, candidates: Candidates) -> Ints:
    """(users,) the rank of the relevant item among the candidates; 0 for users without list or relevant item."""
    m = candidates.negatives
    asked = (lists.n_listed > 0) & (lists.n_relevant > 0)
    first = lists.hit_number == 1
    ranks = np.zeros(lists.n_users, dtype=np.int64)
    ranks[lists.hit_user[first]] = lists.hit_rank[first]
    length = f"negatives: {m} makes lists of {m + 1:,} items"
    reasons = (
        (
            asked & (lists.n_relevant > 1),
            "have more than one relevant item, and the correction is for one. "
            "Keep one row of the truth per user, or rank all items",
        ),
        (
            asked & (lists.n_listed != m + 1),
            f"have lists of another length: {length}. "
            "Set conventions.candidates.negatives to what was drawn, or make the lists whole",
        ),
        (
            asked & (ranks == 0),
            "have lists without their relevant item, so its rank is not known. Put it among the candidates of its user",
        ),
    )
    for number, (users, said) in enumerate(reasons):
        _refuse(lists, users, f"{label}: {{users}} user(s) {said}; first: {{first!r}}", number)
    return np.where(asked, ranks, 0)


def _refuse(lists: Judged, users: Bools, said: str, number: int) -> None:
    if users.any():
        (first,) = lists.users[users][:1].tolist()
        raise ScoringError(Refusal(said, (_REFUSED, number), int(users.sum()), first))


def by_rank(label: Label, own: Conventions, grade: float, candidates: Candidates) -> Floats:
    """(depth,) M(R): the label's value of a list of the whole catalogue whose one relevant item stands at rank R.

    Made by the label's own function; beyond `depth` it is 0.
    """
    whole = label.k is None or (label.name == "RR" and own.rr_cutoff == "none")
    depth = candidates.catalogue if whole else min(label.k or 0, candidates.catalogue)
    return np.concatenate(
        [of_full_ranks(label, own, grade, ranks, candidates) for ranks in _blocks(depth)]
    )


def of_full_ranks(
    label: Label, own: Conventions, grade: float, ranks: Ints, candidates: Candidates
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
        truth_place=np.ones(len(ranks), dtype=np.int64),
    )
    knobs = {knob: getattr(own, knob) for knob in label.metric.knobs}
    found: Floats = label.metric.function(lists, label.k, **knobs, **label.parameters)
    return found


def _blocks(depth: int) -> Iterator[Ints]:
    for first in range(1, depth + 1, _AT_ONCE):
        yield np.arange(first, min(first + _AT_ONCE, depth + 1))
