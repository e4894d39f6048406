"""An audit in the terminal: what could not be looked for, what is not sure, and names that are no commands."""

import polars as pl
import pytest

import concord as cc
from concord.pipeline.terminal.audit import print_audit

USERS = [f"u{n}" for n in range(40)]
TOUCHED = USERS[:20]  # have in train what they want


def audited() -> cc.Audit:
    truth = {user: ["a"] for user in USERS}
    train = {user: ["a" if user in TOUCHED else "b"] for user in USERS}
    first = {user: ["a", "b"] if user in TOUCHED else ["b", "c"] for user in USERS}
    other = {user: ["c", "a"] if n % 4 == 0 else ["c", "b"] for n, user in enumerate(USERS)}
    return cc.audit({"first": first, "other": other}, truth, train=train, metrics=["Hit@2"], conventions="standard")  # fmt: skip


def test_it_says_whether_the_order_turns_and_what_was_not_looked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`first` hits the 20 touched users and no other, `other` every fourth user."""
    print_audit(audited())
    shown = capsys.readouterr().out
    plain = " ".join(shown.split())

    assert shown.startswith("2 of 6 checks found something, 40 users\n")  # train has b too: a drift
    assert "the order of the models turns: first is ahead of other with them (+0.2500" in plain
    assert "without 20 of 40 users, no model moves further than first, from 0.5000 to 0.0000 (−0.5000" in plain  # fmt: skip
    assert "truth_before_train: could not be made: train and truth do not both have times: name" in plain  # fmt: skip
    assert "note: Means with and without touched users" in shown


def test_names_are_no_commands_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    users = {f"u\x1b[31m{user}": ["a"] for user in USERS}
    print_audit(
        cc.audit({"als": users}, users, train=users, metrics=["Hit@2"], conventions="standard")
    )

    assert "\x1b" not in capsys.readouterr().out


def test_few_users_who_are_left_give_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    truth = pl.DataFrame({"user": USERS, "item": ["a"] * 40})
    lists = {user: ["a"] for user in USERS}
    train = truth.head(35)

    print_audit(cc.audit({"als": lists}, truth, train=train, metrics=["Hit@1"], conventions="standard"))  # fmt: skip

    shown = capsys.readouterr().out
    row = next(line for line in shown.splitlines() if line.startswith("truth_in_train"))
    assert row.split()[-1] == "–"
    assert "Hit@1: all but 5 of 40 users are touched, so nothing can be said" in shown
