"""Random effects and ranks: by hand, against a published example and statsmodels."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from concord.metrics_core.analyses.study.data_sets import (
    average_ranks,
    paule_mandel,
    random_effects,
    rank_intervals,
)

# Colditz et al. (1994), as `dat.bcg` of R's metafor: tuberculosis with and without vaccine in 13
# trials (cases and others vaccinated, cases and others not). Y is the log risk ratio.
BCG = (
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619),
    (33, 5036, 47, 5761), (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892),
    (29, 7470, 45, 7232), (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338),
    (27, 16886, 29, 17825),
)  # fmt: skip
Y = [math.log(a / (a + b)) - math.log(c / (c + d)) for a, b, c, d in BCG]
S = [math.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)) for a, b, c, d in BCG]


def test_equal_errors_by_hand() -> None:
    result = random_effects([0.0, 0.3, 0.6], [0.1, 0.1, 0.1], confidence=0.95)

    # Equal weights: mu = 0.3. Σ (y - mu)² / (0.01 + tau²) = 0.18 / (0.01 + tau²) = 2: tau² = 0.08.
    assert result.mu == pytest.approx(0.3)
    assert result.tau2 == pytest.approx(0.08)
    # se² = Σ w (y - mu)² / (2 Σ w) = 2 / (2 · 3 / 0.09) = 0.03; t with 2 df is 4.303
    assert result.standard_error == pytest.approx(math.sqrt(0.03))
    assert result.ci_high - result.mu == pytest.approx(4.302653 * math.sqrt(0.03), rel=1e-6)
    # B = 0.08 / 0.09: 0 is shrunk to (1 - 8/9) · 0.3
    assert result.shrunk[0][0] == pytest.approx(0.3 / 9)
    # prediction interval: t with 1 df is 12.706
    assert result.predicted[1] - 0.3 == pytest.approx(12.70620 * math.sqrt(0.08 + 0.03), rel=1e-6)


def test_similar_data_sets_have_no_variance_and_equal_shrunk_estimates() -> None:
    result = random_effects([0.10, 0.11, 0.12], [0.1, 0.2, 0.1], confidence=0.95)

    assert result.tau2 == 0
    assert result.mu == pytest.approx((100 * 0.10 + 25 * 0.11 + 100 * 0.12) / 225)
    assert result.ci_high - result.mu == pytest.approx(4.302653 / math.sqrt(225))
    assert {round(each[0], 12) for each in result.shrunk} == {round(result.mu, 12)}


@pytest.mark.parametrize(
    "differences", [[0.0100, 0.0102, 0.0098], [0.1] * 3, [0.13 - 0.10, 0.23 - 0.20, 0.53 - 0.50]]
)
def test_interval_of_equal_differences_is_as_wide_as_their_standard_errors(
    differences: list[float],
) -> None:
    result = random_effects(differences, [0.2] * 3, confidence=0.95)

    assert result.standard_error == pytest.approx(0.2 / math.sqrt(3))  # not 0.0001
    assert result.ci_high - result.mu == pytest.approx(4.302653 * 0.2 / math.sqrt(3))
    assert result.p > 0.4


def test_published_vaccine_trials_equal_statsmodels() -> None:
    result = random_effects(Y, S, confidence=0.95)

    # statsmodels 0.15.0: combine_effects(y, v, method_re="iterated", use_t=True): tau2,
    # mean_effect_re, sd_eff_w_re_hksj, conf_int()[3]. metafor prints tau² 0.3181 for method="PM".
    assert result.tau2 == pytest.approx(0.31806845220382035)
    assert result.mu == pytest.approx(-0.7149681534933371)
    assert result.standard_error == pytest.approx(0.1808921915375987)
    assert (result.ci_low, result.ci_high) == pytest.approx((-1.10909838, -0.32083793))
    assert result.p == pytest.approx(2 * student.sf(abs(result.mu / result.standard_error), 12))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1)), min_size=3, max_size=8))
def test_tau_squared_solves_its_equation(points: list[tuple[float, float]]) -> None:
    y, s = [p[0] for p in points], [p[1] for p in points]
    tau2 = paule_mandel(y, [each**2 for each in s])
    w = [1 / (each**2 + tau2) for each in s]
    mu = sum(a * b for a, b in zip(w, y, strict=True)) / sum(w)
    squares = sum(a * (b - mu) ** 2 for a, b in zip(w, y, strict=True))

    if tau2 > 0:
        assert squares == pytest.approx(len(y) - 1, rel=1e-6)
    else:
        assert squares <= len(y) - 1 + 1e-9


def test_ties_have_their_mean_rank() -> None:
    ranks = average_ranks({"a": 0.3, "b": 0.1, "c": 0.3, "d": 0.2}, higher_is_better=True)

    assert ranks == {"a": 1.5, "c": 1.5, "d": 3.0, "b": 4.0}  # (1 + 2) / 2
    assert average_ranks({"a": 0.3, "b": 0.1}, higher_is_better=False) == {"a": 2.0, "b": 1.0}


def test_rank_intervals_by_hand() -> None:
    intervals = rank_intervals("abcd", {("a", "d"), ("b", "d"), ("a", "c")})

    assert intervals == {"a": (1, 2), "b": (1, 3), "c": (2, 4), "d": (3, 4)}  # 1 + above, 4 - below
