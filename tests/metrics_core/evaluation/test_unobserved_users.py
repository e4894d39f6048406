"""Users without an observed item: with propensities they count 0 in sums, not in ratios."""

import math
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.option_types import PropensityOptions

N = 200
ALL_USERS = [f"u{n:03d}" for n in range(N)]
RECOMMENDED = {user: ["a", "b"] for user in ALL_USERS}
OBSERVED = {user: ["a"] for user in ALL_USERS[::2]}  # with probability 1/2
ITEMS = pl.DataFrame({"item": ["a", "b", "c"], "seen": [0.5, 0.5, 0.5]})
HALF: PropensityOptions = {"column": "items", "clip": 0.01, "fewest": 1}
COLUMNS = {"items": {"propensity": "seen"}}
SUMS = ["P@1", "CG@1", "DCG@1", "RBP(p=0.5)@1", "Hit@1"]
RATIOS = ["R@1", "nDCG@1"]


def pinned(normalised: str | None = None, **options: Any) -> cc.metrics.Conventions:
    propensity: Any = HALF if normalised is None else {**HALF, "normalised": normalised}
    return cc.preset("standard", propensity=propensity, hit_kind="count", **options)


def evaluated(
    truth: Any = OBSERVED, recs: Any = RECOMMENDED, metrics: Any = None, **how: Any
) -> cc.results.Evaluation:
    how = {"items": ITEMS, "columns": COLUMNS, "conventions": pinned(), **how}
    return cc.evaluate(recs, truth, metrics=metrics or [*SUMS, *RATIOS], **how)


NO_LISTS = {"users": ALL_USERS, "recs": {u: ["a"] for u in ALL_USERS[::2]}}
LOW_GRADES = {"truth": None, "recs": RECOMMENDED, "conventions": pinned(relevance_threshold=1)}
DROP = pinned(user_recs_only="drop", user_empty_truth="drop")
ERROR = pinned(user_recs_only="error", user_empty_truth="error", user_both_empty="error")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({}, id="lists"),
        pytest.param({"users": ALL_USERS}, id="users"),
        pytest.param(NO_LISTS, id="no lists"),
        pytest.param(LOW_GRADES, id="x"),
        pytest.param({"conventions": DROP}, id="drop"),
        pytest.param({"conventions": ERROR}, id="error"),
    ],
)
def test_everybody_wants_and_is_shown_one_item(how: dict[str, Any]) -> None:
    """Observed users count 1 / (1/2), the others 0: P@1 = 1, and R@1 = 1 of the observed half."""
    if "truth" in how:  # the other half has grades below the threshold
        rows = [(u, "a", 1.0) for u in ALL_USERS[::2]] + [(u, "b", 0.0) for u in ALL_USERS[1::2]]
        truth = pl.DataFrame(rows, schema=["user", "item", "grade"], orient="row")
        how = {**how, "truth": truth}

    result = evaluated(**how)

    expected = {"P@1": 1.0, "CG@1": 1.0, "DCG@1": 1.0, "RBP(p=0.5)@1": 0.5, "Hit@1": 1.0}
    assert {label: result[label] for label in SUMS} == expected
    assert {label: result[label] for label in RATIOS} == {"R@1": 1.0, "nDCG@1": 1.0}
    assert result.summaries["P@1"].n_users == N
    assert result.summaries["R@1"].n_users == N / 2


@pytest.mark.parametrize(("normalised", "users"), [("per_user", N / 2), ("over_all", N / 2)])
def test_normalised_sums_are_ratios(normalised: str, users: float) -> None:
    result = evaluated(metrics=["CG@1", "R@1"], conventions=pinned(normalised))

    assert (result["CG@1"], result["R@1"]) == (1.0, 1.0)
    assert result.summaries["CG@1"].n_users == users


def test_users_who_are_not_named_do_not_count() -> None:
    selected = ALL_USERS[:10]

    assert evaluated(users=selected).summaries["P@1"].n_users == len(selected)


def test_a_user_without_a_list_follows_the_policy_observed_or_not() -> None:
    """Only every fourth user has a list: half of the observed users."""
    recs = {user: ["a"] for user in ALL_USERS[::4]}
    as_zero = evaluated(recs=recs, users=ALL_USERS)
    result = evaluated(recs=recs, users=ALL_USERS, conventions=pinned(user_no_recs="drop"))

    assert (as_zero["P@1"], as_zero.summaries["P@1"].n_users) == (0.5, N)
    assert (result["P@1"], result.summaries["P@1"].n_users) == (2.0, N / 4)


def kinds(actual: Any) -> list[str]:
    return [each.code for each in actual.warnings]


def test_no_unobserved_user_with_a_list_is_a_warning() -> None:
    observed = {user: ["a"] for user in OBSERVED}
    few = evaluated(recs=observed)

    assert few["P@1"] == 2.0
    (warning,) = (each for each in few.warnings if each.code == "unobserved_users")
    assert "may be too high" in warning.sentence
    assert "`users`" in warning.fix
    assert "unobserved_users" not in kinds(evaluated(recs=observed, metrics=RATIOS))
    assert "unobserved_users" not in kinds(evaluated(recs=observed, users=ALL_USERS))
    assert "unobserved_users" not in kinds(evaluated())
    assert "unobserved_users" not in kinds(
        evaluated(recs=observed, metrics=["CG@1"], conventions=pinned("over_all"))
    )


def compared(models: dict[str, Any], **how: Any) -> cc.results.Comparison:
    how = {"metrics": ["P@1", "R@1"], "conventions": pinned(), "panel": False, **how}
    return cc.compare(models, OBSERVED, baseline="one", items=ITEMS, columns=COLUMNS, **how)


FEWER = {user: ["b"] for user in ALL_USERS[:150]}


def test_models_that_add_other_users_are_refused() -> None:
    with pytest.raises(ValueError, match="different users without observations") as error:
        compared({"one": RECOMMENDED, "two": FEWER})
    assert "`users`" in str(error.value)

    compared({"one": RECOMMENDED, "two": FEWER}, metrics=["R@1"])
    compared({"one": RECOMMENDED, "two": FEWER}, conventions=pinned(user_no_recs="drop"))
    compared({"one": RECOMMENDED, "two": FEWER}, metrics=["CG@1"], conventions=pinned("per_user"))


def test_named_users_are_evaluated_for_all_models() -> None:
    users = pl.DataFrame({"user": ALL_USERS, "tier": ["x", "y"] * (N // 2)})
    comparison = compared({"one": RECOMMENDED, "two": FEWER}, users=users)

    scores = {(each.model, each.label): (each.mean, each.n_users) for each in comparison.scores}
    assert scores["one", "P@1"] == (1.0, N)
    assert scores["two", "P@1"] == (0.0, N)
    assert scores["one", "R@1"] == (1.0, N / 2)
    assert "unobserved_users" not in kinds(comparison)


def test_a_comparison_warns_too() -> None:
    observed = {user: ["a"] for user in OBSERVED}

    assert "unobserved_users" in kinds(compared({"one": observed, "two": observed}))


def test_explain_says_what_an_unobserved_user_counts() -> None:
    how: dict[str, Any] = {"conventions": pinned(), "items": ITEMS, "columns": COLUMNS}
    as_sum, as_ratio = (
        cc.explain(RECOMMENDED, OBSERVED, user="u001", metric=label, **how)
        for label in ("P@1", "R@1")
    )

    assert as_sum.value == 0.0
    assert "counts 0" in str(as_sum)
    assert as_ratio.value is None
    assert "left out" in str(as_ratio)


def test_a_random_world_is_right_on_average() -> None:
    """Sums over all users have the mean of the truth in which everything was observed."""
    rng = np.random.default_rng(2)
    liked = rng.random((150, 12)) < 0.15
    p = np.linspace(0.9, 0.2, 12)
    items = pl.DataFrame({"item": np.arange(12), "seen": p})
    recs = {user: [0, 5, 11] for user in range(150)}
    true = liked[:, [0, 5, 11]].sum(axis=1).mean()
    results = []
    for _ in range(60):
        user, item = np.nonzero(liked & (rng.random(liked.shape) < p))
        truth = pl.DataFrame({"user": user, "item": item})
        results.append(evaluated(truth, recs, ["CG@3"], items=items)["CG@3"])

    assert abs(fmean(results) - true) < 4 * np.std(results) / math.sqrt(60)
    assert true < 1.0
