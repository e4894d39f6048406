"""The history as the terminal shows it."""

from dataclasses import replace

import pytest

from concord.metrics_core.comparison.history import History
from concord.pipeline.terminal.history import print_history
from tests.reports.samples.sample_history import FIRST, GONE, HISTORY, REUSE, SECOND, standing


def _shown(history: History, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_history(history)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_a_line_a_revision_with_its_best_model_and_who_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = _shown(HISTORY, capsys)

    assert lines[0] == "R@1 what changed best model against the baseline since the revision before"
    assert lines[1] == "aaa1111 v1 the first shown als 0.300 better, +0.020 (+0.010 to +0.030)"  # fmt: skip
    assert lines[2] == (
        "bbb2222 other lists: als base 0.280 baseline als worse, −0.050 (−0.060 to −0.040)"
    )
    assert lines[3].startswith("ccc3333 gain: linear → exp2 als 0.400")
    assert lines[-1] == "notice: 5 comparisons rest on this truth."


def test_what_cannot_be_said_is_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    same = replace(SECOND, name="eee5555", changed=(), changes=(), same=("als", "base"))
    other = replace(SECOND, standings=(standing("als", 0.5, None, label="AP@1"),), changes=(), same=())  # fmt: skip
    unpaired = replace(SECOND, unpaired="als had another truth", changes=(), same=())
    lines = _shown(replace(HISTORY, revisions=(FIRST, GONE, unpaired, other, same), notes=("a note",)), capsys)  # fmt: skip

    assert "ddd4444 its results are not in DVC's cache" in lines
    assert "bbb2222 other lists: als base 0.280 baseline not comparable: als had another truth" in lines  # fmt: skip
    assert "bbb2222 other lists: als not a primary metric" in lines
    assert "eee5555 nothing that decides base 0.280 baseline the same for every user" in lines
    assert "note: a note" in lines


def test_with_no_results_at_all_the_revisions_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = _shown(replace(HISTORY, revisions=(GONE,), reuse=replace(REUSE, severity="serious")), capsys)  # fmt: skip

    assert lines[:2] == ["revision what changed", "ddd4444 its results are not in DVC's cache"]
    assert lines[-1] == "beware: 5 comparisons rest on this truth."
