"""Numbers over all users, such as coverage: list-swap randomisation tests and jackknife intervals."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.listed import Items
from concord.metrics_core.stats.mean_interval import half_width
from concord.metrics_core.stats.paired import FEWEST_INFORMATIVE
from concord.metrics_core.stats.tolerance import difference

_BLOCK = 64  # resamples at a time; a multiple of 8
Measure = Callable[[Exposure], float]


@dataclass(frozen=True)
class Shown:
    """Who is shown what by one model: a row a user and item of the top k, each item once for a user.

    user, item : (rows,) numbers; both models number users and items alike
    owner      : (users,) where lists are those of requests, by which `user` numbers them: the number of whose they are
    """

    user: Ints
    item: Ints
    owner: Ints | None = None

    def owner_of(self, users: Ints) -> Ints:
        """Whose lists they are: users themselves, unless they are requests."""
        return users if self.owner is None else self.owner[users]


@dataclass(frozen=True)
class Swapped:
    """The difference of one measure, a - b, and its p value, NaN where under ten users' lists differ.

    n_users   : users with a list from either
    n_nonzero : of them those whose lists differ
    """

    difference: float
    n_users: int
    n_nonzero: int
    p: float


def swap_tests(
    a: Shown,
    b: Shown,
    measures: Mapping[str, Measure],
    *,
    items: Items,
    k: int | None,
    resamples: int,
    seed: int,
) -> dict[str, Swapped]:
    """P = (1 + resamples whose |difference| is at least the observed one) / (1 + resamples), for each measure.

    Differences that are equal but for rounding count as equal: of a share of items, many are.
    In a resample every user's lists change places with probability 1/2; a list and no list change places too. All lists of
    a user change places together.
    Counts are whole numbers, so nothing depends on the order of rows or on the number of threads.

    References
    ----------
    Fisher's randomisation; for retrieval: Smucker, Allan & Carterette (2007), CIKM, 623-632.
    doi:10.1145/1321440.1321528
    """
    pair = _Pair.of(a, b, counted(a, b, items))
    observed = {
        name: _gap(measure, pair.observed(), items, k) for name, measure in measures.items()
    }
    enough = pair.n_differing >= FEWEST_INFORMATIVE
    extreme = dict.fromkeys(measures, 0)
    for counts in pair.swapped(resamples, seed) if enough else ():
        for name, measure in measures.items():
            extreme[name] += _reaches(_gap(measure, counts, items, k), observed[name])
    return {
        name: Swapped(
            gap,
            pair.n_users,
            pair.n_differing,
            (1 + extreme[name]) / (1 + resamples) if enough and not math.isnan(gap) else math.nan,
        )
        for name, gap in observed.items()
    }


def counted(a: Shown, b: Shown, items: Items) -> int:
    """How many items, or cells, there are counts of."""
    highest = max(a.item.max(initial=-1), b.item.max(initial=-1))
    return max(items.n_items, int(highest) + 1)


_Counts = tuple[
    Ints, int, Ints, int
]  # of each item with a, users with a list from a; the same of b


def _gap(measure: Measure, counts: _Counts, items: Items, k: int | None) -> float:
    of_a, users_a, of_b, users_b = counts
    values = (Exposure(of_a, users_a, k, items), Exposure(of_b, users_b, k, items))
    return difference(*map(measure, values))


def _reaches(gap: float, observed: float) -> bool:
    """True if a difference is as large as the observed one: those of quotients may differ in their last digits."""
    return abs(gap) >= abs(observed) or difference(abs(gap), abs(observed)) == 0


@dataclass(frozen=True)
class _Pair:
    """The counts of both models, and what the swap of each user's lists does to those of a.

    differing : lists that differ; `owner`: whose they are
    moves : (items, users whose lists differ) +1 for an item of b alone, -1 for an item of a alone
    gains : (users whose lists differ) 1 for a list from b alone, -1 for a list from a alone
    """

    of_a: Ints
    of_b: Ints
    users_a: int
    users_b: int
    n_users: int
    differing: Ints
    owner: Ints
    moves: Any  # a scipy.sparse.csc_array
    gains: Ints

    @classmethod
    def of(cls, a: Shown, b: Shown, n_items: int) -> "_Pair":
        n_users = 1 + max(a.user.max(initial=-1), b.user.max(initial=-1))
        keys_a, keys_b = (np.sort(shown.user * n_items + shown.item) for shown in (a, b))
        only_a, only_b = _without(keys_a, keys_b), _without(keys_b, keys_a)
        from scipy import sparse  # as for Student's t: it takes its time

        moved = np.concatenate([only_b, only_a])
        sign = np.repeat(np.array([1, -1], dtype=np.int32), [len(only_b), len(only_a)])
        user = moved // n_items
        differs = np.bincount(user, minlength=n_users) > 0
        differing, place = np.flatnonzero(differs), (np.cumsum(differs) - 1)[user]
        has_a, has_b = (np.bincount(s.user, minlength=n_users) > 0 for s in (a, b))
        return cls(
            np.bincount(a.item, minlength=n_items),
            np.bincount(b.item, minlength=n_items),
            int(has_a.sum()),
            int(has_b.sum()),
            len(np.unique(a.owner_of(np.flatnonzero(has_a | has_b)))),
            differing,
            a.owner_of(differing),
            sparse.csc_array((sign, (moved % n_items, place)), shape=(n_items, len(differing))),
            has_b[differing].astype(np.int64) - has_a[differing].astype(np.int64),
        )

    @property
    def n_differing(self) -> int:
        return len(np.unique(self.owner))

    def observed(self) -> _Counts:
        return self.of_a, self.users_a, self.of_b, self.users_b

    def swapped(self, resamples: int, seed: int) -> Iterator[_Counts]:
        """The counts after each resample's swaps; what a gains, b loses."""
        for bits in _blocks(self.owner, resamples, seed):
            moved = self.moves @ bits
            gained = self.gains @ bits
            for n in range(bits.shape[1]):
                change, users = moved[:, n].astype(np.int64), int(gained[n])
                yield (
                    self.of_a + change,
                    self.users_a + users,
                    self.of_b - change,
                    self.users_b - users,
                )


def _without(keys: Ints, others: Ints) -> Ints:
    """Those of the sorted keys that are not among the sorted others."""
    if not len(others):
        return keys
    found = others[np.searchsorted(others, keys).clip(max=len(others) - 1)]
    return keys[found != keys]


def _blocks(users: Ints, resamples: int, seed: int) -> Iterator[NDArray[np.int32]]:
    """(users, resamples) swaps as 0 and 1; a user's depend on the seed and the number of the user alone."""
    random = np.random.Generator(np.random.PCG64(seed))
    n_users = 1 + int(users.max(initial=-1))
    for start in range(0, resamples, _BLOCK):
        drawn = random.integers(0, 256, (n_users, _BLOCK // 8), dtype=np.uint8)[users]
        n = min(_BLOCK, resamples - start)
        yield np.unpackbits(drawn, axis=1)[:, :n].astype(np.int32)


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
