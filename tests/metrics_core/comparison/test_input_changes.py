"""Changes between the inputs of two comparisons, in words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from concord.metrics_core.comparison.input_changes import find_comparison_changes
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import InputChange
from tests.metrics_core.analyses.study.study_data import comparison_of


def _on(truth: Mapping[str, Any]) -> Comparison:
    created = comparison_of({"base": 0.1, "a": 0.2})
    return replace(created, quality={**created.quality, "truth": dict(truth)})


def _folds(*markers: str) -> Mapping[str, Any]:
    return {"folds": {str(n): {"sha256": marker} for n, marker in enumerate(markers)}}


@pytest.mark.parametrize(
    ("then", "now", "other"),
    [
        ({"sha256": "t1"}, {"sha256": "t1"}, False),
        ({"sha256": "t1"}, {"sha256": "t2"}, True),
        ({"etag": "t1"}, {"etag": "t2"}, True),
        (_folds("t1", "t2"), _folds("t1", "t2"), False),
        (_folds("t1", "t2"), _folds("t1", "t3"), True),
        (_folds("t1", "t2"), _folds("t1"), True),
        ({"sha256": "t1"}, _folds("t1", "t2"), True),
    ],
)
def test_another_truth_is_reported_also_that_of_a_fold(
    then: Mapping[str, Any], now: Mapping[str, Any], other: bool
) -> None:
    results = [*find_comparison_changes(_on(then), _on(now))]

    assert results == ([InputChange("truth", "another ground truth")] if other else [])


def test_rules_and_conventions_are_reported_with_what_they_were() -> None:
    then = comparison_of({"base": 0.1, "a": 0.2})
    now = comparison_of({"base": 0.1, "a": 0.2}, gain="exp2", overrides={"RR": {"gain": "binary"}})
    now = replace(now, baseline="a")

    assert [*find_comparison_changes(then, now)] == [
        InputChange("conventions", "gain: linear → exp2"),
        InputChange("conventions", "gain of RR: none → binary"),
        InputChange("rules", "baseline: base → a"),
    ]
