"""Offline against known online results: intervals of signs and tau, and the best of many labels."""

import math

import numpy as np
from scipy.special import ndtri

from benchmarks.simulated import Floats
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.analyses.calibrate_statistics import (
    permutation_p_values,
    sign_test_p,
    tau_b,
    tau_interval,
)
from concord.metrics_core.results.calibration import MIN_FOR_TAU
from concord.metrics_core.stats.mean_interval import clopper_pearson

CONFIDENCE = 0.95
SIZES = (5, 10, 20, 40)
FEW = SIZES[:3]  # what permutations are simulated at
LABELS = 60


def signs() -> list[str]:
    """Coverage of the interval of the share of agreement."""
    rows = []
    for share in (0.5, 0.7, 0.9):
        for n in SIZES:
            runs = 4_000
            drawn = generator(n, round(100 * share)).binomial(n, share, runs).tolist()
            ends = [clopper_pearson(agree, n, CONFIDENCE) for agree in drawn]
            walds = [_wald(agree, n) for agree in drawn]
            inside = [sum(low <= share <= high for low, high in each) for each in (ends, walds)]
            rows.append((f"{share:.0%}", f"{n}", *(rate(each, runs) for each in inside)))
    return [
        "## Signs that agree with past experiments",
        "",
        "How often the interval of the share of experiments in which offline and online have the "
        "same sign holds the true",
        "share; 4,000 runs a row. Clopper and Pearson's is never too short. The one from the "
        "normal distribution,",
        "share ± 1.96 sqrt(share (1 - share) / n), is empty of doubt where all agree: from 5 "
        "experiments 100% to 100%.",
        "",
        *markdown_table(("true share", "experiments", "Clopper-Pearson", "normal"), rows),
    ]


def order() -> list[str]:
    """Coverage of the interval of tau."""
    rows = []
    for name, spread in (("normal", _normal), ("heavy tails", _heavy)):
        for true in (0.0, 0.3, 0.6):
            for n in SIZES:
                if n >= MIN_FOR_TAU:
                    rows.append((name, f"{true:.1f}", f"{n}", *_order(spread, true, n)))
    return [
        "## Kendall's tau against past experiments",
        "",
        "How often its interval holds the true tau; 2,000 runs a row. Lifts are normal, or of "
        "Student's t with 3 degrees of",
        "freedom that share their spread, so that extremes come together. The spread of tau where "
        "nothing",
        "hangs together, sqrt(2 (2n + 5) / (9n (n - 1))), is that of the test, and is too long "
        "where something does.",
        "",
        *markdown_table(
            (
                "lifts",
                "true tau",
                "experiments",
                "interval",
                "its length",
                "spread of the test",
                "its length",
            ),
            rows,
            text_columns=1,
        ),
    ]


def best_of_many() -> list[str]:
    """No label is informative: how often is the best one significant?"""
    rows = []
    for name, shared, positive in (
        ("labels hang together", 0.8, 0.0),
        ("independent labels", 0.0, 0.0),
        ("hang together, most lifts positive", 0.8, 1.0),
    ):
        for n in FEW:
            runs = 200
            results = np.array(
                [_best(generator(n, run), n, shared, positive) for run in range(runs)]
            )
            rows.append((name, f"{n}", *(rate(int(count), runs) for count in results.sum(axis=0))))
    return [
        "## The best of 60 offline labels",
        "",
        "No label has anything to do with the online lifts. How often the best of 60 is called "
        "significant at 5%: by a coin's",
        "probability of its signs, by the permutation of its own signs or tau, and by the "
        "permutation of the",
        "best of all. Only the last may be believed of a label that was chosen for agreeing; "
        "discrete as it is, it errs in less",
        "than 5%. A coin is wrong even of a single label where most lifts are positive. 200 runs "
        "a row.",
        "",
        *markdown_table(
            (
                "",
                "experiments",
                "coin, any label",
                "coin, a label named before",
                "own signs",
                "own tau",
                "signs, best of all",
                "tau, best of all",
            ),
            rows,
            text_columns=1,
        ),
    ]


PARTS = (signs, order, best_of_many)


def _wald(agree: int, n: int) -> tuple[float, float]:
    share = agree / n
    half = float(ndtri((1 + CONFIDENCE) / 2)) * math.sqrt(share * (1 - share) / n)
    return share - half, share + half


def _normal(rng: np.random.Generator, n: int) -> Floats:
    del rng
    return np.ones(n)


def _heavy(rng: np.random.Generator, n: int) -> Floats:
    return np.sqrt(3 / rng.chisquare(3, n))


def _order(spread: object, true: float, n: int) -> tuple[str, ...]:
    """Tau = 2 / pi asin(rho) for normal variables, and for any that share a random spread."""
    runs, rho = 2_000, math.sin(math.pi * true / 2)
    half = float(ndtri((1 + CONFIDENCE) / 2)) * math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))
    inside, test_inside, lengths, test_lengths = 0, 0, [], []
    for run in range(runs):
        rng = generator(n, run)
        x = rng.normal(size=n)
        y = rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n)
        scale = spread(rng, n)  # type: ignore[operator]
        tau = tau_b(x * scale, y * scale)
        low, high = tau_interval(tau, n, CONFIDENCE)
        inside += low <= true <= high
        lengths.append(high - low)
        low, high = max(tau - half, -1), min(tau + half, 1)
        test_inside += low <= true <= high
        test_lengths.append(high - low)
    return (
        rate(inside, runs),
        f"{np.mean(lengths):.2f}",
        rate(test_inside, runs),
        f"{np.mean(test_lengths):.2f}",
    )


def _best(rng: np.random.Generator, n: int, shared: float, positive: float) -> list[bool]:
    """Return whether the best label is significant by each test."""
    common = rng.normal(size=n)
    label_values = rng.normal(size=(LABELS, n))
    offline = math.sqrt(shared) * common + math.sqrt(1 - shared) * label_values + positive
    online = rng.normal(size=n) + positive
    p_values = permutation_p_values(offline, online, np.sign(online))
    agree = (np.sign(offline) == np.sign(online)).sum(axis=1).tolist()
    smallest = [
        p_values.sign.min(),
        p_values.tau.min(),
        p_values.sign_best.min(),
        p_values.tau_best.min(),
    ]
    return [
        p <= 1 - CONFIDENCE
        for p in (sign_test_p(max(agree), n), sign_test_p(agree[0], n), *map(float, smallest))
    ]
