"""The metrics a second time, as their definitions read: one user, plain Python, exact fractions.

The tests compare `metrics_core` with this module; the two share nothing but the options' names.
"""

import ctypes
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product

from concord.metrics_core.conventions.conventions import Conventions
from tests.metrics_core.metrics import reference_agreement, reference_search

Item = str | int
Order = Sequence[Item | None]  # None: a rank that is taken, but never hits
Truth = Mapping[Item, float]
Row = tuple[Item, float | None, int | None]  # item, score, rank
Number = float | Fraction


@dataclass(frozen=True)
class AnyOf:
    """Orders that are equally likely: what `ties: average` makes of equal scores."""

    orders: list[list[Item | None]]


Ranked = Order | AnyOf


def rank(rows: Sequence[Row], conventions: Conventions) -> list[Item | None] | AnyOf:
    """One user's items in ranked order, from rows in the order of the file."""
    scored = all(rank is None for _, _, rank in rows)
    if conventions.ties == "average" and scored:
        return AnyOf(_orders(rows, conventions))
    return _without_copies(_ordered(list(rows), conventions), conventions.duplicates)


def value(
    metric: str,
    ranked: Ranked | None,
    truth: Truth | None,
    k: int | None,
    conventions: Conventions,
    **parameters: float,
) -> float | None:
    """One user's value: NaN where undefined, None where the user is left out."""
    pinned, parameters = _pin(metric, k, conventions, parameters)
    if isinstance(ranked, AnyOf):
        exactly = replace(pinned, round=None, overrides={})
        orders = ranked.orders
        if "judged_only" in parameters:  # copies are settled before equal scores are
            settled = {tuple(_judged(User(order, truth, k, pinned))): order for order in orders}
            orders = list(settled.values())
        values = [value(metric, order, truth, k, exactly, **parameters) for order in orders]
        return _average(values, pinned)
    came = User(list(ranked or []), truth, k, pinned)
    user = replace(came, ranked=_judged(came)) if parameters.pop("judged_only", 0) else came
    known = came.judged if metric == "Judged" else came.relevant
    if metric in OF_GAINS and (pinned.relevance_threshold or 0) <= 0:
        known = {item: grade for item, grade in known.items() if _gain(grade, pinned) > 0}
    policy = _policy(came, known) if metric not in OF_LIST or truth is None else None
    if policy == "drop":
        return None
    exact = METRICS[metric](user, **parameters) if policy is None else _by_policy(policy)
    digits = (pinned.round or {}).get("user")
    return float(exact) if digits is None or math.isnan(exact) else round(float(exact), digits)


def _average(values: list[float | None], pinned: Conventions) -> float | None:
    defined = [v for v in values if v is not None]
    if not defined:
        return None
    average = math.fsum(defined) / len(defined)
    digits = (pinned.round or {}).get("user")
    return average if digits is None or math.isnan(average) else round(average, digits)


def mean(values: Iterable[float | None], conventions: Conventions) -> float:
    """The mean over the users who are not left out."""
    remaining = _defined([(v, 1) for v in values if v is not None], conventions.undefined)
    return _rounded_mean(_weighted(remaining), conventions)


def mean_of(
    metric: str,
    users: Sequence[tuple[Ranked | None, Truth | None]],
    k: int | None,
    conventions: Conventions,
    **parameters: float,
) -> float:
    """The published mean, also where it is not the mean of the users' values."""
    pinned = conventions_for(metric, k, conventions)
    if metric == "P" and pinned.precision_aggregate == "micro":
        return _pooled_precision(users, k, pinned, parameters)
    if metric == "F1" and pinned.f1_aggregate == "of_means":
        plain = replace(pinned, round=None, precision_aggregate="macro", overrides={})
        p, r = (mean_of(name, users, k, plain, **parameters) for name in ("P", "R"))
        return _rounded_mean(_harmonic(p, r), pinned)
    values = [value(metric, ranked, truth, k, conventions, **parameters) for ranked, truth in users]
    return mean(values, pinned)


@dataclass(frozen=True)
class User:
    """One user as one metric sees them."""

    ranked: list[Item | None]
    truth: Truth | None
    k: int | None
    pinned: Conventions

    @property
    def all_relevant(self) -> dict[Item, float]:
        threshold = self.pinned.relevance_threshold
        known = self.truth or {}
        return {item: g for item, g in known.items() if threshold is None or g >= threshold}

    @property
    def relevant(self) -> dict[Item, float]:
        if self.pinned.truth_visible == "all":
            return self.all_relevant
        return {item: g for item, g in self.all_relevant.items() if item in self.ranked}

    @property
    def judged(self) -> dict[Item, float]:
        known = dict(self.truth or {})
        if self.pinned.truth_visible == "all":
            return known
        return {item: g for item, g in known.items() if item in self.ranked}

    @property
    def n(self) -> int:
        return len(self.ranked)

    @property
    def cutoff(self) -> int:
        return self.n if self.k is None else self.k

    @property
    def reachable(self) -> int:
        n_relevant = len(self.relevant)
        return n_relevant if self.k is None else min(self.k, n_relevant)

    @property
    def hits(self) -> list[tuple[int, float]]:
        """(rank, grade) of every hit, at any rank."""
        grades = self.relevant
        return [(i, grades[x]) for i, x in enumerate(self.ranked, 1) if x in grades]

    @property
    def top_hits(self) -> list[tuple[int, float]]:
        return [(i, g) for i, g in self.hits if i <= self.cutoff]


def precision(user: User) -> Fraction:
    return _ratio(len(user.top_hits), _precision_denominator(user))


def recall(user: User) -> Fraction:
    n_relevant = len(user.relevant)
    capped = user.pinned.recall_denominator == "min_k_relevant"
    return _ratio(len(user.top_hits), user.reachable if capped else n_relevant)


def f1(user: User) -> Number:
    return _harmonic(precision(user), recall(user))


def hit(user: User) -> Number:
    n_hits = len(user.top_hits)
    return Fraction(n_hits if user.pinned.hit_kind == "count" else min(n_hits, 1))


def average_precision(user: User) -> Fraction:
    ranks = [i for i, _ in user.top_hits]
    summed = ranks if user.pinned.ap_sum_over == "hits" else range(1, user.cutoff + 1)
    total = sum((Fraction(sum(r <= i for r in ranks), i) for i in summed), Fraction(0))
    n_relevant, length = len(user.relevant), min(user.cutoff, user.n)
    denominators = {
        "relevant": n_relevant,
        "min_k_relevant": user.reachable,
        "hits": len(ranks),
        "k": user.cutoff,
        "min_len_relevant": min(length, n_relevant),
    }
    return _ratio(total, denominators[user.pinned.ap_denominator])


def reciprocal_rank(user: User) -> Fraction:
    hits = user.hits if user.pinned.rr_cutoff == "none" else user.top_hits
    return Fraction(1, hits[0][0]) if hits else Fraction(0)


def cumulative_gain(user: User) -> Number:
    return math.fsum(_gain(g, user.pinned) for _, g in user.top_hits)


def dcg(user: User) -> Number:
    return math.fsum(_gain(g, user.pinned) * _left_at(i, user.pinned) for i, g in user.top_hits)


def ndcg(user: User) -> Number:
    if not any(_gain(g, user.pinned) > 0 for g in user.relevant.values()):
        return math.nan
    ideal = math.fsum(gain * _left_at(i, user.pinned) for i, gain in enumerate(_ideal(user), 1))
    return float(dcg(user)) / ideal if ideal else 0.0


def r_precision(user: User) -> Fraction:
    n_relevant = len(user.relevant)
    return _ratio(sum(i <= n_relevant for i, _ in user.hits), n_relevant)


def rbp(user: User, *, p: float) -> Number:
    graded = user.pinned.rbp_gain == "linear"
    total = math.fsum((g if graded else 1.0) * p ** (i - 1) for i, g in user.top_hits)
    norm = {
        "one_minus_p": 1 - p,
        "sum_weights": 1 / math.fsum(p ** (i - 1) for i in range(1, user.cutoff + 1)),
        "none": 1.0,
    }
    return total * norm[user.pinned.rbp_norm]


def err(user: User) -> Number:
    highest = user.pinned.err_max_grade
    if any(g > highest for g in user.all_relevant.values()):
        msg = f"a grade is above err_max_grade {highest}"
        raise ValueError(msg)
    total, still_looking = 0.0, 1.0
    for i, g in user.top_hits:
        satisfied = (2**g - 1) / 2**highest
        total += still_looking * satisfied / i
        still_looking *= 1 - satisfied
    return total


def nerr(user: User) -> Number:
    """ERR of the list / ERR of all relevant items, best first."""
    best: list[Item | None] = [*sorted(user.relevant, key=lambda item: -user.relevant[item])]
    err_of_list, ideal = err(user), err(replace(user, ranked=best))
    return float(err_of_list) / ideal if ideal else math.nan


def q_measure(user: User, *, beta: float) -> Number:
    return reference_search.q_measure(user, lambda g: _gain(g, user.pinned), beta=beta)


def o_measure(user: User, *, beta: float) -> Number:
    return reference_search.o_measure(user, lambda g: _gain(g, user.pinned), beta=beta)


METRICS: dict[str, Callable[..., Number]] = {
    "P": precision,
    "R": recall,
    "F1": f1,
    "Hit": hit,
    "AP": average_precision,
    "RR": reciprocal_rank,
    "CG": cumulative_gain,
    "DCG": dcg,
    "nDCG": ndcg,
    "Rprec": r_precision,
    "RBP": rbp,
    "ERR": err,
    "nERR": nerr,
    "Q": q_measure,
    "O": o_measure,
    "Bpref": reference_agreement.bpref,
    "infAP": reference_search.infap,
    "HLU": reference_agreement.hlu,
    "AUC": reference_agreement.auc,
    "Judged": reference_agreement.judged_share,
    "Spearman": reference_agreement.spearman,
    "Kendall": reference_agreement.kendall,
    "FCP": reference_agreement.concordant_pairs,
}
OF_LIST = {"Spearman", "Kendall", "FCP"}  # undefined without a list, whatever the policies
OF_GAINS = {"CG", "DCG", "nDCG", "Q", "O"}  # only items with a gain count as relevant


def conventions_for(metric: str, k: int | None, conventions: Conventions) -> Conventions:
    """Return a metric's conventions: the override `RR@k`, else `RR`, else the general ones."""
    if not conventions.overrides:
        return (
            conventions  # making conventions, which checks them, takes longer than all definitions
        )
    changed = dict(conventions.overrides.get(metric, {}))
    if k is not None:
        changed.update(conventions.overrides.get(f"{metric}@k", {}))
    return replace(conventions, overrides={}, **changed)


def _judged(user: User) -> list[Item | None]:
    """The list closed up to its judged items."""
    known = user.truth or {}
    return [x for i, x in enumerate(user.ranked) if x in known and x not in user.ranked[:i]]


def _pin(
    metric: str, k: int | None, conventions: Conventions, parameters: dict[str, float]
) -> tuple[Conventions, dict[str, float]]:
    pinned = conventions_for(metric, k, conventions)
    if "rel" not in parameters:
        return pinned, parameters
    others = {name: v for name, v in parameters.items() if name != "rel"}
    return replace(pinned, relevance_threshold=parameters["rel"]), others


def _policy(user: User, known: Mapping[Item, float]) -> str | None:
    pinned = user.pinned
    if user.truth is None and user.ranked:
        return pinned.user_recs_only
    if known:
        return None if user.ranked else pinned.user_no_recs
    return pinned.user_empty_truth if user.ranked else pinned.user_both_empty


def _by_policy(policy: str) -> float:
    if policy == "error":
        msg = "a user whom the conventions refuse"
        raise ValueError(msg)
    return {"zero": 0.0, "one": 1.0, "nan": math.nan}[policy]


def _precision_denominator(user: User) -> int:
    return {
        "k": user.cutoff,
        "len": min(user.cutoff, user.n),
        "min_k_relevant": user.reachable,
        "min_len_relevant": min(user.cutoff, user.n, len(user.relevant)),
    }[user.pinned.precision_denominator]


def _gain(grade: float, pinned: Conventions) -> float:
    gain, threshold = pinned.gain, pinned.relevance_threshold
    if not isinstance(gain, str):
        if grade not in gain["map"]:
            msg = f"grade {grade} has no gain"
            raise ValueError(msg)
        return gain["map"][grade]
    if gain == "exp2_above_threshold":
        if threshold is None:
            msg = "exp2_above_threshold needs a threshold"
            raise ValueError(msg)
        return float(2 ** (grade - threshold + 1) - 1)
    return {"binary": 1.0, "linear": float(grade), "exp2": float(2**grade - 1)}[gain]


def _left_at(i: int, pinned: Conventions) -> float:
    """What the discount leaves of a gain at rank i."""
    ((kind, number),) = pinned.discount.items()
    if kind == "log":
        return math.log(number) / math.log(i + 1)
    if kind == "jk":
        return 1 / max(1.0, math.log(i) / math.log(number))
    if kind == "halflife":
        return float(0.5 ** ((i - 1) / (number - 1)))
    return float(number ** (i - 1))


def _ideal(user: User) -> list[float]:
    """The gains of the ideal list, best first."""
    pinned = user.pinned
    if pinned.ideal == "full_k":
        if pinned.gain != "binary":
            msg = "full_k needs binary gain"
            raise ValueError(msg)
        return [1.0] * user.cutoff
    grades = {
        "retrieved_at_k": [g for _, g in user.top_hits],
        "retrieved": [g for _, g in user.hits],
    }.get(pinned.ideal, list(user.relevant.values()))
    best_first = sorted((_gain(g, pinned) for g in grades), reverse=True)
    if pinned.ideal == "truth" or (pinned.ideal == "truth_at_k" and user.k is None):
        return best_first
    if pinned.ideal == "truth_given_order_at_k":
        return [_gain(g, pinned) for g in grades][: user.k]
    shorter = min(user.cutoff, user.n) if pinned.ideal == "truth_at_min_k_len" else user.cutoff
    return best_first[:shorter]


def _ordered(rows: list[Row], conventions: Conventions) -> list[Item]:
    if all(position is not None for _, _, position in rows):
        return [item for item, _, _ in sorted(rows, key=lambda row: row[2] or 0)]
    ties = conventions.ties
    if ties == "given":
        return [item for item, _, _ in rows]
    single = conventions.score_dtype == "float32"
    scored = [(item, _comparable(score, single=single)) for item, score, _ in rows]
    if ties == "error" and len({score for _, score in scored}) < len(scored):
        msg = "equal scores"
        raise ValueError(msg)
    if ties in {"item_asc", "item_desc"}:
        scored.sort(key=lambda pair: pair[0], reverse=ties == "item_desc")
    if ties in {"item_text_asc", "item_text_desc"}:
        scored.sort(key=lambda pair: str(pair[0]), reverse=ties == "item_text_desc")
    return [item for item, _ in sorted(scored, key=lambda pair: -pair[1])]


def _orders(rows: Sequence[Row], conventions: Conventions) -> list[list[Item | None]]:
    """Copies are settled first; then every order in which nothing stands above a higher score."""
    single = conventions.score_dtype == "float32"
    scored = [(item, _comparable(score, single=single)) for item, score, _ in rows]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    settled = _without_copies([item for item, _ in scored], "first")
    remaining = [(item, score) for item, (_, score) in zip(settled, scored, strict=True)]
    if conventions.duplicates == "drop":
        remaining = [(item, score) for item, score in remaining if item is not None]
    elif conventions.duplicates == "keep":
        remaining = list(scored)
    by_score: dict[float, list[Item | None]] = {}
    for item, score in remaining:
        by_score.setdefault(score, []).append(item)
    groups = [list(permutations(group)) for group in by_score.values()]
    return [[item for group in selected for item in group] for selected in product(*groups)]


def _comparable(score: float | None, *, single: bool) -> float:
    if score is None:
        msg = "a row without rank and score"
        raise ValueError(msg)
    return ctypes.c_float(score).value if single else score


def _without_copies(items: list[Item], duplicates: str) -> list[Item | None]:
    later = [item in items[:i] for i, item in enumerate(items)]
    if duplicates == "error" and any(later):
        msg = "an item stands twice"
        raise ValueError(msg)
    if duplicates == "drop":
        return [item for item, copy in zip(items, later, strict=True) if not copy]
    if duplicates == "first":
        return [None if copy else item for item, copy in zip(items, later, strict=True)]
    return list(items)


def _pooled_precision(
    users: Sequence[tuple[Ranked | None, Truth | None]],
    k: int | None,
    pinned: Conventions,
    parameters: dict[str, float],
) -> float:
    """All hits / the sum of all denominators: each user's precision weighs as its denominator."""
    local, others = _pin("P", k, pinned, parameters)
    weighted = []
    for ranked, truth in users:
        share = value("P", ranked, truth, k, replace(pinned, round=None), **parameters)
        if share is not None:
            one = ranked.orders[0] if isinstance(ranked, AnyOf) else ranked
            user = User(list(one or []), truth, k, local)
            user = replace(user, ranked=_judged(user)) if "judged_only" in others else user
            weighted.append((share, _precision_denominator(user)))
    return _rounded_mean(_weighted(_defined(weighted, pinned.undefined)), pinned)


def _defined(weighted: list[tuple[float, int]], undefined: str) -> list[tuple[float, int]]:
    if undefined == "skip":
        return [(v, weight) for v, weight in weighted if not math.isnan(v)]
    if undefined == "zero":
        return [(0.0 if math.isnan(v) else v, weight) for v, weight in weighted]
    return weighted


def _weighted(values: list[tuple[float, int]]) -> float:
    total = sum(weight for _, weight in values)
    return math.fsum(v * weight for v, weight in values) / total if total else math.nan


def _rounded_mean(value: Number, conventions: Conventions) -> float:
    digits = (conventions.round or {}).get("mean")
    return float(value) if digits is None or math.isnan(value) else round(float(value), digits)


def _harmonic(a: Number, b: Number) -> Number:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return 2 * a * b / (a + b) if a + b else Fraction(0)


def _ratio(part: int | Fraction, whole: int) -> Fraction:
    """part / whole; 0 / 0 is 0 here, because users with nothing to find never come this far."""
    return Fraction(part) / whole if whole else Fraction(0)
