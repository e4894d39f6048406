"""Tables in the terminal: whole words and numbers, colours, the leaderboard after `dvc repro`."""

import json
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

import concord as cc
from concord.metrics_core.results.comparison import Comparison
from concord.pipeline.commands.leaderboard import short_leaderboard
from concord.pipeline.terminal import print_blocks, print_json, print_result, terminal_lines
from concord.reports.text.blocks import TextTable
from concord.reports.text.comparison import leaderboards

ROWS = [
    ("precision_denominator", "the cutoff k; without one the items in the list", "P, F1"),
    ("calibration_alpha", "how much of the history is mixed in", "Calibration"),
    ("x", "", ""),
]
TABLE = TextTable(("convention", "meaning", "metrics"), ROWS)
PRIMARY = ["nDCG@3", "R@3", "P@3", "RR@3", "AP@3", "Hit@3"]
USERS = [f"u{i}" for i in range(60)]
LONG = "als-implicit-factors-200-regularisation-0.01-alpha-40-seed-7"


def test_a_narrow_table_says_what_its_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")

    rows = [("als", "0.1", "x" * 30), ("chance", "", "reference")]
    lines = terminal_lines([TextTable(("nDCG@3 ↑", "difference", "verdict"), rows)])

    als = ["als", "difference: 0.1", "verdict:", "x" * 30]
    chance = ["chance", "verdict: reference"]
    assert [line.strip() for line in lines] == ["nDCG@3 ↑", *als, *chance]


def test_columns_move_together_before_a_cell_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TextTable(("nDCG@3 ↑", "mean"), [("most popular", "0.16")])  # 12 + 4 letters
    shown = {}
    for columns in (18, 17, 16):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown[columns] = terminal_lines([table])[1:]

    assert shown == {
        18: ["most popular  0.16"],
        17: ["most popular 0.16"],
        16: ["most        0.16", "popular"],
    }


def test_json_is_readable_and_controls_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = "Zoë \x1b[31m\u202e\x9b"

    print_json({"name": name})

    out = capsys.readouterr().out
    assert "Zoë" in out
    assert out.replace("\n", "").isprintable()
    assert json.loads(out) == {"name": name}


@pytest.mark.parametrize("columns", [200, 80, 50, 24])
def test_words_are_whole_at_any_width(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = terminal_lines([TABLE])

    words = {word for row in ROWS for cell in row for word in cell.split()}
    assert words <= set(" ".join(lines).split())
    assert max(map(len, lines)) <= columns
    assert not [line for line in lines if line.endswith(" ")]
    assert (len(lines) == 1 + len(ROWS)) == (columns == 200)


def test_a_wide_character_takes_two_columns() -> None:
    _, row = terminal_lines([TextTable(("item", "n"), [("日本語", "1")])])

    assert row == "日本語  1"


@cache
def compare_models(models: tuple[str, ...], n_primary: int) -> Comparison:
    """Return a comparison whose models have ever fewer hits; the first is the baseline."""
    chance, primary = random.Random(5), PRIMARY[:n_primary]

    def lists(hits: float) -> dict[str, list[str]]:
        return {
            user: [item if chance.random() < hits else f"{item}{user}" for item in ("a", "b", "c")]
            for user in USERS
        }

    return cc.compare(
        {name: lists(0.9 / (1 + at)) for at, name in enumerate(models)},
        {user: ["a", "b"] for user in USERS},
        metrics=primary,
        baseline=models[0],
        primary=primary,
        min_effect=0.01,
        conventions=cc.preset("standard"),
        resamples=99,
        panel=False,
    )


def leaderboard_lines(comparison: Comparison) -> list[str]:
    return terminal_lines(leaderboards(comparison, comparison.primary))


def numbers_of(lines: Sequence[str]) -> list[str]:
    return re.findall(r"(?<![\w.@-])[+−]?\d+\.\d{3,4}\b", "\n".join(lines))


@pytest.mark.parametrize("models", [("one",), ("base", "als"), ("base", LONG)])
@pytest.mark.parametrize("width", [80, 60, 30])
def test_no_number_is_cut_at_any_width(
    models: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compare_models(models, len(PRIMARY))
    monkeypatch.setenv("COLUMNS", "300")
    wide = leaderboard_lines(comparison)
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = leaderboard_lines(comparison)

    assert numbers_of(narrow) == numbers_of(wide)
    assert all(len(line) <= max(width, len(LONG)) for line in narrow)


def test_a_usual_model_takes_one_line_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = leaderboard_lines(compare_models(("popularity", "ease-recent"), 2))

    table = ["popularity", "ease-recent", ""]
    firsts = ["nDCG@3", *table, "R@3", *table, "best:", "joint:"]
    assert [line.partition(" ")[0] for line in lines] == firsts
    assert lines[1].endswith("baseline")
    assert lines[2].endswith("worse")


@pytest.mark.parametrize(
    ("models", "n_primary", "last"),
    [
        (("base", "a", "b", "c", "d"), 2, "worse"),
        (("base", *(f"m{i}" for i in range(19))), 1, "… 9 more models: `concord leaderboard`"),
        (
            ("base", "a", "b", "c", "d"),
            6,
            "… 4 more primary metrics: `concord leaderboard`",
        ),
    ],
)
def test_short_leaderboard_counts_what_does_not_fit(
    models: tuple[str, ...], n_primary: int, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = terminal_lines(short_leaderboard(compare_models(models, n_primary)))

    assert len(lines) <= 13
    assert lines[-1].endswith(last)


def test_short_leaderboard_has_the_baseline_even_if_last() -> None:
    comparison = compare_models(("base", *(f"m{i:02}" for i in range(20))), 1)
    lines = terminal_lines(short_leaderboard(replace(comparison, baseline="m19")))

    assert lines[-2].startswith("m19")
    assert lines[-2].endswith("baseline")


@pytest.mark.parametrize(
    ("variables", "is_terminal", "is_styled"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({}, False, False)],
)
def test_verdicts_are_coloured_on_a_terminal_only(
    variables: dict[str, str], is_terminal: bool, is_styled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TERM": "xterm", "COLUMNS": "80", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    lines = leaderboard_lines(compare_models(("base", "als"), 1))

    assert lines[2].endswith("\x1b[31mworse\x1b[0m" if is_styled else " worse")
    assert lines[0].startswith("\x1b[1mnDCG@3") == is_styled


def test_names_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    users = {f"u\x1b[31m{user}": ["a"] for user in USERS}
    print_result(
        cc.audit({"als": users}, users, train=users, metrics=["Hit@2"], conventions="standard")
    )
    print_blocks([TextTable(("a\x9b2J",), [("b\r\u202e",)]), "c\n::error::"])
    output = capsys.readouterr().out

    assert not {c for c in output if not c.isprintable()} - {"\n", "\xa0"}
    assert "\n::error::" not in output
