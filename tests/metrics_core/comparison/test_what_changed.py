"""What changed between two comparisons, in words."""

from typing import Any

import concord as cc
from concord.metrics_core.comparison.history import Changed
from concord.metrics_core.comparison.what_changed import what_changed

TRUTH = {"u1": ["a"], "u2": ["b"]}
LISTS = {"als": {"u1": ["a", "c"], "u2": ["d", "b"]}, "base": {"u1": ["c", "a"], "u2": ["d", "e"]}}
OTHER = {"ease": {"u1": ["a", "b"], "u2": ["b", "a"]}}


def _compared(lists: dict[str, Any] = LISTS, *, conventions: Any = None, **asked: Any) -> Any:
    settings: dict[str, Any] = {"metrics": ["R@1", "R@2", "nDCG@2"], "baseline": "base", "primary": ["R@1"], "resamples": 99}  # fmt: skip
    pinned = conventions or cc.preset("standard")
    return cc.compare(lists, TRUTH, conventions=pinned, **(settings | asked))


def test_nothing_changed() -> None:
    assert list(what_changed(_compared(), _compared())) == []


def test_models_that_came_and_went() -> None:
    then, now = _compared(LISTS), _compared({"base": LISTS["base"]} | OTHER)

    assert list(what_changed(then, now)) == [
        Changed("models", "new: ease"),
        Changed("models", "removed: als"),
    ]


def test_conventions_by_name_with_those_of_single_metrics() -> None:
    special = cc.preset("standard", gain="exp2", overrides={"nDCG": {"discount": {"jk": 2}}})

    assert list(what_changed(_compared(), _compared(conventions=special))) == [
        Changed("conventions", "gain: linear → exp2"),
        Changed("conventions", "discount of nDCG: none → {jk: 2}"),
    ]


def test_what_decides() -> None:
    then = _compared(min_effect=0.01)
    now = _compared(LISTS | OTHER, min_effect="2%", primary=["R@1", "R@2"], confidence=0.9, baseline="als")  # fmt: skip

    assert list(what_changed(then, now)) == [
        Changed("models", "new: ease"),
        Changed("rules", "baseline: base → als"),
        Changed("rules", "primary: R@1 → R@1, R@2"),
        Changed("rules", "confidence: 0.95 → 0.9"),
        Changed("rules", "smallest difference that matters on R@1: 0.01 → 2%"),
    ]
