"""Ranks of models on several data sets, and the tests that rest on them: Friedman's and Wilcoxon's."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

MIN_DATASETS, MIN_MODELS = 5, 3  # of Friedman's test


def average_ranks(values: Mapping[str, float], *, higher_is_better: bool) -> dict[str, float]:
    """r_i = 1 + #better + (#equal - 1) / 2: 1 is best, equal values share the mean of their ranks."""
    sign = 1 if higher_is_better else -1
    key = {name: sign * value for name, value in values.items()}
    return {
        name: 1
        + sum(other > mine for other in key.values())
        + (sum(other == mine for other in key.values()) - 1) / 2
        for name, mine in key.items()
    }


def rank_intervals(
    models: Sequence[str], different: Collection[tuple[str, str]]
) -> dict[str, tuple[int, int]]:
    """Return the ranks that tests leave open: from 1 + #significantly better to m - #significantly worse.

    If the tests bound the probability of any false finding over all pairs by alpha, all these intervals together hold
    the true ranks with probability 1 - alpha or more: a true rank outside of one needs a false finding.

    Parameters
    ----------
    models : sequence of str
        All m models that are ranked.
    different : collection of (str, str)
        (better, worse) of each pair that differs significantly.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91(1), 476-518.  doi:10.1093/restud/rdad006
    """
    above = {model: sum(worse == model for _, worse in different) for model in models}
    below = {model: sum(better == model for better, _ in different) for model in models}
    return {model: (1 + above[model], len(models) - below[model]) for model in models}


def groups_alike(
    ranked: Sequence[str], different: Collection[frozenset[str]]
) -> list[tuple[str, ...]]:
    """Return the longest runs of two or more neighbours of which no pair differs significantly.

    Parameters
    ----------
    ranked : sequence of str
        Models, best first.
    different : collection of frozenset
        The pairs that differ significantly.
    """
    runs: list[tuple[int, int]] = []
    for start in range(len(ranked)):
        end = start
        while end + 1 < len(ranked) and all(
            frozenset((ranked[i], ranked[end + 1])) not in different for i in range(start, end + 1)
        ):
            end += 1
        if end > start and not any(run[0] <= start and end <= run[1] for run in runs):
            runs.append((start, end))
    return [tuple(ranked[start : end + 1]) for start, end in runs]


@dataclass(frozen=True)
class Friedman:
    """Friedman's test in Iman and Davenport's form.

    Attributes
    ----------
    chi2 : float
        Friedman's statistic, on k - 1 degrees of freedom.
    f, df1, df2 : float, int, int or None
        Iman and Davenport's statistic; None if all data sets agree on the order.
    p : float
        Of F; exact if all data sets agree.
    """

    chi2: float
    f: float | None
    df1: int | None
    df2: int | None
    p: float


def friedman(ranks: Sequence[Sequence[float]]) -> Friedman:
    """chi2 = 12 N / (k (k + 1) C) · Σ_j (R_j - (k + 1) / 2)²,  F = (N - 1) chi2 / (N (k - 1) - chi2).

    R_j is the mean rank of model j over N data sets; C = 1 - Σ (t³ - t) / (N k (k² - 1)) corrects for ties of t models.
    F has (k - 1, (k - 1)(N - 1)) degrees of freedom if all models are alike. If every data set has the same order,
    F is infinite, and p is the probability of that, 1 / orders^(N - 1): there are k! / Π t! orders with these ties.

    Parameters
    ----------
    ranks : sequence of sequences of float
        One row per data set, one column per model; 1 is best, ties share their mean rank.

    References
    ----------
    Friedman (1937), JASA 32(200), 675-701.  doi:10.1080/01621459.1937.10503522
    Iman & Davenport (1980), Communications in Statistics 9(6), 571-595.  doi:10.1080/03610928008827904
    """
    n, k = len(ranks), len(ranks[0])
    df1, df2 = k - 1, (k - 1) * (n - 1)
    tied = math.fsum(_tie_term(row) for row in ranks) / (n * k * (k * k - 1))
    if tied == 1:
        return Friedman(0.0, 0.0, df1, df2, 1.0)
    means = [math.fsum(row[j] for row in ranks) / n for j in range(k)]
    spread = math.fsum((mean - (k + 1) / 2) ** 2 for mean in means)
    chi2 = 12 * n / (k * (k + 1)) * spread / (1 - tied)
    rest = n * (k - 1) - chi2
    if rest < 1e-9 * n * (k - 1):
        return Friedman(chi2, None, None, None, _agreement_probability(ranks))
    from scipy.special import fdtrc

    f = (n - 1) * chi2 / rest
    return Friedman(chi2, f, df1, df2, float(fdtrc(df1, df2, f)))


def critical_difference(n: int, k: int, *, confidence: float) -> float:
    """CD = q · √(k (k + 1) / (6 N)): the smallest significant difference of two mean ranks by Nemenyi's test.

    q is the studentized range of k normal values over √2. Whether two models differ depends on the other models, so no
    result rests on it; it is the number that others print.

    References
    ----------
    Demšar (2006), JMLR 7, 1-30;  Benavoli, Corani & Mangili (2016), JMLR 17(5), 1-10.
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(confidence, k, math.inf))
    return q / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))


def _tie_term(row: Sequence[float]) -> float:
    return float(sum(count * count * count - count for count in _tie_counts(row)))


def _tie_counts(row: Sequence[float]) -> list[int]:
    """Return how many models share each rank."""
    return [len(list(same)) for _, same in groupby(sorted(row))]


def _agreement_probability(ranks: Sequence[Sequence[float]]) -> float:
    first, *others = ranks
    orders = math.factorial(len(first)) // math.prod(map(math.factorial, _tie_counts(first)))
    probability = 1.0
    for _ in others:
        probability /= orders
    return probability


def signed_rank_p(differences: Sequence[float]) -> float | None:
    """P(|W| >= |w|) over all 2^n signs, w = Σ sign(d_i) · rank |d_i|; None if all differences are 0.

    Exact for any number of data sets and any ties; the smallest p is 2 / 2^n. Each difference counts by its rank, and
    the other models have no influence. The test assumes that differences are symmetric about 0 if two models are
    alike. Equal sizes share their mean rank, differences of 0 are left out.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1(6), 80-83.  doi:10.2307/3001968
    Benavoli, Corani & Mangili (2016), JMLR 17(5), 1-10: pairwise tests instead of mean ranks.
    """
    nonzero = [d for d in differences if d != 0]
    if not nonzero:
        return None
    sizes = {str(i): abs(d) for i, d in enumerate(nonzero)}
    ranks = average_ranks(sizes, higher_is_better=False)
    doubled = [round(2 * rank) for rank in ranks.values()]  # whole numbers, also of shared ranks
    total = sum(doubled)
    positive = sum(rank for rank, d in zip(doubled, nonzero, strict=True) if d > 0)
    distance = abs(2 * positive - total)
    counts = _sum_counts(doubled)
    extreme = sum(n for at, n in enumerate(counts) if abs(2 * at - total) >= distance)
    return extreme / (1 << len(nonzero))


def smallest_signed_rank_p(n: int) -> float:
    """Return the p of n differences of one sign: 2 / 2^n."""
    return 2 / (1 << n)


def _sum_counts(ranks: Sequence[int]) -> list[int]:
    """Return counts[s]: the choices of positive signs, of 2^n, whose ranks have the sum s."""
    counts = [1] + [0] * sum(ranks)
    for rank in ranks:
        for at in range(len(counts) - 1, rank - 1, -1):
            counts[at] += counts[at - rank]
    return counts
