"""Values under other orders of equal scores, where ids decide the order and it matters.

For each user whose value depends on the order: the value under `ties: average`, and the values if
the hits of each group of equal scores have its last ranks, worst grade first, or its first ranks,
best grade first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.tables import Table, schema_of
from concord.metrics_core.evaluation.score import Column, label_problem, score
from concord.metrics_core.metrics.judged import (
    Floats,
    Judged,
    differs_from_previous,
    position_in_user,
)
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.stats.floating_point import differences, scale_of

AVERAGE, LOW, HIGH = KINDS = ("average", "low", "high")
NOT_BY_ID = frozenset({"given", "input", "average", "error"})


def tie_column(kind: str, label: str) -> str:
    """Return the column with the values of a label in another order; null where it is the same."""
    return f"#{kind}:{label}"


def has_equal_scores(quality: Mapping[str, Any], lists: Table) -> bool:
    """True if scores order the lists, and some of a list may be equal under any ranking."""
    n_equal = quality["ties"]["rows"] + quality.get("nan_score", {"rows": 0})["rows"]
    return quality["order"] == "score" and (n_equal > 0 or "ranking" in schema_of(lists))


def orders_ties_by_id(label: Label, conventions: Conventions) -> bool:
    """True if ids order equal scores for a label of accuracy with a value per user."""
    by_id = label.conventions(conventions).ties not in NOT_BY_ID
    is_mean = not label.metric.is_aggregate and not is_pooled(label, conventions)
    return by_id and is_mean and label.metric.family == "accuracy"


def score_ties(
    judged: Judged, columns: Sequence[Column], conventions: Conventions
) -> Iterator[pl.Series]:
    """Yield the columns of the labels whose value depends on the order of equal scores."""
    if judged.hit_equal is None:
        return
    first, last = judged.hit_equal.T
    users = np.zeros(judged.n_users, dtype=np.bool_)
    users[judged.hit_user[first < last]] = True
    lists = judged.select_users(users)
    orders = [_reordered(lists, 1), _reordered(lists, -1)]
    for column in columns:
        label, pinned = column.label, column.values[users]
        values = np.stack([pinned, *(_values(each, label, conventions) for each in orders)])
        low, high = values.min(axis=0), values.max(axis=0)
        scale = scale_of(label.bounds(conventions), values)
        depends = (differences(high, low, scale) > 0) & ~column.excluded[users]
        averaging = replace(label.conventions(conventions), ties="average")
        kinds = {LOW: low, HIGH: high}
        if not label_problem(label, averaging):
            averaged = replace(lists, hit_tied=lists.hit_equal)
            kinds[AVERAGE] = _values(averaged, label, averaging)
        for kind, numbers in kinds.items():
            of_all = np.full(judged.n_users, np.nan)
            of_all[np.flatnonzero(users)[depends]] = numbers[depends]
            yield pl.Series(tie_column(kind, str(label)), of_all, nan_to_null=True)


def _values(lists: Judged, label: Label, conventions: Conventions) -> Floats:
    (column,) = score(lists, [label], conventions)
    return column.values


def _reordered(lists: Judged, sign: int) -> Judged:
    """Return the lists with the hits at one end of each group of equal scores.

    With sign 1 at its first ranks, best grade first; with -1 at its last ranks, worst grade first.
    """
    assert lists.hit_equal is not None
    keys = (lists.hit_rank, -sign * lists.hit_grade, lists.hit_equal[:, 0], lists.hit_user)
    lists = lists.keep(np.lexsort(keys), np.ones(len(lists.truth_user), dtype=np.bool_))
    assert lists.hit_equal is not None
    first, last = lists.hit_equal.T
    starts = differs_from_previous(lists.hit_user) | differs_from_previous(first)
    group = np.cumsum(starts) - 1
    size = np.bincount(group)
    position = position_in_user(group, len(size))
    rank = first + position - 1 if sign > 0 else last - size[group] + position
    return replace(lists, hit_rank=rank)
