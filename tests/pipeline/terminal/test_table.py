"""Tables, an audit and a history in the terminal: no cut words, no control characters of names."""

from dataclasses import replace

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.history import History, InputChange
from concord.pipeline.terminal.table import print_blocks, print_result, print_table
from concord.reports.text.history import collapse, describe
from tests.reports.samples.sample_history import FIRST, GONE, HISTORY, REUSE, SECOND, standing

HEADER = ("convention", "meaning", "metrics")
ROWS = [
    ("precision_denominator", "the cutoff k; without one the items in the list", "P, F1"),
    ("calibration_alpha", "how much of the history is mixed in", "Calibration"),
    ("x", "", ""),
]


@pytest.mark.parametrize("columns", [200, 80, 50, 24])
def test_words_are_whole_at_any_width(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(HEADER, ROWS)
    text = capsys.readouterr().out

    words = {word for row in ROWS for cell in row for word in cell.split()}
    assert words <= set(text.split())
    assert max(map(len, text.splitlines())) <= columns
    assert not [line for line in text.splitlines() if line.endswith(" ")]


def test_a_narrow_table_has_one_line_per_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    print_table(HEADER, ROWS)

    assert capsys.readouterr().out.count("\n") == 1 + len(ROWS)


USERS = [f"u{n}" for n in range(40)]
AFFECTED = USERS[:20]  # have in train what they want


def audit_of_two_models() -> cc.Audit:
    truth = {user: ["a"] for user in USERS}
    train = {user: ["a" if user in AFFECTED else "b"] for user in USERS}
    first = {user: ["a", "b"] if user in AFFECTED else ["b", "c"] for user in USERS}
    other = {user: ["c", "a"] if n % 4 == 0 else ["c", "b"] for n, user in enumerate(USERS)}
    return cc.audit(
        {"first": first, "other": other},
        truth,
        train=train,
        metrics=["Hit@2"],
        conventions="standard",
    )


def test_order_changes_and_skipped_checks_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`first` hits the 20 affected users and no other, `other` every fourth user."""
    print_result(audit_of_two_models())
    output = capsys.readouterr().out
    plain = " ".join(output.split())

    assert output.startswith(
        "2 of 6 checks found something, 40 users, conventions standard "
    )  # train has b too: a drift
    assert "the ranking of the models changes: first is ahead of other with them (+0.2500" in plain
    assert "without 20 of 40 users, first changes most, from 0.5000 to 0.0000 (−0.5000" in plain
    assert (
        "Not checked, as training set or ground truth has no times: truth_before_train, train_after"
        in plain
    )
    assert "Note: The change of a mean" in output


def test_names_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    users = {f"u\x1b[31m{user}": ["a"] for user in USERS}
    print_result(
        cc.audit({"als": users}, users, train=users, metrics=["Hit@2"], conventions="standard")
    )

    assert "\x1b" not in capsys.readouterr().out


def test_metrics_of_too_few_users_have_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    truth = pl.DataFrame({"user": USERS, "item": ["a"] * 40})
    lists = {user: ["a"] for user in USERS}
    train = truth.head(35)

    print_result(
        cc.audit({"als": lists}, truth, train=train, metrics=["Hit@1"], conventions="standard")
    )

    output = capsys.readouterr().out
    row = next(line for line in output.splitlines() if line.startswith("truth_in_train"))
    assert row.split()[-1] == "–"
    assert "Hit@1: all but 5 of 40 users are affected, too many to compare" in output


def printed_text(history: History, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        print_blocks(describe(history))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_history_tells_the_result_then_what_changed_then_the_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed_text(HISTORY, capsys)

    assert lines[:2] == [
        "R@1 at ccc3333: als 0.400, better than base",
        "3 revisions of the comparison since 2026-11-23",
    ]
    assert lines[3:7] == [
        "revision date what changed",
        "aaa1111 v1 2026-11-23 first revision shown",
        "bbb2222 2026-11-23 other lists: als; als: train.als.alpha 10 → 2",
        "ccc3333 2026-11-23 gain: linear → exp2",
    ]
    assert lines[8:14] == [
        "R@1 best model against the baseline",
        "aaa1111 v1 als 0.300 better, +0.020 (+0.010 to +0.030)",
        "bbb2222 base 0.280 baseline",
        "ccc3333 als 0.400 better, +0.020 (+0.010 to +0.030)",
        "",
        "R@1 model since the revision before",
    ]
    assert lines[14] == "bbb2222 als worse, −0.050 (−0.060 to −0.040)"
    assert lines[-1] == "notice: This ground truth was used in 5 comparisons."


def test_missing_evidence_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    same = replace(
        SECOND, name="eee5555", changed=(), training_params=(), changes=(), same=("als", "base")
    )
    other = replace(
        SECOND, standings=(standing("als", 0.5, None, label="AP@1"),), changes=(), same=()
    )
    unpaired = replace(SECOND, unpaired="als had another ground truth", changes=(), same=())
    lines = printed_text(
        replace(HISTORY, revisions=(FIRST, GONE, unpaired, other, same), notes=("a note",)), capsys
    )

    assert "ddd4444 2026-11-23 its results are not in DVC's cache" in lines
    assert (
        "bbb2222 2026-11-23 other lists: als; als: train.als.alpha 10 → 2"
        " (not compared user by user: als had another ground truth)" in lines
    )
    assert "bbb2222 not a primary metric" in lines
    assert "eee5555 2026-11-23 the same inputs" in lines
    assert not [line for line in lines if "since the revision before" in line]
    assert "note: a note" in lines


def test_neighbours_that_are_equally_unreadable_are_one_line_with_all_that_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    items, users = (
        InputChange("background", "other items"),
        InputChange("truth", "another ground truth"),
    )
    gone = (
        replace(GONE, changed=(items,)),
        replace(GONE, name="eee5555", date="2026-11-24", changed=(users,), tags=("v2",)),
        replace(GONE, name="fff6666", date="2026-11-25", changed=(items,)),
    )
    history = replace(HISTORY, revisions=(FIRST, *gone, SECOND, GONE))
    lines = printed_text(history, capsys)

    assert lines[5:8] == [
        "3 revisions v2 2026-11-23 to 2026-11-25 other items; another ground truth; their "
        "results are not in DVC's cache",
        "bbb2222 2026-11-23 other lists: als; als: train.als.alpha 10 → 2",
        "ddd4444 2026-11-23 its results are not in DVC's cache",
    ]
    assert "6 revisions of the comparison since 2026-11-23" in lines
    assert collapse(history).revisions[1].subject == "ddd4444 to fff6666"


def test_revisions_without_any_results_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed_text(
        replace(HISTORY, revisions=(GONE,), reuse=replace(REUSE, severity="serious")), capsys
    )

    assert lines[0] == "No results at ddd4444"
    assert lines[4] == "ddd4444 2026-11-23 first revision shown; its results are not in DVC's cache"
    assert lines[-1] == "warning: This ground truth was used in 5 comparisons."
