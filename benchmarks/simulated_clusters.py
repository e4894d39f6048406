"""Coverage of intervals of a mean over requests, with few users of unequal activity."""

import math
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.special import stdtrit

import concord
from benchmarks.simulated import Floats, pair
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.metrics.judged import Bools
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.stats.clusters import Clusters, RatioEstimate
from concord.metrics_core.stats.paired_test import UserValues, paired_test

ALPHA, CONFIDENCE = 0.05, 0.95
RUNS = 4_000
USERS = (5, 10, 30, 100)
MEAN = 0.25
ACTIVE = 0.1  # of the users, where one in ten has most requests
REPEATED = 0.3  # of the users' requests, the share that turns out alike
Ints = np.ndarray
REQUESTS: dict[str, Callable[[np.random.Generator, int], Ints]] = {
    "five each": lambda rng, n: np.full(n, 5),
    "geometric, 5 on average": lambda rng, n: rng.geometric(0.2, n),
    "log-normal, sigma 1": lambda rng, n: np.ceil(np.exp(rng.normal(1, 1, n))).astype(np.int64),
    "log-normal, sigma 1.5": lambda rng, n: np.ceil(np.exp(rng.normal(1, 1.5, n))).astype(np.int64),
    "one user in ten has 40, others 2": lambda rng, n: np.where(rng.random(n) < ACTIVE, 40, 2),
}


def means() -> list[str]:
    """Mean over requests that hit with the probability of their user."""
    rows: list[Row] = []
    for position, (name, draw) in enumerate(REQUESTS.items()):
        for n in USERS:
            results = np.array(
                [_covers(generator(15, position, n, run), draw, n) for run in range(RUNS)]
            )
            cells = [rate(int(column.sum()), RUNS) for column in results.T]
            rows.append((name, f"{n}", *cells))
    head = (
        "requests of a user",
        "users",
        "requests as if independent",
        "CR0, normal",
        "CR1, t of U − 1",
        "CR2, Satterthwaite",
        "CR3, t of U − 1",
        "CR3, Satterthwaite: as here",
        "over users, as here",
    )
    return [
        "## A mean over requests, with users as clusters",
        "",
        "A request hits with the probability of its user, which is drawn from Beta(1, 3). How "
        "often the 95% interval of the mean",
        "over requests holds the true one: as if all requests were independent, and by "
        "cluster-robust errors. What is shown is the",
        "jackknife over users (CR3) with Satterthwaite's degrees of freedom; CR1 with t of U − 1, "
        "the usual choice of packages, falls",
        "short where few users have most of the requests. The last column: the interval of the "
        "mean over users. Few users whose",
        "values are as skewed as hits are fall short of the nominal by two or three points under "
        "any of them.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def _covers(
    rng: np.random.Generator, draw: Callable[[np.random.Generator, int], Ints], n: int
) -> tuple[bool, ...]:
    requests = draw(rng, n)
    hits = rng.binomial(requests, rng.beta(1, 3, n)).astype(np.float64)
    ratio = RatioEstimate(hits, requests.astype(np.float64))
    low, high = ratio.interval(CONFIDENCE)
    over_users = RatioEstimate(hits / requests, np.ones(n)).interval(CONFIDENCE)
    total = requests.sum()
    share = requests / total
    residuals = (hits - ratio.value * requests) / total
    off = abs(ratio.value - MEAN)
    alone = math.sqrt(ratio.value * (1 - ratio.value) / total)
    cr0, cr2 = (residuals**2).sum(), (residuals**2 / (1 - share)).sum()
    cr3 = (residuals**2 / (1 - share) ** 2).sum() * (n - 1) / n
    t = stdtrit(n - 1, 1 - ALPHA / 2)
    covered = (
        off <= 1.959963984540054 * alone,
        off <= 1.959963984540054 * math.sqrt(cr0),
        off <= t * math.sqrt(cr0 * n / (n - 1)),
        off <= stdtrit(_satterthwaite(requests, 0.5), 1 - ALPHA / 2) * math.sqrt(cr2),
        off <= t * math.sqrt(cr3),
        low <= MEAN <= high,
        over_users[0] <= MEAN <= over_users[1],
    )
    return tuple(map(bool, covered))


def _satterthwaite(requests: Ints, power: float) -> float:
    """Return degrees of freedom by the quadratic form; residual weights are (1 - share)^-power."""
    total = requests.sum()
    weight = (1 - requests / total) ** -power
    covariance = np.diag(requests.astype(np.float64)) - np.outer(requests, requests) / total
    form = weight[:, None] * covariance * weight[None, :]
    return float(np.trace(form) ** 2 / (form * form).sum())


def differences() -> list[str]:
    """Two equal models whose differences on one user's requests are correlated."""
    rows: list[Row] = []
    for position, (name, draw) in enumerate(REQUESTS.items()):
        for n in (30, 100, 300):
            runs = RUNS // 2
            results = np.array(
                [_called_different(generator(16, position, n, run), draw, n) for run in range(runs)]
            )
            alone, clustered, over_users = results.T
            rows.append(
                (
                    name,
                    f"{n}",
                    *(rate(int(each.sum()), runs) for each in (alone, clustered, over_users)),
                )
            )
    head = (
        "requests of a user",
        "users",
        "requests as if independent",
        "over requests, as here",
        "over users, as here",
    )
    return [
        "## Two models on the same requests",
        "",
        "Two models that are alike find each item with probability 0.4; "
        f"on {REPEATED:.0%} of a user's "
        "requests the same happens. How often",
        "the paired test calls them different at 5%.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def _called_different(
    rng: np.random.Generator, draw: Callable[[np.random.Generator, int], Ints], n: int
) -> tuple[bool, bool, bool]:
    user = np.repeat(np.arange(n), draw(rng, n))
    user_pair, each = pair(rng, n, 0.4), pair(rng, len(user), 0.4)
    repeated = rng.random(len(user)) < REPEATED
    a, b = (
        np.where(repeated, mine[user], values) for mine, values in zip(user_pair, each, strict=True)
    )
    return (
        _p(a, b, None) < ALPHA,
        _p(a, b, Clusters(user, n, "requests")) < ALPHA,
        _p(a, b, Clusters(user, n, "users")) < ALPHA,
    )


def _p(a: Floats, b: Floats, clusters: Clusters | None) -> float:
    return paired_test(UserValues(a, clusters), UserValues(b, clusters), confidence=CONFIDENCE).p


def heavy_users() -> list[str]:
    """Differences where few users have most requests, by `concord.compare`."""
    rows: list[Row] = []
    for spread in (0.0, 1.0, 1.5):
        for n in (10, 20, 50):
            runs = 300
            results = [
                _visits(generator(17, int(10 * spread), n, run), n, spread) for run in range(runs)
            ]
            pairs = [
                pair for pair in results if pair.ci_low is not None and pair.ci_high is not None
            ]
            covered = sum((p.ci_low or 0) <= 0 <= (p.ci_high or 0) for p in pairs)
            significant = sum(p.verdict.startswith(("better", "worse")) for p in results)
            rows.append(
                (
                    f"{spread:g}",
                    f"{n}",
                    rate(len(pairs), runs, error=False),
                    rate(covered, len(pairs)),
                    rate(significant, runs),
                )
            )
    return [
        "## Requests, where few heavy users differ",
        "",
        "Requests of a user are lognormal with median 4.5 and this standard deviation of the "
        "logarithm; three in ten users are",
        "served better by one of two models, by 0.5 either way, so that the true difference is 0. "
        "Coverage of the intervals that",
        "are given, and how often one model is called better or worse; nominal are 95% and 5%.",
        "",
        *markdown_table(
            ("spread of requests", "users", "tested", "coverage", "called better or worse"), rows
        ),
    ]


def _visits(rng: np.random.Generator, n: int, spread: float) -> Difference:
    requests = np.maximum(1, np.round(np.exp(rng.normal(1.5, spread, n)))).astype(np.int64)
    lift = np.where(rng.random(n) < REPEATED, rng.choice([-0.25, 0.25], n), 0.0)
    user, luck = np.repeat(np.arange(n), requests), rng.random(int(requests.sum()))
    session = np.arange(len(user)) - np.repeat(np.cumsum(requests) - requests, requests)
    visits = {"user": user, "session": session}

    def recommendations(hit: Bools) -> pl.DataFrame:
        return pl.DataFrame({**visits, "item": np.where(hit, "a", "b"), "rank": np.ones_like(user)})

    comparison = concord.compare(
        {
            "a": recommendations(luck < 0.5 + lift[user]),
            "b": recommendations(luck < 0.5 - lift[user]),
        },
        pl.DataFrame({**visits, "item": ["a"] * len(user)}),
        baseline="b",
        conventions={"preset": "standard", "unit_mean": "requests"},
        unit=["user", "session"],
        metrics=["P@1"],
        primary=["P@1"],
        panel=False,
        resamples=99,
    )
    difference = comparison.difference("a", "b", "P@1")
    assert difference is not None
    return difference


PARTS = (means, differences, heavy_users)
