"""Words follow from printed intervals in any world; levels, families and winners."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import nct, norm
from scipy.stats import t as student

import concord as cc
from concord.metrics_core.results.comparison_parts import Difference
from tests.metrics_core.defined import defined

Floats = NDArray[np.float64]
Columns = dict[str, dict[str, Floats]]  # model -> metric -> value of each user

WITHOUT_INTERVAL = {"identical", "too_few_users", "no_interval", "not_comparable"}


def word_of(low: float | None, high: float | None, margin: float | None, *, up: bool = True) -> str:
    """Return the word that a reader gives to an interval."""
    if low is None or high is None or margin is None:
        return "undecided"
    if not up:
        low, high = -high, -low
    if low > margin:
        return "better"
    if high < -margin:
        return "worse"
    if low >= -margin and high <= margin:
        return "equivalent"
    if low > 0:
        return "better_below_threshold"
    return "worse_below_threshold" if high < 0 else "undecided"


@dataclass(frozen=True)
class World:
    """Values and options of a comparison of the first model with the others."""

    columns: Columns
    options: dict[str, Any]
    up: Mapping[str, bool]

    def compare(
        self, users: Iterable[int] | None = None, models: Iterable[str] | None = None
    ) -> cc.results.Comparison:
        order = [*users] if users is not None else [*range(len(self.columns["m0"]["X"]))]
        values = {
            model: {
                metric: {f"u{u:03}": float(column[u]) for u in order}
                for metric, column in self.columns[model].items()
            }
            for model in (models or self.columns)
        }
        return cc.compare_values(
            values, baseline="m0", resamples=99, higher_is_better=dict(self.up), **self.options
        )


def random_column(rng: np.random.Generator, kind: str, base: Floats) -> Floats:
    """Return values of a model, like those of the baseline."""
    n = len(base)
    if kind == "hits":
        return np.where(rng.random(n) < 0.5, base, rng.random(n) < 0.15).astype(np.float64)
    if kind == "ties":
        return np.round(base + rng.choice([0, 0, 0, 0.25, -0.25, 0.5], n), 2)
    if kind == "identical":
        return base.copy()
    if kind == "constant":
        return base + rng.choice([0.02, -0.02, 0.3])
    noisy = base * rng.uniform(0.5, 1.6, n) + rng.choice([0.0, 0.05, 0.3])
    if kind == "missing":
        noisy[rng.random(n) < rng.choice([0.1, 0.7])] = np.nan
    return np.asarray(noisy)


KINDS = ("noisy", "noisy", "hits", "ties", "identical", "constant", "missing")


def random_world(seed: int, *, n_models: int | None = None, n_users: int | None = None) -> World:
    rng = np.random.default_rng(seed)
    n_models = n_models or int(rng.integers(2, 8))
    n = n_users or int(rng.choice([6, 9, 14, 20, 29, 31, 45, 60]))
    base = {
        "X": rng.gamma(0.7, 0.5, n) - rng.choice([0.0, 3.0]),
        "Y": (rng.random(n) < rng.choice([0.05, 0.4])).astype(np.float64),
        "Z": rng.gamma(2.0, 0.2, n),
    }
    columns: Columns = {"m0": base}
    for number in range(1, n_models):
        columns[f"m{number}"] = {
            metric: random_column(rng, str(rng.choice(KINDS)), column)
            for metric, column in base.items()
        }
    if seed % 4 == 3:
        for column in base.values():
            column[rng.random(n) < 0.3] = np.nan
    options: dict[str, Any] = {
        "primary": [["X"], ["X", "Y"], ["Y"]][rng.integers(3)],
        "min_effect": [0.0, 0.05, "2%", "25%", {"X": "5%", "default": 0.3}][rng.integers(5)],
        "family": str(rng.choice(["baseline", "all"])),
        "tried": [None, None, 40][rng.integers(3)],
        "confidence": float(rng.choice([0.95, 0.8, 0.99])),
    }
    return World(columns, options, {"X": bool(rng.random() < 0.7)})


def check_row(row: Difference, comparison: cc.results.Comparison, *, up: bool) -> None:
    """Assert that word, interval, level and single interval of a row agree."""
    if row.verdict in WITHOUT_INTERVAL:
        assert row.ci_low is None
        assert row.ci_high is None
    else:
        assert row.verdict == word_of(row.ci_low, row.ci_high, row.min_effect, up=up)
    excludes_zero = row.ci_low is not None and (row.ci_low > 0 or defined(row.ci_high) < 0)
    assert row.excludes_zero == excludes_zero
    assert not (excludes_zero and row.verdict == "undecided")
    assert row.level >= comparison.confidence - 1e-12
    if row.ci_low is not None:
        assert row.min_effect is not None
        low, high = defined(row.single_low), defined(row.single_high)
        assert row.ci_low <= low <= defined(row.difference) + 1e-9
        assert defined(row.difference) - 1e-9 <= high <= defined(row.ci_high)
        if row.level == pytest.approx(comparison.confidence, abs=1e-12):
            assert (row.ci_low, row.ci_high) == (low, high)
    if row.min_effect is None:
        assert row.relative is None
    if row.detectable is not None:
        assert row.primary
        assert row.detectable > 0


def family_key(comparison: cc.results.Comparison, row: Difference) -> tuple[bool, bool]:
    return row.primary, row.vs_baseline or comparison.family == "all" or not row.primary


def holm(p: list[float]) -> list[float]:
    """Return Holm's p by definition: max over smaller ones of (m - rank) p, at most 1."""
    m, ascending = len(p), sorted(p)
    steps = [min(1.0, max((m - i) * q for i, q in enumerate(ascending[: j + 1]))) for j in range(m)]
    return [max(s for s, q in zip(steps, ascending, strict=True) if q == each) for each in p]


def benjamini_hochberg(p: list[float]) -> list[float]:
    m, ascending = len(p), sorted(p)
    return [
        min(1.0, *(m * q / (i + 1) for i, q in enumerate(ascending) if q >= each)) for each in p
    ]


def check_families(comparison: cc.results.Comparison) -> None:
    """Assert that levels are between Bonferroni's and one test's, and p is adjusted in families."""
    families: dict[tuple[bool, bool], list[Difference]] = {}
    for row in comparison.pairs:
        families.setdefault(family_key(comparison, row), []).append(row)
    n_models = len(comparison.models) - 1
    for (primary, _), rows in families.items():
        alpha = 1 - comparison.confidence
        if primary:
            alpha *= n_models / max(comparison.tried or 0, n_models)
        tested = [row for row in rows if row.p is not None]
        p = [defined(row.p) for row in tested]
        adjusted = (holm if primary else benjamini_hochberg)(p)
        assert [row.p_adjusted for row in tested] == pytest.approx(adjusted)
        for row in tested:
            m = len(tested)
            assert alpha / m - 1e-12 <= 1 - row.level <= alpha + 1e-12
            if m == 1:
                assert 1 - row.level == pytest.approx(alpha)
            if not primary and row.test != "none" and row.verdict != "too_few_users":
                found = defined(row.p_adjusted) <= alpha
                if row.ci_low is not None:
                    assert row.excludes_zero == found


@pytest.mark.parametrize("seed", range(20))
def test_every_word_follows_from_the_printed_interval(seed: int) -> None:
    world = random_world(seed)

    comparison = world.compare()

    for row in comparison.pairs:
        check_row(row, comparison, up=world.up.get(row.label, True))
        check_row(row.mirrored(), comparison, up=world.up.get(row.label, True))
    check_families(comparison)


@pytest.mark.parametrize("seed", [100, 101])
def test_many_models_are_compared_with_the_leaders(seed: int) -> None:
    world = random_world(seed, n_models=14, n_users=40)

    comparison = world.compare()

    for row in comparison.pairs:
        check_row(row, comparison, up=world.up.get(row.label, True))
    others = [row for row in comparison.pairs if row.primary and not row.vs_baseline]
    assert len(others) < math.comb(13, 2) * len(comparison.primary)
    n_tested = sum(row.p is not None for row in others)
    n_untested = math.comb(13, 2) * len(comparison.primary) - len(others)
    if comparison.family == "baseline" and comparison.tried is None:
        levels = {round(row.level, 12) for row in others}
        alpha = (1 - comparison.confidence) / (n_tested + n_untested)
        assert levels == {round(1 - alpha, 12)}


@pytest.mark.parametrize("seed", range(30, 38))
def test_the_order_of_models_and_of_users_changes_no_bit(seed: int) -> None:
    world = random_world(seed, n_models=5)
    expected = world.compare()
    rng = np.random.default_rng(seed)
    users = rng.permutation(len(world.columns["m0"]["X"])).tolist()
    models = [str(model) for model in rng.permutation([*world.columns])]

    comparison = world.compare(users, models)

    for row in expected.pairs:
        assert comparison.difference(row.a, row.b, row.label) == row
        assert expected.difference(row.b, row.a, row.label) == row.mirrored()
    names = {(w.label, w.difference, w.corrected, w.n_models) for w in expected.winners}
    assert {(w.label, w.difference, w.corrected, w.n_models) for w in comparison.winners} == names


def few_hits(seed: int, n_users: int = 200) -> World:
    """Return six models with hits; differences of mean 0 and equal numbers of gains are common."""
    rng = np.random.default_rng(seed)
    columns = {
        f"m{n}": {"X": rng.permutation(np.repeat([1.0, 0.0], [40, n_users - 40]))} for n in range(6)
    }
    return World(columns, {"min_effect": 0.01, "family": "all"}, {})


@pytest.mark.parametrize("seed", range(3))
def test_models_with_equal_numbers_of_hits_have_the_same_level_in_any_order(seed: int) -> None:
    world = few_hits(seed)
    expected = world.compare()
    assert {row.difference for row in expected.pairs} == {0.0}

    for order in (["m3", "m1", "m5", "m0", "m2", "m4"], ["m5", "m4", "m3", "m2", "m1", "m0"]):
        comparison = world.compare(models=order)
        for row in expected.pairs:
            assert comparison.difference(row.a, row.b, row.label) == row


def normal_world(seed: int, n_models: int, n_users: int, gain: float = 0.0) -> World:
    """Return models whose users' differences to the baseline have a standard deviation of 0.2."""
    rng = np.random.default_rng(seed)
    base = rng.normal(0.5, 0.3, n_users)
    columns: Columns = {"m0": {"X": base}}
    for number in range(1, n_models):
        columns[f"m{number}"] = {"X": base + gain + rng.normal(0, 0.2, n_users)}
    return World(columns, {}, {})


def test_one_comparison_has_the_confidence_itself() -> None:
    (row,) = normal_world(1, 2, 100).compare().pairs

    assert row.level == 0.95
    assert (row.ci_low, row.ci_high) == (row.single_low, row.single_high)


def test_levels_of_independent_comparisons_are_close_to_those_of_sidak() -> None:
    """19 differences to a baseline without error: 0.95^(1/19), c = Φ⁻¹((1 + level) / 2)."""
    rng = np.random.default_rng(3)
    columns = {"m0": {"X": np.zeros(400)}}
    columns |= {f"m{n}": {"X": rng.normal(0, 1, 400)} for n in range(1, 20)}

    row = World(columns, {}, {}).compare().against_baseline("X")[0]

    critical, sidak = (norm.ppf((1 + level) / 2) for level in (row.level, 0.95 ** (1 / 19)))
    assert -0.03 < critical - sidak < 0.05


def test_tried_models_share_the_level() -> None:
    """4 models of 40 that were tried: a tenth of 5 %, and no estimate of the winner."""
    world = normal_world(1, 5, 200, gain=0.05)
    few = world.compare()
    many = World(world.columns, {"tried": 40}, {}).compare()

    (all_of_them,) = few.winners
    assert not many.winners
    strict = World(world.columns, {"confidence": 1 - 0.05 / 10}, {}).compare()
    for row, expected in zip(many.pairs, strict.pairs, strict=True):
        assert row.level == pytest.approx(expected.level, abs=1e-9)
    assert World(world.columns, {"tried": 4}, {}).compare().winners == (all_of_them,)


def test_the_winner_is_shrunk_towards_the_other_models() -> None:
    world = normal_world(2, 9, 150, gain=0.05)

    (winner,) = world.compare().winners

    gains = {
        model: (each["X"] - world.columns["m0"]["X"]).mean()
        for model, each in world.columns.items()
        if model != "m0"
    }
    assert (winner.model, winner.n_models) == (max(gains, key=gains.__getitem__), 8)
    assert winner.difference == pytest.approx(gains[winner.model])
    assert np.mean([*gains.values()]) <= defined(winner.corrected) < defined(winner.difference)


@pytest.mark.parametrize("gain", [-1.0, 0.0])
def test_there_is_no_winner_if_no_model_gains(gain: float) -> None:
    rng = np.random.default_rng(2)
    base = rng.random(60)
    columns = {
        "m0": {"X": base},
        "m1": {"X": base + gain},
        "m2": {"X": base - 0.2 * rng.random(60)},
    }

    assert not World(columns, {}, {}).compare().winners


def test_a_leader_that_gains_the_same_for_all_users_is_not_replaced_by_the_second() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(60)
    columns = {"m0": {"X": base}, "m1": {"X": base + 0.5}}
    columns |= {f"m{n}": {"X": base + 0.1 * rng.random(60)} for n in (2, 3)}

    assert not World(columns, {}, {}).compare().winners


@pytest.mark.parametrize("bounds", [None, {"X": (0, 1)}])
@pytest.mark.parametrize(("n", "word"), [(5, "too_few_users"), (6, "better"), (40, "better")])
def test_a_constant_difference_has_one_word_with_and_without_bounds(
    n: int, word: str, bounds: Any
) -> None:
    base = np.linspace(0.2, 0.6, n)
    world = World({"m0": {"X": base}, "m1": {"X": base + 0.02}}, {"bounds": bounds}, {})

    (row,) = world.compare().pairs

    assert row.verdict == word
    if n > 5:
        nearest = (2 * 0.025 ** (1 / n) - 1) * 0.02
        assert (row.ci_low, row.ci_high) == pytest.approx((nearest, 0.02))


@pytest.mark.parametrize("n_models", [2, 4])
def test_the_detectable_difference_is_that_of_a_plan(n_models: int) -> None:
    comparison = normal_world(4, n_models, 80).compare()

    planned = cc.plan(comparison).differences
    rows = comparison.against_baseline("X")

    assert [row.detectable for row in rows] == pytest.approx(
        [each.smallest_corrected for each in planned]
    )


def test_the_detectable_difference_is_found_in_80_percent_of_comparisons() -> None:
    """60 users whose differences have a standard deviation of 0.2; by SciPy's noncentral t."""
    n, found, detectable = 60, [], []
    critical = student.ppf(0.975, n - 1)
    true = 0.2 / math.sqrt(n) * brentq(lambda d: nct.sf(critical, n - 1, d) - 0.8, 1, 5)
    for seed in range(100):
        (row,) = normal_world(1000 + seed, 2, n, gain=true).compare().pairs
        found.append(row.verdict == "better")
        detectable.append(defined(row.detectable))

    assert np.mean(detectable) == pytest.approx(true, rel=0.04)
    assert np.mean(found) == pytest.approx(0.8, abs=0.12)  # three standard errors


def test_a_share_of_a_mean_that_may_be_zero_is_undecided_without_interval() -> None:
    rng = np.random.default_rng(5)
    base = rng.normal(0.02, 1, 60)
    columns = {"m0": {"X": base}, "m1": {"X": base + 0.5 + 0.1 * rng.random(60)}}

    (share,) = World(columns, {"min_effect": "2%"}, {}).compare().pairs
    (number,) = World(columns, {"min_effect": 0.01}, {}).compare().pairs

    assert (share.verdict, number.verdict) == ("undecided", "better")
    assert (share.ci_low, share.min_effect, share.relative) == (None, None, None)


def test_a_share_of_zero_is_zero() -> None:
    world = normal_world(7, 3, 60)

    none, share = (World(world.columns, {"min_effect": x}, {}).compare() for x in (0.0, "0%"))

    assert share.pairs == none.pairs


def test_texts_say_of_what_an_interval_is_if_the_margin_is_a_share() -> None:
    base = np.arange(40, dtype=np.float64) % 7
    columns: Columns = {f"m{n}": {"X": base + n + 1} for n in range(3)}
    columns["m1"]["X"] += np.arange(40) % 5 / 10
    number, share = (World(columns, {"min_effect": x}, {}).compare() for x in (0.1, "2%"))
    note = "Intervals are those of the difference as a share of m0's mean, times this mean"

    for comparison, is_noted in ((number, False), (share, True)):
        texts = (
            str(comparison),
            comparison.to_markdown(),
            comparison.to_html().replace("&#39;", "'"),
        )
        assert all((note in text) == is_noted for text in texts)


def test_replacing_a_row_would_be_noticed() -> None:
    """The check of this module fails for a word that does not follow from the interval."""
    comparison = normal_world(1, 2, 100, gain=0.2).compare()
    (row,) = comparison.pairs
    check_row(row, comparison, up=True)

    with pytest.raises(AssertionError):
        check_row(replace(row, verdict="undecided"), comparison, up=True)
