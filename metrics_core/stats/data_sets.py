"""Tests over several data sets: random effects, mean ranks, Friedman's and Wilcoxon's tests."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from concord.metrics_core.stats.mean_interval import t_quantile, t_test_p

MIN_DATASETS = 3
_BISECTIONS = 100  # more than a float64 has bits


@dataclass(frozen=True)
class RandomEffects:
    """Mean difference over data sets, and the variance between data sets.

    Attributes
    ----------
    mu : float
        Mean difference.
    ci_low, ci_high, p, standard_error : float
        Confidence interval, p-value and standard error of mu.
    tau2 : float
        Variance tau² of the true differences.
    predicted : (float, float)
        Prediction interval of the true difference on another data set.
    shrunk : tuple of (float, float, float)
        Shrunk estimate of each data set's true difference, with the ends of its interval.
    """

    mu: float
    ci_low: float
    ci_high: float
    p: float
    standard_error: float
    tau2: float
    predicted: tuple[float, float]
    shrunk: tuple[tuple[float, float, float], ...]


def random_effects(
    differences: Sequence[float], standard_errors: Sequence[float], *, confidence: float
) -> RandomEffects:
    """Fit the random-effects model y_d ~ N(theta_d, s_d²), theta_d ~ N(mu, tau²) of D data sets.

    mu = Σ w_d y_d / Σ w_d with w_d = 1 / (s_d² + tau²), and tau² is `paule_mandel`.

    The interval of mu is the modified Hartung-Knapp-Sidik-Jonkman interval
    mu ± t_{D-1} · √(max(1, q) / Σ w_d) with q = Σ w_d (y_d - mu)² / (D - 1). With few data sets,
    tau² is very uncertain, and DerSimonian and Laird's normal interval is too narrow. If tau² > 0,
    q is 1. If tau² = 0, the differences agree better than their errors predict, and the interval
    without max(1, q) would be too short, down to a point.

    The prediction interval is mu ± t_{D-2} · √(tau² + se²). The shrunk estimate of theta_d is
    B_d y_d + (1 - B_d) mu with B_d = tau² / (tau² + s_d²) and variance B_d s_d² + (1 - B_d)² se²,
    which treats tau² as known.

    Parameters
    ----------
    differences : sequence of float
        Difference y_d on each data set.
    standard_errors : sequence of float
        Standard error s_d of each difference, above 0; treated as known.
    confidence : float
        Level of the intervals.

    Returns
    -------
    RandomEffects
        Estimates and intervals.

    Raises
    ------
    ValueError
        If there are fewer than 3 data sets.

    References
    ----------
    Paule & Mandel (1982), Journal of Research of the NBS 87(5), 377-385.  doi:10.6028/jres.087.022
    Sidik & Jonkman (2002), Statistics in Medicine 21(21), 3153-3159.  doi:10.1002/sim.1262
    Röver, Knapp & Friede (2015), BMC Medical Research Methodology 15, 99 (max(1, q)).
    doi:10.1186/s12874-015-0091-1
    IntHout, Ioannidis & Borm (2014), BMC Medical Research Methodology 14, 25.
    doi:10.1186/1471-2288-14-25
    Higgins, Thompson & Spiegelhalter (2009), JRSS A 172(1), 137-159 (prediction interval).
    doi:10.1111/j.1467-985X.2008.00552.x
    """
    count = len(differences)
    if count < MIN_DATASETS:
        raise ValueError(f"random effects need {MIN_DATASETS} data sets or more, got {count}")
    variances = [error * error for error in standard_errors]
    tau2 = paule_mandel(differences, variances)
    weights = [1 / (variance + tau2) for variance in variances]
    mu, total = weighted_mean(differences, weights), math.fsum(weights)
    scale = max(1.0, _weighted_squares(differences, weights) / (count - 1))
    error = math.sqrt(scale / total)
    quantile = t_quantile(count, confidence)
    predicted_half = t_quantile(count - 1, confidence) * math.sqrt(tau2 + error * error)
    shrunk = []
    for y, variance in zip(differences, variances, strict=True):
        b = tau2 / (tau2 + variance)
        estimate = b * y + (1 - b) * mu
        half = quantile * math.sqrt(b * variance + (1 - b) ** 2 * error * error)
        shrunk.append((estimate, estimate - half, estimate + half))
    return RandomEffects(
        mu=mu,
        ci_low=mu - quantile * error,
        ci_high=mu + quantile * error,
        p=t_test_p(count, mu / error),
        standard_error=error,
        tau2=tau2,
        predicted=(mu - predicted_half, mu + predicted_half),
        shrunk=tuple(shrunk),
    )


def paule_mandel(differences: Sequence[float], variances: Sequence[float]) -> float:
    """Return the tau² with Σ w (y - mu)² = D - 1; 0 if the sum is smaller than that for tau² = 0.

    The sum decreases in tau², so tau² is found by bisection.
    """
    expected = len(differences) - 1

    def excess(tau2: float) -> float:
        weights = [1 / (variance + tau2) for variance in variances]
        return _weighted_squares(differences, weights) - expected

    if excess(0.0) <= 0:
        return 0.0
    mean = math.fsum(differences) / len(differences)
    low, high = 0.0, math.fsum((y - mean) ** 2 for y in differences)  # excess(high) <= 0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return (low + high) / 2


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return Σ w y / Σ w."""
    products = (w * y for w, y in zip(weights, values, strict=True))
    return math.fsum(products) / math.fsum(weights)


def _weighted_squares(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return Σ w (y - mu)²."""
    mu = weighted_mean(values, weights)
    return math.fsum(w * (y - mu) ** 2 for w, y in zip(weights, values, strict=True))


MIN_FRIEDMAN_DATASETS, MIN_MODELS = 5, 3  # of Friedman's test


def average_ranks(values: Mapping[str, float], *, higher_is_better: bool) -> dict[str, float]:
    """Return the rank 1 + #better + (#equal - 1) / 2 of each value; ties have their mean rank."""
    sign = 1 if higher_is_better else -1
    signed = {name: sign * value for name, value in values.items()}
    return {
        name: 1
        + sum(other > value for other in signed.values())
        + (sum(other == value for other in signed.values()) - 1) / 2
        for name, value in signed.items()
    }


def rank_intervals(
    models: Sequence[str], different: Collection[tuple[str, str]]
) -> dict[str, tuple[int, int]]:
    """Return the interval [1 + #significantly better, m - #significantly worse] of each rank.

    If the tests control the family-wise error rate over all pairs at alpha, the intervals are
    simultaneous: all of them contain the true ranks with probability 1 - alpha or more.

    Parameters
    ----------
    models : sequence of str
        The m ranked models.
    different : collection of (str, str)
        Pairs (better, worse) that differ significantly.

    Returns
    -------
    dict of str to (int, int)
        Lowest and highest rank of each model.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91(1), 476-518.
    doi:10.1093/restud/rdad006
    """
    above = {model: sum(worse == model for _, worse in different) for model in models}
    below = {model: sum(better == model for better, _ in different) for model in models}
    return {model: (1 + above[model], len(models) - below[model]) for model in models}


def indistinguishable_groups(
    ranked: Sequence[str], different: Collection[frozenset[str]]
) -> list[tuple[str, ...]]:
    """Return the longest runs of two or more neighbours without a significant difference.

    Parameters
    ----------
    ranked : sequence of str
        Models, best first.
    different : collection of frozenset
        Pairs that differ significantly.

    Returns
    -------
    list of tuple of str
        Models of each run, best first; runs may overlap.
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
class FriedmanTest:
    """Friedman's test in Iman and Davenport's form.

    Attributes
    ----------
    chi2 : float
        Friedman's statistic, with k - 1 degrees of freedom.
    f : float or None
        Iman and Davenport's statistic; None if all data sets have the same order of models.
    df1, df2 : int or None
        Degrees of freedom of `f`.
    p : float
        p-value of `f`; exact if all data sets have the same order.
    """

    chi2: float
    f: float | None
    df1: int | None
    df2: int | None
    p: float


def friedman_test(ranks: Sequence[Sequence[float]]) -> FriedmanTest:
    """Return chi2 = 12 N / (k (k + 1) C) · Σ_j (R_j - (k + 1) / 2)² and its F statistic.

    R_j is the mean rank of model j over N data sets, and C = 1 - Σ (t³ - t) / (N k (k² - 1))
    corrects for ties of t models. F = (N - 1) chi2 / (N (k - 1) - chi2) has k - 1 and
    (k - 1)(N - 1) degrees of freedom if all models are equal. If all data sets have the same
    order, F is infinite, and p = 1 / orders^(N - 1), where orders = k! / Π t! is the number of
    orders with these ties.

    Parameters
    ----------
    ranks : sequence of sequences of float
        One row per data set, one column per model; 1 is best, ties have their mean rank.

    Returns
    -------
    FriedmanTest
        Statistics and p-value.

    References
    ----------
    Friedman (1937), JASA 32(200), 675-701.  doi:10.1080/01621459.1937.10503522
    Iman & Davenport (1980), Communications in Statistics 9(6), 571-595.
    doi:10.1080/03610928008827904
    """
    n, k = len(ranks), len(ranks[0])
    df1, df2 = k - 1, (k - 1) * (n - 1)
    tied = math.fsum(_tie_term(row) for row in ranks) / (n * k * (k * k - 1))
    if tied == 1:
        return FriedmanTest(0.0, 0.0, df1, df2, 1.0)
    means = [math.fsum(row[j] for row in ranks) / n for j in range(k)]
    spread = math.fsum((mean - (k + 1) / 2) ** 2 for mean in means)
    chi2 = 12 * n / (k * (k + 1)) * spread / (1 - tied)
    remainder = n * (k - 1) - chi2
    if remainder < 1e-9 * n * (k - 1):
        return FriedmanTest(chi2, None, None, None, _agreement_probability(ranks))
    from scipy.special import fdtrc

    f = (n - 1) * chi2 / remainder
    return FriedmanTest(chi2, f, df1, df2, float(fdtrc(df1, df2, f)))


def critical_difference(n: int, k: int, *, confidence: float) -> float:
    """Return Nemenyi's critical difference of two mean ranks, CD = q · √(k (k + 1) / (6 N)).

    q is the quantile of the studentized range of k models, divided by √2. Whether two models
    differ by CD depends on the other models, so no result of Concord is based on it. It is
    printed for reference.

    References
    ----------
    Demšar (2006), JMLR 7, 1-30.
    Benavoli, Corani & Mangili (2016), JMLR 17(5), 1-10.
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(confidence, k, math.inf))
    return q / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))


def _tie_term(row: Sequence[float]) -> float:
    return float(sum(count * count * count - count for count in _tie_counts(row)))


def _tie_counts(row: Sequence[float]) -> list[int]:
    """Return the number of models with each rank."""
    return [len(list(ties)) for _, ties in groupby(sorted(row))]


def _agreement_probability(ranks: Sequence[Sequence[float]]) -> float:
    """Return the probability that all data sets have the same order by chance."""
    first, *others = ranks
    orders = math.factorial(len(first)) // math.prod(map(math.factorial, _tie_counts(first)))
    probability = 1.0
    for _ in others:
        probability /= orders
    return probability


def signed_rank_p(differences: Sequence[float]) -> float | None:
    """Return the exact two-sided p-value of Wilcoxon's signed-rank test; None if all d_i are 0.

    It is P(|W| >= |w|) over all 2^n signs of w = Σ sign(d_i) · rank |d_i|, for any number of data
    sets and any ties: ties have their mean rank, differences of 0 are left out. The test assumes
    that the differences of equal models are symmetric about 0. Other models have no influence.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1(6), 80-83.  doi:10.2307/3001968
    Benavoli, Corani & Mangili (2016), JMLR 17(5), 1-10 (pairwise tests instead of mean ranks).
    """
    nonzero = [d for d in differences if d != 0]
    if not nonzero:
        return None
    sizes = {str(i): abs(d) for i, d in enumerate(nonzero)}
    ranks = average_ranks(sizes, higher_is_better=False)
    doubled = [round(2 * rank) for rank in ranks.values()]  # integers, also for ties
    total = sum(doubled)
    positive = sum(rank for rank, d in zip(doubled, nonzero, strict=True) if d > 0)
    distance = abs(2 * positive - total)
    counts = _sum_counts(doubled)
    extreme = sum(n for value, n in enumerate(counts) if abs(2 * value - total) >= distance)
    return extreme / (1 << len(nonzero))


def smallest_signed_rank_p(n: int) -> float:
    """Return the smallest p-value of n differences, 2 / 2^n: all have the same sign."""
    return 2 / (1 << n)


def _sum_counts(ranks: Sequence[int]) -> list[int]:
    """Return counts[s], the number of subsets of the ranks with the sum s."""
    counts = [1] + [0] * sum(ranks)
    for rank in ranks:
        for value in range(len(counts) - 1, rank - 1, -1):
            counts[value] += counts[value - rank]
    return counts
