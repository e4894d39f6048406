"""Trade-offs: which models are shown to be dominated."""

from dataclasses import replace
from typing import Any

import pytest

from concord.metrics_core.comparison.leaderboard import compute_tradeoffs
from concord.metrics_core.results.comparison_parts import Difference, Tradeoff
from tests.metrics_core.comparison.tables import differences_of, inputs_of

LOW = [0.1 + 0.01 * (n % 7) for n in range(80)]
HIGH = [0.2 + 0.01 * (n % 5) for n in range(80)]


def _tradeoff(
    values: dict[str, dict[str, list[float]]], changed: dict[str, dict[str, Any]] | None = None
) -> Tradeoff:
    """Return the only trade-off; `changed` sets fields of the differences on a label."""
    inputs = inputs_of(values, primary=["nDCG@10"])
    pairs: list[Difference] = [
        replace(pair, **(changed or {}).get(pair.label, {})) for pair in differences_of(inputs)
    ]
    (tradeoff,) = compute_tradeoffs(inputs.config, inputs.models, pairs)
    return tradeoff


def _dominated(tradeoff: Tradeoff) -> dict[str, tuple[str, ...]]:
    return {point.model: point.dominated_by for point in tradeoff.points if point.dominated_by}


def test_models_are_dominated_by_all_that_are_better_and_not_worse() -> None:
    values = {
        "pop": {"nDCG@10": LOW, "ARP@10": HIGH},
        "good": {"nDCG@10": [x + 0.3 for x in HIGH], "ARP@10": LOW},
        "broad": {"nDCG@10": HIGH, "ARP@10": [x / 10 for x in LOW]},
        "copy": {"nDCG@10": HIGH, "ARP@10": LOW},
    }

    tradeoff = _tradeoff(values)

    assert not tradeoff.x_higher_is_better
    # the best mean of nDCG@10 first; the copy of good's ARP@10 is identical to it there
    assert _dominated(tradeoff) == {
        "pop": ("good", "broad", "copy"), "copy": ("good", "broad"),
    }  # fmt: skip


BETTER = {"verdict": "better", "ci_low": 0.02, "ci_high": 0.04, "min_effect": 0.01}
PERHAPS = {"verdict": "better_below_threshold", "ci_low": 0.001, "ci_high": 0.04}
UNSIZED = {"verdict": "better_without_interval", "ci_low": None, "ci_high": None}
UNDECIDED = {"verdict": "undecided", "ci_low": -0.02, "ci_high": 0.04, "min_effect": 0.01}
NOT_WORSE = UNDECIDED | {"ci_low": -0.009}
EQUIVALENT = {"verdict": "equivalent", "ci_low": -0.01, "ci_high": 0.01, "min_effect": 0.01}
IDENTICAL = {"verdict": "identical", "ci_low": 0.0, "ci_high": 0.0, "min_effect": 0.0}


@pytest.mark.parametrize(
    ("on_accuracy", "on_novelty", "is_dominated"),
    [
        (BETTER, UNDECIDED, False),
        (BETTER, NOT_WORSE, True),
        (NOT_WORSE, BETTER, True),
        (NOT_WORSE, NOT_WORSE, False),
        (BETTER, NOT_WORSE | {"min_effect": 0.0}, False),
        (BETTER, NOT_WORSE | {"min_effect": None, "ci_low": None, "ci_high": None}, False),
        (BETTER, EQUIVALENT, True),
        (BETTER, IDENTICAL, True),
        (IDENTICAL, IDENTICAL, False),
        (PERHAPS, NOT_WORSE, True),
        (BETTER, PERHAPS, True),
        (NOT_WORSE, UNSIZED, True),
        (BETTER, UNSIZED, True),
        (BETTER, UNSIZED | {"verdict": "undecided"}, False),
        (BETTER, {"verdict": "too_few_users", "ci_low": -0.001, "ci_high": 0.001}, False),
        (BETTER, {"verdict": "not_comparable", "ci_low": None, "ci_high": None}, False),
        (BETTER, {"verdict": "worse_below_threshold", "ci_low": -0.02, "ci_high": -0.001}, False),
        (BETTER, {"label": "another"}, False),  # not compared
    ],
)
def test_a_model_is_dominated_only_if_it_is_shown(
    on_accuracy: dict[str, Any], on_novelty: dict[str, Any], *, is_dominated: bool
) -> None:
    values = {m: {"nDCG@10": LOW, "Novelty@10": LOW} for m in ("b", "a")}

    tradeoff = _tradeoff(values, {"nDCG@10": on_accuracy, "Novelty@10": on_novelty})

    assert _dominated(tradeoff) == ({"b": ("a",)} if is_dominated else {})


def test_few_users_do_not_show_that_the_accurate_model_is_dominated() -> None:
    values = {
        "accurate": {"nDCG@10": [0.5 * (n % 2) for n in range(80)], "Novelty@10": LOW},
        "novel": {"nDCG@10": [0.5 * (n % 3 == 0) for n in range(80)], "Novelty@10": HIGH},
    }

    tradeoff = _tradeoff(values)

    assert [round(point.y, 2) for point in tradeoff.points] == [0.25, 0.17]
    assert _dominated(tradeoff) == {}
