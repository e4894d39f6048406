"""Tables, an audit and a history in the terminal: no cut words, no control characters of names."""

from dataclasses import replace

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.history import History
from concord.pipeline.terminal.table import print_blocks, print_result, print_table
from concord.reports.text.history import describe
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
        "2 of 6 checks found something, 40 users\n"
    )  # train has b too: a drift
    assert "the ranking of the models changes: first is ahead of other with them (+0.2500" in plain
    assert "without 20 of 40 users, first changes most, from 0.5000 to 0.0000 (−0.5000" in plain
    assert "Not checked, as train or truth has no times: truth_before_train, train_after" in plain
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
    assert "Hit@1: all but 5 of 40 users are affected, so nothing can be said" in output


def printed_text(history: History, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        print_blocks(describe(history))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_each_revision_has_a_line_with_best_model_and_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed_text(HISTORY, capsys)

    assert lines[0] == "R@1 what changed best model against the baseline since the revision before"
    assert lines[1] == "aaa1111 v1 the first shown als 0.300 better, +0.020 (+0.010 to +0.030)"
    assert lines[2] == (
        "bbb2222 other lists: als base 0.280 baseline als worse, −0.050 (−0.060 to −0.040)"
    )
    assert lines[3].startswith("ccc3333 gain: linear → exp2 als 0.400")
    assert lines[-1] == "notice: 5 comparisons rest on this truth."


def test_missing_evidence_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    same = replace(SECOND, name="eee5555", changed=(), changes=(), same=("als", "base"))
    other = replace(
        SECOND, standings=(standing("als", 0.5, None, label="AP@1"),), changes=(), same=()
    )
    unpaired = replace(SECOND, unpaired="als had another truth", changes=(), same=())
    lines = printed_text(
        replace(HISTORY, revisions=(FIRST, GONE, unpaired, other, same), notes=("a note",)), capsys
    )

    assert "ddd4444 its results are not in DVC's cache" in lines
    assert (
        "bbb2222 other lists: als base 0.280 baseline not comparable: als had another truth"
        in lines
    )
    assert "bbb2222 other lists: als not a primary metric" in lines
    assert "eee5555 nothing that decides base 0.280 baseline the same for every user" in lines
    assert "note: a note" in lines


def test_revisions_without_any_results_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed_text(
        replace(HISTORY, revisions=(GONE,), reuse=replace(REUSE, severity="serious")), capsys
    )

    assert lines[:2] == ["revision what changed", "ddd4444 its results are not in DVC's cache"]
    assert lines[-1] == "warning: 5 comparisons rest on this truth."
