"""Score: every label on judged lists, with the policies for users whom a formula does not cover."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics_core import accuracy
from metrics_core.catalogue import Label, is_pooled
from metrics_core.conventions import Conventions
from metrics_core.judged import Bools, Floats, Judged


@dataclass(frozen=True)
class Column:
    """One label's values: NaN is undefined, `left_out` marks users whom the policy leaves out.

    parts : what a pooled mean is made of, (users,) each; empty where the mean is a mean of the values
    """

    label: Label
    values: Floats
    left_out: Bools
    parts: tuple[Floats, ...]


def score(judged: Judged, labels: Sequence[Label], conventions: Conventions) -> list[Column]:
    """One column a label, users in the order of `judged`.

    Raises
    ------
    ValueError : a user stands in a case that the conventions refuse, or a kernel refuses its grades
    """
    views: dict[tuple[float | None, str], Judged] = {}
    columns = []
    for label in labels:
        own = label.conventions(conventions)
        seen = own.relevance_threshold, own.truth_visible
        if seen not in views:
            views[seen] = judged.relevant(*seen)
        columns.append(_column(views[seen], label, own))
    return columns


def _column(lists: Judged, label: Label, own: Conventions) -> Column:
    metric = label.metric
    values = metric.function(
        lists, label.k, **{knob: getattr(own, knob) for knob in metric.knobs}, **label.parameters
    )
    left_out = np.zeros(lists.n_users, dtype=bool)
    for case, users in _cases(lists).items():
        policy = getattr(own, case)
        if policy == "error" and users.any():
            msg = (
                f"{label}: {int(users.sum())} user(s) stand in case `{case}`, which the conventions refuse; first: "
                f"{lists.users[users][0]!r}. Set conventions.{case} to zero, one, drop or nan"
            )
            raise ValueError(msg)
        values[users] = {"zero": 0.0, "one": 1.0}.get(policy, np.nan)
        if policy == "drop":
            left_out |= users
    if own.round is not None and "user" in own.round:
        values = np.array([round(value, own.round["user"]) for value in values.tolist()])
    return Column(label, values, left_out, _parts(lists, label, own))


def _cases(lists: Judged) -> dict[str, Bools]:
    """The users whom the formulae do not cover, by the name of their policy."""
    listed, relevant = lists.n_listed > 0, lists.n_relevant > 0
    return {
        "user_no_recs": ~listed & relevant,
        "user_empty_truth": lists.known & listed & ~relevant,
        "user_recs_only": ~lists.known & listed,
        "user_both_empty": ~listed & ~relevant,
    }


def _parts(lists: Judged, label: Label, own: Conventions) -> tuple[Floats, ...]:
    if not is_pooled(label, own):
        return ()
    if label.name == "P":
        divisor = accuracy.precision_divisor(lists, label.k, own.precision_denominator)
        return lists.count(label.k).astype(np.float64), divisor.astype(np.float64)
    return (
        accuracy.precision(lists, label.k, precision_denominator=own.precision_denominator),
        accuracy.recall(lists, label.k, recall_denominator=own.recall_denominator),
    )
