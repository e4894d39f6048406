"""A model without lists for most users is not compared, under any policy."""

from collections.abc import Mapping

import polars as pl
import pytest

import concord
from concord.metrics_core.results.stored import from_content, to_content
from concord.reports.text.verdict_styles import VERDICTS

USERS = range(30)
TRUTH = pl.DataFrame({"user": USERS, "item": ["a"] * len(USERS)})


def lists(users: int, *, hits: int) -> pl.DataFrame:
    """Return one item per user, for the first users only."""
    rows = [(user, "a" if user < hits else "b", 1) for user in range(users)]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def compare(models: Mapping[str, object], **settings: object) -> concord.results.Comparison:
    arguments: dict[str, object] = {
        "conventions": "standard",
        "metrics": ["P@1", "Coverage@1"],
        **settings,
    }
    items = pl.DataFrame({"item": ["a", "b", "c"]})
    return concord.compare(models, TRUTH, baseline="old", primary=["P@1"], items=items, **arguments)  # type: ignore[arg-type]


def verdict(comparison: concord.results.Comparison, model: str, label: str = "P@1") -> str:
    row = comparison.difference(model, "old", label)
    assert row is not None
    return row.verdict


@pytest.mark.parametrize("policy", ["zero", "drop"])
def test_a_model_with_lists_for_1_of_30_users_is_not_comparable(policy: str) -> None:
    conventions = {"preset": "standard", "user_no_recs": policy}

    comparison = compare(
        {"new": lists(1, hits=1), "old": lists(30, hits=20), "other": lists(30, hits=10)},
        conventions=conventions,
    )

    assert (
        verdict(comparison, "new") == verdict(comparison, "new", "Coverage@1") == "not_comparable"
    )
    assert comparison.difference("new", "other", "P@1").verdict == "not_comparable"  # type: ignore[union-attr]
    assert verdict(comparison, "other") == "worse"
    assert comparison.leaders("P@1") == ["old"]
    assert "new is not comparable, as too many users have no list" in " ".join(comparison.verdicts)
    assert from_content(to_content(comparison)) == comparison
    assert VERDICTS["not_comparable"].word == "not comparable"


@pytest.mark.parametrize(
    ("users", "share", "expected"),
    [
        (15, 0.5, "worse"),
        (14, 0.5, "not_comparable"),
        (14, 0.6, "worse"),
        (29, 0.0, "not_comparable"),
    ],
)
def test_the_share_of_users_without_a_list_is_a_setting(
    users: int, share: float, expected: str
) -> None:
    models = {"new": lists(users, hits=0), "old": lists(30, hits=30)}

    assert verdict(compare(models, max_missing_lists=share), "new") == expected


def test_a_baseline_that_did_not_run_is_compared_with_nobody() -> None:
    comparison = compare({"new": lists(30, hits=20), "old": lists(1, hits=1)})

    assert verdict(comparison, "new") == "not_comparable"
    assert comparison.leaders("P@1") == ["new"]


@pytest.mark.parametrize("waived", [{}, {"undecided": "pass"}])
@pytest.mark.parametrize("requested", ["guardrails", "success"])
def test_a_gate_stays_undecided(waived: dict[str, str], requested: str) -> None:
    gate = {"guardrails": {"P@1": 0.9}} if requested == "guardrails" else {"success": ["P@1"]}

    comparison = compare(
        {"new": lists(1, hits=1), "old": lists(30, hits=20)}, gate={**gate, **waived}
    )

    assert comparison.gate is not None
    assert comparison.gate.outcome == "undecided"
    assert "29 users have no list, too many to compare" in " ".join(comparison.gate.lines)


def test_panel_and_segments_say_the_same() -> None:
    users = pl.DataFrame({"user": USERS, "channel": ["web", "app"] * 15})

    comparison = compare(
        {"new": lists(1, hits=1), "old": lists(30, hits=20)},
        users=users,
        segments={"channel": {"by": "user", "column": "channel"}},
    )

    assert {
        cell.verdict
        for result in comparison.segments
        for cell in result.cells
        if cell.model == "new"
    } == {"not_comparable"}
    assert {d.verdicts["new"] for entry in comparison.panel for d in entry.definitions} == {
        "not_comparable"
    }


def test_trainings_that_cover_the_users_together_are_compared() -> None:
    """Three folds with ten users each: every user has a list in one of them."""
    every = lists(30, hits=20)
    folds = {n: every.filter(pl.col("user") % 3 == n - 1) for n in (1, 2, 3)}
    conventions = {"preset": "standard", "user_no_recs": "drop"}

    comparison = compare(
        {"new": {"replicates": folds}, "old": lists(30, hits=20)}, conventions=conventions
    )
    none = compare(
        {"new": {"replicates": dict.fromkeys((1, 2, 3), folds[1])}, "old": lists(30, hits=20)},
        conventions=conventions,
    )

    assert verdict(comparison, "new") == "identical"
    assert verdict(none, "new") == "not_comparable"


def test_values_of_other_tools_are_held_to_the_same() -> None:
    values = {"m": dict.fromkeys(USERS, 0.5)}

    comparison = concord.compare_values({"new": {"m": {0: 0.7}}, "old": values}, baseline="old")

    assert comparison.difference("new", "old", "m").verdict == "not_comparable"  # type: ignore[union-attr]
    assert comparison.leaders("m") == ["old"]


def test_the_chance_of_being_best_is_that_of_the_models_that_have_lists() -> None:
    """The users with lists from all models are one user."""
    conventions = {"preset": "standard", "user_no_recs": "drop"}
    models = {"new": lists(1, hits=1), "old": lists(30, hits=20), "other": lists(30, hits=10)}

    chances = {
        each.model: each.probability for each in compare(models, conventions=conventions).best
    }

    assert chances["new"] is None
    assert chances["old"] == pytest.approx(1.0, abs=0.05)


def test_a_model_that_is_not_compared_changes_no_verdict_under_other_definitions() -> None:
    """Its differences belong to no family of tests, so adjusted p-values of the others stay."""
    models = {"new": lists(1, hits=1), "old": lists(30, hits=20), "other": lists(30, hits=10)}

    (entry,) = compare(models).panel

    assert entry.definitions[0].verdicts == {"new": "not_comparable", "other": "worse"}


@pytest.mark.parametrize("share", [-0.1, 1.5, "half"])
def test_invalid_share_is_refused(share: object) -> None:
    with pytest.raises(ValueError, match=r"max_missing_lists: is .*\n.*write a share from 0 to 1"):
        compare({"new": lists(30, hits=1), "old": lists(30, hits=2)}, max_missing_lists=share)
