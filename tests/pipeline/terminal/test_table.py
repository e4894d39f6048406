"""Tables of the terminal: no word is cut, no line ends in spaces."""

import pytest

from concord.pipeline.terminal.table import print_table

HEADER = ("convention", "meaning", "metrics")
ROWS = [
    ("precision_denominator", "the cutoff k; without one the items in the list", "P, F1"),
    ("calibration_alpha", "how much of the history is mixed in", "Calibration"),
    ("x", "", ""),
]


@pytest.mark.parametrize("columns", [200, 80, 50, 24])
def test_every_word_stands_whole_at_any_width(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(HEADER, ROWS)
    text = capsys.readouterr().out

    words = {word for row in ROWS for cell in row for word in cell.split()}
    assert words <= set(text.split())
    assert max(map(len, text.splitlines())) <= columns
    assert not [line for line in text.splitlines() if line.endswith(" ")]


def test_a_table_that_fits_takes_a_line_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    print_table(HEADER, ROWS)

    assert capsys.readouterr().out.count("\n") == 1 + len(ROWS)
