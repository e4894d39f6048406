"""Users of a segment for whom a model has no list."""

from typing import Any

import polars as pl
import pytest

import concord
from concord.metrics_core.results.exported_tables import export_tables

USERS = [1, 2, 3, 4, 5, 6]
TRUTH = pl.DataFrame({"user": USERS, "item": ["a"] * 6})
PLANS = pl.DataFrame({"user": USERS, "plan": ["free"] * 4 + ["paid"] * 2})


def lists(*users: int) -> pl.DataFrame:
    return pl.DataFrame({"user": users, "item": ["a"] * len(users), "rank": [1] * len(users)})


def compare(
    models: dict[str, Any], truth: Any = TRUTH, **settings: Any
) -> concord.results.Comparison:
    return concord.compare(
        models,
        truth,
        baseline="old",
        metrics=["P@1"],
        primary=["P@1"],
        users=PLANS,
        segments={"plan": {"by": "user", "column": "plan"}},
        **({"conventions": "standard"} | settings),
    )


def counts(comparison: concord.results.Comparison, model: str) -> dict[str, int | None]:
    cells = comparison.segments[0].cells
    return {cell.segment: cell.n_without_list for cell in cells if cell.model == model}


@pytest.mark.parametrize("policy", ["zero", "drop"])
def test_users_without_a_list_are_counted_in_each_group(policy: str) -> None:
    comparison = compare(
        {"old": lists(*USERS), "new": lists(1, 5, 6)},
        conventions={"preset": "standard", "user_no_recs": policy},
    )

    assert counts(comparison, "new") == {"free": 3, "paid": None}
    assert counts(comparison, "old") == {"free": None, "paid": None}
    assert "n_without_list" in export_tables(comparison)["segments"].columns
    cell = comparison.to_dict()["segments"][0]["cells"][0]  # of old, which has all lists
    assert "n_without_list" not in cell


def test_a_user_has_a_list_if_one_replicate_has_one() -> None:
    replicates = {"1": lists(1, 2), "2": lists(2, 3, 5)}

    comparison = compare({"old": lists(*USERS), "new": {"replicates": replicates}})

    assert counts(comparison, "new") == {"free": 1, "paid": 1}  # users 4 and 6


def test_a_user_has_a_list_if_one_request_has_one() -> None:
    requests = pl.DataFrame({"user": [1, 1, 2], "session": ["x", "y", "x"], "item": ["a"] * 3})
    old = requests.with_columns(rank=1)

    comparison = compare(
        {"old": old, "new": old.filter(pl.col("user") == 1, pl.col("session") == "x")},
        requests,
        unit=["user", "session"],
        conventions={"preset": "standard", "unit_mean": "requests"},
    )

    assert counts(comparison, "new") == {"free": 1}  # user 2


def test_a_gate_says_that_there_is_no_list() -> None:
    comparison = compare(
        {"old": lists(*USERS), "new": lists(5, 6)},
        gate={"segments": {"plan": {"P@1": 0.1}}},
        max_missing_lists=1,
    )

    assert comparison.gate is not None
    free, paid = comparison.gate.models[0].guardrails
    assert (free.n_without_list, paid.n_without_list) == (4, None)
    assert free.outcome != "pass"
    assert free.why == "it has no list for 4 users of this segment"
