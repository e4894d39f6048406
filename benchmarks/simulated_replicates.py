"""Several trainings of each model: coverage of the interval over new users and trainings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.stats.mean_interval import t_quantile
from concord.metrics_core.stats.paired_test import UserValues, paired_test
from concord.metrics_core.stats.replicates import (
    ReplicateEstimate,
    ReplicateValues,
    VarianceEstimate,
    mean_of_rows,
)

CONFIDENCE, USERS, RUNS = 0.95, 200, 2_000
RATIOS = (0.0, 0.3, 1.0, 10.0)  # variance due to trainings over that due to users
COUNTS = (2, 3, 5, 10)
METHODS = ("Concord", "users only", "t over means of seeds", "Satterthwaite")
FOLD_METHODS = ("Concord", "users only", "t over means of folds", "Nadeau and Bengio")


@dataclass(frozen=True)
class _Case:
    """Two models without a true difference; a ratio sets their training effects."""

    trainings: int
    ratio: float
    paired: bool
    skewed: bool = False
    common: float = (
        0.0  # share of the trainings' variance that comes from data which all of them saw
    )


def coverage() -> list[str]:
    """Coverage of the 95 % interval; the true difference is 0."""
    rows: list[Row] = []
    for is_paired in (False, True):
        for trainings in COUNTS:
            for ratio in RATIOS:
                rows.append(_row(_Case(trainings, ratio, is_paired)))
    rows += [_row(_Case(trainings, 1.0, paired=False, skewed=True)) for trainings in COUNTS]
    return [
        "## Models that were trained several times",
        "",
        f"Two models without a true difference, {USERS} users, trained as often as the table "
        "says; the ratio is the variance",
        "of the mean difference that is due to trainings over that due to users. How often the "
        "95% interval over new users and",
        "new trainings holds 0; one minus that is the error of the first kind. Beside it what "
        "others compute: the interval",
        "over users only, a t test over the means of the seeds (which forgets users), and the "
        "same sum of variances with",
        "Satterthwaite's degrees of freedom. The last column is how much wider than with known "
        "variances Concord's interval is.",
        "With 2 trainings Concord gives none. `skewed`: effects of both models are exponential "
        "towards the worse side, so the skew",
        "of the difference cancels; one model that varies alone is below.",
        "",
        *markdown_table(
            ("trainings", "seeds paired", "ratio", *METHODS, "width"), rows, text_columns=2
        ),
    ]


def folds() -> list[str]:
    """The same with folds, whose trainings share data that the values cannot show."""
    rows: list[Row] = []
    for count in (5, 10):
        for ratio in (0.3, 1.0):
            for common in (0.0, 0.25, 0.5):
                rows.append(_fold_row(_Case(count, ratio, paired=True, common=common)))
    return [
        "## Folds of one data set",
        "",
        f"Two models without a true difference, {USERS} users, one training a fold. Any two of K "
        "folds share (K - 2)/(K - 1) of",
        "their training data, so a part of a training's effect is common to all folds: no spread "
        "between folds shows it, and",
        "no estimator from one data set can (Bengio and Grandvalet 2004). How often the 95% "
        "interval holds 0 where other data",
        "would have been drawn, by the share of the trainings' variance that is common. `t over "
        "means of folds` is what is",
        "mostly reported; Nadeau and Bengio (2003) widen it by the shared data, and forget users, "
        "too.",
        "",
        *markdown_table(("folds", "ratio", "common", *FOLD_METHODS), rows, text_columns=1),
    ]


def _fold_row(case: _Case) -> Row:
    covered = dict.fromkeys(FOLD_METHODS, 0)
    for run in range(RUNS):
        rng = generator(case.trainings, int(10 * case.ratio), int(100 * case.common), run)
        a, b = _values(rng, case)
        difference, halves = _halves(case, a, b)
        over_means = halves["t over means of seeds"]
        shared = math.sqrt(1 + case.trainings / (case.trainings - 1))
        of_folds = (halves["Concord"], halves["users only"], over_means, shared * over_means)
        for method, half in zip(FOLD_METHODS, of_folds, strict=True):
            covered[method] += abs(difference) <= half
    rates = [rate(covered[method], RUNS) for method in FOLD_METHODS]
    return str(case.trainings), f"{case.ratio:g}", f"{case.common:.0%}", *rates


def _row(case: _Case) -> Row:
    covered, wide = dict.fromkeys(METHODS, 0), 0.0
    for run in range(RUNS):
        rng = generator(case.trainings, int(10 * case.ratio), case.paired, run)
        difference, halves = _halves(case, *_values(rng, case))
        for method, half in halves.items():
            covered[method] += abs(difference) <= half
        wide += halves["Concord"]
    known = 1.959964 * math.sqrt(_of_users(case) * (1 + case.ratio))
    cells = [rate(covered[method], RUNS) for method in METHODS]
    if case.trainings < 3:  # noqa: PLR2004
        cells[0] = f"({cells[0]})"
    paired_word = "yes" if case.paired else "no"
    name = f"{case.trainings}, skewed" if case.skewed else str(case.trainings)
    return name, paired_word, f"{case.ratio:g}", *cells, f"{wide / RUNS / known:.2f}"


def _of_users(case: _Case) -> float:
    """Return the variance of the mean difference due to users, and to a user in one training."""
    return 2 * (1 + 1 / case.trainings) / USERS


def _values(rng: np.random.Generator, case: _Case) -> tuple[Floats, Floats]:
    """Return (trainings, users) of both models; paired seeds share an effect that cancels."""
    r = case.trainings
    spread = math.sqrt(case.ratio * _of_users(case) * r / 2)
    shared = 3 * spread * rng.normal(size=(r, 1)) if case.paired else 0.0
    both = rng.normal(size=USERS)
    return tuple(
        both
        + rng.normal(size=USERS)
        + shared
        + spread * _effects(rng, case)
        + rng.normal(size=(r, USERS))
        for _ in range(2)
    )  # type: ignore[return-value]


def _effects(rng: np.random.Generator, case: _Case) -> Floats:
    size = (case.trainings, 1)
    if case.skewed:
        return np.asarray(1 - rng.exponential(size=size))
    training_effect = rng.normal(size=size)
    if case.common:
        return math.sqrt(1 - case.common) * training_effect + math.sqrt(case.common) * rng.normal()
    return training_effect


def _halves(case: _Case, a: Floats, b: Floats) -> tuple[float, dict[str, float]]:
    """Return the difference and the half-width of each method's interval."""
    known = paired_test(
        UserValues(mean_of_rows(list(a))), UserValues(mean_of_rows(list(b))), confidence=CONFIDENCE
    )
    users = VarianceEstimate(known.standard_error**2, USERS)
    gaps = [ReplicateValues(a - b)] if case.paired else [ReplicateValues(a), ReplicateValues(b)]
    estimate = ReplicateEstimate(
        known.difference, users, tuple(each.variance_of_mean for each in gaps)
    )
    return known.difference, {
        "Concord": estimate.half_width(CONFIDENCE),
        "users only": t_quantile(USERS, CONFIDENCE) * known.standard_error,
        "t over means of seeds": _over_means(gaps),
        "Satterthwaite": _satterthwaite(estimate),
    }


def _over_means(gaps: Sequence[ReplicateValues]) -> float:
    """Return Welch's t half-width over means of trainings, as if users were fixed."""
    parts = [VarianceEstimate(each.variance_of_means / each.n, each.n) for each in gaps]
    return _welch(parts)


def _satterthwaite(estimate: ReplicateEstimate) -> float:
    return _welch([estimate.users, *estimate.replicates])


def _welch(parts: Sequence[VarianceEstimate]) -> float:
    total = sum(part.variance for part in parts)
    below = sum(part.variance**2 / (part.n - 1) for part in parts)
    return float(student.ppf((1 + CONFIDENCE) / 2, total**2 / below)) * math.sqrt(total)


PARTS = (coverage, folds)
