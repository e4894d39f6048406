"""Popularity drift: how far the items' shares in the truth are from those in train."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from concord.metrics_core.analyses.audit_checks import MAX_EXAMPLES, AuditTables, RowQuery
from concord.metrics_core.metrics.elementary import log2
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.results.audit import RISEN_FACTOR, Example
from concord.metrics_core.scoring.numerics.exact import exact_sum

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
    """JSD(p, q) = sum over items of (p log2(p / m) + q log2(q / m)) / 2, with m = (p + q) / 2: its terms.

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
