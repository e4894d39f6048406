"""Score labels on judged lists, with the policies for users whom a formula does not cover."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.conventions.data_conventions import WEIGHTED_METRICS
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import InputError, Refusal, ScoringError, escape_template
from concord.metrics_core.evaluation.sampled_candidates import UNBIASED, corrected, not_corrected
from concord.metrics_core.metrics import accuracy
from concord.metrics_core.metrics.agreement import judged_only
from concord.metrics_core.metrics.judged import Bools, Floats, Judged
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.ranked_lists import RankedLists
from concord.metrics_core.stats.exact_sums import round_decimals

Cases = dict[str, Bools]
MEAN_WEIGHT = "#counts"  # no label starts with '#'
CASES = 2  # are refused after hits (0) and ideals (1)
CASES_OF_USERS = ("user_no_recs", "user_empty_truth", "user_recs_only", "user_both_empty")

# Ratios of two numbers that both depend on the order of equal scores have no expected value in closed form.
_WITHOUT_EXPECTATION = {
    "ap_denominator": "hits",
    "ap_sum_over": "all_ranks",
    "ideal": "retrieved_at_k",
}


@dataclass(frozen=True)
class Column:
    """One label's values: NaN is undefined, `left_out` marks users whom the policy leaves out.

    parts : what a pooled mean is made of, (users,) each; empty where the mean is a mean of the values
    """

    label: Label
    values: Floats
    left_out: Bools
    parts: tuple[Floats, ...]


Whole = Callable[
    [float | None], RankedLists
]  # the whole lists, with what is relevant from this threshold on


def score(
    judged: Judged,
    labels: Sequence[Label],
    conventions: Conventions,
    whole: Whole | None = None,
) -> list[Column]:
    """Return one column per label, users in the order of `judged`; metrics beyond accuracy read `whole`.

    Raises
    ------
    ValueError
        If a user is in a case that the conventions refuse, or a kernel refuses the grades.
    """
    columns = []
    for number, label in enumerate(labels):
        label_conventions = label.conventions(conventions)
        if why := uncomputable(label, conventions):
            raise ScoringError(Refusal(escape_template(f"{label}: {why}"), (number,)))
        try:
            columns.append(_column(judged, label, label_conventions, whole))
        except ScoringError as error:
            raise error.nested_in(number) from None
        except InputError:  # of an own metric
            raise
        except ValueError as error:
            raise ScoringError(Refusal(escape_template(str(error)), (number,))) from error
    return columns


def _column(judged: Judged, label: Label, conventions: Conventions, whole: Whole | None) -> Column:
    metric = label.metric
    judged = judged.unweighted if conventions.propensity is None else judged
    rows = judged_only(judged) if label.judged_only else judged
    lists = rows.relevant(conventions.relevance_threshold, conventions.truth_visible)
    read: Judged | RankedLists = lists
    if metric.reads_judged:
        read = rows.relevant(None, conventions.truth_visible)
    elif whole is not None and metric.family == "beyond":
        read = whole(conventions.relevance_threshold)
    if conventions.candidates is None or label.name == UNBIASED:
        values = metric.function(
            read,
            label.k,
            **metric.arguments(conventions),
            **label.parameters,
        )
    else:
        values = corrected(
            lists, label, conventions, Candidates.from_mapping(conventions.candidates)
        )
    if normalised(label, conventions) and label.name != "R":  # recall divides by itself
        with np.errstate(invalid="ignore"):
            values = values / lists.relevant_weight
    cases, policies = (
        user_cases(judged, label, conventions),
        user_policies(label, conventions),
    )
    _refuse(lists, cases, label, policies)
    values = _apply_policies(values, cases, policies)
    if conventions.round is not None and "user" in conventions.round:
        values = round_decimals(values, conventions.round["user"])
    dropped = [users for case, users in cases.items() if policies[case] == "drop"]
    if metric.describes_list and conventions.user_recs_only == "drop":
        dropped.append(~lists.known)
    left_out = np.logical_or.reduce([np.zeros(lists.n_users, dtype=bool), *dropped])
    return Column(label, values, left_out, _parts(lists, label, conventions, cases))


def uncomputable(label: Label, conventions: Conventions) -> str:
    """Return why a label has no value under the pinned conventions, whatever the data; empty if it has one."""
    label_conventions = label.conventions(conventions)
    if label.metric.is_aggregate:  # which reads no order of equal scores
        return not_corrected(label, label_conventions) or not_weighed(label, label_conventions)
    return why_not(label, label_conventions) or _of_other_rows(
        label, label_conventions, conventions
    )


def why_not(label: Label, conventions: Conventions) -> str:
    """Return why a metric cannot be computed under its conventions, whatever the data; empty if it can."""
    if (
        why := not_corrected(label, conventions)
        or not_weighed(label, conventions)
        or _without_target(label, conventions)
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
        f"`ties: average` has no expected value for {label.name}{why}; set another order for it alone: "
        f"conventions.overrides: {{{label.name}: {{ties: item_asc}}}}"
    )


def _without_target(label: Label, conventions: Conventions) -> str:
    if "fairness_target" not in label.metric.conventions or conventions.fairness_target is not None:
        return ""
    allowed = CONVENTION["fairness_target"].allowed_values()
    return f"needs the share that each group should have. Set the convention fairness_target: {allowed}"


SUMS = ("P", "Hit", "CG", "DCG", "RBP")  # where nothing divides them by a user's weights
NORMALISABLE = ("R", "Hit", "CG", "DCG", "RBP")  # sums over hits that the relevant items bound


def normalised(label: Label, conventions: Conventions) -> str:
    """Return whose weights divide sums over hits, "per_user" or "over_all"; empty for nobody's.

    References
    ----------
    Yang, Cui, Xuan, Wang, Belongie & Estrin (2018), RecSys, 279-287.  doi:10.1145/3240323.3240355  (per_user)
    Swaminathan & Joachims (2015), NeurIPS 28, 3231-3239.  (over_all)
    """
    if label.metric.describes_list:
        return ""
    return (conventions.propensity or {}).get("normalised", "")


def is_weighed_sum(label: Label, conventions: Conventions) -> bool:
    """True if the label sums weighed hits and divides by no weights of the user's own relevant items."""
    return (
        conventions.propensity is not None
        and label.name in SUMS
        and not normalised(label, conventions)
    )


def user_policies(label: Label, conventions: Conventions) -> dict[str, str]:
    """Return the policy of each case of users whom the formula does not cover.

    Under a propensity, users of whom no relevant item was observed count 0 in sums, so that the users of whom something
    was observed, who count more, do not stand for all. Ratios leave them out: they have nothing to divide by. Without a
    list a user follows `user_no_recs` in sums, whether something was observed or not.
    """
    policies = {case: str(getattr(conventions, case)) for case in CASES_OF_USERS}
    if conventions.propensity is None or label.metric.describes_list:
        return policies
    is_sum = is_weighed_sum(label, conventions)
    unobserved = dict.fromkeys(CASES_OF_USERS[1:], "zero" if is_sum else "drop")
    both = {"user_both_empty": policies["user_no_recs"]} if is_sum else {}
    return {**policies, **unobserved, **both}


def names_users(conventions: Conventions) -> bool:
    """True if a table of users says who is evaluated: where hits count by propensities, unless lists are of requests."""
    return conventions.propensity is not None and conventions.unit_mean is None


def mean_weight(label: Label, conventions: Conventions) -> str | None:
    """Return the column with the weights of users in the mean of a label; None if all weigh the same."""
    label_conventions = label.conventions(conventions)
    if normalised(label, label_conventions) != "over_all":
        return None
    least = label_conventions.relevance_threshold
    return MEAN_WEIGHT if least is None else f"{MEAN_WEIGHT}>={least:g}"


def not_weighed(label: Label, conventions: Conventions) -> str:
    """Return why a metric cannot weight hits by propensities; empty if it can, or reads no ground truth."""
    reads_no_truth = label.name == "AWRF" and conventions.fairness_target != "relevant"
    counts_alike = label.metric.reads_relevant and not reads_no_truth
    if conventions.propensity is None or (label.metric.describes_list and not counts_alike):
        return ""
    if conventions.candidates is not None:
        return "`propensity` and `candidates` correct for different things, and nothing is known of both at once"
    if label.name not in WEIGHTED_METRICS:
        return f"`propensity` weighs sums over hits, {', '.join(WEIGHTED_METRICS)}; leave {label.name} out, or evaluate it without"
    if why := _unnormalised(label, conventions):
        return why
    for name, allowed in WEIGHTED_METRICS[label.name].items():
        if (value := getattr(conventions, name)) not in allowed:
            return f"`propensity` does not go with {name}: {value}; choose {' or '.join(sorted(allowed))}"
    return ""


def _of_other_rows(label: Label, label_conventions: Conventions, pinned: Conventions) -> str:
    """Return why weights cannot be counted for a metric; empty if they can."""
    if label_conventions.propensity is None or label.metric.describes_list or label_conventions.relevance_threshold == pinned.relevance_threshold:  # fmt: skip
        return ""
    return (
        f"`propensity.fewest` counts the rows of relevance_threshold: {pinned.relevance_threshold}, and this metric has "
        f"{label_conventions.relevance_threshold}; pin one for all"
    )


def _unnormalised(label: Label, conventions: Conventions) -> str:
    """Return why a sum over hits cannot be divided by the weights of relevant items; empty if it can."""
    divisor = normalised(label, conventions)
    if divisor and label.name not in NORMALISABLE:
        return (
            f"`propensity.normalised` divides by the weights of all relevant items, and {label.name} is a share of another "
            f"number; take {', '.join(NORMALISABLE)}, or leave `normalised` out"
        )
    if divisor == "over_all" and conventions.truth_visible != "all":
        return f"`propensity.normalised: over_all` does not go with truth_visible: {conventions.truth_visible}; choose all"
    return ""


def _refuse(lists: Judged, cases: Cases, label: Label, policies: Mapping[str, str]) -> None:
    for number, (case, users) in enumerate(cases.items()):
        if policies[case] == "error" and users.any():
            text = (
                f"{label}: {{users}} user(s) are in case `{case}`, which the conventions refuse; first: "
                f"{{first!r}}. Set conventions.{case} to zero, one, drop or nan"
            )
            (first,) = lists.users[users][:1].tolist()
            raise ScoringError(Refusal(text, (CASES, number), int(users.sum()), first))


def _apply_policies(values: Floats, cases: Cases, policies: Mapping[str, str]) -> Floats:
    """Return the values, with the policy's value for users whom the formula does not cover."""
    result = values.copy()
    for case, users in cases.items():
        result[users] = {"zero": 0.0, "one": 1.0}.get(policies[case], np.nan)
    return result


def user_cases(judged: Judged, label: Label, conventions: Conventions) -> Cases:
    """Return (users,) masks of the users whom the formula does not cover, by the name of their policy.

    They are found in the lists before `judged_only` removes items.
    """
    if label.metric.describes_list:
        return {}
    threshold = conventions.relevance_threshold if label.metric.uses_relevance else None
    lists = judged.relevant(threshold, conventions.truth_visible)
    listed, relevant = lists.n_listed > 0, lists.n_relevant > 0
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
