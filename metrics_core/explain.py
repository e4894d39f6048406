"""`explain`: how one user's number came about, line by line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np

from metrics_core import accuracy
from metrics_core.catalogue import Label, parse
from metrics_core.conventions import Conventions
from metrics_core.discounting import discounts, gains, ideal_dcg
from metrics_core.evaluate import register
from metrics_core.frames import Data, known_users, lists_frame, truth_frame
from metrics_core.judged import Judged
from metrics_core.judging import judge
from metrics_core.partition import Task, evaluate_partition

SHOWN = 20  # ranks of the list that are printed


@dataclass(frozen=True)
class Derivation:
    """One user's value of one label: `value` as `evaluate` gives it, `lines` that lead to it."""

    user: Any
    label: str
    value: float | None
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain(
    recs: Data, truth: Data, *, user: Any, metric: str, conventions: Conventions
) -> Derivation:
    """Prints and returns the derivation of one user's value.

    `value` is NaN where the metric is undefined and None where the conventions leave the user out.

    Raises
    ------
    ValueError : the user is neither in the lists nor in the truth; else as `evaluate`
    """
    label = parse(metric)
    lists, judgements = lists_frame(recs), truth_frame(truth)
    known = known_users(truth, judgements)
    own = replace(conventions.of(label.name), overrides={})
    task = Task([label], own)
    with duckdb.connect() as connection:
        one = [
            frame.filter(frame["user"].cast(str) == str(user))
            for frame in (lists, judgements, known)
        ]
        if not any(len(frame) for frame in one):
            msg = f"user {user!r} is neither in the lists nor in the truth"
            raise ValueError(msg)
        register(connection, one[0], one[1], one[2], own)
        value = evaluate_partition(connection, task)[str(label)][0]
        ranking = task.ranking_of(label)
        judged = judge(connection, only_known=False, ranking=ranking)
        rows = connection.execute(
            "SELECT rank, item, grade FROM lists LEFT JOIN truth USING (user, item) ORDER BY rank"
        ).fetchall()
    lines = tuple(_lines(judged, rows, label, label.conventions(conventions), value))
    derivation = Derivation(user, str(label), value, lines)
    print(derivation)
    return derivation


def _lines(
    judged: Judged,
    rows: list[tuple[int, Any, float | None]],
    label: Label,
    own: Conventions,
    value: float | None,
) -> list[str]:
    lists = judged.relevant(own.relevance_threshold, own.truth_visible)
    n_relevant = int(lists.n_relevant[0])
    least = (
        "any grade" if own.relevance_threshold is None else f"grade >= {own.relevance_threshold:g}"
    )
    return [
        f"{label} of user {judged.users[0]!r}",
        f"relevant: {least}; {n_relevant} relevant item(s) in the truth, {int(judged.n_listed[0])} in the list",
        *_list(rows, own, label.k),
        *(_case(lists, own) or _STEPS[label.name](lists, label, own)),
        f"{label} = {'left out' if value is None else format(value, '.6g')}",
    ]


def _list(rows: list[tuple[int, Any, float | None]], own: Conventions, k: int | None) -> list[str]:
    top = [row for row in rows if k is None or row[0] <= k]
    lines = [f"  rank {rank}: {item}{_verdict(grade, own)}" for rank, item, grade in top[:SHOWN]]
    return lines + ([f"  … {len(top) - SHOWN} more ranks"] if len(top) > SHOWN else [])


def _verdict(grade: float | None, own: Conventions) -> str:
    if grade is None:
        return ""
    relevant = own.relevance_threshold is None or grade >= own.relevance_threshold
    return f", grade {grade:g}: {'hit' if relevant else 'not relevant'}"


def _case(lists: Judged, own: Conventions) -> list[str]:
    """The policy that stands in for the formula, if one does."""
    listed, relevant = bool(lists.n_listed[0]), bool(lists.n_relevant[0])
    if listed and relevant:
        return []
    if relevant:
        case = "user_no_recs"
    elif listed:
        case = "user_empty_truth" if lists.known[0] else "user_recs_only"
    else:
        case = "user_both_empty"
    return [f"{case}: {getattr(own, case)}"]


def _hits(lists: Judged, k: int | None) -> tuple[int, str]:
    ranks = lists.hit_rank[lists.within(k)].tolist()
    return len(ranks), f"{len(ranks)} hit(s)" + (
        f" at rank(s) {', '.join(map(str, ranks))}" if ranks else ""
    )


def _precision(lists: Judged, label: Label, own: Conventions) -> list[str]:
    hits, said = _hits(lists, label.k)
    divisor = accuracy.precision_divisor(lists, label.k, own.precision_denominator)[0]
    return [said, f"P = {hits} / {divisor}  (divided by {own.precision_denominator})"]


def _recall(lists: Judged, label: Label, own: Conventions) -> list[str]:
    hits, said = _hits(lists, label.k)
    relevant = int(lists.n_relevant[0])
    capped = own.recall_denominator == "min_k_relevant"
    divisor = min(int(lists.cutoff(label.k)[0]), relevant) if capped else relevant
    return [said, f"R = {hits} / {divisor}  (divided by {own.recall_denominator})"]


def _f1(lists: Judged, label: Label, own: Conventions) -> list[str]:
    return [
        *_precision(lists, label, own),
        _recall(lists, label, own)[-1],
        "F1 = 2 P R / (P + R), 0 if both are 0",
    ]


def _hit(lists: Judged, label: Label, own: Conventions) -> list[str]:
    return [
        _hits(lists, label.k)[1],
        f"Hit is the {'number of hits' if own.hit_kind == 'count' else 'presence of any hit'}",
    ]


def _ap(lists: Judged, label: Label, own: Conventions) -> list[str]:
    hits, said = _hits(lists, label.k)
    top = lists.within(label.k)
    terms = [
        f"{n}/{rank}" for n, rank in zip(lists.hit_number[top], lists.hit_rank[top], strict=True)
    ]
    over = " + ".join(terms) or "0"
    k, n, relevant = (
        int(lists.cutoff(label.k)[0]),
        int(lists.length(label.k)[0]),
        int(lists.n_relevant[0]),
    )
    divisor = {
        "relevant": relevant,
        "min_k_relevant": min(k, relevant),
        "hits": hits,
        "k": k,
        "min_len_relevant": min(n, relevant),
    }[own.ap_denominator]
    if own.ap_sum_over == "all_ranks":
        over = f"P@1 + … + P@{k}"
    return [said, f"AP = ({over}) / {divisor}  (divided by {own.ap_denominator})"]


def _rr(lists: Judged, label: Label, own: Conventions) -> list[str]:
    top = lists.within(None if own.rr_cutoff == "none" else label.k)
    first = lists.hit_rank[top][:1].tolist()
    return [f"first hit at rank {first[0]}: 1 / {first[0]}" if first else "no hit: 0"]


def _terms(
    lists: Judged, label: Label, own: Conventions, weight: Mapping[str, float], gain: Any
) -> list[str]:
    top = lists.within(label.k)
    ranks = lists.hit_rank[top]
    earned = gains(lists.hit_grade[top], gain, own.relevance_threshold)
    left = discounts(weight, int(ranks.max(initial=0)))[ranks]
    lines = [
        f"  rank {rank}: gain {g:g} x discount {w:.6g} = {g * w:.6g}"
        for rank, g, w in zip(ranks, earned, left, strict=True)
    ]
    return [*lines, f"sum = {float(np.sum(earned * left)):.6g}"]


def _cg(lists: Judged, label: Label, own: Conventions) -> list[str]:
    grades = lists.hit_grade[lists.within(label.k)]
    return [" + ".join(f"{g:g}" for g in gains(grades, own.gain, own.relevance_threshold)) or "0"]


def _dcg(lists: Judged, label: Label, own: Conventions) -> list[str]:
    return _terms(lists, label, own, own.discount, own.gain)


def _ndcg(lists: Judged, label: Label, own: Conventions) -> list[str]:
    best = ideal_dcg(
        lists,
        label.k,
        gain=own.gain,
        discount=own.discount,
        ideal=own.ideal,
        relevance_threshold=own.relevance_threshold,
    )[0]
    return [
        *_dcg(lists, label, own),
        f"ideal DCG ({own.ideal}) = {best:.6g}",
        "nDCG = sum / ideal DCG",
    ]


def _rprec(lists: Judged, label: Label, own: Conventions) -> list[str]:
    relevant = int(lists.n_relevant[0])
    hits = int((lists.hit_rank <= relevant).sum())
    return [f"{hits} hit(s) in the top R = {relevant}: {hits} / {relevant}"]


def _rbp(lists: Judged, label: Label, own: Conventions) -> list[str]:
    p = label.parameters["p"]
    return [
        *_terms(lists, label, own, {"geometric": p}, own.rbp_gain),
        f"RBP = sum x {own.rbp_norm}",
    ]


def _err(lists: Judged, label: Label, own: Conventions) -> list[str]:
    looking, lines = 1.0, []
    top = lists.within(label.k)
    for rank, grade in zip(lists.hit_rank[top], lists.hit_grade[top], strict=True):
        satisfied = (2.0**grade - 1) / 2.0**own.err_max_grade
        lines.append(
            f"  rank {rank}: 1/{rank} x satisfied {satisfied:.6g} x still looking {looking:.6g}"
        )
        looking *= 1 - satisfied
    return lines


_STEPS: Mapping[str, Callable[[Judged, Label, Conventions], list[str]]] = {
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
}
