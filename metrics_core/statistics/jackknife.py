"""An interval for a number over all users, such as coverage: by leaving out one group of users after the other.

A bootstrap of users fails here, for a resample holds fewer distinct users; leaving out 1 % of them hardly changes what
is measured. The sum of squares below is on average no smaller than the variance of the number without one of the groups,
whatever the metric (Efron & Stein); times (G - 1) / G it is, of a plain sum, 0.98 of the true variance at G = 100.
"""

import math
from collections.abc import Mapping

import numpy as np

from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.listed import Items
from concord.metrics_core.scoring.numerics.student import half_width
from concord.metrics_core.statistics.paired import FEWEST_INFORMATIVE
from concord.metrics_core.statistics.swap import Measure, Shown, counted

GROUPS = 100  # of users; fewer where there are fewer users


def jackknife_intervals(
    a: Shown,
    b: Shown,
    measures: Mapping[str, Measure],
    *,
    items: Items,
    k: int | None,
    confidence: float,
) -> dict[str, tuple[float, float]]:
    """(a - b) ± t · √((G - 1) / G · Σ (d₋g - mean)²), for each measure; d₋g is a - b without the users of group g.

    All lists of a user stand in the same group, so the interval is paired. NaN where it does not exist, or where there
    are fewer groups than an interval needs.

    References
    ----------
    Efron & Stein (1981), Annals of Statistics 9(3), 586-596.  doi:10.1214/aos/1176345462
    """
    users = np.unique(np.concatenate([a.owner_of(a.user), b.owner_of(b.user)]))
    groups = min(GROUPS, len(users))
    if groups < FEWEST_INFORMATIVE:
        return dict.fromkeys(measures, (math.nan, math.nan))
    n_items = counted(a, b, items)
    sides = [_Side(shown, users, groups, n_items) for shown in (a, b)]

    def gap(measure: Measure, left_out: int | None) -> float:
        of_a, of_b = (measure(Exposure(*side.without(left_out), k, items)) for side in sides)
        return of_a - of_b

    factor = half_width(groups, confidence)
    found = {}
    for name, measure in measures.items():
        whole = gap(measure, None)
        half = factor * _error(np.array([gap(measure, group) for group in range(groups)]))
        found[name] = (whole - half, whole + half)
    return found


def _error(gaps: Floats) -> float:
    n, mean = len(gaps), math.fsum(gaps) / len(gaps)
    return math.sqrt((n - 1) / n * math.fsum((gaps - mean) ** 2))


class _Side:
    """The counts of one model's items and users, and how to leave a group out; users fall into groups by their number."""

    def __init__(self, shown: Shown, users: Ints, groups: int, n_items: int) -> None:
        group = np.searchsorted(users, shown.owner_of(shown.user)) % groups
        order = np.argsort(group, kind="stable")
        self._items = shown.item[order]
        self._ends = np.searchsorted(group[order], np.arange(groups + 1))
        owners = shown.owner_of(np.unique(shown.user))
        self._listed = np.bincount(np.searchsorted(users, owners) % groups, minlength=groups)
        self._counts = np.bincount(shown.item, minlength=n_items)

    def without(self, group: int | None) -> tuple[Ints, int]:
        n_users = int(self._listed.sum())
        if group is None:
            return self._counts, n_users
        of_group = self._items[self._ends[group] : self._ends[group + 1]]
        left_out = np.bincount(of_group, minlength=len(self._counts))
        return self._counts - left_out, n_users - int(self._listed[group])
