"""`check_metric`: does a metric of one's own have the properties that every metric of the catalogue has?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import Chosen, conventions_of
from concord.metrics_core.evaluate import evaluate
from concord.metrics_core.metrics.catalogue import Label, parse
from concord.metrics_core.metrics.own import FAMILY

CASES = 300  # of each property
MOST_K = 6
_ITEMS = [f"i{number}" for number in range(12)]
_A_LITTLE = 1e-12

List = list[str]
Grades = dict[str, float]
Pair = tuple[List, List, Grades]  # two lists of one user
Values = list[float | None]


@dataclass(frozen=True)
class Property:
    """One property: in how many random cases it was looked at, and the first case that does not have it."""

    name: str
    cases: int
    against: str = ""

    @property
    def holds(self) -> bool:
        """Was no case found against it?"""
        return not self.against


def check_metric(
    metric: str, *, conventions: Chosen = "standard", seed: int = 1
) -> tuple[Property, ...]:
    """The properties of a metric's values on random lists of up to 8 items and grades 0 to 3, at random cutoffs.

    Values lie in the range that the metric states; no other user, no order of rows, and nothing below the cutoff
    changes a bit of them; moving a wanted item up, or putting one in the place of another item, never makes them worse.
    Numbers of the catalogue are random, 0.1 to 10. Where values are refused, nothing else is looked at.

    Parameters
    ----------
    metric : the name of a metric of one's own, such as "revenue", or with its file: "./my_metrics.py:revenue"
    seed   : of the random cases

    Raises
    ------
    ValueError : there is no such metric, or it is one of the catalogue
    """
    label = parse(metric, cut_later=True)
    if label.metric.family != FAMILY:
        raise refuse(f"metric {label.name}", "is in the catalogue, whose tests check it", "name a metric of your own")  # fmt: skip
    tried = _Tried(label, conventions_of(conventions), np.random.default_rng(seed))
    valid = Property("values lie in the range", CASES, _in_range(tried))
    if not valid.holds:
        return (valid,)
    others = (
        Property(name, CASES, check(tried))
        for name, check in (
            ("other users change nothing", _alone),
            ("the order of users and rows changes nothing", _shuffled),
            ("what stands below the cutoff changes nothing", _below_the_cutoff),
            ("moving a wanted item up never hurts", _moved_up),
            ("a wanted item in place of another never hurts", _put_in),
        )
    )
    return (valid, *others)


class _Tried:
    """Random cases, and the metric's values of them."""

    def __init__(self, label: Label, pinned: Conventions, rng: np.random.Generator) -> None:
        self.label, self.pinned, self.rng = label, pinned, rng
        self.k = int(rng.integers(1, MOST_K + 1)) if label.metric.takes_k else None
        numbers = {name: rng.uniform(0.1, 10.0, len(_ITEMS)) for name in label.metric.columns}
        self.items = pl.DataFrame({"item": _ITEMS, **numbers})

    def case(self) -> tuple[List, Grades]:
        """A list, and grades of which one at least is relevant."""
        shown = self.rng.permutation(_ITEMS)[: self.rng.integers(1, 9)].tolist()
        judged = self.rng.permutation(_ITEMS)[: self.rng.integers(1, 8)].tolist()
        grades = self.rng.integers(0, 4, len(judged)).astype(float).tolist()
        least = self.pinned.relevance_threshold or 0.0
        return shown, {
            **dict(zip(judged, grades, strict=True)),
            judged[0]: max(grades[0], least, 1.0),
        }

    def values(
        self,
        lists: Mapping[str, Sequence[str]] | pl.DataFrame,
        truth: Mapping[str, Grades] | pl.DataFrame,
    ) -> Values:
        """By user."""
        label = self.label if self.k is None else self.label.at(self.k)
        columns = {name: name for name in self.label.metric.columns}
        given = {"items": self.items, "columns": {"items": columns}} if columns else {}
        found = evaluate(lists, truth, metrics=[str(label)], conventions=self.pinned, **given)  # type: ignore[arg-type]
        return found.per_user[str(label)].to_list()

    def pairs(self, make: Callable[[], Pair | None]) -> str:
        """The first pair whose second list is worse, though it must not be."""
        made: list[Pair] = []
        while len(made) < CASES:
            if (pair := make()) is not None:
                made.append(pair)
        lists = {
            _user(n): shown for n, shown in enumerate(shown for pair in made for shown in pair[:2])
        }
        truth = {user: made[int(user) // 2][2] for user in lists}
        values, sign = self.values(lists, truth), 1 if self.label.metric.higher_is_better else -1
        for n, (before, after, grades) in enumerate(made):
            first, second = values[2 * n], values[2 * n + 1]
            if first is None or second is None or first != first or second != second:  # noqa: PLR0124 - NaN
                continue
            if sign * (second - first) < -_A_LITTLE * max(1.0, abs(first)):
                return f"{_shown(before, grades)} has {first:.6g}, {_shown(after, grades)} has {second:.6g}"
        return ""


def _user(number: int) -> str:
    return f"{number:06d}"


def _shown(listed: Sequence[str], grades: Grades) -> str:
    return f"[{', '.join(f'{item} ({grades[item]:g})' if item in grades else item for item in listed)}]"


def _cases(tried: _Tried) -> tuple[dict[str, List], dict[str, Grades]]:
    made = {_user(n): tried.case() for n in range(CASES)}
    return {u: shown for u, (shown, _) in made.items()}, {
        u: grades for u, (_, grades) in made.items()
    }


def _in_range(tried: _Tried) -> str:
    try:
        tried.values(*_cases(tried))
    except ValueError as error:
        return str(error)
    return ""


def _bits(values: Values) -> list[str]:
    return ["none" if value is None else value.hex() for value in values]


def _differing(
    tried: _Tried, lists: Mapping[str, List], truth: Mapping[str, Grades], other: Values
) -> str:
    values = tried.values(lists, truth)
    for user, one, two in zip(lists, _bits(values), _bits(other), strict=True):
        if one != two:
            both = [values[int(user)], other[int(user)]]
            return f"{_shown(lists[user], truth[user])} has {both[0]!r}, and then {both[1]!r}"
    return ""


def _alone(tried: _Tried) -> str:
    lists, truth = _cases(tried)
    parts = [[user for user in lists if int(user) % 7 == part] for part in range(7)]
    found: dict[str, float | None] = {}
    for users in parts:
        of_part = tried.values({u: lists[u] for u in users}, {u: truth[u] for u in users})
        found |= dict(zip(users, of_part, strict=True))
    return _differing(tried, lists, truth, [found[user] for user in lists])


def _shuffled(tried: _Tried) -> str:
    lists, truth = _cases(tried)
    rows = [(u, item, rank) for u, shown in lists.items() for rank, item in enumerate(shown, 1)]
    judged = [(u, item, grade) for u, grades in truth.items() for item, grade in grades.items()]
    tables = (
        pl.DataFrame(rows, ["user", "item", "rank"], orient="row"),
        pl.DataFrame(judged, ["user", "item", "grade"], orient="row"),
    )
    mixed = (frame[tried.rng.permutation(len(frame))] for frame in tables)
    return _differing(tried, lists, truth, tried.values(*mixed))


def _below_the_cutoff(tried: _Tried) -> str:
    lists, truth = _cases(tried)
    if tried.k is None:
        return ""
    longer = {
        u: [*shown[: tried.k], *(i for i in _ITEMS if i not in shown[: tried.k])]
        for u, shown in lists.items()
    }
    full = {u: shown for u, shown in lists.items() if len(shown) >= tried.k}
    found = dict(zip(longer, tried.values(longer, truth), strict=True))
    values = dict(zip(lists, tried.values(lists, truth), strict=True))
    for user, shown in full.items():
        if _bits([values[user]]) != _bits([found[user]]):
            return f"{_shown(shown, truth[user])} at {tried.k} has {values[user]!r}, {_shown(longer[user], truth[user])} has {found[user]!r}"
    return ""


def _moved_up(tried: _Tried) -> str:
    least = tried.pinned.relevance_threshold or 0.0

    def made() -> Pair | None:
        shown, grades = tried.case()
        wanted = [item in grades and grades[item] >= least for item in shown]
        below = [n for n in range(1, len(shown)) if wanted[n] and not wanted[n - 1]]
        if not below:
            return None
        n = below[0]
        return shown, [*shown[: n - 1], shown[n], shown[n - 1], *shown[n + 1 :]], grades

    return tried.pairs(made)


def _put_in(tried: _Tried) -> str:
    least = tried.pinned.relevance_threshold or 0.0

    def made() -> Pair | None:
        shown, grades = tried.case()
        missing = [item for item, grade in grades.items() if grade >= least and item not in shown]
        others = [n for n, item in enumerate(shown) if grades.get(item, -1.0) < least]
        if not missing or not others:
            return None
        return shown, [*shown[: others[0]], missing[0], *shown[others[0] + 1 :]], grades

    return tried.pairs(made)
