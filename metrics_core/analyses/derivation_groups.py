"""Derivations of the metrics of groups of items: AWRF, and EED, EER and EEL."""

from collections.abc import Sequence

import numpy as np

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.metrics.discounting import discounts
from concord.metrics_core.metrics.fairness import attention_shares, exposure_shares, target_shares
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.listed import Listed

SHOWN = 20  # terms of a sum that are written out


def format_number(value: float) -> str:
    """Return a number with six digits."""
    return f"{value:.6g}"


def format_sum(terms: Sequence[str]) -> str:
    """Return the terms of a sum, the first ones if they are many."""
    more = [f"… {len(terms) - SHOWN} more"] if len(terms) > SHOWN else []
    return " + ".join([*terms[:SHOWN], *more]) or "0"


NO_GROUP = "without a group"
_FORMS = {"EED": "{e}^2", "EER": "{e} × {t}", "EEL": "({e} - {t})^2"}
Lines = tuple[dict[int, str], tuple[str, ...]]  # what each rank adds, and the lines below the list


def attention_steps(listed: Listed, k: int | None, own: Conventions) -> Lines:
    """Return the steps of AWRF of the only user."""
    assert own.fairness_target is not None
    if not listed.n_listed[0]:
        return {}, ("no list, so no attention to share out",)
    top = listed.within(k)
    weight = discounts(own.discount, int(listed.row_rank.max()))
    attention = weight[listed.row_rank[top]]
    whole = format_number(float(np.sum(attention)))
    given = [float(a[0]) for a in attention_shares(listed, k, own.discount)]
    targets = [float(t[0]) for t in target_shares(listed, own.fairness_target)]
    group = _groups_of(listed, k)
    shares = [
        f"{name}: {format_number(float(np.sum(attention[group == place])))} / {whole} = {format_number(a)} of the attention; "
        f"target {format_number(t)}  ({own.fairness_target})"
        for place, (name, a, t) in enumerate(zip(_names(listed), given, targets, strict=True))
        if a or t
    ]
    apart = [
        f"|{format_number(a)} - {format_number(t)}|"
        for a, t in zip(given, targets, strict=True)
        if a or t
    ]
    return _terms(listed, k, weight), (*shares, f"AWRF = 1 - ({format_sum(apart)}) / 2")


def exposure_steps(metric: str, listed: Listed, k: int, own: Conventions) -> Lines:
    """Return the steps of EED, EER or EEL of the only user."""
    if not (listed.n_listed[0] and len(listed.wanted_user)):
        return {}, ("undefined: no list, or no relevant item in the catalogue",)
    weight = discounts(own.discount, k)
    given_ideal = [(float(e[0]), float(t[0])) for e, t in exposure_shares(listed, k, own.discount)]
    named = [(name, *et) for name, et in zip(_names(listed), given_ideal, strict=True) if any(et)]
    lines = [
        f"{name}: e = {format_number(e)}, in ideal lists t = {format_number(t)}"
        for name, e, t in named
    ]
    added = [_FORMS[metric].format(e=format_number(e), t=format_number(t)) for _, e, t in named]
    head = f"a top {k} can give {format_number(float(np.sum(weight)))} of attention"
    return _terms(listed, k, weight), (head, *lines, f"{metric} = {format_sum(added)}")


def _names(listed: Listed) -> tuple[str, ...]:
    return (*listed.items.groups, NO_GROUP)


def _groups_of(listed: Listed, k: int | None) -> Ints:
    """(rows of the top k,) the number of each item's group."""
    assert listed.items.group is not None
    return listed.items.group[listed.row_item[listed.within(k)]]


def _terms(listed: Listed, k: int | None, weight: Floats) -> dict[int, str]:
    """Rank -> the group that gets attention there, and how much."""
    names, ranks = _names(listed), listed.row_rank[listed.within(k)].tolist()
    return {
        rank: f"{names[place]}: {format_number(weight[rank])}"
        for rank, place in zip(ranks, _groups_of(listed, k).tolist(), strict=True)
    }
