"""`cc.evaluate` equals the definitions: every metric, every value of every convention."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

import concord as cc
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import defines
from concord.metrics_core.metrics.scope import affected_metrics
from concord.typing import PresetName
from tests.metrics_core.metrics import reference
from tests.metrics_core.metrics.strategies import (
    LABELS,
    VALUES,
    Case,
    Labels,
    cases,
    conventions,
    population,
    possible,
)

TOLERANCE = 1e-12


def _same(actual: float | None, outcome: float | None) -> bool:
    if actual is None or outcome is None:
        return actual is outcome
    if math.isnan(actual) or math.isnan(outcome):
        return math.isnan(actual) and math.isnan(outcome)
    return math.isclose(actual, outcome, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _differences(case: Case, pinned: Conventions, labels: Labels = LABELS) -> list[tuple[Any, ...]]:
    """(label, user or `mean`, ours, the definition's) wherever the two disagree."""
    result = case.evaluate(pinned, labels)
    per_user = {row.pop("user"): row for row in result.per_user.to_dicts()}
    ranked = {(name, k): case.ranked(name, k, pinned) for name, k, _ in labels.values()}
    results = []
    for label, (name, k, parameters) in labels.items():
        users = [(u, (ranked[name, k].get(u), truth)) for u, truth in case.evaluated().items()]
        for user, data in users:
            actual = per_user.get(user, {}).get(label)
            expected = reference.value(name, data[0], data[1], k, pinned, **parameters)
            results += [] if _same(actual, expected) else [(label, user, actual, expected)]
        mean = reference.mean_of(name, [data for _, data in users], k, pinned, **parameters)
        if not _same(result[label], mean):
            results.append((label, "mean", result[label], mean))
    return results


def _changed(convention: str) -> Labels:
    """Return the labels that a convention can change; test_properties tests the others."""
    names = affected_metrics(convention)
    return {label: parts for label, parts in LABELS.items() if parts[0] in names}


POPULATION = population(seed=20)
CONVENTION_VALUES = [
    (name, value) for name, values in VALUES.items() if _changed(name) for value in values
]


@pytest.mark.parametrize(
    ("convention", "value"), CONVENTION_VALUES, ids=lambda part: str(part).replace(" ", "")
)
def test_every_value_of_every_convention_equals_its_definition(convention: str, value: Any) -> None:
    base = {"duplicates": "keep", "ideal": "truth_at_k", "relevance_threshold": 1}
    pinned = possible(cc.preset("standard", **{**base, convention: value}))
    labels = _changed(convention)
    if value == "error":
        with pytest.raises(ValueError, match=convention):
            POPULATION.evaluate(pinned, labels)
        return

    assert _differences(POPULATION, pinned, labels) == []


@given(case=cases(), pinned=conventions())
def test_random_users_under_random_conventions_equal_the_definitions(
    case: Case, pinned: Conventions
) -> None:
    assert _differences(case, pinned) == []


@given(case=cases(unique=True))
def test_lists_without_ties_and_copies_pass_where_both_are_refused(case: Case) -> None:
    strict = cc.preset("standard", ties="error", duplicates="error")

    assert _differences(case, strict) == []


@pytest.mark.parametrize("preset", cc.presets())
def test_every_preset_equals_the_definitions(preset: PresetName) -> None:
    pinned = cc.preset(preset)
    case = population(seed=21, copies=pinned.duplicates != "error")
    if pinned.user_empty_truth == "error":
        relevant = {user: row for user, row in case.truth.items() if max(row.values(), default=0)}
        case = replace(case, truth=relevant)

    labels = {label: parts for label, parts in LABELS.items() if defines(preset, parts[0])}

    assert _differences(case, pinned, labels) == []
