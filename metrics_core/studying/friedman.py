"""Friedman's test over data sets, in Iman and Davenport's form, and Nemenyi's critical difference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

FEWEST_DATASETS, FEWEST_MODELS = 5, 3


@dataclass(frozen=True)
class Friedman:
    """`f` is infinite where all data sets agree on the order; p is exact then."""

    chi2: float
    f: float
    df1: int
    df2: int
    p: float


def friedman(ranks: Sequence[Sequence[float]]) -> Friedman:
    """chi2 = 12 N / (k (k + 1) C) · Σ_j (R_j - (k + 1) / 2)²,  F = (N - 1) chi2 / (N (k - 1) - chi2).

    R_j is the mean rank of model j over N data sets; C = 1 - Σ (t³ - t) / (N k (k² - 1)) corrects for ties of t models.
    F has (k - 1, (k - 1)(N - 1)) degrees of freedom where all models are alike. Where every data set has the same
    order, F is infinite, and p is the chance of that, 1 / orders^(N - 1): there are k! / Π t! orders with these ties.

    Parameters
    ----------
    ranks : a row a data set, a column a model; 1 is best, ties share their mean rank

    References
    ----------
    Friedman (1937), JASA 32(200), 675-701.  doi:10.1080/01621459.1937.10503522
    Iman & Davenport (1980), Communications in Statistics 9(6), 571-595.  doi:10.1080/03610928008827904
    """
    n, k = len(ranks), len(ranks[0])
    tied = math.fsum(_tied(row) for row in ranks) / (n * k * (k * k - 1))
    if tied == 1:
        return Friedman(0.0, 0.0, k - 1, (k - 1) * (n - 1), 1.0)
    means = [math.fsum(row[j] for row in ranks) / n for j in range(k)]
    spread = math.fsum((mean - (k + 1) / 2) ** 2 for mean in means)
    chi2 = 12 * n / (k * (k + 1)) * spread / (1 - tied)
    df1, df2 = k - 1, (k - 1) * (n - 1)
    rest = n * (k - 1) - chi2
    if rest < 1e-9 * n * (k - 1):
        return Friedman(chi2, math.inf, df1, df2, _agree_by_chance(ranks))
    from scipy.special import fdtrc

    f = (n - 1) * chi2 / rest
    return Friedman(chi2, f, df1, df2, float(fdtrc(df1, df2, f)))


def critical_difference(n: int, k: int, *, confidence: float) -> float:
    """CD = q · √(k (k + 1) / (6 N)): by how much two mean ranks differ at least, by Nemenyi's test.

    q is the studentized range of k normal values over √2. The difference of two models depends on which others are in
    the pool, so nothing rests on it here; it is the number that others print.

    References
    ----------
    Demšar (2006), JMLR 7, 1-30;  Benavoli, Corani & Mangili (2016), JMLR 17(5), 1-10.
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(confidence, k, math.inf))
    return q / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))


def _tied(row: Sequence[float]) -> float:
    return float(sum(count * count * count - count for count in _ties(row)))


def _ties(row: Sequence[float]) -> list[int]:
    """How many models share each rank."""
    return [len(list(same)) for _, same in groupby(sorted(row))]


def _agree_by_chance(ranks: Sequence[Sequence[float]]) -> float:
    first, *others = ranks
    orders = math.factorial(len(first)) // math.prod(map(math.factorial, _ties(first)))
    chance = 1.0
    for _ in others:
        chance /= orders
    return chance
