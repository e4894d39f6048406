"""`check_metric`: check a custom metric for the properties of all metrics of the catalogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from concord.metrics_core.analyses.check_metric.result import MetricCheck, PropertyCheck
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.evaluate import evaluate
from concord.metrics_core.metrics.custom_metric import FAMILY
from concord.metrics_core.metrics.label import Label, parse

N_CASES = 300  # of each property
MAX_K = 6
_ITEMS = [f"i{number}" for number in range(12)]
_TOLERANCE = 1e-12

RankedList = list[str]
Grades = dict[str, float]
UserValues = list[float | None]


def check_metric(
    metric: str, *, conventions: ConventionsLike = "standard", seed: int = 1
) -> MetricCheck:
    """Check the properties of a custom metric on random lists and ground truths.

    - Values lie in the metric's range. If they do not, nothing else is checked.
    - Other users, the order of rows, and items below the cutoff do not change a bit of a value.
    - Moving a relevant item up, or replacing another item by a relevant one, never makes a value
      worse.

    Lists have up to 8 items, grades are 0 to 3, the cutoff is up to 6, and numbers in item columns
    are 0.1 to 10.

    Parameters
    ----------
    metric : str
        Name of a custom metric, such as "revenue", or with its file: "./my_metrics.py:revenue".
    conventions : Conventions, str or dict, default="standard"
        A preset's name, or conventions that differ from it.
    seed : int, default=1
        Seed of the random cases.

    Returns
    -------
    MetricCheck
        Result of each property, with a counterexample if it does not hold.

    Raises
    ------
    ValueError
        If the metric is unknown, or belongs to the catalogue.

    Examples
    --------
    >>> import concord as cc
    >>> @cc.metric(high=float("inf"))
    ... def hits(lists, k):
    ...     '''hits@k = number of relevant items in the top k.'''
    ...     return lists.count(k)
    ...
    >>> cc.metrics.check_metric("hits").holds
    True
    """
    label = parse(metric, allow_missing_cutoff=True)
    if label.metric.family != FAMILY:
        problem = "is in the catalogue, which Concord's tests check"
        raise refuse(f"metric {label.name}", problem, "name a metric of your own")
    cases = _Cases(label, resolve_conventions(conventions), np.random.default_rng(seed))
    in_range = PropertyCheck("values lie in the range", N_CASES, _check_range(cases))
    if not in_range.holds:
        return MetricCheck(metric, (in_range,))
    checks = {
        "other users change nothing": _check_users,
        "the order of users and rows changes nothing": _check_order,
        "items below the cutoff change nothing": _check_cutoff,
        "moving a relevant item up never hurts": _check_swap,
        "a relevant item in place of another never hurts": _check_replacement,
    }
    results = (PropertyCheck(name, N_CASES, check(cases)) for name, check in checks.items())
    return MetricCheck(metric, (in_range, *results))


class _Cases:
    """Random lists and ground truths, and the metric's values for them."""

    def __init__(self, label: Label, conventions: Conventions, rng: np.random.Generator) -> None:
        self.conventions, self.rng = conventions, rng
        self.k = int(rng.integers(1, MAX_K + 1)) if label.metric.takes_k else None
        self.label = label if self.k is None else label.with_cutoff(self.k)
        self.threshold = conventions.relevance_threshold or 0.0
        columns = {name: rng.uniform(0.1, 10.0, len(_ITEMS)) for name in label.metric.columns}
        self.items = pl.DataFrame({"item": _ITEMS, **columns})

    def draw(self) -> tuple[RankedList, Grades]:
        """Return a ranked list, and grades with at least one relevant item."""
        ranked = self.rng.permutation(_ITEMS)[: self.rng.integers(1, 9)].tolist()
        judged = self.rng.permutation(_ITEMS)[: self.rng.integers(1, 8)].tolist()
        grades = self.rng.integers(0, 4, len(judged)).astype(float).tolist()
        grades[0] = max(grades[0], self.threshold, 1.0)
        return ranked, dict(zip(judged, grades, strict=True))

    def draw_all(self) -> tuple[dict[str, RankedList], dict[str, Grades]]:
        """Return the lists and grades of one case per user."""
        cases = {_user(n): self.draw() for n in range(N_CASES)}
        lists = {user: ranked for user, (ranked, _) in cases.items()}
        return lists, {user: grades for user, (_, grades) in cases.items()}

    def values(
        self,
        lists: Mapping[str, Sequence[str]] | pl.DataFrame,
        truth: Mapping[str, Grades] | pl.DataFrame,
    ) -> UserValues:
        """Return the value of each user."""
        columns = {name: name for name in self.label.metric.columns}
        items = {"items": self.items, "columns": {"items": columns}} if columns else {}
        label, conventions = str(self.label), self.conventions
        result = evaluate(lists, truth, metrics=[label], conventions=conventions, **items)  # type: ignore[arg-type]
        return result.per_user[label].to_list()

    def find_worse(self, improve: Callable[[RankedList, Grades], RankedList | None]) -> str:
        """Return the first improvement of a list that makes its value worse, as text, or ""."""
        changes: list[tuple[RankedList, RankedList, Grades]] = []
        while len(changes) < N_CASES:
            ranked, grades = self.draw()
            if (improved := improve(ranked, grades)) is not None:
                changes.append((ranked, improved, grades))
        both = [ranked for before, after, _ in changes for ranked in (before, after)]
        lists = {_user(n): ranked for n, ranked in enumerate(both)}
        truth = {user: changes[int(user) // 2][2] for user in lists}
        values, sign = self.values(lists, truth), 1 if self.label.metric.higher_is_better else -1
        for n, (before, after, grades) in enumerate(changes):
            old, new = values[2 * n], values[2 * n + 1]
            if old is None or new is None or math.isnan(old) or math.isnan(new):
                continue
            if sign * (new - old) < -_TOLERANCE * max(1.0, abs(old)):
                return (
                    f"{_text(before, grades)} has {old:.6g}, {_text(after, grades)} has {new:.6g}"
                )
        return ""


def _user(number: int) -> str:
    return f"{number:06d}"


def _text(ranked: Sequence[str], grades: Grades) -> str:
    items = (f"{item} ({grades[item]:g})" if item in grades else item for item in ranked)
    return f"[{', '.join(items)}]"


def _check_range(cases: _Cases) -> str:
    try:
        cases.values(*cases.draw_all())
    except ValueError as error:
        return str(error)
    return ""


def _bits(value: float | None) -> str:
    return "none" if value is None else value.hex()


def _find_different(
    cases: _Cases,
    lists: Mapping[str, RankedList],
    truth: Mapping[str, Grades],
    changed: UserValues,
) -> str:
    """Return the first user whose changed value differs, as text; "" if all are equal."""
    for user, before, after in zip(lists, cases.values(lists, truth), changed, strict=True):
        if _bits(before) != _bits(after):
            return f"{_text(lists[user], truth[user])} has {before!r}, and then {after!r}"
    return ""


def _check_users(cases: _Cases) -> str:
    lists, truth = cases.draw_all()
    values: dict[str, float | None] = {}
    for part in range(7):
        users = [user for user in lists if int(user) % 7 == part]
        part_values = cases.values({u: lists[u] for u in users}, {u: truth[u] for u in users})
        values |= dict(zip(users, part_values, strict=True))
    return _find_different(cases, lists, truth, [values[user] for user in lists])


def _check_order(cases: _Cases) -> str:
    lists, truth = cases.draw_all()
    rows = [(u, item, rank) for u, ranked in lists.items() for rank, item in enumerate(ranked, 1)]
    judged = [(u, item, grade) for u, grades in truth.items() for item, grade in grades.items()]
    frames = (
        pl.DataFrame(rows, ["user", "item", "rank"], orient="row"),
        pl.DataFrame(judged, ["user", "item", "grade"], orient="row"),
    )
    shuffled = (frame[cases.rng.permutation(len(frame))] for frame in frames)
    return _find_different(cases, lists, truth, cases.values(*shuffled))


def _check_cutoff(cases: _Cases) -> str:
    k = cases.k
    if k is None:
        return ""
    lists, truth = cases.draw_all()
    longer = {
        user: [*ranked[:k], *(item for item in _ITEMS if item not in ranked[:k])]
        for user, ranked in lists.items()
    }
    values, longer_values = cases.values(lists, truth), cases.values(longer, truth)
    for (user, ranked), value, longer_value in zip(
        lists.items(), values, longer_values, strict=True
    ):
        if len(ranked) >= k and _bits(value) != _bits(longer_value):
            text, longer_text = (_text(each, truth[user]) for each in (ranked, longer[user]))
            return f"{text} at {k} has {value!r}, {longer_text} has {longer_value!r}"
    return ""


def _check_swap(cases: _Cases) -> str:
    def swap(ranked: RankedList, grades: Grades) -> RankedList | None:
        relevant = [grades.get(item, -1.0) >= cases.threshold for item in ranked]
        swappable = (n for n in range(1, len(ranked)) if relevant[n] and not relevant[n - 1])
        if (n := next(swappable, None)) is None:
            return None
        return [*ranked[: n - 1], ranked[n], ranked[n - 1], *ranked[n + 1 :]]

    return cases.find_worse(swap)


def _check_replacement(cases: _Cases) -> str:
    def substitute(ranked: RankedList, grades: Grades) -> RankedList | None:
        relevant = [item for item, grade in grades.items() if grade >= cases.threshold]
        missing = [item for item in relevant if item not in ranked]
        irrelevant = [n for n, item in enumerate(ranked) if item not in relevant]
        if not missing or not irrelevant:
            return None
        return [*ranked[: irrelevant[0]], missing[0], *ranked[irrelevant[0] + 1 :]]

    return cases.find_worse(substitute)
