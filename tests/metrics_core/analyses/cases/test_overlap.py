"""Jaccard and rank-biased overlap, against hand calculation, definitions and package `rbo`."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.evaluation.list_overlap import SharedItems, jaccard, rank_biased_overlap
from tests.parity.cases import list_pairs
from tests.parity.measure import stored

Pair = tuple[Sequence[str], Sequence[str]]

LISTS = st.permutations("abcdefgh").flatmap(lambda x: st.integers(0, 8).map(lambda n: x[:n]))


def _shared(pairs: Sequence[Pair]) -> SharedItems:
    user, depth = [], []
    for number, (a, b) in enumerate(pairs):
        common = [max(a.index(item), b.index(item)) + 1 for item in a if item in b]
        user += [number] * len(common)
        depth += sorted(common)
    length_a, length_b = (np.array([len(pair[side]) for pair in pairs]) for side in (0, 1))
    return SharedItems(
        length_a, length_b, np.array(user, dtype=np.int64), np.array(depth, dtype=np.int64)
    )


def _rbo(a: Sequence[str], b: Sequence[str], p: float) -> float:
    """Return (1 - p) Σ p^(d - 1) × agreement at depth d, extrapolated beyond the lists."""
    if not a and not b:
        return math.nan
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)

    def agreement(d: int) -> float:
        d = min(d, n)
        common = len({*short[:d]} & {*long[:d]})
        extrapolated = len({*short} & {*long[:s]}) * (d - s) / s if d > s > 0 else 0.0
        return (common + extrapolated) / d

    return math.fsum((1 - p) * p ** (d - 1) * agreement(d) for d in range(1, 3000))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("abc", "abc", 3 / 3),
        ("abc", "cde", 1 / 5),
        ("ab", "abcd", 2 / 4),
        ("ab", "cd", 0 / 4),
        ("a", "", 0 / 1),
        ("", "", math.nan),
    ],
)
def test_jaccard_by_hand(a: str, b: str, expected: float) -> None:
    assert jaccard(_shared([(a, b)]))[0] == pytest.approx(expected, nan_ok=True)


@given(st.lists(st.tuples(LISTS, LISTS), min_size=1, max_size=5), st.sampled_from([0.5, 0.9, 0.98]))
def test_values_of_many_users_equal_the_definition(pairs: list[Pair], p: float) -> None:
    expected = [_rbo(a, b, p) for a, b in pairs]

    assert rank_biased_overlap(_shared(pairs), p) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_values_equal_the_package_rbo() -> None:
    (case,) = list_pairs()
    values = {int(user): value for user, value in stored("rbo").select("user", "value").rows()}

    assert dict(enumerate(rank_biased_overlap(_shared(case["pairs"]), case["p"]))) == pytest.approx(
        values, abs=1e-12
    )
