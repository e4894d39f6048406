"""Derivation of one user's value: the steps from the ranked list to the number."""

from dataclasses import replace

import numpy as np

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.evaluation.sampled_candidates import (
    GAMMA,
    UNBIASED,
    correction,
    moments,
    sampled_ranks,
    values_at_ranks,
    values_by_rank,
)
from concord.metrics_core.evaluation.score import user_cases, user_policies, weight_normalisation
from concord.metrics_core.metrics.agreement import judged_only
from concord.metrics_core.metrics.judged import Judged
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.metric import (
    DerivationInput,
    Metric,
    Steps,
    format_number,
    format_sum,
)

_N_SHOWN = 4  # corrected values in a step


def read_user(judged: Judged, label: Label, conventions: Conventions) -> DerivationInput:
    """Return the input of a derivation: the only user of `judged`, under a label's conventions."""
    pooled, judged = judged, judged.relevant(0.0, "all")
    cases = [case for case, users in user_cases(judged, label, conventions).items() if users[0]]
    policies = user_policies(label, conventions)
    policy = _policy(cases[0], policies[cases[0]], conventions) if cases else ""
    if label.judged_only:
        judged = judged_only(judged)
    relevant = judged.relevant(conventions.relevance_threshold, conventions.truth_visible)
    known = pooled if label.metric.reads_pooled and not label.judged_only else judged
    all_grades = known.relevant(None, conventions.truth_visible)
    return DerivationInput(
        all_grades, relevant, label.name, label.k, label.parameters, conventions, policy
    )


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
    """Return the steps of one user's value, or the policy that applies instead of the formula."""
    if one.policy:
        return Steps(lines=(one.policy,))
    if one.conventions.candidates is not None and label.name != UNBIASED:
        return _corrected(one, label, Candidates.from_mapping(one.conventions.candidates))
    if one.lists.hit_tied is not None:
        return _averaged(one)
    metric_steps = label.metric.steps
    unweighted = metric_steps(one) if metric_steps else _custom_metric_steps(one, label.metric)
    return unweighted if one.lists.weights is None else _weighted(one, unweighted, label)


def _weighted(one: DerivationInput, unweighted: Steps, label: Label) -> Steps:
    """Return the steps with the weight of each hit before them and the divisor after them."""
    hit_weights, truth_weights = one.lists.weights or ((), ())
    ranks = zip(one.lists.hit_rank.tolist(), hit_weights, strict=True)
    weights = ", ".join(f"rank {rank} {format_number(weight)}" for rank, weight in ranks)
    lines = unweighted.lines
    if weights:
        lines = (f"each counts 1 / propensity: {weights}", *lines)
    if weight_normalisation(label, one.conventions) and label.name != "R":
        terms = format_sum([*map(format_number, truth_weights)])
        total = format_number(float(one.lists.relevant_weight[0]))
        lines = (*lines, f"divided by the weights of all relevant items: {terms} = {total}")
    return Steps(unweighted.terms, lines)


def _corrected(one: DerivationInput, label: Label, candidates: Candidates) -> Steps:
    """Return the steps of a value that is corrected for sampled candidates."""
    n_negatives, n_items = candidates.negatives, candidates.catalogue
    (rank,) = sampled_ranks(one.lists, label, candidates).tolist()
    grade = float(one.lists.truth_grade[0])
    values = correction(values_by_rank(label, one.conventions, grade, candidates), candidates)
    full_ranks = np.unique(np.minimum([1, 10, 100, 1_000], n_items))
    uncorrected, *true_values = values_at_ranks(
        label, one.conventions, grade, np.array([rank, *full_ranks]), candidates
    )
    means, _ = moments(values, full_ranks, candidates)
    first_values = ", ".join(map(format_number, values[:_N_SHOWN]))
    bias = "; ".join(
        f"{format_number(mean)} at full rank {full_rank:,} (truly {format_number(true_value)})"
        for full_rank, mean, true_value in zip(full_ranks.tolist(), means, true_values, strict=True)
    )
    return Steps(
        {rank: f"sampled rank {rank} of {n_negatives + 1:,}"},
        (
            f"sampled rank {rank}: the relevant item among {n_negatives:,} of {n_items - 1:,} "
            f"others; uncorrected {format_number(uncorrected)}",
            f"f(1), f(2), … = {first_values}, …: with bias and {GAMMA:g} × variance least over "
            f"full ranks 1 to {n_items:,}",
            f"the mean of f over samples: {bias}",
            f"{label.name} = f({rank})",
        ),
    )


def _averaged(one: DerivationInput) -> Steps:
    """Return the steps of a value that is averaged over the orders of equal scores."""
    chances = one.lists.chance_within(one.k)
    ranks = zip(one.lists.hit_rank.tolist(), one.lists.tied_ranks.tolist(), chances, strict=True)
    terms = {
        rank: f"any of ranks {low} to {high}, in the top {one.cutoff} with chance {chance:.6g}"
        if low < high
        else "hit"
        for rank, (low, high), chance in ranks
    }
    return Steps(terms, ("the expected value over all orders of equal scores",))


def _custom_metric_steps(one: DerivationInput, metric: Metric) -> Steps:
    """Return the steps of a custom metric: its value and item columns at the rank of each hit."""
    top = one.lists.within(one.k)
    arguments = metric.arguments(one.conventions)
    columns = {name: one.lists.hit_column(name)[top].tolist() for name in metric.columns}
    terms = {}
    for index, rank in enumerate(one.ranks):
        numbers = "".join(
            f"{name} {format_number(column[index])}, " for name, column in columns.items()
        )
        value = float(metric.function(one.lists, rank, **arguments)[0])
        terms[rank] = f"{numbers}{metric.name}@{rank} = {format_number(value)}"
    return Steps(terms, (metric.formula,))
