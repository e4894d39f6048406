"""Poisson bootstrap, against closed forms; its bits do not depend on blocks or threads."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import poisson

from concord.metrics_core.stats import bootstrap
from concord.metrics_core.stats.bootstrap import (
    MAX_WEIGHT,
    best_shares,
    percentile_interval,
    weighted_means,
)
from concord.metrics_core.stats.floating_point import round_to_grid

NAN = math.nan


def _values(seed: int, users: int = 2000, columns: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((users, columns)) < 0.4, rng.random((users, columns)), 0.0)


def test_standard_deviation_of_the_means_is_the_standard_error() -> None:
    values = _values(1)

    means = weighted_means(values, resamples=4000, seed=1)

    expected = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    assert means.std(axis=0, ddof=1) == pytest.approx(expected, rel=0.05)
    assert means.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=4 * expected.max() / 63)
    assert poisson.ppf(1 - 0.5 / (1 << 16), 1) <= MAX_WEIGHT


@pytest.mark.parametrize("users", [301, 302])
def test_block_sizes_change_no_bit(users: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = _values(4, users=users)
    values[::7, 1] = NAN
    expected = weighted_means(values, resamples=131, seed=3)

    monkeypatch.setattr(bootstrap, "_USER_BLOCK", 37)
    for drawn in (1, 7 * users):  # two resamples at a time, six
        monkeypatch.setattr(bootstrap, "_MAX_DRAWN", drawn)
        assert np.array_equal(weighted_means(values, resamples=131, seed=3), expected)


def test_all_columns_have_the_same_users() -> None:
    values = _values(3, columns=1)
    twice = np.column_stack([values, values, 2 * values])

    means = weighted_means(twice, resamples=50, seed=1)

    assert (means[:, 0] == means[:, 1]).all()
    assert means[:, 2] == pytest.approx(2 * means[:, 0])


def test_nan_is_left_out_of_its_column() -> None:
    values = np.array([[1.0, NAN], [3.0, NAN], [NAN, NAN], [NAN, 5.0]] * 50)

    means = weighted_means(values, resamples=200, seed=1)

    assert (means[:, 1] == 5.0).all()
    assert means[:, 0].mean() == pytest.approx(2.0, abs=0.03)
    assert np.isnan(weighted_means(np.full((5, 1), NAN), resamples=3, seed=1)).all()


def test_first_resamples_do_not_depend_on_their_number() -> None:
    values = _values(4)

    fewer, more = (weighted_means(values, resamples=n, seed=1) for n in (70, 200))

    assert (more[:64] == fewer[:64]).all()


def test_probability_of_being_best_by_hand() -> None:
    means = np.array([[1.0, 2.0, 2.0], [3.0, 1.0, 2.0], [1.0, 4.0, NAN], [NAN, NAN, NAN]])

    # three resamples: columns 2 and 3 tie in one, column 1 is best in one, column 2 in one
    assert best_shares(means, higher_is_better=True) == pytest.approx([1 / 3, 1.5 / 3, 0.5 / 3])
    assert best_shares(means, higher_is_better=False) == pytest.approx([2 / 3, 1 / 3, 0])
    assert np.isnan(best_shares(means[3:], higher_is_better=True)).all()


def test_ends_of_the_interval_are_values_of_the_samples() -> None:
    samples = np.arange(1000.0)[::-1]

    assert percentile_interval(samples, 0.9375) == (31.0, 968.0)
    assert np.isnan(percentile_interval(np.array([NAN]), 0.95)).all()


@pytest.mark.parametrize("largest", [1e-3, 1.0, 37.5, 1e6])
def test_sums_on_the_grid_are_exact_in_any_order(largest: float) -> None:
    rng = np.random.default_rng(5)
    values = rng.random((50_000, 1)) * largest
    values[0] = largest
    weights = rng.integers(0, MAX_WEIGHT + 1, len(values)).astype(np.float64)

    rounded = round_to_grid(values, MAX_WEIGHT)[:, 0]

    terms = weights * rounded
    assert float(np.add.reduce(terms)) == math.fsum(terms) == float(terms[::-1].cumsum()[-1])
    assert np.abs(rounded - values[:, 0]).max() <= largest * MAX_WEIGHT * len(values) / 2**52


_PRINT = """
import hashlib, numpy as np
from concord.metrics_core.conventions.conventions import Candidates
from concord.metrics_core.evaluation.sampled_candidates import correction
from concord.metrics_core.stats.bootstrap import weighted_means
from concord.metrics_core.stats.simultaneous import correlations, deviation_numbers, joint_alpha
values = np.random.default_rng(1).random((20_000, 12))
correlation = correlations([deviation_numbers(column - 0.5) for column in values.T])
arrays = [weighted_means(values, resamples=100, seed=1), correlation]
arrays.append(np.array([joint_alpha(correlation, 0.05)]))
arrays.append(correction(1 / np.arange(1, 2_001), Candidates(300, 5_000)))
print([hashlib.sha256(array.tobytes()).hexdigest() for array in arrays])
"""


def test_threads_change_no_bit_of_bootstrap_levels_and_sampled_correction() -> None:
    one, many = (
        subprocess.check_output(
            [sys.executable, "-c", _PRINT],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
        )
        for threads in ("1", "7")
    )

    assert one == many
    assert len(one) > 3 * 64
