"""Tests over several data sets: random effects, average ranks, Friedman's and Wilcoxon's tests."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from concord.metrics_core.stats.mean_interval import t_quantile, t_test_p

MIN_DATASETS = 3
_STEPS = 100  # of the bisection: more than a float64 has bits


@dataclass(frozen=True)
class RandomEffects:
    """Mean difference mu over data sets with its interval, and the variance tau² between data sets.

    Attributes
    ----------
    ci_low, ci_high, p, standard_error : float
        Of mu.
    predicted : (float, float)
        Interval of the true difference on another such data set.
    shrunk : tuple of (float, float, float)
        Estimate, low and high of each data set's own true difference.
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
    """Return the estimates of y_d ~ N(theta_d, s_d²),  theta_d ~ N(mu, tau²):  mu = Σ w_d y_d / Σ w_d,  w_d = 1 / (s_d² + tau²).

    tau² is Paule and Mandel's: Σ w_d (y_d - mu)² = D - 1, or 0 if the sum is smaller even then. The interval of mu is the modified
    one of Hartung, Knapp, Sidik and Jonkman, mu ± t_{D-1} · √(max(1, q) / Σ w_d) with q = Σ w_d (y_d - mu)² / (D - 1): with
    few data sets tau² is hardly known, and DerSimonian and Laird's normal interval is far too narrow. q is 1 if tau² > 0.
    If tau² = 0, the differences agree better than their errors predict, and without max(1, q) the interval would be too
    short, down to a point. The interval for another data set is
    mu ± t_{D-2} · √(tau² + se²). theta_d is shrunk towards mu: B_d y_d + (1 - B_d) mu, B_d = tau² / (tau² + s_d²), with
    the variance B_d s_d² + (1 - B_d)² se², tau² taken as known.

    Parameters
    ----------
    differences : sequence of float
        One per data set, in the unit of the metric.
    standard_errors : sequence of float
        Of these differences, above 0, taken as known.
    confidence : float
        Level of the intervals.

    Raises
    ------
    ValueError
        Fewer than 3 data sets.

    References
    ----------
    Paule & Mandel (1982), Journal of Research of the NBS 87(5), 377-385.  doi:10.6028/jres.087.022
    Sidik & Jonkman (2002), Statistics in Medicine 21(21), 3153-3159.  doi:10.1002/sim.1262
    Röver, Knapp & Friede (2015), BMC Medical Research Methodology 15, 99: max(1, q).  doi:10.1186/s12874-015-0091-1
    IntHout, Ioannidis & Borm (2014), BMC Medical Research Methodology 14, 25.  doi:10.1186/1471-2288-14-25
    Higgins, Thompson & Spiegelhalter (2009), JRSS A 172(1), 137-159.  doi:10.1111/j.1467-985X.2008.00552.x
    """
    count = len(differences)
    if count < MIN_DATASETS:
        raise ValueError(f"needs {MIN_DATASETS} data sets, got {count}")
    variances = [each * each for each in standard_errors]
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
    """Return the tau² with Σ w (y - mu)² = D - 1, by bisection: the sum falls as tau² rises."""
    expected = len(differences) - 1

    def excess(tau2: float) -> float:
        weights = [1 / (variance + tau2) for variance in variances]
        return _weighted_squares(differences, weights) - expected

    if excess(0.0) <= 0:
        return 0.0
    mean = math.fsum(differences) / len(differences)
    low, high = 0.0, math.fsum((y - mean) ** 2 for y in differences)  # the sum is at most 1 there
    for _ in range(_STEPS):
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
    """Return r_i = 1 + #better + (#equal - 1) / 2: 1 is best, equal values share the mean of their ranks."""
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
    """Return the interval of each model's rank: from 1 + #significantly better to m - #significantly worse.

    If the tests bound the probability of any false finding over all pairs by alpha, all intervals together contain the
    true ranks with probability 1 - alpha or more: a true rank outside needs a false finding.

    Parameters
    ----------
    models : sequence of str
        The m ranked models.
    different : collection of (str, str)
        (better, worse) of each pair that differs significantly.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91(1), 476-518.  doi:10.1093/restud/rdad006
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
class FriedmanTest:
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


def friedman_test(ranks: Sequence[Sequence[float]]) -> FriedmanTest:
    """Return chi2 = 12 N / (k (k + 1) C) · Σ_j (R_j - (k + 1) / 2)²,  F = (N - 1) chi2 / (N (k - 1) - chi2).

    R_j is the mean rank of model j over N data sets; C = 1 - Σ (t³ - t) / (N k (k² - 1)) corrects for ties of t models.
    F has (k - 1, (k - 1)(N - 1)) degrees of freedom if all models are equal. If every data set has the same order,
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
    """Return CD = q · √(k (k + 1) / (6 N)): the smallest significant difference of two mean ranks by Nemenyi's test.

    q is the studentized range of k normal values over √2. It depends on the other models, so no result of Concord
    is based on it; it is printed for reference.

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
    """Return the probability that all data sets agree on the order by chance."""
    first, *others = ranks
    orders = math.factorial(len(first)) // math.prod(map(math.factorial, _tie_counts(first)))
    probability = 1.0
    for _ in others:
        probability /= orders
    return probability


def signed_rank_p(differences: Sequence[float]) -> float | None:
    """Return P(|W| >= |w|) over all 2^n signs, w = Σ sign(d_i) · rank |d_i|; None if all differences are 0.

    Exact for any number of data sets and any ties; the smallest p is 2 / 2^n. Each difference counts by its rank, and
    other models have no influence. The test assumes that the differences of equal models are symmetric about 0. Equal sizes share their mean rank, differences of 0 are left out.

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
    doubled = [round(2 * rank) for rank in ranks.values()]  # integers, also for shared ranks
    total = sum(doubled)
    positive = sum(rank for rank, d in zip(doubled, nonzero, strict=True) if d > 0)
    distance = abs(2 * positive - total)
    counts = _sum_counts(doubled)
    extreme = sum(n for at, n in enumerate(counts) if abs(2 * at - total) >= distance)
    return extreme / (1 << len(nonzero))


def smallest_signed_rank_p(n: int) -> float:
    """Return 2 / 2^n, the p-value of n differences of one sign."""
    return 2 / (1 << n)


def _sum_counts(ranks: Sequence[int]) -> list[int]:
    """Return counts[s], the number of subsets of the ranks with the sum s."""
    counts = [1] + [0] * sum(ranks)
    for rank in ranks:
        for at in range(len(counts) - 1, rank - 1, -1):
            counts[at] += counts[at - rank]
    return counts
