"""Popularity drift, and how much affected users change the means."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.analyses.audit_checks import MAX_EXAMPLES, AuditTables, RowQuery
from concord.metrics_core.metrics.elementary import log2
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.results.audit import (
    MIN_USERS,
    RISEN_FACTOR,
    Example,
    LeaveOutEffect,
    Reversal,
)
from concord.metrics_core.results.comparison_parts import or_none
from concord.metrics_core.stats.exact_sums import exact_mean, exact_sum
from concord.metrics_core.stats.paired_test import PairedTest, paired_tests
from concord.metrics_core.stats.replicates import VarianceEstimate, welch_sum

N_DIVISIONS = 19
_MAX_ROWS = 1_000_000_000  # NumPy divides no more; chance has next to no part in a larger sample
_MIN_RISEN_ROWS = 10  # rows of the truth of an item that has risen
RISEN = RowQuery(
    "popularity_drift",
    f"""SELECT user, truth.item FROM truth JOIN (
            SELECT item FROM counts_of_items
            WHERE in_truth >= {_MIN_RISEN_ROWS}
              AND in_truth * (SELECT sum(in_train) FROM counts_of_items)
                  >= {RISEN_FACTOR} * in_train * (SELECT sum(in_truth) FROM counts_of_items)) USING (item)""",
    "truth",
)


@dataclass(frozen=True)
class Drift:
    """The divergence in bits, those of rows divided at random, and the items that contribute most."""

    bits: float
    by_chance: tuple[float, ...]
    examples: tuple[Example, ...]

    @property
    def mean_by_chance(self) -> float | None:
        """Mean over the random divisions; None without any."""
        return math.fsum(self.by_chance) / len(self.by_chance) if self.by_chance else None

    @property
    def exceeds_chance(self) -> bool:
        """True if the divergence is above that of all random divisions."""
        return self.bits > max(self.by_chance, default=0.0)


def measure_drift(tables: AuditTables) -> Drift:
    """Compare the shares of items in train and truth; creates the table `counts_of_items`."""
    tables.connection.execute(
        """CREATE TEMP TABLE counts_of_items AS
        SELECT item, coalesce(r.n, 0) AS in_train, coalesce(t.n, 0) AS in_truth
        FROM (SELECT item, count(*) AS n FROM train GROUP BY item) AS r
        FULL JOIN (SELECT item, count(*) AS n FROM truth GROUP BY item) AS t USING (item)"""
    )
    query = "SELECT CAST(item AS VARCHAR) AS item, in_train, in_truth FROM counts_of_items ORDER BY item"
    counts = pl.DataFrame(tables.connection.sql(query).to_arrow_table())
    train, truth = (counts[name].to_numpy() for name in ("in_train", "in_truth"))
    if not train.any() or not truth.any():
        return Drift(1.0, (), ())
    terms = divergence(train, truth)
    largest = np.argsort(-terms, kind="stable")[:MAX_EXAMPLES]
    examples = tuple(
        {
            "item": counts["item"][n],
            "train_share": float(train[n] / train.sum()),
            "truth_share": float(truth[n] / truth.sum()),
        }
        for n in largest.tolist()
        if terms[n] > 0
    )
    by_chance = tuple(exact_sum(divergence(*sides)) for sides in divide_at_random(train, truth))
    return Drift(exact_sum(terms), by_chance, examples)


def divergence(train: Ints, truth: Ints) -> Floats:
    """Return the terms of JSD(p, q) = sum over items of (p log2(p / m) + q log2(q / m)) / 2, m = (p + q) / 2.

    Jensen-Shannon divergence in bits: 0 if the shares are equal, 1 if no item is in both.

    Parameters
    ----------
    train, truth : (items,) int
        Rows of each item. p is an item's share of all rows of train, where each pair of user and item counts once;
        q is its share of all rows of the truth.

    References
    ----------
    Lin (1991), IEEE Transactions on Information Theory 37(1), 145-151.  doi:10.1109/18.61115
    """
    p, q = (counts / counts.sum() for counts in (train, truth))
    m = (p + q) / 2
    return (_term(p, m) + _term(q, m)) / 2


def _term(share: Floats, middle: Floats) -> Floats:
    """Return share · log2(share / middle); 0 for a share of 0."""
    positive = share > 0
    ratio = np.divide(share, middle, out=np.ones_like(share), where=positive)
    return np.asarray(np.where(positive, share * log2(ratio), 0.0))


def divide_at_random(train: Ints, truth: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield counts of items if all rows of both are divided again at random, as many on either side: nothing drifts.

    A divergence above those of all 19 divisions occurs in 5 % of the cases without any drift.
    """
    both = train + truth
    if both.sum() >= _MAX_ROWS:
        return
    random = np.random.Generator(np.random.PCG64(1))
    for _ in range(N_DIVISIONS):
        drawn = random.multivariate_hypergeometric(both, int(truth.sum()), method="marginals")
        yield both - drawn, drawn


Flags = NDArray[np.bool_]


def leave_out_effects(
    check: str, label: str, values: Mapping[str, Floats], affected: Flags, confidence: float
) -> Iterator[LeaveOutEffect]:
    """Yield each model's mean with all users, and without those who are affected.

    mean_without - mean = (n_affected / n) · (mean of the others - mean of the affected). Affected users and others are
    different people, so the interval is that of two independent means (Welch 1947, Biometrika 34, 28-35), times
    n_affected / n, which is taken as given.

    Parameters
    ----------
    values : dict
        Maps each model to (users,) float64; NaN if a user does not count.
    affected : (users,) bool
    """
    for model, column in values.items():
        counts = ~np.isnan(column)
        every, others, leaving = (
            column[rows] for rows in (counts, counts & ~affected, counts & affected)
        )
        mean, without = exact_mean(every), exact_mean(others)
        share = len(leaving) / len(every) if len(every) else math.nan
        shift = share * (without - exact_mean(leaving)) if len(leaving) else without - mean
        half = share * _half_width(others, leaving, confidence)
        yield LeaveOutEffect(
            check=check,
            label=label,
            model=model,
            mean=or_none(mean),
            n_users=len(every),
            mean_without=or_none(without),
            n_without=len(others),
            shift=or_none(shift),
            ci_low=or_none(shift - half),
            ci_high=or_none(shift + half),
        )


def find_reversals(
    check: str, label: str, values: Mapping[str, Floats], affected: Flags, confidence: float
) -> Iterator[Reversal]:
    """Yield pairs of models whose mean difference changes its sign, with its paired t interval on either set of users.

    There are none if fewer than `MIN_USERS` users are left.
    """
    others = {model: np.where(affected, np.nan, column) for model, column in values.items()}
    pairs = list(combinations(values, 2))
    tests = (paired_tests(each, pairs, confidence=confidence) for each in (values, others))
    for (a, b), with_all, with_others in zip(pairs, *tests, strict=True):
        if with_others.n_users < MIN_USERS or _sign(with_all) * _sign(with_others) >= 0:
            continue
        yield Reversal(
            check=check,
            label=label,
            a=a,
            b=b,
            difference=with_all.difference,
            ci_low=or_none(with_all.ci_low),
            ci_high=or_none(with_all.ci_high),
            difference_without=with_others.difference,
            low_without=or_none(with_others.ci_low),
            high_without=or_none(with_others.ci_high),
            sure=_excludes_zero(with_all) and _excludes_zero(with_others),
        )


def _sign(pair: PairedTest) -> float:
    return math.copysign(1.0, pair.difference) if pair.difference else 0.0


def _excludes_zero(pair: PairedTest) -> bool:
    return pair.ci_low > 0 or pair.ci_high < 0


def _half_width(a: Floats, b: Floats, confidence: float) -> float:
    """Return half of Welch's interval of the difference of two means; NaN with too few users of either."""
    if min(len(a), len(b)) < MIN_USERS:
        return math.nan
    parts = [VarianceEstimate(_squared_error(each), len(each)) for each in (a, b)]
    return welch_sum(parts).half_width(confidence)


def _squared_error(values: Floats) -> float:
    """Return s² / n."""
    if values.min() == values.max():
        return 0.0  # the rounding of the mean must not look like a spread
    deviation = values - exact_mean(values)
    return exact_sum(deviation * deviation) / (len(values) - 1) / len(values)
