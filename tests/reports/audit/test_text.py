"""An audit as text: sentences from the codes and numbers of a check."""

import re
from dataclasses import replace

import pytest

import concord as cc
from concord.metrics_core.analyses.audit.result import (
    AuditCheck,
    CheckCount,
    Copies,
    LeaveOutEffect,
    Reversal,
)

USERS = [f"u{n}" for n in range(20)]
COUNT = CheckCount("cold_items", True, "notice", 30, 300, 40, 100, 2, 8)


@pytest.fixture(scope="module")
def audit() -> cc.results.Audit:
    lists = {user: ["a"] for user in USERS}
    return cc.audit({"als": lists}, lists, train=lists, metrics=["Hit@1"], conventions="standard")


def sentences(audit: cc.results.Audit, check: AuditCheck) -> list[str]:
    """Return the finding, then the effects on means."""
    text = replace(audit, checks=(check,)).summary.split(f"{check.name} (notice)\n")[1]
    return re.split(r"\n(?:do:|e\.g\.|see:)", text)[0].splitlines()


def effect(model: str, without: float, n_without: int = 60) -> LeaveOutEffect:
    shift = without - 0.5
    return LeaveOutEffect(
        "cold_items", "Hit@1", model, 0.5, 100, without, n_without, shift, shift - 0.1, shift + 0.1
    )


def test_a_count_is_a_sentence_with_shares(audit: cc.results.Audit) -> None:
    (sentence,) = sentences(audit, AuditCheck(COUNT))

    assert sentence.replace("\N{NO-BREAK SPACE}", " ").startswith(
        "30 rows of the ground truth (10 %) have 2 items (25 % of its items) without training rows"
    )


def test_copies_name_the_signs_by_which_they_were_found(audit: cc.results.Audit) -> None:
    count = replace(COUNT, check="item_copies", rows=0)
    check = AuditCheck(count, ({"item": "a", "copy": "b"},), copies=Copies(2, {"title": 1}))

    (sentence,) = sentences(audit, check)

    assert sentence == (
        "2 items look like copies of others (the same title: 1 pair; sets with fewer than 10 are "
        "not compared); no row of the ground truth leaks through them."
    )
    assert "e.g. items 'a' and 'b' are copies" in replace(audit, checks=(check,)).summary


@pytest.mark.parametrize(
    ("higher_is_better", "leader", "difference"),
    [(True, "als is ahead of ease", "+0.1400"), (False, "ease is ahead of als", "−0.1400")],
)
def test_a_reversal_names_who_leads_in_the_direction_of_the_metric(
    audit: cc.results.Audit, higher_is_better: bool, leader: str, difference: str
) -> None:
    reversal = Reversal(
        "cold_items",
        "Hit@1",
        "als",
        "ease",
        0.14,
        0.1,
        0.18,
        -0.1,
        -0.12,
        -0.08,
        is_significant=True,
    )
    check = AuditCheck(
        COUNT, effects=(effect("als", 0.3), effect("ease", 0.45)), reversals=(reversal,)
    )
    oriented = replace(audit, higher_is_better={"Hit@1": higher_is_better})

    _, change = sentences(oriented, check)

    assert change.startswith("Hit@1: without 40 of 100 users, als changes most, from 0.5000")
    assert f"the ranking of the models changes: {leader} with them ({difference}, 95" in change
    assert change.endswith("; neither interval contains 0.")


@pytest.mark.parametrize(("n_left", "remaining"), [(0, "all of"), (9, "all but 9 of")])
def test_fewer_than_ten_users_who_are_left_give_no_statement(
    audit: cc.results.Audit, n_left: int, remaining: str
) -> None:
    _, change = sentences(audit, AuditCheck(COUNT, effects=(effect("als", 0.3, n_left),)))

    assert change == (
        f"Hit@1: {remaining} 100 users are affected, too many to compare the means without them."
    )


def test_a_pooled_metric_is_named_in_the_notes(audit: cc.results.Audit) -> None:
    pooled = replace(audit, pooled=("P@1",))

    assert "Note: P@1 is one ratio over all users" in pooled.summary
    assert "P@1 is one ratio" not in audit.summary


def test_a_notebook_shows_a_table_of_checks(audit: cc.results.Audit) -> None:
    assert "<td" in audit._repr_html_()
    assert "popularity_drift" in audit._repr_html_()
