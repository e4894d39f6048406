"""The steps from one user's list to a metric's value."""

from dataclasses import replace

import numpy as np

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
from concord.metrics_core.metrics.agreement import judged_only
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.steps import DerivationInput, Steps, format_number, format_sum

_FIRST = 4  # corrected values that are written out


def read_user(judged: Judged, label: Label, conventions: Conventions) -> DerivationInput:
    """Return what a label reads of the only user of `judged`, under the label's conventions."""
    cases = [case for case, users in user_cases(judged, label, conventions).items() if users[0]]
    policies = user_policies(label, conventions)
    policy = _policy(cases[0], policies[cases[0]], conventions) if cases else ""
    read = judged_only(judged) if label.judged_only else judged
    lists = read.relevant(conventions.relevance_threshold, conventions.truth_visible)
    every = read.relevant(None, conventions.truth_visible)
    return DerivationInput(every, lists, label.name, label.k, label.parameters, conventions, policy)


def _policy(case: str, policy: str, conventions: Conventions) -> str:
    if conventions.propensity is None or case == "user_no_recs":
        return f"{case}: {policy}"
    counts = "is left out of a ratio" if policy == "drop" else "counts 0 in a sum"
    return f"propensity: no relevant item of this user was observed, who {counts}"


def select_user(judged: Judged, number: int) -> Judged:
    """Return the lists of one user."""
    rows = judged.keep(judged.hit_user == number, judged.truth_user == number)
    only = slice(number, number + 1)
    return replace(
        rows,
        users=judged.users[only],
        known=judged.known[only],
        n_listed=judged.n_listed[only],
        hit_user=np.zeros_like(rows.hit_user),
        truth_user=np.zeros_like(rows.truth_user),
    )


def steps(one: DerivationInput, label: Label) -> Steps:
    """Return the steps of one user's value, or the policy that replaces the formula."""
    if one.policy:
        return Steps(lines=(one.policy,))
    if one.conventions.candidates is not None and label.name != UNBIASED:
        return _corrected(one, label, Candidates.from_mapping(one.conventions.candidates))
    if one.lists.hit_tied is not None:
        return _averaged(one)
    of_metric = (
        label.metric.steps(one) if label.metric.steps else _own_metric_steps(one, label.metric)
    )
    return of_metric if one.lists.weights is None else _weighted(one, of_metric, label)


def _weighted(one: DerivationInput, unweighted: Steps, label: Label) -> Steps:
    """Return the steps with the weight of each hit before them and the divisor after them."""
    of_hits, of_truth = one.lists.weights or ((), ())
    ranks = zip(one.lists.hit_rank.tolist(), of_hits, strict=True)
    weights = ", ".join(f"rank {rank} {format_number(weight)}" for rank, weight in ranks)
    lines = (
        (f"each counts 1 / propensity: {weights}", *unweighted.lines)
        if weights
        else unweighted.lines
    )
    if normalised(label, one.conventions) and label.name != "R":
        total = f"{format_sum([*map(format_number, of_truth)])} = {format_number(float(one.lists.relevant_weight[0]))}"
        lines = (*lines, f"divided by the weights of all relevant items: {total}")
    return Steps(unweighted.terms, lines)


def _corrected(one: DerivationInput, label: Label, candidates: Candidates) -> Steps:
    m, everything = candidates.negatives, candidates.catalogue
    (rank,) = sampled_ranks(one.lists, label, candidates).tolist()
    grade = float(one.lists.truth_grade[0])
    values = correction(by_rank(label, one.conventions, grade, candidates), candidates)
    full = np.unique(np.minimum([1, 10, 100, 1_000], everything))
    aims = of_full_ranks(label, one.conventions, grade, np.array([rank, *full]), candidates)
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
            f"{label.name} = f({rank})",
        ),
    )


def _averaged(one: DerivationInput) -> Steps:
    chances = one.lists.chance_within(one.k)
    ranks = zip(one.lists.hit_rank.tolist(), one.lists.tied_ranks.tolist(), chances, strict=True)
    terms = {
        rank: f"any of ranks {low} to {high}, in the top {one.cutoff} with chance {chance:.6g}"
        if low < high
        else "hit"
        for rank, (low, high), chance in ranks
    }
    return Steps(terms, ("the expected value over all orders of equal scores",))


def _own_metric_steps(one: DerivationInput, metric: Metric) -> Steps:
    """Return the steps of a user-defined metric: its value at the rank of each hit, and the columns that it reads."""
    top = one.lists.within(one.k)
    arguments = metric.arguments(one.conventions)
    read = {name: one.lists.hit_column(name)[top].tolist() for name in metric.columns}
    terms = {}
    for index, rank in enumerate(one.ranks):
        numbers = "".join(
            f"{name} {format_number(column[index])}, " for name, column in read.items()
        )
        up_to = float(metric.function(one.lists, rank, **arguments)[0])
        terms[rank] = f"{numbers}{metric.name}@{rank} = {format_number(up_to)}"
    return Steps(terms, (metric.formula,))
