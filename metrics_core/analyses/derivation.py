"""The steps from one user's list to a metric's value, as a person would write them on paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from concord.metrics_core.analyses.derivation_groups import (
    attention_steps,
    exposure_steps,
    format_number,
    format_sum,
)
from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.evaluation.sampled_candidates import (
    GAMMA,
    UNBIASED,
    by_rank,
    correction,
    moments,
    of_full_ranks,
    sampled_ranks,
)
from concord.metrics_core.evaluation.score import normalised, user_cases, user_policies
from concord.metrics_core.metrics import accuracy
from concord.metrics_core.metrics.agreement import judged_only
from concord.metrics_core.metrics.discounting import discounts, gains, ideal_order
from concord.metrics_core.metrics.elementary import exp2
from concord.metrics_core.metrics.judged import Floats, Judged
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.listed import Listed

_FIRST = 4  # corrected values that are written out


@dataclass(frozen=True)
class Steps:
    """What each rank adds, in words, and the lines that follow the list."""

    terms: Mapping[int, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class One:
    """One user: all that is judged, what is relevant, the label and its conventions.

    policy : the convention that stands in for the formula, as `user_no_recs: zero`; empty where none does
    listed : the whole list and what is known of its items, where the label reads them
    """

    judged: Judged
    lists: Judged
    label: Label
    own: Conventions
    policy: str
    listed: Listed | None = None

    @property
    def k(self) -> int | None:
        """The cutoff."""
        return self.label.k

    @property
    def ranks(self) -> list[int]:
        """Of the hits in the top k."""
        found: list[int] = self.lists.hit_rank[self.lists.within(self.k)].tolist()
        return found

    @property
    def cutoff(self) -> int:
        """The cutoff k, or the length of the list."""
        return int(self.lists.cutoff(self.k)[0])

    @property
    def length(self) -> int:
        """Items in the list, at most k."""
        return int(self.lists.length(self.k)[0])

    @property
    def reachable(self) -> int:
        """Relevant items, at most k."""
        return int(self.lists.reachable(self.k)[0])

    @property
    def n_relevant(self) -> int:
        """Relevant items."""
        return int(self.lists.n_relevant[0])


def one_of(judged: Judged, label: Label, own: Conventions) -> One:
    """What a label reads of the one user of `judged`."""
    cases = [case for case, users in user_cases(judged, label, own).items() if users[0]]
    policy = _policy(cases[0], user_policies(label, own)[cases[0]], own) if cases else ""
    seen = judged_only(judged) if label.judged_only else judged
    lists = seen.relevant(own.relevance_threshold, own.truth_visible)
    return One(seen.relevant(None, own.truth_visible), lists, label, own, policy)


def _policy(case: str, policy: str, own: Conventions) -> str:
    if own.propensity is None or case == "user_no_recs":
        return f"{case}: {policy}"
    counts = "is left out of a ratio" if policy == "drop" else "counts 0 in a sum"
    return f"propensity: no relevant item of this user was observed, who {counts}"


def alone(judged: Judged, number: int) -> Judged:
    """One of the users, without the others."""
    kept = judged.keep(judged.hit_user == number, judged.truth_user == number)
    only = slice(number, number + 1)
    return replace(
        kept,
        users=judged.users[only],
        known=judged.known[only],
        n_listed=judged.n_listed[only],
        hit_user=np.zeros_like(kept.hit_user),
        truth_user=np.zeros_like(kept.truth_user),
    )


def steps(one: One) -> Steps:
    """The steps of one user's value, or the policy that stands in for the formula."""
    if one.policy:
        return Steps(lines=(one.policy,))
    if one.own.candidates is not None and one.label.name != UNBIASED:
        return _corrected(one, Candidates.of(one.own.candidates))
    if one.lists.hit_tied is not None:
        return _averaged(one)
    found = _STEPS.get(one.label.name, _own)(one)
    return found if one.lists.weights is None else _weighed(one, found)


def _weighed(one: One, found: Steps) -> Steps:
    """The steps, with what each hit counts before them, and after them what the sum is divided by."""
    of_hits, of_truth = one.lists.weights or ((), ())
    ranks = zip(one.lists.hit_rank.tolist(), of_hits, strict=True)
    told = ", ".join(f"rank {rank} {format_number(weight)}" for rank, weight in ranks)
    lines = (f"each counts 1 / propensity: {told}", *found.lines) if told else found.lines
    if normalised(one.label, one.own) and one.label.name != "R":
        total = f"{format_sum([*map(format_number, of_truth)])} = {format_number(float(one.lists.weight[0]))}"
        lines = (*lines, f"divided by the weights of all relevant items: {total}")
    return Steps(found.terms, lines)


def _corrected(one: One, candidates: Candidates) -> Steps:
    m, everything = candidates.negatives, candidates.catalogue
    (rank,) = sampled_ranks(one.lists, one.label, candidates).tolist()
    grade = float(one.lists.truth_grade[0])
    values = correction(by_rank(one.label, one.own, grade, candidates), candidates)
    full = np.unique(np.minimum([1, 10, 100, 1_000], everything))
    aims = of_full_ranks(one.label, one.own, grade, np.array([rank, *full]), candidates)
    means, _ = moments(values, full, candidates)
    first = ", ".join(map(format_number, values[:_FIRST]))
    bias = "; ".join(
        f"{format_number(mean)} at full rank {at:,} (truly {format_number(aim)})"
        for at, mean, aim in zip(full.tolist(), means, aims[1:], strict=True)
    )
    return Steps(
        {rank: f"sampled rank {rank} of {m + 1:,}"},
        (
            f"sampled rank {rank}: the relevant item among {m:,} of {everything - 1:,} others; uncorrected {format_number(aims[0])}",
            f"f(1), f(2), … = {first}, …: with bias and {GAMMA:g} × variance least over full ranks 1 to {everything:,}",
            f"the mean of f over samples: {bias}",
            f"{one.label.name} = f({rank})",
        ),
    )


def _averaged(one: One) -> Steps:
    chances = one.lists.chance_within(one.k)
    ranks = zip(one.lists.hit_rank.tolist(), one.lists.tied_ranks.tolist(), chances, strict=True)
    terms = {
        rank: f"any of ranks {low} to {high}, in the top {one.cutoff} with chance {chance:.6g}"
        if low < high
        else "hit"
        for rank, (low, high), chance in ranks
    }
    return Steps(terms, ("the expected value over all orders of equal scores",))


def _precision(one: One) -> Steps:
    divisor = accuracy.precision_divisor(one.lists, one.k, one.own.precision_denominator)[0]
    return _ratio(one, "P", int(divisor), one.own.precision_denominator)


def _recall(one: One) -> Steps:
    capped = one.own.recall_denominator == "min_k_relevant"
    divisor = one.reachable if capped else one.lists.weight[0].item()
    return _ratio(one, "R", divisor, one.own.recall_denominator)


def _ratio(one: One, name: str, divisor: float, said: str) -> Steps:
    hits = dict.fromkeys(one.ranks, "hit")
    if one.lists.weights is not None:
        counted = f"{format_number(float(one.lists.count(one.k)[0]))} / {format_number(divisor)}"
        return Steps(hits, (f"{name} = {counted}  (what the hits count / {said})",))
    return Steps(hits, (f"{name} = {len(hits)} / {divisor}  (hits / {said})",))


def _f1(one: One) -> Steps:
    own = one.own
    p = accuracy.precision(one.lists, one.k, precision_denominator=own.precision_denominator)[0]
    r = accuracy.recall(one.lists, one.k, recall_denominator=own.recall_denominator)[0]
    first = _precision(one)
    sums = (*first.lines, *_recall(one).lines)
    if p + r == 0:
        return Steps(first.terms, (*sums, "F1 = 0, because both are 0"))
    total = f"F1 = 2 × {p:.6g} × {r:.6g} / ({p:.6g} + {r:.6g})"
    return Steps(first.terms, (*sums, total))


def _hit(one: One) -> Steps:
    kind = "the number of hits" if one.own.hit_kind == "count" else "1 if there is any hit, else 0"
    hits = dict.fromkeys(one.ranks, "hit")
    return Steps(hits, (f"{len(hits)} hit(s) in the top {one.cutoff}; Hit is {kind}",))


def _ap(one: One) -> Steps:
    ranks = one.ranks
    divisor = {
        "relevant": one.n_relevant,
        "min_k_relevant": one.reachable,
        "hits": len(ranks),
        "k": one.cutoff,
        "min_len_relevant": min(one.length, one.n_relevant),
    }[one.own.ap_denominator]
    if one.own.ap_sum_over == "all_ranks":
        terms = {i: f"{sum(r <= i for r in ranks)}/{i}" for i in range(1, one.cutoff + 1)}
    else:
        terms = {rank: f"{number}/{rank}" for number, rank in enumerate(ranks, 1)}
    total = format_sum(list(terms.values()))
    return Steps(terms, (f"AP = ({total}) / {divisor}  (sum / {one.own.ap_denominator})",))


def _rr(one: One) -> Steps:
    ranks = one.lists.hit_rank[one.lists.within(None if one.own.rr_cutoff == "none" else one.k)]
    if not len(ranks):
        return Steps(lines=("RR = 0, because there is no hit",))
    return Steps({int(ranks[0]): f"1/{ranks[0]}"}, (f"RR = 1 / {ranks[0]}  (the first hit)",))


def _cg(one: One) -> Steps:
    earned = _earned(one, one.own.gain)
    terms = dict(zip(one.ranks, map(format_number, earned), strict=True))
    return Steps(terms, (f"CG = {format_sum(list(terms.values()))}",))


def _dcg(one: One) -> Steps:
    terms, total = _discounted(one, one.own.gain, one.own.discount)
    return Steps(terms, (f"DCG = {total}",))


def _ndcg(one: One) -> Steps:
    own = one.own
    terms, total = _discounted(one, own.gain, own.discount)
    earned, weight = ideal_order(
        one.lists,
        one.k,
        gain=own.gain,
        discount=own.discount,
        ideal=own.ideal,
        relevance_threshold=own.relevance_threshold,
    )
    best = float(np.sum(earned * weight))
    written = format_sum(
        [f"{format_number(g)} × {format_number(w)}" for g, w in zip(earned, weight, strict=True)]
    )
    return Steps(
        terms,
        (
            f"DCG = {total}",
            f"ideal DCG = {written} = {format_number(best)}  ({own.ideal})",
            f"nDCG = {total.rpartition('= ')[2]} / {format_number(best)}"
            if best
            else "nothing to gain",
        ),
    )


def _rprec(one: One) -> Steps:
    r = one.n_relevant
    hits = {rank: "hit" for rank in one.lists.hit_rank.tolist() if rank <= r}
    return Steps(hits, (f"Rprec = {len(hits)} / {r}  (hits in the top R / R)",))


def _rbp(one: One) -> Steps:
    p = one.label.parameters["p"]
    terms, total = _discounted(one, one.own.rbp_gain, {"geometric": p})
    norm = {
        "one_minus_p": f"(1 - {p:g}) × sum",
        "sum_weights": f"sum / (1 + {p:g} + … + {p:g}^{one.cutoff - 1})",
        "none": "sum",
    }[one.own.rbp_norm]
    return Steps(terms, (f"sum = {total}", f"RBP = {norm}"))


def _err(one: One) -> Steps:
    looking, terms = 1.0, {}
    top = one.lists.within(one.k)
    for rank, grade in zip(one.ranks, one.lists.hit_grade[top], strict=True):
        satisfied = float((exp2(grade) - 1.0) / exp2(one.own.err_max_grade))
        terms[rank] = f"1/{rank} × {format_number(satisfied)} × {format_number(looking)}"
        looking *= 1 - satisfied
    said = "ERR = sum of 1/rank × satisfied here × not satisfied before"
    return Steps(terms, (said,))


def _discounted(one: One, gain: Any, discount: Mapping[str, float]) -> tuple[dict[int, str], str]:
    earned = _earned(one, gain)
    weight = discounts(discount, max(one.ranks, default=0))[one.ranks]
    terms = {
        rank: f"{format_number(g)} × {format_number(w)} = {format_number(g * w)}"
        for rank, g, w in zip(one.ranks, earned, weight, strict=True)
    }
    added: Floats = earned * weight
    if not terms:
        return terms, "0"
    return (
        terms,
        f"{format_sum([format_number(term) for term in added])} = {format_number(float(np.sum(added)))}",
    )


def _earned(one: One, gain: Any) -> Floats:
    """What the hits in the top k earn, by what they count."""
    earned = gains(one.lists.hit_grade, gain, one.own.relevance_threshold)
    return one.lists.weighed(earned)[one.lists.within(one.k)]


def _bpref(one: One) -> Steps:
    judged = one.judged
    relevant = judged.hit_grade >= _least(one)
    r, n = one.n_relevant, len(judged.truth_grade) - one.n_relevant
    above, terms = 0, {}
    for rank, hit, first in zip(judged.hit_rank.tolist(), relevant, judged.hit_first, strict=True):
        if first and not hit:
            above += 1
        elif first and (one.k is None or rank <= one.k):
            terms[rank] = f"(1 - {min(above, r)}/{min(r, n)})" if above else "1"
    total = format_sum(list(terms.values()))
    return Steps(terms, (f"Bpref = ({total}) / {r}  ({n} judged items are not relevant)",))


def _hlu(one: One) -> Steps:
    halflife, neutral = one.label.parameters["halflife"], one.own.hlu_neutral
    top = one.lists.within(one.k) & one.lists.hit_first
    ranks = one.lists.hit_rank[top].tolist()
    worth = np.maximum(one.lists.hit_grade[top] - neutral, 0.0)
    weight = discounts({"halflife": halflife}, max(ranks, default=0))[ranks]
    terms = {
        rank: f"{format_number(w)} × {format_number(left)} = {format_number(w * left)}"
        for rank, w, left in zip(ranks, worth, weight, strict=True)
    }
    utility = float(np.sum(worth * weight))
    if one.own.hlu_norm == "none":
        return Steps(terms, (f"HLU = {format_number(utility)}",))
    ideal = np.maximum(one.lists.truth_grade - neutral, 0.0)
    best = float(np.sum(ideal * discounts({"halflife": halflife}, len(ideal))[1:]))
    return Steps(
        terms, (f"HLU = {format_number(utility)} / {format_number(best)}  (utility / its best)",)
    )


def _auc(one: One) -> Steps:
    own = one.lists.keep(one.lists.hit_first, np.zeros(len(one.lists.truth_grade), dtype=bool))
    ranks = own.hit_rank[own.within(one.k)].tolist()
    others = one.length - len(ranks)
    terms = {
        rank: f"{others - (rank - number)} others below" for number, rank in enumerate(ranks, 1)
    }
    below = sum(others - (rank - number) for number, rank in enumerate(ranks, 1))
    pairs = f"{len(ranks)} × {others}"
    return Steps(terms, (f"AUC = {below} / ({pairs})  (pairs in the right order / pairs)",))


def _judged(one: One) -> Steps:
    known = one.judged.hit_rank[one.judged.within(one.k) & one.judged.hit_first].tolist()
    line = f"Judged = {len(known)} / {one.length}  (judged / items in the list)"
    return Steps(dict.fromkeys(known, "judged"), (line,))


def _agreement(one: One) -> Steps:
    top = one.judged.within(one.k) & one.judged.hit_first
    ranks, grades = one.judged.hit_rank[top].tolist(), one.judged.hit_grade[top].tolist()
    pairs = list(combinations(grades, 2))
    right, wrong = (sum(a > b for a, b in pairs), sum(a < b for a, b in pairs))
    terms = dict(zip(ranks, (f"place {n}" for n in range(1, len(ranks) + 1)), strict=True))
    said = f"{len(pairs)} pairs of judged items: {right} in the right order, {wrong} in the wrong, "
    equal = f"{len(pairs) - right - wrong} of equal grade"
    formula = {
        "FCP": f"FCP = {right} / ({right} + {wrong})",
        "Kendall": f"Kendall = ({right} - {wrong}) / sqrt({len(pairs)} × {right + wrong})",
        "Spearman": "Spearman = correlation of the places with the ranks by grade",
    }[one.label.name]
    return Steps(terms, (said + equal, formula))


def _fair(one: One) -> Steps:
    assert one.listed is not None
    return Steps(*attention_steps(one.listed, one.k, one.own))


def _exposed(one: One) -> Steps:
    assert one.listed is not None
    assert one.k is not None
    return Steps(*exposure_steps(one.label.name, one.listed, one.k, one.own))


def _own(one: One) -> Steps:
    """Of a metric of one's own: what its value is once each hit is counted, and what it reads of the hit."""
    metric, top = one.label.metric, one.lists.within(one.k)
    own = metric.arguments(one.own)
    read = {name: one.lists.hit_column(name)[top].tolist() for name in metric.columns}
    terms = {}
    for place, rank in enumerate(one.ranks):
        numbers = "".join(
            f"{name} {format_number(column[place])}, " for name, column in read.items()
        )
        up_to = float(metric.function(one.lists, rank, **own)[0])
        terms[rank] = f"{numbers}{metric.name}@{rank} = {format_number(up_to)}"
    return Steps(terms, (metric.formula,))


def _least(one: One) -> float:
    least = one.own.relevance_threshold
    return -np.inf if least is None else least


_STEPS: Mapping[str, Callable[[One], Steps]] = {
    "P": _precision,
    "R": _recall,
    "F1": _f1,
    "Hit": _hit,
    "AP": _ap,
    "RR": _rr,
    "CG": _cg,
    "DCG": _dcg,
    "nDCG": _ndcg,
    "Rprec": _rprec,
    "RBP": _rbp,
    "ERR": _err,
    "Bpref": _bpref,
    "HLU": _hlu,
    "AUC": _auc,
    "Judged": _judged,
    "Spearman": _agreement,
    "Kendall": _agreement,
    "FCP": _agreement,
    "AWRF": _fair,
    "EED": _exposed,
    "EER": _exposed,
    "EEL": _exposed,
}
