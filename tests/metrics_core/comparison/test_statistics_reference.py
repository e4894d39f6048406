"""Comparisons agree with an implementation that was written from the documentation alone."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import concord
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from tests.metrics_core.comparison import statistics_reference as reference
from tests.metrics_core.comparison.statistics_reference import Pair, Vector

QUICK = (0, 2, 3, 11, 12, 15, 18, 22, 24, 36, 37, 38, 43, 49, 59, 61)  # few comparisons each
NIGHTLY = [seed for seed in range(300) if seed not in QUICK]
MORE = [pytest.param(seed, marks=pytest.mark.nightly) for seed in NIGHTLY]
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
        a, b, base = (self.values[model][row.label] for model in (row.a, row.b, "m0"))
        return reference.pair(a, b, base)

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
        dict.fromkeys(metrics, True) | is_higher,
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


def number(value: float | None) -> float:
    assert value is not None
    return value


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
            a, b = (compared.values[model][row.label][one.users] for model in (row.a, row.b))
            others = () if row.vs_baseline else (a,)
            expected = reference.relative(one.d.mean(), b, compared.confidence, *others)
            assert row.relative == near(expected)


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
            assert_interval(one, (low, high), level, share=share)
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


def assert_interval(
    one: Pair, ends: tuple[float | None, float | None], level: float, *, share: bool
) -> None:
    """The interval is that of the reference; what rests on draws is near it."""
    low, high = ends
    if one.has_t_interval or one.is_constant or one.is_enumerated:
        expected = reference.interval(one, level, share=share) or (None, None)
        assert ends == (near(expected[0]), near(expected[1]))
    elif low is not None and high is not None:
        _assert_near_quantiles(one, (low, high), level, share=share)


def _assert_near_quantiles(
    one: Pair, ends: tuple[float, float], level: float, *, share: bool
) -> None:
    """Both ends cut off α/2 of the subsets, up to the error of both seeded draws."""
    alpha, draws = 1 - level, 20_000
    error = STANDARD_ERRORS * math.sqrt(alpha / 2 * (1 / draws + 1 / PRODUCT_DRAWS)) + 4 / draws
    mirrored = Pair(-one.d, one.base, one.users)
    for side, end in ((one, ends[0]), (mirrored, -ends[1])):
        below, at_most = reference.tails(side, end, share=share, draws=draws, seed=1)
        assert below - error <= alpha / 2 <= at_most + error


@pytest.mark.parametrize("seed", [*QUICK, *MORE])
def test_levels(seed: int) -> None:
    """The level of a family is that of its joint quantile; adjusted p-values are Holm's."""
    compared = world(seed)
    alpha = compared.family_alpha
    for rows, left_out in compared.families:
        m = len(rows) + left_out
        p = [number(row.p) for row, _ in rows]
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
        draws = 100_000
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
    p = [number(row.p) for row in rows]
    assert [row.p_adjusted for row in rows] == [near(q) for q in reference.benjamini_hochberg(p)]
    level = reference.false_coverage_level(p, 1 - compared.confidence)
    for row in rows:
        assert row.level == near(level)
        if row.ci_low is not None:
            is_found = number(row.p_adjusted) <= 1 - compared.confidence
            assert is_found == (not row.ci_low <= 0 <= number(row.ci_high))


@pytest.mark.parametrize("seed", [*QUICK, *MORE])
def test_winners(seed: int) -> None:
    """The estimate for the best of many models allows for their correlations."""
    compared = world(seed)
    has_more = compared.tried is not None and compared.tried >= compared.n_models
    winners = {winner.label: winner for winner in compared.comparison.winners}
    for label in compared.primary:
        rows = [
            (row, one)
            for row, one in compared.tested
            if row.label == label and row.vs_baseline and not one.is_constant
        ]
        sign = 1.0 if compared.higher_is_better[label] else -1.0
        gains = {row.a: sign * number(row.difference) for row, _ in rows}
        against_baseline = [
            row
            for row in compared.comparison.pairs_of(label)
            if row.vs_baseline and row.verdict != "not_comparable"
        ]
        all_gains = [sign * number(row.difference) for row in against_baseline]
        highest = max(all_gains, default=0.0)
        leads = all_gains.count(highest) == 1 and len(gains) > 1 and max(gains.values()) == highest
        is_chosen = leads and highest > 0 and not has_more
        assert (label in winners) == is_chosen
        if not is_chosen:
            continue
        best = max(gains, key=lambda model: gains[model])
        errors = np.array([one.standard_error for _, one in rows])
        covariance = reference.correlations([one for _, one in rows]) * np.outer(errors, errors)
        estimates = reference.shrunken(np.array([*gains.values()]), covariance)
        expected = sign * estimates[[*gains].index(best)]
        winner = winners[label]
        assert (winner.model, winner.n_models) == (best, len(gains))
        # the product rounds deviations to 2^-20 of the largest, so that no order changes a bit
        assert winner.corrected == pytest.approx(expected, abs=2e-6 * highest)


@pytest.mark.parametrize("n", [20, 200])
def test_share_of_the_mean_over_the_same_users(n: int) -> None:
    """The interval of a share contains it if models lack the users with low values."""
    random = np.random.default_rng(0)
    base = np.sort(random.gamma(4, size=n))
    new = base + 1 + random.normal(0, 0.1, n)
    new[: n // 3] = np.nan
    values = {"new": {"M": _by_user(new)}, "base": {"M": _by_user(base)}}
    (row,) = concord.compare_values(values, baseline="base", min_effect="5%").pairs
    one = reference.pair(new, base, base)
    assert row.min_effect == near(SHARE * number(row.mean_b))
    assert is_inside(row)
    if n == 200:
        assert (row.ci_low, row.ci_high) == near_ends(one, row.level)


def test_share_of_a_mean_that_lacks_users() -> None:
    """Of two other models, users without the baseline's value enter the difference alone."""
    random = np.random.default_rng(0)
    base = random.gamma(4, size=200)
    zero, lacks = 0.01 * random.random(200), base.copy()
    lacks[:90] = np.nan
    columns = {"base": lacks, "same": base, "zero": zero}
    values = {name: {"M": _by_user(column)} for name, column in columns.items()}
    comparison = concord.compare_values(values, baseline="base", min_effect="5%")
    row = comparison.difference("same", "zero", "M")
    assert row is not None
    assert is_inside(row)
    assert (row.ci_low, row.ci_high) == near_ends(reference.pair(base, zero, lacks), row.level)


def is_inside(row: Difference) -> bool:
    return number(row.ci_low) < number(row.difference) < number(row.ci_high)


def near_ends(one: Pair, level: float) -> tuple[object, object]:
    low, high = reference.interval(one, level, share=True) or (None, None)
    return near(low), near(high)


N_RANKS = 10


@dataclass(frozen=True)
class ListWorld:
    """Lists with one relevant item for each user, at these ranks, and their comparison."""

    ranks: dict[str, Vector]
    is_large: NDArray[np.bool_]  # users of the larger segment
    comparison: Comparison

    def pair(self, model: str, label: str, segment: str | None) -> Pair:
        users = {None: np.ones_like(self.is_large), "large": self.is_large, "small": ~self.is_large}
        columns = (_scores(self.ranks[name][users[segment]], label) for name in (model, "old"))
        a, b = columns
        return reference.pair(a, b, b, bounds=(0.0, 1.0))


def _scores(ranks: Vector, label: str) -> Vector:
    gains = 1 / np.log2(ranks + 1) if label == "nDCG@10" else np.ones(len(ranks))
    return np.where(ranks <= int(label.split("@")[1]), gains, 0.0)


def _list_world(seed: int) -> ListWorld:
    random = np.random.default_rng(seed)
    n = int(random.choice([40, 120, 400]))
    old = random.integers(1, 14, n)
    ranks = {
        "old": old,
        "near": np.clip(old + random.integers(-2, 3, n), 1, 14),
        "other": random.integers(1, 12, n),
        "few": np.where(random.random(n) < 0.15, random.integers(1, 14, n), old),
        "same": old,
    }
    is_large = np.arange(n) % 3 > 0
    users = pl.DataFrame(
        {"user": np.arange(n), "size": np.where(is_large, "large", "small").tolist()}
    )
    comparison = concord.compare(
        {model: _lists(column) for model, column in ranks.items()},
        {user: ["x"] for user in range(n)},
        metrics=["nDCG@10", "R@5"],
        baseline="old",
        users=users,
        segments={"size": {"by": "user", "column": "size"}},
        gate={
            "guardrails": {"nDCG@10": f"{100 * SHARE:g}%", "R@5": 0.03},
            "segments": {"size": {"nDCG@10": f"{100 * SHARE:g}%"}},
            "success": ["nDCG@10", "R@5"],
        },
        min_effect=0.01,
        panel=False,
    )
    return ListWorld({m: r.astype(np.float64) for m, r in ranks.items()}, is_large, comparison)


def _lists(ranks: NDArray[np.int64]) -> dict[int, list[str]]:
    fill = [f"item {number}" for number in range(N_RANKS)]
    return {
        user: [*fill[: rank - 1], "x", *fill[rank:]] if rank <= N_RANKS else fill
        for user, rank in enumerate(ranks.tolist())
    }


@pytest.mark.parametrize("seed", [0, *MORE[:30]])
def test_gates_and_segments(seed: int) -> None:
    """Guardrails have single intervals, success metrics share alpha, segments a discovery rate."""
    compared = _list_world(seed)
    gate, alpha = compared.comparison.gate, 1 - compared.comparison.confidence
    assert gate is not None
    for model in gate.models:
        for guardrail in model.guardrails:
            one = compared.pair(model.model, guardrail.label, guardrail.segment)
            is_share = guardrail.label == "nDCG@10"
            ends = (guardrail.ci_low, guardrail.ci_high)
            assert guardrail.difference == near(one.d.mean())
            assert_interval(one, ends, 1 - alpha, share=is_share)
            if ends[0] is not None:
                margin = SHARE * one.base_mean if is_share else 0.03
                assert guardrail.margin == near(margin)
            if one.n_differing == 0:
                assert guardrail.outcome == "pass"
            else:
                assert guardrail.outcome == _outcome(*ends, guardrail.margin)
        pairs = {
            success: compared.pair(model.model, success.label, None) for success in model.success
        }
        m = max(1, sum(reference.is_counted(one, alpha) for one in pairs.values()))
        for success, one in pairs.items():
            level = number(success.level)
            assert level == near(1 - alpha / m)
            assert_interval(one, (success.ci_low, success.ci_high), level, share=False)
            assert success.better == (success.ci_low is not None and success.ci_low > 0)
            low, high = success.ci_low, success.ci_high
            is_open = low is not None and high is not None and low <= 0 <= high
            expected = reference.detectable(one, level) if is_open else None
            assert success.detectable == near(expected)
        outcomes = {guardrail.outcome for guardrail in model.guardrails}
        is_better = any(success.better for success in model.success)
        expected_outcome = "pass" if is_better and outcomes == {"pass"} else "undecided"
        assert model.outcome == ("worse" if "worse" in outcomes else expected_outcome)
    (segmentation,) = compared.comparison.segments
    cells = [cell for cell in segmentation.cells if cell.p_adjusted is not None]
    tested = [compared.pair(cell.model, cell.label, cell.segment) for cell in cells]
    if all(one.has_t_interval or one.n_differing <= reference.MOST_ENUMERATED for one in tested):
        p = [reference.p_value(one) for one in tested]
        assert [cell.p_adjusted for cell in cells] == list(
            map(near, reference.benjamini_hochberg(p))
        )
        level = reference.false_coverage_level(p, alpha)
        assert [cell.level for cell in cells] == [near(level)] * len(cells)
    for cell, one in zip(cells, tested, strict=True):
        assert_interval(one, (cell.diff_low, cell.diff_high), cell.level, share=False)
        if cell.diff_low is not None:
            assert cell.verdict == reference.verdict(cell.diff_low, cell.diff_high, 0.01)


def _outcome(low: float | None, high: float | None, margin: float | None) -> str:
    if low is None or high is None or margin is None:
        return "undecided"
    return "pass" if low > -margin else "worse" if high < -margin else "undecided"
