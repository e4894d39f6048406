"""Randomisation tests and jackknife intervals of metrics over all users, such as coverage."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.ranked_lists import Items
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.stats.floating_point import difference
from concord.metrics_core.stats.mean_interval import t_quantile

_RESAMPLE_BLOCK = 64  # a multiple of 8
Measure = Callable[[Exposure], float]
_Counts = tuple[Ints, int, Ints, int]  # count of each item and of lists: of a, then of b


@dataclass(frozen=True)
class RecommendedItems:
    """Top-k items of one model: one row per list and item, each item once per list.

    Attributes
    ----------
    user, item : (rows,) int64
        Numbers of lists and of items, common to both models.
    owner : (lists,) int64 or None
        Number of each list's user if the unit is a session; None if each user has one list.
    """

    user: Ints
    item: Ints
    owner: Ints | None = None

    def owner_of(self, lists: Ints) -> Ints:
        """Return the number of each list's user."""
        return lists if self.owner is None else self.owner[lists]


@dataclass(frozen=True)
class SwapTest:
    """Difference a - b of one measure and its p-value.

    Attributes
    ----------
    n_users : int
        Users with a list of either model.
    n_nonzero : int
        Users whose lists differ.
    p : float
        NaN if the lists of fewer than 10 users differ.
    """

    difference: float
    n_users: int
    n_nonzero: int
    p: float


@dataclass(frozen=True)
class ListPair:
    """Recommendations of two models up to a cutoff, and the metrics that compare them.

    Attributes
    ----------
    measures : mapping of str to callable
        Measures of the exposure of the items.
    items : Items
        Items of lists, train and catalogue.
    k : int or None
        Cutoff; None for whole lists.
    """

    a: RecommendedItems
    b: RecommendedItems
    measures: Mapping[str, Measure]
    items: Items
    k: int | None

    @property
    def n_items(self) -> int:
        """Number of items, or of cells of item groups, that are counted."""
        highest = max(self.a.item.max(initial=-1), self.b.item.max(initial=-1))
        return max(self.items.n_items, int(highest) + 1)


def swap_tests(lists: ListPair, *, resamples: int, seed: int) -> dict[str, SwapTest]:
    """Return p = (1 + #(|resampled difference| >= |observed|)) / (1 + resamples) of each measure.

    A resample swaps the lists of each user between the models with probability 1/2: all lists of
    a user together, and missing lists, too. Differences that are equal up to rounding count as
    equal. The test counts in integers, so the result does not depend on the order of rows or on
    the number of threads.

    Parameters
    ----------
    lists : ListPair
        Recommendations of both models.
    resamples : int
        Number of resamples.
    seed : int
        Seed of the random swaps.

    Returns
    -------
    dict of str to SwapTest
        One test per measure.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21.
    Smucker, Allan & Carterette (2007), CIKM, 623-632 (in retrieval).
    doi:10.1145/1321440.1321528
    """
    pair = _SwapCounts.from_lists(lists.a, lists.b, lists.n_items)
    k, items, measures = lists.k, lists.items, lists.measures
    n_differing = pair.n_differing
    has_test = n_differing >= MIN_DIFFERING_USERS

    def statistic(measure: Measure, counts: _Counts) -> float:
        counts_a, lists_a, counts_b, lists_b = counts
        exposure_a = Exposure(counts_a, lists_a, k, items)
        return difference(measure(exposure_a), measure(Exposure(counts_b, lists_b, k, items)))

    observed = {name: statistic(measure, pair.observed()) for name, measure in measures.items()}
    extreme = dict.fromkeys(measures, 0)
    for counts in pair.swapped(resamples, seed) if has_test else ():
        for name, measure in measures.items():
            extreme[name] += _is_extreme(statistic(measure, counts), observed[name])
    results = {}
    for name, value in observed.items():
        p = (1 + extreme[name]) / (1 + resamples)
        is_tested = has_test and not math.isnan(value)
        results[name] = SwapTest(value, pair.n_users, n_differing, p if is_tested else math.nan)
    return results


def _is_extreme(statistic: float, observed: float) -> bool:
    """True if |statistic| >= |observed| up to rounding."""
    return abs(statistic) >= abs(observed) or difference(abs(statistic), abs(observed)) == 0


@dataclass(frozen=True)
class _SwapCounts:
    """Item and list counts of both models, and how each swap of two differing lists changes them.

    Attributes
    ----------
    owner : (differing,)
        User of each pair of lists that differ.
    item_changes : scipy.sparse.csc_array of shape (items, differing)
        Change of `counts_a` by a swap: 1 for an item of b only, -1 for an item of a only.
    list_changes : (differing,)
        Change of `lists_a` by a swap: 1 if only b has a list, -1 if only a has one.
    """

    counts_a: Ints
    counts_b: Ints
    lists_a: int
    lists_b: int
    n_users: int
    owner: Ints
    item_changes: Any
    list_changes: Ints

    @classmethod
    def from_lists(cls, a: RecommendedItems, b: RecommendedItems, n_items: int) -> "_SwapCounts":
        n_lists = 1 + max(a.user.max(initial=-1), b.user.max(initial=-1))
        keys_a, keys_b = (np.sort(side.user * n_items + side.item) for side in (a, b))
        only_a, only_b = _set_difference(keys_a, keys_b), _set_difference(keys_b, keys_a)
        from scipy import sparse

        keys = np.concatenate([only_b, only_a])
        sign = np.repeat(np.array([1, -1], dtype=np.int32), [len(only_b), len(only_a)])
        list_number = keys // n_items
        differs = np.bincount(list_number, minlength=n_lists) > 0
        differing, column = np.flatnonzero(differs), (np.cumsum(differs) - 1)[list_number]
        has_a, has_b = (np.bincount(s.user, minlength=n_lists) > 0 for s in (a, b))
        return cls(
            np.bincount(a.item, minlength=n_items),
            np.bincount(b.item, minlength=n_items),
            int(has_a.sum()),
            int(has_b.sum()),
            len(np.unique(a.owner_of(np.flatnonzero(has_a | has_b)))),
            a.owner_of(differing),
            sparse.csc_array((sign, (keys % n_items, column)), shape=(n_items, len(differing))),
            has_b[differing].astype(np.int64) - has_a[differing].astype(np.int64),
        )

    @property
    def n_differing(self) -> int:
        """Number of users whose lists differ."""
        return len(np.unique(self.owner))

    def observed(self) -> _Counts:
        return self.counts_a, self.lists_a, self.counts_b, self.lists_b

    def swapped(self, resamples: int, seed: int) -> Iterator[_Counts]:
        """Yield the counts after the swaps of each resample."""
        for bits in _swap_blocks(self.owner, resamples, seed):
            item_changes = self.item_changes @ bits
            list_changes = self.list_changes @ bits
            for n in range(bits.shape[1]):
                items, lists = item_changes[:, n].astype(np.int64), int(list_changes[n])
                counts_a, counts_b = self.counts_a + items, self.counts_b - items
                yield counts_a, self.lists_a + lists, counts_b, self.lists_b - lists


def _set_difference(keys: Ints, others: Ints) -> Ints:
    """Return the keys that are not among the others; both are sorted."""
    if not len(others):
        return keys
    nearest = others[np.searchsorted(others, keys).clip(max=len(others) - 1)]
    return keys[nearest != keys]


def _swap_blocks(users: Ints, resamples: int, seed: int) -> Iterator[NDArray[np.int32]]:
    """Yield blocks of (users, resamples) swaps, 1 to swap, by seed and number of the user only."""
    random = np.random.Generator(np.random.PCG64(seed))
    n_users = 1 + int(users.max(initial=-1))
    for start in range(0, resamples, _RESAMPLE_BLOCK):
        drawn = random.integers(0, 256, (n_users, _RESAMPLE_BLOCK // 8), dtype=np.uint8)[users]
        n = min(_RESAMPLE_BLOCK, resamples - start)
        yield np.unpackbits(drawn, axis=1)[:, :n].astype(np.int32)


MAX_GROUPS = 100


@dataclass(frozen=True)
class JackknifeError:
    """A difference with its standard error by jackknife over groups of users."""

    difference: float
    standard_error: float
    groups: int

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return difference ± t · standard error with groups - 1 degrees of freedom."""
        half = t_quantile(self.groups, confidence) * self.standard_error
        return self.difference - half, self.difference + half


def jackknife_errors(lists: ListPair) -> dict[str, JackknifeError]:
    """Return a - b of each measure with the error √((G - 1) / G · Σ (d₋g - mean)²).

    d₋g is a - b without the users of group g. There are up to 100 groups. All lists of a user, of
    both models, are in one group, so the error is paired. Empty for fewer than 10 users.

    References
    ----------
    Efron & Stein (1981), Annals of Statistics 9(3), 586-596.  doi:10.1214/aos/1176345462
    """
    models = (lists.a, lists.b)
    users = np.unique(np.concatenate([each.owner_of(each.user) for each in models]))
    groups = min(MAX_GROUPS, len(users))
    if groups < MIN_DIFFERING_USERS:
        return {}
    sides = [_GroupCounts(each, users, groups, lists.n_items) for each in models]

    def statistic(measure: Measure, group: int | None) -> float:
        exposures = (Exposure(*each.without(group), lists.k, lists.items) for each in sides)
        value_a, value_b = map(measure, exposures)
        return value_a - value_b

    errors = {}
    for name, measure in lists.measures.items():
        replicates = np.array([statistic(measure, group) for group in range(groups)])
        error = _jackknife_error(replicates)
        errors[name] = JackknifeError(statistic(measure, None), error, groups)
    return errors


def _jackknife_error(replicates: Floats) -> float:
    n, mean = len(replicates), math.fsum(replicates) / len(replicates)
    return math.sqrt((n - 1) / n * math.fsum((replicates - mean) ** 2))


class _GroupCounts:
    """Counts of one model's items and users, with or without a group of users."""

    def __init__(self, model: RecommendedItems, users: Ints, groups: int, n_items: int) -> None:
        group = np.searchsorted(users, model.owner_of(model.user)) % groups
        order = np.argsort(group, kind="stable")
        self._items = model.item[order]
        self._ends = np.searchsorted(group[order], np.arange(groups + 1))
        owners = model.owner_of(np.unique(model.user))
        self._n_users = np.bincount(np.searchsorted(users, owners) % groups, minlength=groups)
        self._counts = np.bincount(model.item, minlength=n_items)

    def without(self, group: int | None) -> tuple[Ints, int]:
        """Return item counts and number of users without a group; None leaves no group out."""
        n_users = int(self._n_users.sum())
        if group is None:
            return self._counts, n_users
        group_items = self._items[self._ends[group] : self._ends[group + 1]]
        group_counts = np.bincount(group_items, minlength=len(self._counts))
        return self._counts - group_counts, n_users - int(self._n_users[group])
