"""Comparisons agree with an implementation that was written from the documentation alone."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

import concord
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from tests.metrics_core.comparison import statistics_reference as reference
from tests.metrics_core.comparison.statistics_reference import Pair, Vector

QUICK = range(24)
MORE = [pytest.param(seed, marks=pytest.mark.nightly) for seed in range(24, 300)]
KINDS = ("normal", "gamma", "rare", "ties", "negative", "identical", "constant", "few")
SHARE = 0.05
PRODUCT_DRAWS = 65_536  # of the level, and of sign flips with users without a difference
STANDARD_ERRORS = 4.5

Values = dict[str, dict[str, Vector]]


@dataclass(frozen=True)
class World:
    """Random values of models, and how they are compared."""

    values: Values
    primary: tuple[str, ...]
    higher_is_better: dict[str, bool]
    min_effect: float | str
    confidence: float
    family: str
    tried: int | None
    comparison: Comparison

    @property
    def is_share(self) -> bool:
        return isinstance(self.min_effect, str)

    @property
    def n_models(self) -> int:
        return len(self.values)

    def pair(self, row: Difference) -> Pair:
        columns = (self.values[model][row.label] for model in (row.a, row.b, "m0"))
        return reference.pair(*columns)

    @property
    def tested(self) -> list[tuple[Difference, Pair]]:
        """Rows of which enough users differ for one comparison."""
        pairs = [(row, self.pair(row)) for row in self.comparison.pairs]
        return [(row, one) for row, one in pairs if self.is_tested(row, one)]

    def is_tested(self, row: Difference, one: Pair) -> bool:
        is_counted = reference.is_counted(one, 1 - self.confidence)
        return is_counted and row.verdict != "not_comparable"

    @property
    def families(self) -> list[tuple[list[tuple[Difference, Pair]], int]]:
        """Tested rows of each primary family, and the pairs that were left out of it."""
        primary = [(row, one) for row, one in self.tested if row.primary]
        computed = sum(row.primary and not row.vs_baseline for row in self.comparison.pairs)
        left_out = math.comb(self.n_models - 1, 2) * len(self.primary) - computed
        if self.family == "all":
            return [(primary, left_out)]
        of_baseline = [each for each in primary if each[0].vs_baseline]
        return [(of_baseline, 0), ([each for each in primary if each not in of_baseline], left_out)]

    @property
    def family_alpha(self) -> float:
        n_shown = self.n_models - 1
        return (1 - self.confidence) * (1.0 if self.tried is None else n_shown / self.tried)


@cache
def world(seed: int) -> World:
    random = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n = int(random.choice([6, 8, 10, 12, 16, 24, 30, 31, 60, 400]))
    n_models = int(random.choice([2, 3, 4, 6])) if random.random() < 0.9 else 14
    n_primary, n_more = int(random.integers(1, 4)), int(random.integers(0, 3))
    metrics = [f"M{number}" for number in range(n_primary + n_more)]
    has_gaps = bool(random.random() < 0.3)
    values: Values = {f"m{number}": {} for number in range(n_models)}
    for metric in metrics:
        base = random.gamma(2, size=n)
        for number, model in enumerate(values):
            column = _column(kind, number, base, random)
            values[model][metric] = _with_gaps(column, random) if has_gaps else column
    min_effect = f"{100 * SHARE:g}%" if random.random() < 0.5 else float(random.choice([0, 0.3]))
    confidence = float(random.choice([0.9, 0.95, 0.99]))
    family = str(random.choice(["baseline", "all"]))
    tried = n_models + 9 if random.random() < 0.25 else None
    is_higher = {metrics[0]: bool(random.random() < 0.7)}
    comparison = concord.compare_values(
        {
            model: {metric: _by_user(column) for metric, column in columns.items()}
            for model, columns in values.items()
        },
        baseline="m0",
        primary=metrics[:n_primary],
        min_effect=min_effect,
        higher_is_better=is_higher,
        confidence=confidence,
        family=family,  # type: ignore[arg-type]
        tried=tried,
    )
    return World(
        values,
        tuple(metrics[:n_primary]),
        {metric: True for metric in metrics} | is_higher,
        min_effect,
        confidence,
        family,
        tried,
        comparison,
    )


def _column(kind: str, number: int, base: Vector, random: np.random.Generator) -> Vector:
    n = len(base)
    noise = random.normal(0.1 * number, 1, n)
    columns = {
        "normal": base + 3 + noise,
        "gamma": base / 2 + random.gamma(1, size=n),
        "rare": (random.random(n) < 0.04 + 0.03 * number).astype(np.float64),
        "ties": random.integers(0, 4, n) / 2 + number % 2,
        "negative": -base - 3 + noise,
        "identical": base + noise * (number % 2),
        "constant": base + (number if number < 3 else noise),
        "few": base + 1 + noise * (random.random(n) < 0.6) * (number > 0),
    }
    return columns[kind]


def _with_gaps(column: Vector, random: np.random.Generator) -> Vector:
    return np.where(random.random(len(column)) < 0.08, np.nan, column)


def _by_user(column: Vector) -> dict[int, float]:
    return {user: float(value) for user, value in enumerate(column) if not np.isnan(value)}


def near(expected: float | None) -> object:
    return None if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", [*QUICK, *MORE])
def test_differences(seed: int) -> None:
    """Means, errors, p-values and what users can show are those of the documentation."""
    compared = world(seed)
    for row in compared.comparison.pairs:
        one = compared.pair(row)
        assert (row.n_users, row.n_nonzero) == (one.n, one.n_differing)
        assert row.difference == near(one.d.mean() if one.n else None)
        if one.n_differing == 0 and one.n:
            assert row.verdict in {"identical", "not_comparable"}
    for row, one in compared.tested:
        assert row.standard_error == near(one.standard_error)
        if one.has_t_interval or one.is_constant or one.n_differing <= reference.MOST_ENUMERATED:
            assert row.p == near(reference.p_value(one))
        has_detectable = row.primary and row.ci_low is not None and not one.is_constant
        assert row.detectable == near(
            reference.detectable(one, row.level) if has_detectable else None
        )
        if not compared.is_share or row.min_effect is not None:
            b = compared.values[row.b][row.label][one.users]
            assert row.relative == near(
                reference.relative(one.d.mean(), b, compared.confidence)
            )


@pytest.mark.parametrize("seed", [*QUICK, *MORE])
def test_intervals_and_words(seed: int) -> None:
    """Intervals at the printed level are those of the documentation, and words follow from them."""
    compared, share = world(seed), world(seed).is_share
    for row, one in compared.tested:
        ends = [
            (row.ci_low, row.ci_high, row.level),
            (row.single_low, row.single_high, compared.confidence),
        ]
        for low, high, level in ends:
            if one.has_t_interval or one.is_constant or one.is_enumerated:
                expected = reference.interval(one, level, share=share) or (None, None)
                assert (low, high) == (near(expected[0]), near(expected[1]))
            elif low is not None and high is not None:
                _assert_near_quantiles(one, (low, high), level, share=share)
        if reference.fewest_users(1 - row.level) > one.n_differing:
            assert row.verdict == "too_few_users"
            continue
        upwards = compared.higher_is_better[row.label]
        margin = row.min_effect or 0.0
        assert row.verdict == reference.verdict(
            row.ci_low, row.ci_high, margin, higher_is_better=upwards
        )
        if share:
            expected_margin = SHARE * abs(one.base_mean)
            assert row.min_effect == near(None if row.ci_low is None else expected_margin)


def _assert_near_quantiles(
    one: Pair, ends: tuple[float, float], level: float, *, share: bool
) -> None:
    """Both ends cut off α/2 of the subsets, up to the error of both seeded draws."""
    alpha, draws = 1 - level, 40_000
    unit = abs(one.base_mean) if share else 1.0
    error = STANDARD_ERRORS * math.sqrt(alpha / 2 * (1 / draws + 1 / PRODUCT_DRAWS)) + 4 / draws
    mirrored = Pair(-one.d, one.base, one.users)
    for side, end in ((one, ends[0]), (mirrored, -ends[1])):
        m = end / unit * (unit if not share else unit)
        below, at_most = reference.tails(side, m, share=share, draws=draws, seed=1)
        assert below - error <= alpha / 2 <= at_most + error


@pytest.mark.parametrize("seed", [*QUICK, *MORE])
def test_levels(seed: int) -> None:
    """The level of a family is that of its joint quantile; adjusted p-values are Holm's."""
    compared = world(seed)
    alpha = compared.family_alpha
    for rows, left_out in compared.families:
        m = len(rows) + left_out
        p = [row.p for row, _ in rows]
        assert [row.p_adjusted for row, _ in rows] == [near(q) for q in reference.holm(p)]
        pooled = [(row, one) for row, one in rows if one.has_t_interval and not left_out]
        for row, _ in rows:
            if row not in [each for each, _ in pooled]:
                assert 1 - row.level == near(alpha / m)
        if not pooled:
            continue
        (level,) = {row.level for row, _ in pooled}
        share = alpha * len(pooled) / m
        if len(pooled) == 1:
            assert 1 - level == near(share)
            continue
        assert 1 - level >= alpha / m - 1e-12
        correlation = reference.correlations([one for _, one in pooled])
        draws = 200_000
        exact = reference.joint_quantile(correlation, share, draws, seed=2)
        density = share * exact  # at least, of the largest of normal numbers in its tail
        error = math.sqrt(share * (1 / draws + 1 / PRODUCT_DRAWS)) / density
        c = norm.isf((1 - level) / 2)
        bonferroni = norm.isf(alpha / m / 2)
        assert min(exact, bonferroni) - STANDARD_ERRORS * error <= c
        assert c <= exact + 0.01 + STANDARD_ERRORS * error


@pytest.mark.parametrize("seed", [*QUICK, *MORE])
def test_exploratory_levels(seed: int) -> None:
    """All exploratory metrics and pairs of a comparison are one set of tests."""
    compared = world(seed)
    rows = [row for row, _ in compared.tested if not row.primary]
    if not rows:
        return
    p = [row.p for row in rows]
    assert [row.p_adjusted for row in rows] == [near(q) for q in reference.benjamini_hochberg(p)]
    level = reference.false_coverage_level(p, 1 - compared.confidence)
    assert {row.level for row in rows} == {near(level)}
    for row in rows:
        if row.ci_low is not None:
            is_found = row.p_adjusted <= 1 - compared.confidence
            assert is_found == (not row.ci_low <= 0 <= row.ci_high)


@pytest.mark.parametrize("seed", [*QUICK, *MORE])
def test_winners(seed: int) -> None:
    """The estimate for the best of many models allows for their correlations."""
    compared = world(seed)
    for winner in compared.comparison.winners:
        rows = [
            (row, one)
            for row, one in compared.tested
            if row.label == winner.label and row.vs_baseline
        ]
        sign = 1.0 if compared.higher_is_better[winner.label] else -1.0
        gains = np.array([sign * one.d.mean() for _, one in rows])
        best = int(np.argmax(gains))
        assert winner.model == rows[best][0].a
        if winner.corrected is None:
            continue
        errors = np.array([one.standard_error for _, one in rows])
        covariance = reference.correlations([one for _, one in rows]) * np.outer(errors, errors)
        expected = sign * reference.shrunken(gains, covariance)[best]
        assert winner.corrected == pytest.approx(expected, rel=1e-8, abs=1e-8)
