"""`concord.reconcile`: search of the definition that reproduces a number."""

import math
import random
import re
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest

import concord as cc
from concord.metrics_core.conventions.presets import PRESETS, defines
from concord.metrics_core.evaluation.printed_number import PrintedNumber, number_text
from concord.typing import ConventionOptions, PresetName

STANDARD = cc.preset("standard")


def _data(seed: int) -> tuple[dict[str, list[str]], dict[str, dict[str, float]]]:
    """Return random lists and truth; some users lack a list, or have no relevant item."""
    generator = random.Random(seed)
    items = [f"i{n}" for n in range(40)]
    lists: dict[str, list[str]] = {}
    truth: dict[str, dict[str, float]] = {}
    for user in (f"u{n:02}" for n in range(60)):
        if generator.random() < 0.9:
            lists[user] = generator.sample(items, k=generator.choice([4, 12, 20]))
        judged = generator.sample(items, k=generator.choice([3, 8, 14]))
        truth[user] = {item: generator.choice([0, 1, 2, 3]) for item in judged}
    return lists, truth


LISTS, TRUTH = _data(3)
CASES = [  # test_parity.py covers the presets of packages
    (name, metric)
    for name, preset in PRESETS.items()
    for metric in ("P", "R", "F1", "Hit", "AP", "RR", "nDCG")
    if not preset.package and defines(name, metric) and name != "spark_mllib_graded"
]


@pytest.mark.parametrize(("preset", "metric"), CASES)
def test_every_preset_matches_its_number(preset: PresetName, metric: str) -> None:
    label = f"{metric}@5"
    conventions = cc.preset(preset)
    mean = cc.evaluate(LISTS, TRUTH, metrics=[label], conventions=conventions)[label]

    reconciliation = cc.reconcile(
        LISTS, TRUTH, value=f"{mean:.6f}", metric=label, conventions=STANDARD
    )

    assert any(preset in each.presets for each in reconciliation.matches)
    assert all(abs(each.mean - mean) < 1.6e-6 for each in reconciliation.matches)


def test_a_preset_that_matches_with_null_as_threshold_is_named() -> None:
    null = cc.preset("ranx", relevance_threshold=None)
    mean = cc.evaluate(LISTS, TRUTH, metrics=["AP@5"], conventions=null)["AP@5"]
    project = cc.preset("standard", relevance_threshold=3)

    result = cc.reconcile(LISTS, TRUTH, value=f"{mean:.6f}", metric="AP@5", conventions=project)

    assert not any("ranx" in each.presets for each in result.matches)
    assert any("ranx" in each.presets_with_null for each in result.matches)
    assert "amitness, with relevance_threshold: null " in str(result)


def test_null_is_not_named_if_it_changes_no_value() -> None:
    truth = {user: dict.fromkeys(items, 3.0) for user, items in TRUTH.items()}

    result = cc.reconcile(LISTS, truth, value="0.9999", metric="AP@5", conventions=STANDARD)

    assert not any(each.presets_with_null for each in result.definitions)


def test_two_changed_conventions_match() -> None:
    changes: ConventionOptions = {"ap_denominator": "k", "relevance_threshold": 2}
    conventions = cc.preset("standard", **changes)
    mean = cc.evaluate(LISTS, TRUTH, metrics=["AP@5"], conventions=conventions)["AP@5"]

    reconciliation = cc.reconcile(
        LISTS, TRUTH, value=f"{mean:.9f}", metric="AP@5", conventions=STANDARD
    )

    assert reconciliation.definitions[0].matches
    assert reconciliation.definitions[0].presets == ()
    assert dict(reconciliation.definitions[0].changes) == changes


def test_without_a_match_the_nearest_come_first() -> None:
    reconciliation = cc.reconcile(LISTS, TRUTH, value="0.99999", metric="P@5", conventions=STANDARD)

    means = [each.mean for each in reconciliation.definitions]
    assert reconciliation.matches == ()
    assert len(means) == 5
    assert means == sorted(means, reverse=True)
    assert reconciliation.to_frame()["mean"].to_list() == means
    assert repr(reconciliation).startswith("No definition gives P@5 = 0.99999. The nearest are:")


@pytest.mark.parametrize(
    ("text", "mean", "matches", "is_truncated"),
    [
        ("0.33", 0.3349, True, False),  # rounded
        ("0.33", 0.3251, True, False),
        ("0.33", 0.3249, False, False),
        ("0.33", 0.3399, True, True),
        ("0.33", 0.3401, False, False),
        ("0.330", 0.3304, True, False),
        ("0.330", 0.3312, False, False),
        ("33.0%", 0.3304, True, False),
        (".5", 0.5, True, False),
        ("1", 0.6, True, False),
        ("-0.25", -0.25, True, False),
    ],
)
def test_the_last_digit_defines_the_tolerance(
    text: str, mean: float, matches: bool, is_truncated: bool
) -> None:
    number = PrintedNumber.parse(text)

    assert number.matches(mean) is matches
    assert (number.matches(mean) and number.is_truncated(mean)) is is_truncated


@pytest.mark.parametrize("text", ["", "abc", "0,33", "1e-3", "0.3.3", "nan"])
def test_other_text_than_a_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number: write the number"):
        PrintedNumber.parse(text)


@pytest.mark.parametrize(
    ("value", "metric", "message"),
    [
        ("0,33", "P@5", "value: '0,33' is not a number as printed"),
        (math.nan, "P@5", "value: nan is not a number as printed"),
        (True, "P@5", "value: True is not a number as printed"),
        ("0.5", None, "metric: is missing"),
        ({"P@5": 0.5}, "P@5", "metric: is given, but `value` names its metrics"),
        ({}, None, "value: is empty"),
        ({"AP@5": 0.5, "MAP@5": 0.5}, None, "value: has two numbers of AP@5"),
    ],
)
def test_other_values_are_input_errors(value: Any, metric: str | None, message: str) -> None:
    with pytest.raises(cc.InputError, match=re.escape(message)):
        cc.reconcile(LISTS, TRUTH, value=value, metric=metric)


@pytest.mark.parametrize("value", [0.27, np.float64(0.27), np.float32(0.27), "0.27"])
def test_a_number_has_the_digits_of_its_repr(value: Any) -> None:
    result = cc.reconcile(LISTS, TRUTH, value=value, metric="P@5")

    assert result.values == {"P@5": "0.27"}
    assert number_text(1e-05) == "0.00001"


def _nearby(text: str) -> list[str]:
    """Return the numbers with these digits within 20 %."""
    last = Decimal(1).scaleb(-len(text.partition(".")[2]))
    low, high = Decimal(text) * Decimal("0.8"), Decimal(text) * Decimal("1.2")
    numbers = (last * n for n in range(int(high / last) + 2))
    return [str(number) for number in numbers if low <= number <= high]


def _step(match: cc.results.ConventionMatch) -> int:
    """Return when a match is tried: as given, presets, one change, two changes."""
    if not match.changes:
        return 0
    return 1 if match.presets or match.presets_with_null else 1 + len(match.changes)


@pytest.mark.parametrize(
    ("labels", "digits"),
    [
        (["nDCG@5"], 2),
        pytest.param(["AP@5"], 3, marks=pytest.mark.nightly),
        pytest.param(["P@5", "nDCG@5"], 2, marks=pytest.mark.nightly),
    ],
)
def test_the_chance_is_the_share_of_numbers_with_such_a_match(
    labels: list[str], digits: int
) -> None:
    """Every combination of numbers nearby is searched through the public function."""
    changed = cc.evaluate(LISTS, TRUTH, metrics=labels, conventions="recbole")
    given = {label: f"{changed[label]:.{digits}f}" for label in labels}
    combinations = [*product(*map(_nearby, given.values()))]
    steps = []
    for combination in combinations:
        matches = cc.reconcile(
            LISTS, TRUTH, value=dict(zip(labels, combination, strict=True))
        ).matches
        steps.append(min((_step(each) for each in matches if not each.is_cut), default=9))

    matches = cc.reconcile(LISTS, TRUTH, value=given).matches

    assert 1 in map(_step, matches)
    for match in (each for each in matches if not each.is_cut):
        n_as_close = sum(step <= _step(match) for step in steps)
        assert match.chance == pytest.approx(n_as_close / len(combinations))


def test_several_numbers_are_explained_by_one_set_of_conventions() -> None:
    """AP and nDCG each have a preset, but no preset gives both."""
    ap = cc.evaluate(LISTS, TRUTH, metrics=["AP@5"], conventions="rectools_by_k")["AP@5"]
    result = cc.evaluate(LISTS, TRUTH, metrics=["nDCG@5", "AP@5"], conventions="recbole")
    joint = {label: f"{result[label]:.4f}" for label in ("nDCG@5", "AP@5")}

    found = cc.reconcile(LISTS, TRUTH, value=joint)
    mixed = cc.reconcile(LISTS, TRUTH, value={**joint, "AP@5": f"{ap:.4f}"})
    alone = cc.reconcile(LISTS, TRUTH, value=joint["nDCG@5"], metric="nDCG@5")

    assert any("recbole" in each.presets for each in found.matches)
    assert not any(each.presets for each in mixed.matches)
    assert 0 < (found.matches[0].chance or 0) < (alone.matches[0].chance or 0) / 10
    assert found.to_frame()["metric"].to_list()[:2] == ["nDCG@5", "AP@5"]


@pytest.mark.parametrize(
    ("metric", "reads"),
    [("Coverage@5", "all lists"), ("Novelty@5", "train"), ("ILD@5", "features")],
)
def test_a_metric_that_reads_more_than_lists_and_truth_is_refused(metric: str, reads: str) -> None:
    message = f"{metric}: reconcile covers metrics of lists and truth; .* reads {reads}"
    with pytest.raises(ValueError, match=message):
        cc.reconcile(LISTS, TRUTH, value="0.5", metric=metric, conventions=STANDARD)


def test_a_preset_that_rejects_a_user_is_left_out() -> None:
    """u2 has a list and no relevant item: beir_r_cap raises an error for it."""
    lists, truth = {"u1": ["a", "b"], "u2": ["a"]}, {"u1": {"a": 1, "z": 1}, "u2": {"a": 0}}

    result = cc.reconcile(lists, truth, value="0.5", metric="R@2")

    assert result.matches[0].presets[:1] == ("standard",)
    assert not any("beir_r_cap" in each.presets for each in result.matches)
    with pytest.raises(ValueError, match="user_empty_truth: error"):
        cc.reconcile(lists, truth, value="0.5", metric="R@2", conventions="beir_r_cap")


@pytest.mark.parametrize(
    "value", ["0.12345678901234567890123", 1e20, "1234567890.12345678901234567"]
)
def test_a_long_number_is_compared(value: str | float) -> None:
    result = cc.reconcile({"u": ["a"]}, {"u": ["a"]}, value=value, metric="RR")

    assert not result.matches
    assert result.definitions


def test_null_as_threshold_is_named_if_it_changes_any_of_the_metrics() -> None:
    """Hit@1 is 1 under both thresholds; R@2 is 1 under 1, and 2/3 under null."""
    lists, truth = {"u": ["a", "b"]}, {"u": {"a": 3, "b": 0.5, "c": 0.2}}

    result = cc.reconcile(lists, truth, value={"Hit@1": "1.0", "R@2": "0.667"})

    assert "standard" in result.matches[0].presets_with_null
