"""Score labels on judged lists, and apply the policies for users without a value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.conventions.data_conventions import WEIGHTED_METRICS
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import InputError, Refusal, ScoringError, escape_template
from concord.metrics_core.evaluation.sampled_candidates import (
    UNBIASED,
    correct_values,
    correction_problem,
)
from concord.metrics_core.metrics import accuracy
from concord.metrics_core.metrics.agreement import judged_only
from concord.metrics_core.metrics.discounting import gains
from concord.metrics_core.metrics.judged import Bools, Floats, Judged
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.ranked_lists import RankedLists
from concord.metrics_core.stats.floating_point import round_decimals

Cases = dict[str, Bools]
MEAN_WEIGHT = "#counts"  # no label starts with '#'
CASES = 2  # order of their refusals: after hits (0) and ideals (1)
CASES_OF_USERS = ("user_no_recs", "user_empty_truth", "user_recs_only", "user_both_empty")

# The expected value of a ratio has no closed form if both numbers depend on the order of ties.
_WITHOUT_EXPECTATION = {
    "ap_denominator": "hits",
    "ap_sum_over": "all_ranks",
    "ideal": "retrieved_at_k",
}


@dataclass(frozen=True)
class Column:
    """Values of one label.

    Attributes
    ----------
    label : Label
        The label.
    values : (n_users,) float64
        NaN where undefined.
    excluded : (n_users,) bool
        True for users whom a policy leaves out.
    parts : tuple of (n_users,) float64
        Addends of a pooled mean; empty if the mean is not pooled.
    """

    label: Label
    values: Floats
    excluded: Bools
    parts: tuple[Floats, ...]


# Reads the whole lists; the argument is the relevance threshold.
ListReader = Callable[[float | None], RankedLists]


def score(
    judged: Judged,
    labels: Sequence[Label],
    conventions: Conventions,
    read_lists: ListReader | None = None,
) -> list[Column]:
    """Return one column per label, with users in the order of `judged`.

    Parameters
    ----------
    judged : Judged
        Judged lists.
    labels : sequence of Label
        Labels to score.
    conventions : Conventions
        Conventions of the labels.
    read_lists : callable, optional
        Reads the whole lists, for metrics beyond accuracy.

    Raises
    ------
    ValueError
        If the conventions refuse a user, or a metric refuses the grades.
    """
    columns = []
    for number, label in enumerate(labels):
        label_conventions = label.conventions(conventions)
        if why := label_problem(label, conventions):
            raise ScoringError(Refusal(escape_template(f"{label}: {why}"), (number,)))
        try:
            columns.append(_column(judged, label, label_conventions, read_lists))
        except ScoringError as error:
            raise error.nested_in(number) from None
        except InputError:  # from a user-defined metric
            raise
        except ValueError as error:
            raise ScoringError(Refusal(escape_template(str(error)), (number,))) from error
    return columns


def _column(
    judged: Judged, label: Label, conventions: Conventions, read_lists: ListReader | None
) -> Column:
    metric = label.metric
    pooled = judged.unweighted if conventions.propensity is None else judged
    judged = pooled.relevant(0.0, "all")  # pooled items without a judgement have a grade below 0
    rows = judged_only(judged) if label.judged_only else judged
    lists = rows.relevant(conventions.relevance_threshold, conventions.truth_visible)
    read: Judged | RankedLists = lists
    if metric.reads_judged:
        known = pooled if metric.reads_pooled and not label.judged_only else rows
        read = known.relevant(None, conventions.truth_visible)
    elif read_lists is not None and metric.family == "beyond":
        read = read_lists(conventions.relevance_threshold)
    if conventions.candidates is None or label.name == UNBIASED:
        values = metric.function(
            read,
            label.k,
            **metric.arguments(conventions),
            **label.parameters,
        )
    else:
        values = correct_values(
            lists, label, conventions, Candidates.from_mapping(conventions.candidates)
        )
    if weight_normalisation(label, conventions) and label.name != "R":  # recall is already divided
        with np.errstate(invalid="ignore"):
            values = values / lists.relevant_weight
    cases = user_cases(judged, label, conventions)
    policies = user_policies(label, conventions)
    _refuse_cases(lists, cases, label, policies)
    values = _apply_policies(values, cases, policies)
    if conventions.round is not None and "user" in conventions.round:
        values = round_decimals(values, conventions.round["user"])
    dropped = [users for case, users in cases.items() if policies[case] == "drop"]
    if metric.describes_list and conventions.user_recs_only == "drop":
        dropped.append(~lists.known)
    excluded = np.logical_or.reduce([np.zeros(lists.n_users, dtype=bool), *dropped])
    return Column(label, values, excluded, _parts(lists, label, conventions, cases))


def label_problem(label: Label, conventions: Conventions) -> str:
    """Return why a label has no value under the pinned conventions; empty if it has one."""
    label_conventions = label.conventions(conventions)
    if label.metric.is_aggregate:  # ties do not matter
        return correction_problem(label, label_conventions) or weighting_problem(
            label, label_conventions
        )
    return definition_problem(label, label_conventions) or _threshold_problem(
        label, label_conventions, conventions
    )


def definition_problem(label: Label, conventions: Conventions) -> str:
    """Return why a metric cannot be computed under its conventions; empty if it can."""
    if (
        why := correction_problem(label, conventions)
        or weighting_problem(label, conventions)
        or _target_problem(label, conventions)
    ):
        return why
    arguments = label.metric.arguments(conventions)
    if arguments.get("gain") == "exp2_above_threshold" and conventions.relevance_threshold is None:
        return "gain exp2_above_threshold needs a number as relevance_threshold"
    if (
        arguments.get("ideal") == "truth_given_order_at_k"
        and conventions.truth_visible == "retrieved"
    ):
        return "ideal truth_given_order_at_k needs truth_visible: all"
    if conventions.ties != "average":
        return ""
    names = [name for name, value in _WITHOUT_EXPECTATION.items() if arguments.get(name) == value]
    if label.metric.averages_ties and not names:
        return ""
    why = f" with {names[0]}: {arguments[names[0]]}" if names else ""
    return (
        f"`ties: average` has no expected value for {label.name}{why}; "
        "set another order for it alone: "
        f"conventions.overrides: {{{label.name}: {{ties: item_asc}}}}"
    )


def _target_problem(label: Label, conventions: Conventions) -> str:
    if "fairness_target" not in label.metric.conventions or conventions.fairness_target is not None:
        return ""
    allowed = CONVENTION["fairness_target"].allowed_values()
    return (
        "needs the share that each group should have. "
        f"Set the convention fairness_target: {allowed}"
    )


SUMS = ("P", "Hit", "CG", "DCG", "RBP")  # sums over hits, unless divided by a user's weights
NORMALISABLE = ("R", "Hit", "CG", "DCG", "RBP")  # sums over hits that the relevant items bound


def weight_normalisation(label: Label, conventions: Conventions) -> str:
    """Return whose weights divide sums over hits, "per_user" or "over_all"; empty for none.

    References
    ----------
    Yang, Cui, Xuan, Wang, Belongie & Estrin (2018), RecSys, 279-287.
    doi:10.1145/3240323.3240355  (per_user)
    Swaminathan & Joachims (2015), NeurIPS 28, 3231-3239.  (over_all)
    """
    if label.metric.describes_list:
        return ""
    return (conventions.propensity or {}).get("normalised", "")


def is_weighted_sum(label: Label, conventions: Conventions) -> bool:
    """True if the label is a sum of weighted hits, not divided by the weights of relevant items."""
    return (
        conventions.propensity is not None
        and label.name in SUMS
        and not weight_normalisation(label, conventions)
    )


def user_policies(label: Label, conventions: Conventions) -> dict[str, str]:
    """Return the policy of each case of users without a value.

    With propensities, users without an observed relevant item count 0 in sums: the users with one
    weigh more, and must not represent all. Ratios leave them out, as their divisor is 0.
    In sums, a user without a list follows `user_no_recs`, with or without an observed item.
    """
    policies = {case: str(getattr(conventions, case)) for case in CASES_OF_USERS}
    if conventions.propensity is None or label.metric.describes_list:
        return policies
    is_sum = is_weighted_sum(label, conventions)
    unobserved = dict.fromkeys(CASES_OF_USERS[1:], "zero" if is_sum else "drop")
    both = {"user_both_empty": policies["user_no_recs"]} if is_sum else {}
    return {**policies, **unobserved, **both}


def uses_user_table(conventions: Conventions) -> bool:
    """True if a table of users determines who is evaluated: with propensities, without requests."""
    return conventions.propensity is not None and conventions.unit_mean is None


def mean_weight(label: Label, conventions: Conventions) -> str | None:
    """Return the column with the weights of users in a label's mean; None if all are equal."""
    label_conventions = label.conventions(conventions)
    if weight_normalisation(label, label_conventions) != "over_all":
        return None
    least = label_conventions.relevance_threshold
    return MEAN_WEIGHT if least is None else f"{MEAN_WEIGHT}>={least:g}"


def weighting_problem(label: Label, conventions: Conventions) -> str:
    """Return why a metric cannot weight hits by propensities; empty if it can or reads no truth."""
    reads_no_truth = label.name == "AWRF" and conventions.fairness_target != "relevant"
    counts_alike = label.metric.reads_relevant and not reads_no_truth
    if conventions.propensity is None or (label.metric.describes_list and not counts_alike):
        return ""
    if conventions.candidates is not None:
        return (
            "`propensity` and `candidates` correct for different things, "
            "and nothing is known of both at once"
        )
    if label.name not in WEIGHTED_METRICS:
        return (
            f"`propensity` weights sums over hits, {', '.join(WEIGHTED_METRICS)}; "
            f"leave {label.name} out, or evaluate it without"
        )
    if why := _normalisation_problem(label, conventions):
        return why
    for name, allowed in WEIGHTED_METRICS[label.name].items():
        if (value := getattr(conventions, name)) not in allowed:
            choices = " or ".join(sorted(allowed))
            return f"`propensity` does not support {name}: {value}; choose {choices}"
    return ""


def _threshold_problem(label: Label, label_conventions: Conventions, pinned: Conventions) -> str:
    """Return why weights cannot be counted for a metric; empty if they can."""
    threshold = label_conventions.relevance_threshold
    if label_conventions.propensity is None or label.metric.describes_list:
        return ""
    if threshold == pinned.relevance_threshold:
        return ""
    return (
        "`propensity.fewest` counts the rows of relevance_threshold: "
        f"{pinned.relevance_threshold}, and this metric has {threshold}; set one for all"
    )


def _normalisation_problem(label: Label, conventions: Conventions) -> str:
    """Return why a sum over hits cannot be divided by weights; empty if it can."""
    divisor = weight_normalisation(label, conventions)
    if divisor and label.name not in NORMALISABLE:
        return (
            "`propensity.normalised` divides by the weights of all relevant items, "
            f"and {label.name} is a share of another number; "
            f"use {', '.join(NORMALISABLE)}, or leave `normalised` out"
        )
    if divisor == "over_all" and conventions.truth_visible != "all":
        return (
            "`propensity.normalised: over_all` does not support "
            f"truth_visible: {conventions.truth_visible}; choose all"
        )
    return ""


def _refuse_cases(lists: Judged, cases: Cases, label: Label, policies: Mapping[str, str]) -> None:
    for number, (case, users) in enumerate(cases.items()):
        if policies[case] == "error" and users.any():
            text = (
                f"{label}: {{users}} user(s) are in case `{case}`, which `{case}: error` rejects; "
                f"first: {{first!r}}. Set conventions.{case} to zero, one, drop or nan"
            )
            (first,) = lists.users[users][:1].tolist()
            raise ScoringError(Refusal(text, (CASES, number), int(users.sum()), first))


def _apply_policies(values: Floats, cases: Cases, policies: Mapping[str, str]) -> Floats:
    """Return the values, with the policies' values for users in a case."""
    result = values.copy()
    for case, users in cases.items():
        result[users] = {"zero": 0.0, "one": 1.0}.get(policies[case], np.nan)
    return result


def user_cases(judged: Judged, label: Label, conventions: Conventions) -> Cases:
    """Return (n_users,) masks of the users without a value, by the name of their policy.

    They are determined before `judged_only` removes items.
    """
    if label.metric.describes_list:
        is_agreement = label.metric.family == "agreement"
        return {"user_recs_only": ~judged.known & (judged.n_listed > 0)} if is_agreement else {}
    threshold = conventions.relevance_threshold if label.metric.uses_relevance else None
    lists = judged.relevant(threshold, conventions.truth_visible)
    listed, relevant = lists.n_listed > 0, lists.n_relevant > 0
    if "gain" in label.metric.conventions and (threshold or 0) <= 0:  # grade 0 has no gain
        gain = gains(lists.truth_grade, conventions.gain, threshold)
        relevant = np.bincount(lists.truth_user[gain > 0], minlength=lists.n_users) > 0
    return {
        "user_no_recs": ~listed & relevant,
        "user_empty_truth": lists.known & listed & ~relevant,
        "user_recs_only": ~lists.known & listed,
        "user_both_empty": ~listed & ~relevant,
    }


def _parts(
    lists: Judged, label: Label, conventions: Conventions, cases: Cases
) -> tuple[Floats, ...]:
    if not is_pooled(label, conventions):
        return ()
    policies = user_policies(label, conventions)
    divisor = accuracy.precision_divisor(lists, label.k, conventions.precision_denominator)
    p = accuracy.precision(lists, label.k, precision_denominator=conventions.precision_denominator)
    p = _apply_policies(p, cases, policies)
    if label.name == "P":
        return p * divisor, divisor.astype(np.float64)
    r = accuracy.recall(lists, label.k, recall_denominator=conventions.recall_denominator)
    return p, _apply_policies(r, cases, policies)
