"""Score: every label on judged lists, with the policies for users whom a formula does not cover."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.conventions.registry import CONVENTION, WEIGHTED_METRICS
from concord.metrics_core.errors import InputError, Refusal, ScoringError, literal
from concord.metrics_core.evaluation.sampled_candidates import UNBIASED, corrected, not_corrected
from concord.metrics_core.metrics import accuracy
from concord.metrics_core.metrics.agreement import judged_only
from concord.metrics_core.metrics.judged import Bools, Floats, Judged
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.metrics.listed import Listed
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
    [float | None], Listed
]  # the whole lists, with what is relevant from this threshold on


def score(
    judged: Judged,
    labels: Sequence[Label],
    conventions: Conventions,
    whole: Whole | None = None,
) -> list[Column]:
    """One column a label, users in the order of `judged`; `whole` is for metrics beyond accuracy.

    Raises
    ------
    ValueError : a user stands in a case that the conventions refuse, or a kernel refuses its grades
    """
    columns = []
    for number, label in enumerate(labels):
        own = label.conventions(conventions)
        if why := uncomputable(label, conventions):
            raise ScoringError(Refusal(literal(f"{label}: {why}"), (number,)))
        try:
            columns.append(_column(judged, label, own, whole))
        except ScoringError as error:
            raise error.inside(number) from None
        except InputError:  # of an own metric
            raise
        except ValueError as error:
            raise ScoringError(Refusal(literal(str(error)), (number,))) from error
    return columns


def _column(judged: Judged, label: Label, own: Conventions, whole: Whole | None) -> Column:
    metric = label.metric
    judged = judged.unweighed if own.propensity is None else judged
    seen = judged_only(judged) if label.judged_only else judged
    lists = seen.relevant(own.relevance_threshold, own.truth_visible)
    read: Judged | Listed = lists
    if metric.reads_judged:
        read = seen.relevant(None, own.truth_visible)
    elif whole is not None and metric.family == "beyond":
        read = whole(own.relevance_threshold)
    if own.candidates is None or label.name == UNBIASED:
        values = metric.function(
            read,
            label.k,
            **metric.arguments(own),
            **label.parameters,
        )
    else:
        values = corrected(lists, label, own, Candidates.of(own.candidates))
    if normalised(label, own) and label.name != "R":  # recall divides by the weights by itself
        with np.errstate(invalid="ignore"):
            values = values / lists.weight
    cases, policies = user_cases(judged, label, own), user_policies(label, own)
    _refuse(lists, cases, label, policies)
    values = _settled(values, cases, policies)
    if own.round is not None and "user" in own.round:
        values = round_decimals(values, own.round["user"])
    dropped = [users for case, users in cases.items() if policies[case] == "drop"]
    if metric.of_list and own.user_recs_only == "drop":
        dropped.append(~lists.known)
    left_out = np.logical_or.reduce([np.zeros(lists.n_users, dtype=bool), *dropped])
    return Column(label, values, left_out, _parts(lists, label, own, cases))


def uncomputable(label: Label, conventions: Conventions) -> str:
    """Return why a label has no value under the pinned conventions, whatever the data; empty if it has one."""
    own = label.conventions(conventions)
    if label.metric.of_catalogue:  # which reads no order of equal scores
        return not_corrected(label, own) or not_weighed(label, own)
    return why_not(label, own) or _of_other_rows(label, own, conventions)


def why_not(label: Label, own: Conventions) -> str:
    """Why a metric cannot be computed under its conventions, whatever the data; empty where it can."""
    if why := not_corrected(label, own) or not_weighed(label, own) or _without_target(label, own):
        return why
    arguments = label.metric.arguments(own)
    if arguments.get("gain") == "exp2_above_threshold" and own.relevance_threshold is None:
        return "gain exp2_above_threshold needs a number as relevance_threshold"
    if arguments.get("ideal") == "truth_given_order_at_k" and own.truth_visible == "retrieved":
        return "ideal truth_given_order_at_k needs truth_visible: all"
    if own.ties != "average":
        return ""
    names = [name for name, value in _WITHOUT_EXPECTATION.items() if arguments.get(name) == value]
    if label.metric.expects_ties and not names:
        return ""
    why = f" with {names[0]}: {arguments[names[0]]}" if names else ""
    return (
        f"`ties: average` has no expected value for {label.name}{why}; set another order for it alone: "
        f"conventions.overrides: {{{label.name}: {{ties: item_asc}}}}"
    )


def _without_target(label: Label, own: Conventions) -> str:
    if "fairness_target" not in label.metric.conventions or own.fairness_target is not None:
        return ""
    said = CONVENTION["fairness_target"].allowed()
    return f"which share should a group have? Set the convention fairness_target: {said}"


SUMS = ("P", "Hit", "CG", "DCG", "RBP")  # where nothing divides them by a user's weights
NORMALISABLE = ("R", "Hit", "CG", "DCG", "RBP")  # sums over hits that the relevant items bound


def normalised(label: Label, own: Conventions) -> str:
    """By whose weights sums over hits are divided, `per_user` or `over_all`; empty where by none.

    References
    ----------
    Yang, Cui, Xuan, Wang, Belongie & Estrin (2018), RecSys, 279-287.  doi:10.1145/3240323.3240355  (per_user)
    Swaminathan & Joachims (2015), NeurIPS 28, 3231-3239.  (over_all)
    """
    asked = None if label.metric.of_list else (own.propensity or {}).get("normalised")
    return asked or ""


def is_weighed_sum(label: Label, own: Conventions) -> bool:
    """True if the label sums weighed hits and divides by no weights of the user's own relevant items."""
    return own.propensity is not None and label.name in SUMS and not normalised(label, own)


def user_policies(label: Label, own: Conventions) -> dict[str, str]:
    """Return the policy of each case of users whom the formula does not cover.

    Under a propensity, users of whom no relevant item was observed count 0 in sums, so that the users of whom something
    was observed, who count more, do not stand for all. Ratios leave them out: they have nothing to divide by. Without a
    list a user follows `user_no_recs` in sums, whether something was observed or not.
    """
    named = {case: str(getattr(own, case)) for case in CASES_OF_USERS}
    if own.propensity is None or label.metric.of_list:
        return named
    is_sum = is_weighed_sum(label, own)
    unobserved = dict.fromkeys(CASES_OF_USERS[1:], "zero" if is_sum else "drop")
    both = {"user_both_empty": named["user_no_recs"]} if is_sum else {}
    return {**named, **unobserved, **both}


def names_users(conventions: Conventions) -> bool:
    """True if a table of users says who is evaluated: where hits count by propensities, unless lists are of requests."""
    return conventions.propensity is not None and conventions.unit_mean is None


def mean_weight(label: Label, conventions: Conventions) -> str | None:
    """The column of what users count in the mean of a label; None where they count alike."""
    own = label.conventions(conventions)
    if normalised(label, own) != "over_all":
        return None
    least = own.relevance_threshold
    return MEAN_WEIGHT if least is None else f"{MEAN_WEIGHT}>={least:g}"


def not_weighed(label: Label, own: Conventions) -> str:
    """Why a metric cannot weigh hits by their propensities; empty where it can, or where it reads no truth."""
    reads_no_truth = label.name == "AWRF" and own.fairness_target != "relevant"
    counts_alike = label.metric.reads_relevant and not reads_no_truth
    if own.propensity is None or (label.metric.of_list and not counts_alike):
        return ""
    if own.candidates is not None:
        return "`propensity` and `candidates` correct for different things, and nothing is known of both at once"
    if label.name not in WEIGHTED_METRICS:
        return f"`propensity` weighs sums over hits, {', '.join(WEIGHTED_METRICS)}; leave {label.name} out, or evaluate it without"
    if why := _unnormalised(label, own):
        return why
    for name, allowed in WEIGHTED_METRICS[label.name].items():
        if (value := getattr(own, name)) not in allowed:
            return f"`propensity` does not go with {name}: {value}; choose {' or '.join(sorted(allowed))}"
    return ""


def _of_other_rows(label: Label, own: Conventions, pinned: Conventions) -> str:
    """Why weights cannot be counted for a metric; empty where they can."""
    if own.propensity is None or label.metric.of_list or own.relevance_threshold == pinned.relevance_threshold:  # fmt: skip
        return ""
    return (
        f"`propensity.fewest` counts the rows of relevance_threshold: {pinned.relevance_threshold}, and this metric has "
        f"{own.relevance_threshold}; pin one for all"
    )


def _unnormalised(label: Label, own: Conventions) -> str:
    """Why a sum over hits cannot be divided by the weights of relevant items; empty where it can, or is not to be."""
    asked = normalised(label, own)
    if asked and label.name not in NORMALISABLE:
        return (
            f"`propensity.normalised` divides by the weights of all relevant items, and {label.name} is a share of another "
            f"number; take {', '.join(NORMALISABLE)}, or leave `normalised` out"
        )
    if asked == "over_all" and own.truth_visible != "all":
        return f"`propensity.normalised: over_all` does not go with truth_visible: {own.truth_visible}; choose all"
    return ""


def _refuse(lists: Judged, cases: Cases, label: Label, policies: Mapping[str, str]) -> None:
    for number, (case, users) in enumerate(cases.items()):
        if policies[case] == "error" and users.any():
            said = (
                f"{label}: {{users}} user(s) stand in case `{case}`, which the conventions refuse; first: "
                f"{{first!r}}. Set conventions.{case} to zero, one, drop or nan"
            )
            (first,) = lists.users[users][:1].tolist()
            raise ScoringError(Refusal(said, (CASES, number), int(users.sum()), first))


def _settled(values: Floats, cases: Cases, policies: Mapping[str, str]) -> Floats:
    """The values, with the policy's where a policy stands in for the formula."""
    settled = values.copy()
    for case, users in cases.items():
        settled[users] = {"zero": 0.0, "one": 1.0}.get(policies[case], np.nan)
    return settled


def user_cases(judged: Judged, label: Label, own: Conventions) -> Cases:
    """The users whom the formula does not cover, by the name of their policy.

    They are told by the lists as they came, before `judged_only` takes anything away.
    """
    if label.metric.of_list:
        return {}
    threshold = own.relevance_threshold if label.metric.asks_relevance else None
    lists = judged.relevant(threshold, own.truth_visible)
    listed, relevant = lists.n_listed > 0, lists.n_relevant > 0
    return {
        "user_no_recs": ~listed & relevant,
        "user_empty_truth": lists.known & listed & ~relevant,
        "user_recs_only": ~lists.known & listed,
        "user_both_empty": ~listed & ~relevant,
    }


def _parts(lists: Judged, label: Label, own: Conventions, cases: Cases) -> tuple[Floats, ...]:
    if not is_pooled(label, own):
        return ()
    policies = user_policies(label, own)
    divisor = accuracy.precision_divisor(lists, label.k, own.precision_denominator)
    p = accuracy.precision(lists, label.k, precision_denominator=own.precision_denominator)
    p = _settled(p, cases, policies)
    if label.name == "P":
        return p * divisor, divisor.astype(np.float64)
    r = accuracy.recall(lists, label.k, recall_denominator=own.recall_denominator)
    return p, _settled(r, cases, policies)
