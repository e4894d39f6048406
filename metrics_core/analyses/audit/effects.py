"""Popularity drift, and the effect of affected users on the means."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.analyses.audit.checks import MAX_EXAMPLES, AuditTables, RowQuery
from concord.metrics_core.analyses.audit.result import (
    MIN_USERS,
    RISEN_FACTOR,
    Example,
    LeaveOutEffect,
    Reversal,
)
from concord.metrics_core.metrics.elementary import log2
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.stats.floating_point import exact_mean, exact_sum
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.replicates import VarianceEstimate, welch_sum

N_DIVISIONS = 19
_MAX_ROWS = 1_000_000_000  # limit of NumPy; in larger samples the random part is negligible
_MIN_RISEN_ROWS = 10  # rows of the truth of an item that has become more popular
POPULARITY_DRIFT = RowQuery(
    "popularity_drift",
    f"""SELECT user, truth.item FROM truth JOIN (
            SELECT item FROM item_counts
            WHERE n_truth >= {_MIN_RISEN_ROWS}
              AND n_truth * (SELECT sum(n_train) FROM item_counts)
                  >= {RISEN_FACTOR} * n_train * (SELECT sum(n_truth) FROM item_counts)
        ) USING (item)""",
    "truth",
)


@dataclass(frozen=True)
class Drift:
    """Divergence of the items' shares in train and truth.

    Attributes
    ----------
    bits : float
        Jensen-Shannon divergence.
    by_chance : tuple of float
        Divergence of each random division of all rows.
    examples : tuple of dict
        Items with the largest contributions.
    """

    bits: float
    by_chance: tuple[float, ...]
    examples: tuple[Example, ...]

    @property
    def mean_by_chance(self) -> float | None:
        """Mean divergence of the random divisions; None without any."""
        return math.fsum(self.by_chance) / len(self.by_chance) if self.by_chance else None

    @property
    def exceeds_chance(self) -> bool:
        """True if the divergence is above that of all random divisions."""
        return self.bits > max(self.by_chance, default=0.0)


def measure_drift(tables: AuditTables) -> Drift:
    """Compare the shares of items in train and truth; creates the table `item_counts`."""
    tables.connection.execute(
        """CREATE TEMP TABLE item_counts AS
        SELECT item, coalesce(r.n, 0) AS n_train, coalesce(t.n, 0) AS n_truth
        FROM (SELECT item, count(*) AS n FROM train GROUP BY item) AS r
        FULL JOIN (SELECT item, count(*) AS n FROM truth GROUP BY item) AS t USING (item)"""
    )
    query = "SELECT item::VARCHAR AS item, n_train, n_truth FROM item_counts ORDER BY item"
    counts = pl.DataFrame(tables.connection.sql(query).to_arrow_table())
    train, truth = (counts[name].to_numpy() for name in ("n_train", "n_truth"))
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
    by_chance = tuple(exact_sum(divergence(*counts)) for counts in random_divisions(train, truth))
    return Drift(exact_sum(terms), by_chance, examples)


def divergence(train: Ints, truth: Ints) -> Floats:
    """Return the terms of JSD(p, q) = Σ (p log2(p / m) + q log2(q / m)) / 2, m = (p + q) / 2.

    The Jensen-Shannon divergence is 0 bits if all shares are equal, and 1 bit if no item occurs in
    both tables.

    Parameters
    ----------
    train, truth : (items,) int64
        Number of rows of each item; p and q are its shares of all rows. In train each pair of user
        and item counts once.

    Returns
    -------
    (items,) float64
        Contribution of each item.

    References
    ----------
    Lin (1991), IEEE Transactions on Information Theory 37(1), 145-151.  doi:10.1109/18.61115
    """
    p, q = (counts / counts.sum() for counts in (train, truth))
    m = (p + q) / 2
    return (_term(p, m) + _term(q, m)) / 2


def _term(p: Floats, m: Floats) -> Floats:
    """Return p · log2(p / m); 0 for p = 0."""
    positive = p > 0
    ratio = np.divide(p, m, out=np.ones_like(p), where=positive)
    return np.asarray(np.where(positive, p * log2(ratio), 0.0))


def random_divisions(train: Ints, truth: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield item counts of random divisions of all rows into tables of the same sizes.

    Without any drift, a divergence above those of all 19 divisions has a probability of 5 %.
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
    """Yield each model's mean with and without the affected users.

    mean_without - mean = (n_affected / n) · (mean of unaffected users - mean of affected users).
    The two groups are independent, so the interval is Welch's for two independent means, times
    n_affected / n, which is treated as fixed.

    Parameters
    ----------
    check, label : str
        Name of the check, and label of the metric.
    values : mapping of str to (users,) float64
        Values of each model; NaN if a user does not count.
    affected : (users,) bool
        True for each affected user.
    confidence : float
        Level of the interval.

    Yields
    ------
    LeaveOutEffect
        Effect on one model's mean.

    References
    ----------
    Welch (1947), Biometrika 34(1/2), 28-35.
    """
    for model, column in values.items():
        is_defined = ~np.isnan(column)
        all_users = column[is_defined]
        unaffected, leaving = column[is_defined & ~affected], column[is_defined & affected]
        mean, without = exact_mean(all_users), exact_mean(unaffected)
        share = len(leaving) / len(all_users) if len(all_users) else math.nan
        shift = share * (without - exact_mean(leaving)) if len(leaving) else without - mean
        half = share * _half_width(unaffected, leaving, confidence)
        yield LeaveOutEffect(
            check=check,
            label=label,
            model=model,
            mean=mean,
            n_users=len(all_users),
            mean_without=without,
            n_without=len(unaffected),
            shift=shift,
            ci_low=shift - half,
            ci_high=shift + half,
        )


def find_reversals(
    check: str, label: str, values: Mapping[str, Floats], affected: Flags, confidence: float
) -> Iterator[Reversal]:
    """Yield pairs of models whose mean difference changes its sign without the affected users.

    Both differences have a paired t interval. There are no reversals if fewer than `MIN_USERS`
    unaffected users remain. Parameters are those of `leave_out_effects`.
    """
    unaffected = {model: np.where(affected, np.nan, column) for model, column in values.items()}
    pairs = list(combinations(values, 2))
    tests = (paired_tests(each, pairs, confidence=confidence) for each in (values, unaffected))
    for (a, b), test, test_without in zip(pairs, *tests, strict=True):
        if test_without.n_users < MIN_USERS or _sign(test) * _sign(test_without) >= 0:
            continue
        (low, high), without = (each.interval(confidence) for each in (test, test_without))
        yield Reversal(
            check=check,
            label=label,
            a=a,
            b=b,
            difference=test.difference,
            ci_low=low,
            ci_high=high,
            difference_without=test_without.difference,
            low_without=without[0],
            high_without=without[1],
            is_significant=(low > 0 or high < 0) and (without[0] > 0 or without[1] < 0),
        )


def _sign(pair: PairedTest) -> float:
    return math.copysign(1.0, pair.difference) if pair.difference else 0.0


def _half_width(a: Floats, b: Floats, confidence: float) -> float:
    """Return the half-width of Welch's interval of a difference; NaN for small groups."""
    if min(len(a), len(b)) < MIN_USERS:
        return math.nan
    parts = [VarianceEstimate(_squared_error(each), len(each)) for each in (a, b)]
    return welch_sum(parts).half_width(confidence)


def _squared_error(values: Floats) -> float:
    """Return s² / n."""
    if values.min() == values.max():
        return 0.0  # without the rounding of the mean
    deviation = values - exact_mean(values)
    return exact_sum(deviation * deviation) / (len(values) - 1) / len(values)
