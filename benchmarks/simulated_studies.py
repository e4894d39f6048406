"""Studies over data sets: coverage of an interval over data sets, and tests over few of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import polars as pl

import concord as cc
from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.analyses.study.data_sets import (
    random_effects,
    rank_intervals,
    weighted_mean,
)
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.stats.adjustment import holm
from concord.metrics_core.stats.mean_interval import t_quantile
from concord.metrics_core.stats.verdict import difference_standard_error

ALPHA, CONFIDENCE = 0.05, 0.95
NORMAL = 1.959963984540054  # of a two-sided interval at 95 %
RUNS = 2_000
MODELS = 4
SMALL_ERROR = 0.1  # of a difference on a data set, beside how data sets differ


def over_datasets() -> list[str]:
    """Each data set has its own true difference; errors of data sets differ by a factor up to 4."""
    rows: list[Row] = []
    for ratio in (0.0, 0.5, 1.0, 3.0):
        for n in (3, 5, 10):
            covered = np.array(
                [_covers(generator(n, round(10 * ratio), run), n, ratio) for run in range(RUNS)]
            )
            cells = [rate(int(column.sum()), RUNS) for column in covered.T]
            rows.append((f"{ratio:g}", f"{n}", *cells))
    head = (
        "tau / error",
        "data sets",
        "as here, t of D − 1",
        "DerSimonian-Laird, normal",
        "fixed effect, normal",
        "on another data set",
    )
    return [
        "## A mean over data sets",
        "",
        "The true difference of a data set is drawn about a common mean with the standard "
        "deviation tau, and is known up to its",
        "error over users. How often the 95% interval holds that mean: Paule and Mandel's tau² "
        "with the modified interval of Hartung,",
        "Knapp, Sidik and Jonkman, beside the usual normal interval about DerSimonian and Laird's "
        "mean, and beside one that takes all",
        "data sets for the same. The last column: how often the interval for another data set "
        "holds its true difference.",
        "",
        *markdown_table(head, rows),
    ]


def _covers(rng: np.random.Generator, n: int, ratio: float) -> tuple[bool, bool, bool, bool]:
    errors = rng.uniform(0.5, 2.0, n)
    true = rng.normal(0.0, 1.0, n) * ratio
    differences = true + rng.normal(0.0, 1.0, n) * errors
    estimate = random_effects(differences.tolist(), errors.tolist(), confidence=CONFIDENCE)
    another = rng.normal(0.0, 1.0) * ratio
    mu, error = _dersimonian_laird(differences, errors)
    weights = 1 / errors**2
    fixed, fixed_error = (
        float((weights * differences).sum() / weights.sum()),
        1 / math.sqrt(weights.sum()),
    )
    return (
        estimate.ci_low <= 0 <= estimate.ci_high,
        abs(mu) <= NORMAL * error,
        abs(fixed) <= NORMAL * fixed_error,
        estimate.predicted[0] <= another <= estimate.predicted[1],
    )


def unequal_errors() -> list[str]:
    """The standard errors of the data sets are 1 and 5."""
    rows: list[Row] = []
    for name, (counts, errors_of) in UNEQUAL.items():
        for tau in (0.0, 1.0, 3.0):
            for n in counts:
                errors = errors_of(n)
                runs = [
                    _studied(generator(41, n, round(10 * tau), run), errors, tau)
                    for run in range(RUNS)
                ]
                covered = np.array(runs).sum(axis=0).tolist()
                rows.append((name, f"{tau:g}", f"{n}", *(rate(count, RUNS) for count in covered)))
    head = ("errors", "tau", "data sets", "as here, max(1, q)", "without max(1, q)")
    return [
        "## A mean over data sets of unequal errors",
        "",
        "Two models without a true difference, through `concord.study`; the standard errors are "
        f"1 and 5. {RUNS:,} runs a row: how",
        "often the 95% interval holds the mean of 0. Where q is below 1, differences agree better "
        "than their errors let expect;",
        "then max(1, q) keeps these errors. The interval falls short of 95% where tau is larger "
        "than the smaller errors and few",
        "data sets have these: then tau is hardly known.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


UNEQUAL: dict[str, tuple[tuple[int, ...], Callable[[int], list[float]]]] = {
    "one 1, others 5": ((3, 4, 5, 10), lambda n: [1.0] + [5.0] * (n - 1)),
    "half 1, half 5": ((4, 5, 10), lambda n: [1.0] * (n // 2) + [5.0] * (n - n // 2)),
    "others 1, one 5": ((3, 4, 5, 10), lambda n: [1.0] * (n - 1) + [5.0]),
}


def _studied(rng: np.random.Generator, errors: Sequence[float], tau: float) -> tuple[bool, bool]:
    differences = (
        tau * rng.normal(size=len(errors)) + rng.normal(size=len(errors)) * errors
    ).tolist()
    study = cc.study(
        {f"d{d}": _measured(y, s) for d, (y, s) in enumerate(zip(differences, errors, strict=True))}
    )
    (pair,) = study.pairs
    assert pair.ci_low is not None
    assert pair.ci_high is not None
    assert pair.tau is not None
    weights = [1 / (each * each + pair.tau * pair.tau) for each in errors]
    mu = weighted_mean(differences, weights)
    spread = math.fsum(w * (y - mu) ** 2 for w, y in zip(weights, differences, strict=True))
    plain = math.sqrt(spread / (len(errors) - 1) / math.fsum(weights))
    return pair.ci_low <= 0 <= pair.ci_high, abs(mu) <= t_quantile(len(errors), CONFIDENCE) * plain


def _measured(difference: float, error: float) -> Comparison:
    """Return a comparison of two models with this difference and standard error."""
    template = _template()
    (pair,) = template.pairs
    half = t_quantile(pair.n_users, CONFIDENCE) * error
    measured = replace(
        pair,
        difference=difference,
        ci_low=difference - half,
        ci_high=difference + half,
        effect_size=difference / error / math.sqrt(pair.n_users),
    )
    standard_error = difference_standard_error(measured, CONFIDENCE)
    assert standard_error is not None
    assert math.isclose(standard_error, error)
    return replace(template, pairs=(measured,))


@cache
def _template() -> Comparison:
    users = np.arange(100)
    truth = pl.DataFrame({"user": users, "item": np.zeros(100, dtype=np.int64)})
    models = {
        name: truth.with_columns(
            item=pl.Series((users % every == 0).astype(np.int64)), rank=pl.lit(1)
        )
        for name, every in (("a", 2), ("base", 3))
    }
    return cc.compare(
        models, truth, metrics=["R@1"], baseline="base", conventions="standard", panel=False
    )


def _dersimonian_laird(differences: Floats, errors: Floats) -> tuple[float, float]:
    weights = 1 / errors**2
    fixed = (weights * differences).sum() / weights.sum()
    spread = (weights * (differences - fixed) ** 2).sum()
    scale = weights.sum() - (weights**2).sum() / weights.sum()
    tau2 = max(0.0, (spread - (len(differences) - 1)) / scale)
    weights = 1 / (errors**2 + tau2)
    return float((weights * differences).sum() / weights.sum()), 1 / math.sqrt(weights.sum())


def post_hoc() -> list[str]:
    """Four models: any false finding among six pairs."""
    rows: list[Row] = []
    kinds: dict[str, Callable[[np.random.Generator, int], Floats]] = {
        "alike, normal": lambda rng, n: rng.normal(0, 1, (n, MODELS)),
        "alike, skewed": lambda rng, n: rng.exponential(1, (n, MODELS)) ** 2,
        "equal means, one skewed": lambda rng, n: np.column_stack(
            [rng.normal(0, 0.3, (n, MODELS - 1)), rng.exponential(1, n) - 1]
        ),
    }
    for name, draw in kinds.items():
        for n in (8, 12, 20):
            rejections = sum(_any_pair(draw(generator(n, run), n)) for run in range(RUNS // 2))
            rows.append((name, f"{n}", rate(rejections, RUNS // 2)))
    return [
        "## Pairs over data sets",
        "",
        "Four models on some data sets: how often the mean over data sets of any of the six pairs "
        "is significant at 5%, with Holm's",
        "correction. Skew disturbs it where one model gains much on few data sets and loses a "
        "little on the others.",
        "",
        *markdown_table(("models", "data sets", "any pair significant"), rows, text_columns=1),
    ]


def _any_pair(values: Floats) -> bool:
    errors = [SMALL_ERROR] * len(values)
    p = [
        random_effects((values[:, a] - values[:, b]).tolist(), errors, confidence=CONFIDENCE).p
        for a, b in combinations(range(values.shape[1]), 2)
    ]
    return bool((holm(np.array(p)) < ALPHA).any())


def ranks() -> list[str]:
    """Joint coverage of the intervals of all models' ranks."""
    rows: list[Row] = []
    cases = {
        "all alike": [0.0] * 6,
        "two groups": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        "a ladder": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
    }
    for name, means in cases.items():
        results = np.array([_ranked(generator(len(means), run), means) for run in range(RUNS)])
        covered, plain, width = results.T
        rows.append(
            (
                name,
                rate(int(covered.sum()), RUNS),
                rate(int(plain.sum()), RUNS),
                f"{width.mean():.1f}",
            )
        )
    return [
        "## The ranks that tests leave open",
        "",
        "Six models on 200 users: how often the intervals hold the true ranks of all models "
        "together, nominal 95%. From p values",
        "that are not adjusted they do not.",
        "",
        *markdown_table(
            ("true means", "as here, Holm", "not adjusted", "ranks in an interval"),
            rows,
            text_columns=1,
        ),
    ]


def _ranked(rng: np.random.Generator, means: Sequence[float]) -> tuple[bool, bool, float]:
    from scipy.special import stdtr

    users, m = 200, len(means)
    values = rng.normal(0, 2, (users, m)) + np.array(means)
    pairs = list(combinations(range(m), 2))
    gaps = np.array([values[:, a] - values[:, b] for a, b in pairs])
    t = gaps.mean(axis=1) / (gaps.std(axis=1, ddof=1) / math.sqrt(users))
    p = 2 * stdtr(users - 1, -np.abs(t))
    results = []
    for used in (holm(p), p):
        significant = {
            (str(a), str(b)) if statistic > 0 else (str(b), str(a))
            for (a, b), statistic, each in zip(pairs, t, used, strict=True)
            if each < ALPHA
        }
        intervals = rank_intervals([str(i) for i in range(m)], significant)
        results.append((all(_holds(intervals[str(i)], means, i) for i in range(m)), intervals))
    width = np.mean([high - low + 1 for low, high in results[0][1].values()])
    return results[0][0], results[1][0], float(width)


def _holds(interval: tuple[int, int], means: Sequence[float], i: int) -> bool:
    above, below = sum(x > means[i] for x in means), sum(x < means[i] for x in means)
    return interval[0] <= 1 + above and len(means) - below <= interval[1]


PARTS = (over_datasets, unequal_errors, post_hoc, ranks)
