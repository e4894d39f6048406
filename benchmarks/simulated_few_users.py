"""Few users: intervals of means, sign flips, verdicts at the margin by `concord.compare_values`."""

import math
from collections.abc import Callable, Iterable

import numpy as np

import concord
from benchmarks.families import Family
from benchmarks.simulated import Floats
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.stats.paired_difference import Interval

RUNS = 1_000
CHECKED = 3  # runs of each row of differences that also go through `concord.compare_values`
ALPHA = 0.05
UNIT = (0.0, 1.0)
_GAINS = 1 / np.log2(np.arange(2, 12))
Draw = Callable[[np.random.Generator, int], Floats]


def _hits(share: float) -> Draw:
    return lambda rng, n: (rng.random(n) < share).astype(np.float64)


def _ndcg(share: float) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < share, rng.choice(_GAINS, n), 0.0)


WORLDS: dict[str, tuple[Draw, float]] = {  # name -> values, and their true mean
    "hits, 3%": (_hits(0.03), 0.03),
    "hits, 15%": (_hits(0.15), 0.15),
    "hits, 50%": (_hits(0.5), 0.5),
    "hits, 90%": (_hits(0.9), 0.9),
    "nDCG, 3% hit": (_ndcg(0.03), 0.03 * float(_GAINS.mean())),
    "nDCG, 15% hit": (_ndcg(0.15), 0.15 * float(_GAINS.mean())),
    "nDCG, 50% hit": (_ndcg(0.5), 0.5 * float(_GAINS.mean())),
    "Beta(0.5, 0.5)": (lambda rng, n: rng.beta(0.5, 0.5, n), 0.5),
    "Beta(0.2, 2)": (lambda rng, n: rng.beta(0.2, 2, n), 0.2 / 2.2),
    "Beta(50, 1)": (lambda rng, n: rng.beta(50, 1, n), 50 / 51),
}
SIZES = (5, 10, 20, 49, 50, 100, 200)


def _compared(a: Floats, b: Floats) -> Comparison:
    values = {"a": _by_user(a), "b": _by_user(b)}
    return concord.compare_values(values, baseline="b", bounds={"m": UNIT}, resamples=99)


def _by_user(values: Floats) -> dict[str, dict[int, float]]:
    return {"m": dict(enumerate(values.tolist()))}


def _means() -> list[str]:
    rows = []
    for world, (draw, truth) in WORLDS.items():
        cells = []
        for n in SIZES:
            covered = 0
            for runs in _in_pairs(RUNS):  # two runs a call
                comparison = _compared(*(draw(generator(n, run), n) for run in runs))
                scores = [comparison.score(model, "m") for model in ("a", "b")]
                covered += sum(
                    s.ci_low is not None
                    and s.ci_high is not None
                    and s.ci_low <= truth <= s.ci_high
                    for s in scores
                )
            cells.append(rate(covered, RUNS))
        rows.append((world, *cells))
    return [
        "## Few users",
        "",
        f"Coverage of the 95% interval of a mean, {RUNS:,} runs a cell. Values of 0 and 1 have "
        "Clopper and Pearson's interval at any number",
        "of users, others below 50 users that of the values and one value more at each bound, and "
        "from 50 on the t interval.",
        "",
        *markdown_table(("values", *(f"{n} users" for n in SIZES)), rows, text_columns=1),
    ]


def _in_pairs(runs: int) -> Iterable[tuple[int, int]]:
    return ((run, run + 1) for run in range(0, runs, 2))


def _symmetric(rng: np.random.Generator, n: int) -> Floats:
    return rng.normal(0, 0.2, n)


def _sparse(rng: np.random.Generator, n: int) -> Floats:
    return rng.choice([-0.5, -0.25, 0.0, 0.25, 0.5], n, p=[0.05, 0.15, 0.6, 0.15, 0.05])


def _skewed(rng: np.random.Generator, n: int) -> Floats:
    """Return differences: of ten nonzero ones, nine gain 0.1, one loses 0.9; the mean is 0."""
    return rng.choice([0.1, -0.9, 0.0], n, p=[0.45, 0.05, 0.5])


def _long_tail(rng: np.random.Generator, n: int) -> Floats:
    return 0.1 * (rng.exponential(1, n) - 1)


def _decided(
    draw: Draw, users: int, run: int, *, min_effect: float = 0.0
) -> tuple[Interval, Verdict]:
    """Return the interval and the verdict of simulated differences."""
    gaps = np.clip(draw(generator(users, run), users), -1, 1)
    values = np.stack([np.maximum(-gaps, 0), np.maximum(gaps, 0)])
    family = Family(values, min_effect=min_effect)
    if run < CHECKED:
        family.check()
    return family.intervals[0], family.words[0]


NULLS: dict[str, Draw] = {
    "symmetric, normal": _symmetric,
    "symmetric, 40% differ, tied": _sparse,
    "skewed, exponential": _long_tail,
    "skewed, few lose much": _skewed,
}
USERS = (5, 8, 10, 20, 30, 50, 100, 300)


def _type_one() -> list[str]:
    rows = []
    for world, draw in NULLS.items():
        for n in USERS:
            better = worse = tested = covered = 0
            for run in range(RUNS):
                (low, high), word = _decided(draw, n, run)
                better += word.startswith("better")
                worse += word.startswith("worse")
                tested += not math.isnan(low)
                covered += low <= 0 <= high
            rows.append(
                (
                    world,
                    f"{n}",
                    rate(tested, RUNS, error=False),
                    rate(better, RUNS),
                    rate(worse, RUNS),
                    rate(covered, tested),
                )
            )
    return [
        "## Few users: differences whose mean is 0",
        "",
        f"{RUNS:,} runs a row; nominal are 2.5% `better`, 2.5% `worse` and 95% coverage of those "
        "that are tested. Under 30 users who",
        "differ, p and the interval are those of sign flips, which are exact for symmetric "
        "differences alone; users are too few for a",
        "test under 6.",
        "",
        "Changed: under 30 users who differ, the interval is that of sign flips, too. Before it "
        "was that of t, and a verdict needed both.",
        "",
        *markdown_table(
            ("differences", "users", "tested", "better", "worse", "coverage"), rows, text_columns=1
        ),
    ]


def _one_sided(share: float) -> Draw:
    """Return differences: a share of the users gains between 0 and 1, nobody loses."""
    return lambda rng, n: np.where(rng.random(n) < share, rng.beta(2, 2, n), 0.0)


MARGINS: dict[
    str, tuple[Draw, float]
] = {  # name -> differences, and their mean, which is the margin
    "symmetric, normal": (lambda rng, n: rng.normal(0.05, 0.2, n), 0.05),
    "few gain much, 3%": (_one_sided(0.03), 0.015),
    "few gain much, 10%": (_one_sided(0.10), 0.05),
    "many gain a little, few lose much": (lambda rng, n: _skewed(rng, n) + 0.05, 0.05),
}


def _at_the_margin() -> list[str]:
    rows = []
    for world, (draw, margin) in MARGINS.items():
        for n in (20, 100, 300, 1_000):
            verdicts = []
            covered = 0
            for run in range(RUNS):
                (low, high), word = _decided(draw, n, run, min_effect=margin)
                verdicts.append(word)
                covered += low <= margin <= high
            known = sum(verdict not in {"too_few_users", "identical"} for verdict in verdicts)
            rows.append(
                (
                    world,
                    f"{n:,}",
                    rate(verdicts.count("better"), RUNS),
                    rate(verdicts.count("equivalent"), RUNS),
                    rate(covered, known),
                )
            )
    return [
        "## Verdicts at the margin",
        "",
        "The true mean difference is `min_effect`, so neither `better` nor `equivalent` is true; "
        f"{RUNS:,} runs a row, nominal 2.5% each. Coverage",
        "is that of the pairs with an interval.",
        "",
        "Changed: under 30 users who differ, the interval is that of sign flips, and the verdict "
        "is what it says.",
        "",
        *markdown_table(
            ("differences", "users", "better", "equivalent", "coverage"), rows, text_columns=1
        ),
    ]


PARTS = (_means, _type_one, _at_the_margin)
