"""Replicates: models that were trained several times, outlying ones, and how many a difference needs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from concord.metrics_core.metrics.exact_sums import mean_of
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.replicates import FEWEST_TRAININGS
from concord.metrics_core.stats.clusters import Clusters
from concord.metrics_core.stats.exact_sums import exact_sum
from concord.metrics_core.stats.mean_interval import half_width, two_sided_p
from concord.metrics_core.stats.tolerance import difference, differences

FEWEST = 3  # values: the spread of the others takes two
LEVEL = 0.05  # of a false alarm, for one model on one metric
_SAME = 1e-9  # relative: what means that were rounded may differ by


def outlier(values: Sequence[float], sides: Sequence[int], least: float = 0.0) -> int | None:
    """Return the place of the value that is an outlier at `LEVEL`; None if there is none.

    Parameters
    ----------
    sides : 1 to look for one that is far below the others, -1 for one above; both share the level
    least : see `lowest_p`
    """
    for sign in sides:
        turned = [sign * value for value in values]
        if lowest_p(turned, least) < LEVEL / len(sides):
            return turned.index(min(turned))
    return None


def lowest_p(values: Sequence[float], least: float = 0.0) -> float:
    """Return the p value of the lowest of R values, by Grubbs's one-sided test; 1 for fewer than 3.

    t = (mean of the others - lowest) / √(s² (1 + 1/(R - 1))) with s² of the others has a t distribution with R - 2
    degrees of freedom, and p is R times its tail. It takes the values as normal but for the one.

    Parameters
    ----------
    values : of R trainings
    least  : the smallest variance that the others are believed to have, such as what chance of users adds; without it
             two trainings that happen to be equal would make any third one an outlier

    References
    ----------
    Grubbs (1950), Annals of Mathematical Statistics 21(1), 27-58.  doi:10.1214/aoms/1177729885
    """
    count = len(values)
    if count < FEWEST or not all(map(math.isfinite, values)):
        return 1.0
    lowest, *others = sorted(values)
    if others[-1] - lowest <= _SAME * max(abs(lowest), abs(others[-1])):
        return 1.0
    centre = math.fsum(others) / len(others)
    spread = math.fsum((each - centre) ** 2 for each in others) / (len(others) - 1)
    error = math.sqrt(max(spread, least) * (1 + 1 / len(others)))
    if not error:
        return 0.0
    tail = two_sided_p(count - 1, (centre - lowest) / error) / 2
    return min(1.0, count * tail)


_HALVINGS = 60  # of the range of p: below any digit that is shown


@dataclass(frozen=True)
class Part:
    """A part of the variance of a mean, estimated on n - 1 degrees of freedom: users, or trainings of a model."""

    variance: float
    n: float

    def half(self, confidence: float) -> float:
        """Half the t interval of this part alone."""
        return half_width(self.n, confidence) * math.sqrt(self.variance) if self.variance else 0.0


@dataclass(frozen=True, eq=False)
class Trained:
    """(trainings, users) values of one model, or of the differences of two; NaN where a user does not count.

    whose : whose requests they are and what each counts, where they are not values of users who count alike
    """

    values: Floats
    whose: Clusters | None = None

    @cached_property
    def n(self) -> int:
        """How many trainings."""
        return len(self.values)

    def minus(self, other: "Trained") -> "Trained":
        """The differences, training by training."""
        return Trained(differences(self.values, other.values), self.whose)

    @cached_property
    def _complete(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.values).any(axis=0))

    @cached_property
    def _by_user(self) -> list[Floats]:
        """Values of each training that vary as its mean does: over what counts in all trainings, or in each where they are nested."""
        if self.whose is None:
            return list(self.values)
        rows = self.values if self.nested else np.where(self._complete, self.values, np.nan)
        return [self.whose.linearised(row) for row in rows]

    @cached_property
    def _rows(self) -> list[Floats]:
        """The values of each training, of the users who count in all."""
        complete = ~np.isnan(self._by_user).any(axis=0)
        everybody = bool(complete.all())
        return [row if everybody else row[complete] for row in self._by_user]

    @cached_property
    def nested(self) -> bool:
        """Do most users count in some of the trainings only, as where each fold has its own users?"""
        counted = int((~np.isnan(self.values)).any(axis=0).sum())
        return 2 * int(self._complete.sum()) < counted

    @cached_property
    def means(self) -> tuple[float, ...]:
        """The mean of each training: over the users of all of them, or where they are nested over its own."""
        if self.nested:
            return tuple(_mean(row[~np.isnan(row)]) for row in self._by_user)
        return tuple(map(_mean, self._rows))

    @cached_property
    def of_rest(self) -> float:
        """The variance of what a user's value in one training has beside user and training; 0 where it is unknown."""
        if self.n < 2 or self.nested:  # noqa: PLR2004 - no spread of one
            return 0.0
        n_users = len(self._rows[0])
        if n_users < 2:  # noqa: PLR2004
            return 0.0
        of_users = mean_of_rows(self._rows)
        centre = math.fsum(self.means) / self.n
        squares = 0.0
        for row, mean in zip(self._rows, self.means, strict=True):
            rest = row - of_users - (mean - centre)
            squares += exact_sum(rest * rest)
        return squares / ((n_users - 1) * (self.n - 1))

    @property
    def of_chance(self) -> float:
        """The variance that the rest adds to the mean of one training; NaN without users, 0 where they are nested."""
        if self.nested:
            return 0.0
        n_users = len(self._rows[0])
        return self.of_rest / n_users if n_users else math.nan

    @cached_property
    def spread(self) -> float:
        """The variance of the trainings' means, as it is seen; 0 where they differ by rounding alone."""
        apart = difference(max(self.means), min(self.means))
        return 0.0 if apart == 0 else variance(self.means)

    @property
    def standard_error(self) -> float:
        """The standard error over users of the mean over all trainings; NaN for fewer than two users."""
        of_users = mean_of_defined(list(self.values))
        if self.whose is not None:
            return self.whose.ratio(of_users).standard_error
        known = of_users[~np.isnan(of_users)]
        if len(known) < 2:  # noqa: PLR2004 - one has no spread
            return math.nan
        deviation = known - _mean(known)
        return math.sqrt(exact_sum(deviation * deviation) / (len(known) - 1) / len(known))

    @cached_property
    def of_trainings(self) -> float:
        """The variance between trainings alone: the spread of their means without what the rest adds; at least 0.

        Crossed: (MS_trainings - MS_rest) / users, by the analysis of variance. Nested: the spread itself, which holds
        that of the users.
        """
        if self.n < 2:  # noqa: PLR2004
            return 0.0
        alone = self.spread - self.of_chance
        return 0.0 if alone < 0 else alone

    @property
    def part(self) -> Part:
        """What trainings add to the variance of the mean over all of them."""
        return Part(self.of_trainings / self.n, self.n)

    @property
    def of_next(self) -> Part:
        """The variance of the mean of one new training on these users minus the mean over all of these: s² (1 + 1/R).

        s² is the spread of the trainings' means as it is seen: what chance adds to it, it adds to a new training too.
        """
        return Part(self.spread * (1 + 1 / self.n), self.n)


@dataclass(frozen=True)
class OverTrainings:
    """A mean, or a difference of two, over new users and new trainings.

    users     : the part of the users; of variance 0 where the trainings' part holds it (nested) or users are fixed
    trainings : that of each model that was trained more than once; of both together where trainings are paired
    """

    difference: float
    users: Part
    trainings: tuple[Part, ...]

    @property
    def too_few(self) -> bool:
        """Are there too few trainings of a model for an interval?"""
        return any(part.n < FEWEST_TRAININGS for part in self.trainings)

    @cached_property
    def of_trainings(self) -> Part:
        """The trainings of both models in one."""
        return welch(self.trainings)

    @property
    def share(self) -> float:
        """The share of the variance that is due to trainings; NaN where nothing varies."""
        total = self.of_trainings.variance + self.users.variance
        return self.of_trainings.variance / total if total > 0 else math.nan

    def half(self, confidence: float) -> float:
        """Half of the interval: the root of the summed squares of the halves of its two parts.

        Exact where users alone, or the trainings of one model alone, vary.

        References
        ----------
        Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702: variance estimates recovered from intervals.
        """
        of_users, of_trainings = self.users.half(confidence), self.of_trainings.half(confidence)
        return math.sqrt(of_users * of_users + of_trainings * of_trainings)

    def interval(self, confidence: float) -> tuple[float, float]:
        """NaN where there are too few trainings."""
        half = math.nan if self.too_few else self.half(confidence)
        return self.difference - half, self.difference + half

    @cached_property
    def p(self) -> float:
        """The level at which the interval just reaches 0; NaN where there is no interval."""
        distance = abs(self.difference)
        if self.too_few or math.isnan(distance) or math.isnan(self.half(0.5)):
            return math.nan
        if distance == 0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.half(1 - middle) > distance else (low, middle)
        return high


def welch(parts: Sequence[Part]) -> Part:
    """Return independent parts as one, with Welch's degrees of freedom.

    References
    ----------
    Welch (1947), Biometrika 34(1/2), 28-35.
    """
    total = math.fsum(part.variance for part in parts)
    if not total:
        return Part(0.0, min(part.n for part in parts))
    below = math.fsum(part.variance * part.variance / (part.n - 1) for part in parts)
    return Part(total, total * total / below + 1)


def mean_of_rows(rows: Sequence[Floats]) -> Floats:
    """(users,) each user's mean, rounded once: of equal rows it is the row."""
    return mean_of(rows, len(rows))


def mean_of_defined(rows: Sequence[Floats]) -> Floats:
    """(users,) each user's mean over the rows in which the user counts; NaN where in none."""
    missing = [np.isnan(row) for row in rows]
    if not any(bool(each.any()) for each in missing):
        return mean_of_rows(rows)
    counted = [np.where(nowhere, 0.0, row) for nowhere, row in zip(missing, rows, strict=True)]
    return mean_of(counted, len(rows) - np.sum(missing, axis=0))


def variance(values: Sequence[float]) -> float:
    """Of a sample; 0 of fewer than two."""
    if len(values) < 2:  # noqa: PLR2004
        return 0.0
    centre = math.fsum(values) / len(values)
    return math.fsum((each - centre) * (each - centre) for each in values) / (len(values) - 1)


@dataclass(frozen=True)
class Turned:
    """In how many pairs of single trainings the order is another than that of the means over all.

    chance : that it is so with one new training of each model, the users being these, by the t distribution of a
             prediction; NaN where no training differs from another
    """

    times: int
    of: int
    chance: float


def turned(a: Trained, b: Trained, difference: float, *, paired: bool) -> Turned:
    """Every training of a against every one of b; the same seed or fold against itself where they are paired.

    One new training differs from the mean over R of them by s √(1 + 1/R), and by as many degrees of freedom as s has.
    A model that was trained once is taken as it is. All true differences count as equally likely before.
    """
    gaps = list(_gaps(a, b, paired=paired))
    times = sum(gap * difference < 0 for gap in gaps)
    varying = [a.minus(b)] if paired else [each for each in (a, b) if each.n > 1]
    of_next = welch([each.of_next for each in varying])
    chance = math.nan
    if of_next.variance > 0 and math.isfinite(difference):
        chance = two_sided_p(of_next.n, difference / math.sqrt(of_next.variance)) / 2
    return Turned(times, len(gaps), chance)


def _gaps(a: Trained, b: Trained, *, paired: bool) -> Iterator[float]:
    if paired:
        yield from a.minus(b).means
    else:
        yield from (difference(of_a, of_b) for of_a, of_b in product(a.means, b.means))


def _mean(values: Floats) -> float:
    return exact_sum(values) / len(values) if len(values) else math.nan


def users_needed(found: OverTrainings, confidence: float, most: int = 10**9) -> int | None:
    """How many users would keep the interval off 0, were difference and spreads as they are; None: no number would.

    The trainings stay as many as they are: where they alone spread too much, no users help.
    """

    def settled(n: int) -> bool:
        users = Part(found.users.variance * found.users.n / n, n)
        return replace(found, users=users).half(confidence) < abs(found.difference)

    return _least(settled, 2, most)


def trainings_needed(found: OverTrainings, confidence: float, most: int = 1000) -> int | None:
    """How many trainings of each model that was trained more than once would; None: no number would.

    The users stay as many as they are, and what they add to the variance is taken not to shrink.
    """

    def settled(n: int) -> bool:
        parts = tuple(Part(part.variance * part.n / n, n) for part in found.trainings)
        return replace(found, trainings=parts).half(confidence) < abs(found.difference)

    return _least(settled, FEWEST_TRAININGS, most)


def _least(settled: Callable[[int], bool], low: int, high: int) -> int | None:
    """The smallest number that settles it; more never settle it less."""
    if not settled(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle + 1, high)
    return low
