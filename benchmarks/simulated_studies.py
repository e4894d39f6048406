"""Studies over data sets: coverage and verdicts of a mean over data sets, ranks on one of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

import concord as cc
from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.analyses.study.data_sets import rank_intervals
from concord.metrics_core.analyses.study.result import Pair
from concord.metrics_core.stats.mean_interval import t_quantile

ALPHA = 0.05
RUNS = 500  # studies of a row
BATCH = 50  # studies at once, each with its own metrics
RANK_RUNS = 2_000
FAMILY_RUNS = 1_000
COUNTS = (4, 5, 10)  # data sets
GAIN, USERS = 0.05, 200  # of a feature on a data set where it works
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]  # users' values of new and old


@dataclass(frozen=True)
class World:
    """Data sets of which the true difference of two models is known.

    Attributes
    ----------
    draw : callable
        Users' values of new and old on the data set of this number.
    truth : float
        True mean difference over data sets.
    number : int
        Seed of the world.
    """

    number: int
    name: str
    draw: Draw
    truth: float
    n_datasets: int = 10


def _studies(world: World, min_effect: float | str) -> list[Pair]:
    """Return the pair of each study of this world."""
    pairs: list[Pair] = []
    for batch in range(RUNS // BATCH):
        rng = generator(50, world.number, world.n_datasets, batch)
        comparisons = {}
        for d in range(world.n_datasets):
            draws = {f"m{i}": world.draw(rng, d) for i in range(BATCH)}
            users = pl.Series("user", range(len(draws["m0"][0])))
            tables = {
                model: pl.DataFrame([users, *(pl.Series(m, each[i]) for m, each in draws.items())])
                for i, model in enumerate(("new", "old"))
            }
            comparisons[f"d{d}"] = cc.compare_values(
                tables, baseline="old", primary=["m0"], resamples=99
            )
        for label in draws:
            pairs += cc.study(comparisons, primary=[label], min_effect=min_effect).pairs
    return pairs


def _works_on(share: float, gain_spread: float = 0.01) -> Draw:
    """Return the draw of a feature that works on a share of data sets, else lists are identical."""

    def draw(rng: np.random.Generator, _: int) -> tuple[Floats, Floats]:
        old = rng.random(USERS) * 0.5
        if rng.random() >= share:
            return old, old
        return old + rng.normal(GAIN, gain_spread) + rng.normal(0, 0.05, USERS), old

    return draw


def _shifted(sizes: Sequence[int], shift: float, spread: float, tau: float = 0.0) -> Draw:
    """Return the draw of data sets of these sizes with a normal shift of each data set."""

    def draw(rng: np.random.Generator, d: int) -> tuple[Floats, Floats]:
        n = sizes[d % len(sizes)]
        old = rng.random(n) * 0.5
        return old + rng.normal(shift, tau) + rng.normal(0, spread, n), old

    return draw


def _few_lose_all(rng: np.random.Generator, _: int) -> tuple[Floats, Floats]:
    """On half of the data sets new is 0.01 better, else five of 50 users lose everything."""
    old = 0.5 + 0.1 * rng.random(50)
    if rng.integers(2):
        return old + 0.01 + rng.normal(0, 0.004, 50), old
    return np.concatenate([np.zeros(5), old[5:]]), old


def _hits(new: float, old: float) -> Draw:
    """Return the draw of data sets of 100 users with these probabilities of a hit."""

    def draw(rng: np.random.Generator, _: int) -> tuple[Floats, Floats]:
        return np.array(rng.random(100) < new, float), np.array(rng.random(100) < old, float)

    return draw


def _gains_on_few(rng: np.random.Generator, _: int) -> tuple[Floats, Floats]:
    """New loses up to 0.05 on most data sets and gains much on few: exponential, mean 0."""
    old = rng.random(USERS) * 0.5
    return old + rng.exponential(0.05) - 0.05 + rng.normal(0, 0.05, USERS), old


def feature() -> list[str]:
    """A feature that works on a share of ten data sets."""
    rows = []
    for number, share in enumerate((0.1, 0.2, 0.3, 0.4, 0.5, 0.6)):
        world = World(number, "feature", _works_on(share), share * GAIN)
        rows.append((f"{share:.0%}", *_cells(world, min_effect=0.03)))
    head = ("works on", "true mean", *_HEAD)
    return [
        "## A feature that works on some data sets",
        "",
        f"Ten data sets of {USERS} users. On a share of them new is 0.05 better (standard "
        "deviation 0.01), on the others the lists are",
        f"identical. {RUNS} studies a row through `concord.study` over `concord.compare_values`, "
        "with a minimum relevant difference of",
        "0.03: how often the 95% interval of the mean over all ten data sets holds the true mean, "
        "of the studies with an interval;",
        "how often it lies above and below it; how often the verdict is better (beyond 0.03) and "
        "the winner sure. A study without an",
        "interval saw ten equal differences, mostly of 0. Counted as misses, the interval falls "
        "short where the feature works on few data",
        "sets: such a study cannot see that it works at all.",
        "",
        *markdown_table(head, rows),
    ]


_HEAD = ("holds", "above the truth", "below the truth", "better", "sure", "no interval")


def _cells(world: World, *, min_effect: float | str) -> list[str]:
    """Return truth, coverage, misses on both sides, verdicts, and studies without an interval."""
    pairs = _studies(world, min_effect)
    ends = [(p.ci_low, p.ci_high) for p in pairs if p.ci_low is not None and p.ci_high is not None]
    above = sum(low > world.truth for low, _ in ends)
    below = sum(high < world.truth for _, high in ends)
    better = sum(pair.verdict == "better" for pair in pairs)
    sure = sum(not low <= 0 <= high for low, high in ends)
    counts = (len(ends) - above - below, above, below)
    return [
        f"{world.truth:.3g}",
        *(rate(count, len(ends)) for count in counts),
        *(rate(count, RUNS) for count in (better, sure, RUNS - len(ends))),
    ]


def over_datasets() -> list[str]:
    """Other worlds: sparse gains, losses of few users, equal data sets, unequal sizes."""
    equal = _shifted((400,), 0.02, 0.2)
    unequal = _shifted((60, 60, 200, 1_000), 0.02, 0.2, 0.02)
    worlds = [
        *(
            World(10, "half: +0.01, half: 5 of 50 lose all", _few_lose_all, -0.0225, n)
            for n in (6, 10)
        ),
        *(World(11, "5% of 100 users gain 1", _hits(0.05, 0.0), 0.05, n) for n in COUNTS),
        *(World(12, "3% hits of both, 100 users", _hits(0.03, 0.03), 0.0, n) for n in COUNTS),
        *(World(13, "equal data sets", equal, 0.02, n) for n in COUNTS),
        *(World(14, "60 to 1,000 users", unequal, 0.02, n) for n in COUNTS),
        *(World(15, "much on few, else a small loss", _gains_on_few, 0.0, n) for n in COUNTS),
    ]
    rows = [
        (world.name, f"{world.n_datasets}", *_cells(world, min_effect=max(world.truth, 0.0)))
        for world in worlds
    ]
    return [
        "## A mean over data sets",
        "",
        f"{RUNS} studies a row as above; the minimum relevant difference is the true mean if that "
        "is above 0, so better is an error",
        "(nominal 2.5%), else 0. Data sets of 60 to 1,000 users have true differences with a "
        "standard deviation of 0.02. In the last",
        "world they are exponential with mean 0: the interval is short of what the few data sets "
        "that gain much would add.",
        "",
        *markdown_table(("world", "data sets", "true mean", *_HEAD), rows, text_columns=1),
    ]


def several_metrics() -> list[str]:
    """No difference: any false word in a study of several models and primary metrics."""
    rows = []
    for n_others, n_metrics in ((1, 1), (1, 6), (3, 6)):
        false = [*_false_words(n_others, n_metrics)]
        counts = (sum(map(any, false)), sum(map(bool, false)))
        cells = (rate(count, FAMILY_RUNS) for count in counts)
        rows.append((f"{n_others}", f"{n_metrics}", *cells))
    head = ("models", "primary metrics", "with the baseline", "any")
    return [
        "## Several metrics over data sets",
        "",
        "Five data sets, no difference; models and a baseline, independent normal means of data "
        f"sets on each metric. {FAMILY_RUNS:,} studies a",
        "row: how often any verdict is better or worse, of the pairs with the baseline (nominal "
        "5%) and of all pairs (two families, at most",
        "10%).",
        "",
        *markdown_table(head, rows),
    ]


def _false_words(n_others: int, n_metrics: int) -> Iterator[list[bool]]:
    """Yield of each study if a pair with a false word is one with the baseline."""
    models, metrics = [f"model {i}" for i in range(n_others + 1)], range(n_metrics)
    values = {m: {f"m{j}": dict(enumerate(range(30))) for j in metrics} for m in models}
    same = cc.compare_values(values, baseline=models[0], primary=[*values[models[0]]], resamples=99)
    for run in range(FAMILY_RUNS):
        rng, comparisons = generator(51, n_others, n_metrics, run), {}
        for d in range(5):
            mean = {(m, f"m{j}"): rng.normal() for m in models for j in metrics}
            pairs = tuple(
                replace(p, difference=mean[p.a, p.label] - mean[p.b, p.label]) for p in same.pairs
            )
            comparisons[f"d{d}"] = replace(same, pairs=pairs)
        words = cc.study(comparisons).pairs
        yield [p.vs_baseline for p in words if p.verdict in {"better", "worse"}]


def percent() -> list[str]:
    """A minimum relevant difference in percent, equal to the true one."""
    rows = []
    for number, share in enumerate((0.2, 0.5), start=20):
        for spread in (0.0, 0.5):
            for n in (COUNTS[0], COUNTS[-1]):
                pairs = _studies(
                    World(number, "", _at_share(share, spread), 0.0, n), f"{share:.0%}"
                )
                verdicts = [pair.verdict for pair in pairs]
                counts = [verdicts.count(word) for word in ("better", "worse", "equivalent")]
                counts.append(sum(pair.reason is not None for pair in pairs))
                cells = (rate(count, RUNS) for count in counts)
                rows.append((f"{share:.0%}", f"{spread:g}", f"{n}", *cells))
    head = ("true", "spread of levels", "data sets", "better", "worse", "equivalent", "no interval")
    return [
        "## A share of the baseline's mean over data sets",
        "",
        "The mean of new is larger by exactly the minimum relevant difference in percent: better "
        "(beyond it) and equivalent are errors,",
        "each nominal 2.5%. The 100 users of a data set have exponential values, independent in "
        "both models; the level of a data set",
        "is log-normal with this standard deviation of its logarithm. No interval: the baseline's "
        "mean over data sets may be 0.",
        "",
        *markdown_table(head, rows),
    ]


def _at_share(share: float, spread: float) -> Draw:
    """Return the draw of data sets of different levels on which new is better by this share."""

    def draw(rng: np.random.Generator, _: int) -> tuple[Floats, Floats]:
        level = 0.2 * math.exp(spread * rng.normal())
        new, old = level * rng.exponential(1.0, (2, 100))
        return np.array((1 + share) * new), np.array(old)

    return draw


def ranks() -> list[str]:
    """Joint coverage of the intervals of all models' ranks."""
    rows: list[Row] = []
    cases = {
        "all alike": [0.0] * 6,
        "two groups": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        "a ladder": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
    }
    for name, means in cases.items():
        results = np.array([_ranked(generator(len(means), run), means) for run in range(RANK_RUNS)])
        covered, plain, width = results.T
        cells = (rate(int(each.sum()), RANK_RUNS) for each in (covered, plain))
        rows.append((name, *cells, f"{width.mean():.1f}"))
    return [
        "## The ranks that intervals leave open",
        "",
        "Six models on 200 users: how often the intervals hold the true ranks of all models "
        "together. Two families, pairs with the",
        "baseline and all others, each hold with 95% (here by Bonferroni), so nominal is 90%. By "
        "single 95% intervals they do not.",
        "",
        *markdown_table(
            ("true means", "two families", "single intervals", "ranks in an interval"),
            rows,
            text_columns=1,
        ),
    ]


def _ranked(rng: np.random.Generator, means: Sequence[float]) -> tuple[bool, bool, float]:
    users, m = 200, len(means)
    values = rng.normal(0, 2, (users, m)) + np.array(means)
    pairs = list(combinations(range(m), 2))  # the first m - 1 are those of the baseline, model 0
    differences = np.array([values[:, a] - values[:, b] for a, b in pairs])
    mean, error = differences.mean(axis=1), differences.std(axis=1, ddof=1) / math.sqrt(users)
    sizes = [m - 1] * (m - 1) + [len(pairs) - m + 1] * (len(pairs) - m + 1)
    results = []
    for shares in (sizes, [1] * len(pairs)):
        half = error * [t_quantile(users, 1 - ALPHA / share) for share in shares]
        different = {
            (str(a), str(b)) if y > 0 else (str(b), str(a))
            for (a, b), y, width in zip(pairs, mean, half, strict=True)
            if abs(y) > width
        }
        intervals = rank_intervals([str(i) for i in range(m)], different)
        results.append((all(_holds(intervals[str(i)], means, i) for i in range(m)), intervals))
    width = np.mean([high - low + 1 for low, high in results[0][1].values()])
    return results[0][0], results[1][0], float(width)


def _holds(interval: tuple[int, int], means: Sequence[float], i: int) -> bool:
    above, below = sum(x > means[i] for x in means), sum(x < means[i] for x in means)
    return interval[0] <= 1 + above and len(means) - below <= interval[1]


PARTS = (feature, over_datasets, several_metrics, percent, ranks)
