"""The chance of a false winner: by hand and by scipy."""

import pytest
from scipy.stats import binom

from concord.metrics_core.statistics.reuse import chance_of_false_winner, severity_of


def test_by_hand() -> None:
    assert chance_of_false_winner(0, 0.05) == 0
    assert chance_of_false_winner(1, 0.05) == pytest.approx(0.05 / 2)
    assert chance_of_false_winner(2, 0.05) == pytest.approx(1 - 0.975 * 0.975)
    assert chance_of_false_winner(3, 0.2) == pytest.approx(1 - 0.9 * 0.9 * 0.9)


@pytest.mark.parametrize("alpha", [0.0001, 0.01, 0.05, 0.5])
@pytest.mark.parametrize("m", [1, 5, 28, 1_000, 100_000])
def test_it_is_the_binomial_of_scipy(m: int, alpha: float) -> None:
    assert chance_of_false_winner(m, alpha) == pytest.approx(binom.sf(0, m, alpha / 2), rel=1e-9)


def test_what_is_said_grows_at_five_and_at_twenty_eight_comparisons() -> None:
    said = {m: severity_of(chance_of_false_winner(m, 0.05)) for m in (1, 4, 5, 27, 28, 500)}

    assert said == {1: None, 4: None, 5: "notice", 27: "notice", 28: "serious", 500: "serious"}
