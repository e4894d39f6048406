"""How often a gate passes a model that is worse by exactly the margin, and one that is equal."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.simulated import DEPTH, Floats, lists, mean_of_pair, pair, skewed
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.comparison.gate import decide_guardrail
from concord.metrics_core.comparison.min_effect import margin_interval
from concord.metrics_core.metrics.exposure import coverage
from concord.metrics_core.metrics.ranked_lists import Items
from concord.metrics_core.results.comparison_parts import or_none
from concord.metrics_core.results.gate import MeasuredDifference, Outcome
from concord.metrics_core.stats.paired_test import UserValues, paired_test
from concord.metrics_core.stats.randomization_test import (
    ListPair,
    RecommendedItems,
    jackknife_errors,
)

CONFIDENCE = 0.95
OUTCOMES: tuple[Outcome, ...] = ("pass", "worse", "undecided")
SIZES = ((100, 4_000), (300, 4_000), (1_000, 4_000), (5_000, 2_000), (20_000, 1_000))  # users, runs
SLIGHT = 0.02  # of the catalogue
LOSS = 0.05  # of the hits, where a model is worse by the margin
SKEWED_LOSS = 0.01
ITEMS = 2_000
STEEP, STEEPER = 1.0, 1.1  # of what two models show: the second covers less
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def at_the_margin() -> list[str]:
    """The true difference is exactly -margin, so a pass is an error."""
    dense, sparse = (partial(pair, hit_rate=h, lift=-LOSS) for h in (0.5, 0.05))
    cases: list[tuple[str, Draw, float | str]] = [
        ("half of the users hit", dense, mean_of_pair(0.5, LOSS)),
        (f"the same, margin {LOSS:.0%} of the mean found", dense, f"{LOSS:.0%}"),
        ("5% of the users hit", sparse, mean_of_pair(0.05, LOSS)),
        ("many gain a little, few lose much", _skewed, SKEWED_LOSS),
    ]
    rows = [
        (name, f"{n:,}", *_cells(draw, margin, n, runs))
        for name, draw, margin in cases
        for n, runs in SIZES
    ]
    return [
        "## A gate at its margin",
        "",
        "The model is truly worse than the reference by exactly the margin: a gate may pass it in "
        "2.5% of the cases at most,",
        "and call it worse in 2.5% at most. That holds, but where few users lose much: too few of "
        "them are among some",
        "hundred users, the interval lies too high, and a gate passes too often; it needs "
        "thousands of users then.",
        "",
        "Changed: a margin that is a share of the mean counts the error of this mean, and under 30 "
        "users who differ the interval is that",
        "of sign flips.",
        "",
        *markdown_table(("differences", "users", "differ, mean", *OUTCOMES), rows),
    ]


def as_good() -> list[str]:
    """Two equal models: how often they pass, by margin and number of users."""
    rows: list[Row] = []
    for margin in ("1%", "2%", "5%", "10%"):
        cells = [margin]
        for n, runs in ((1_000, 1_000), (5_000, 1_000), (20_000, 500), (100_000, 200)):
            outcomes = _outcomes(partial(pair, hit_rate=0.5), margin, n, runs)
            cells.append(rate(outcomes.count("pass"), runs))
        rows.append(tuple(cells))
    return [
        "## A gate for a model that is as good",
        "",
        "Two models that are alike, half of the users hit, correlated as two good models are: how "
        "often the gate passes one",
        "against the other, by the margin as a share of the mean. The others are undecided, but "
        "for 2.5% at most.",
        "",
        *markdown_table(
            ("margin", "1,000 users", "5,000 users", "20,000 users", "100,000 users"), rows
        ),
    ]


def is_aggregate() -> list[str]:
    """Coverage, with the jackknife interval; the true difference is between means of many runs."""
    rows: list[Row] = []
    for n, runs in ((100, 1_000), (300, 500), (1_000, 300)):
        differences = [_coverages(n, run, (STEEPER, STEEP)) for run in range(runs)]
        equal_models = [_coverages(n, run, (STEEP, STEEP)) for run in range(runs // 2)]
        passed = sum(
            decide_guardrail(each, SLIGHT, SLIGHT).outcome == "pass" for each in equal_models
        )
        true = float(
            np.mean([each.difference for each in differences if each.difference is not None])
        )
        outcomes = [decide_guardrail(each, -true, -true).outcome for each in differences]
        inside = sum(_inside(each, true) for each in differences)
        cells = (rate(outcomes.count(outcome), runs) for outcome in OUTCOMES)
        rows.append((f"{n:,}", f"{true:+.3f}", rate(inside, runs), *cells, rate(passed, runs // 2)))
    return [
        "## A gate on a number over all users",
        "",
        f"Coverage@{DEPTH} of {ITEMS} items by two models, one of which shows fewer of them; the "
        "margin is exactly the true",
        "difference. The interval, which leaves out one of 100 groups of users after the other, "
        "is rather too long than too",
        "short; the last column is how often two models that are alike pass.",
        "",
        *markdown_table(
            (
                "users",
                "true difference",
                "coverage of the interval",
                *OUTCOMES,
                f"alike, margin {SLIGHT}: pass",
            ),
            rows,
        ),
    ]


PARTS = (at_the_margin, as_good, is_aggregate)


def _skewed(rng: np.random.Generator, users: int) -> tuple[Floats, Floats]:
    return skewed(rng, users, -SKEWED_LOSS), np.zeros(users)


def _cells(draw: Draw, margin: float | str, n: int, runs: int) -> tuple[str, ...]:
    differ = [_measured(draw, margin, n, run)[0].n_nonzero for run in range(50)]
    outcomes = _outcomes(draw, margin, n, runs)
    return f"{np.mean(differ):,.0f}", *(rate(outcomes.count(each), runs) for each in OUTCOMES)


def _outcomes(draw: Draw, margin: float | str, n: int, runs: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for run in range(runs):
        measured, allowed = _measured(draw, margin, n, run)
        outcomes.append(decide_guardrail(measured, margin, allowed).outcome)
    return outcomes


def _measured(
    draw: Draw, margin: float | str, n: int, run: int
) -> tuple[MeasuredDifference, float | None]:
    """Return the measured difference, and the margin as a number."""
    a, b = (UserValues(values) for values in draw(generator(7, n, run), n))
    share_of = b if isinstance(margin, str) else None
    test = paired_test(a, b, confidence=CONFIDENCE, share_of=share_of)
    interval, allowed = margin_interval(test, margin, b.mean, CONFIDENCE)
    return _case((a.mean, b.mean), interval, n, test.n_nonzero), or_none(allowed)


def _coverages(n: int, run: int, steepness: tuple[float, float]) -> MeasuredDifference:
    rng = generator(8, n, run)
    one, other = (
        RecommendedItems(np.repeat(np.arange(n), DEPTH), lists(rng, n, ITEMS, each).ravel())
        for each in steepness
    )
    everything = np.ones(ITEMS, dtype=np.int64)
    items = Items(1, 1, everything, everything > 0, None)
    measures = {"Coverage@10": partial(coverage, coverage_items="catalogue")}
    errors = jackknife_errors(ListPair(one, other, measures, items, k=DEPTH))
    means = tuple(len(np.unique(each.item)) / ITEMS for each in (one, other))
    return _case(means, errors["Coverage@10"].interval(CONFIDENCE), n, n)


def _case(
    means: tuple[float, ...], ends: tuple[float, float], n: int, n_nonzero: int
) -> MeasuredDifference:
    mean, reference = means
    return MeasuredDifference(
        label="nDCG@10",
        higher_is_better=True,
        segmentation=None,
        segment=None,
        mean=mean,
        reference=reference,
        difference=mean - reference,
        ci_low=or_none(ends[0]),
        ci_high=or_none(ends[1]),
        level=CONFIDENCE,
        standard_error=None,
        n_users=n,
        n_nonzero=n_nonzero,
        n_lost=0,
        test="t",
        p=None,
    )


def _inside(measured: MeasuredDifference, true: float) -> bool:
    low, high = measured.ci_low, measured.ci_high
    return low is not None and high is not None and low <= true <= high
