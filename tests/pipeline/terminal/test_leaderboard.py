"""The leaderboard as text: lines, omitted models and colours."""

import io
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

import concord as cc
from concord.metrics_core.results.comparison import Comparison
from concord.pipeline.terminal.leaderboard import print_leaderboard
from concord.reports.text.numbers import signed_interval
from tests.reports.samples.sample_replicates import replicate_sample

PRIMARY = ["nDCG@3", "R@3", "P@3", "RR@3", "AP@3", "Hit@3"]
USERS = [f"u{i}" for i in range(60)]
LONG = "als-implicit-factors-200-regularisation-0.01-alpha-40-seed-7"


def compare_models(models: Sequence[str], primary: Sequence[str]) -> Comparison:
    return _compare_once(tuple(models), tuple(primary))


@cache
def _compare_once(models: tuple[str, ...], primary: tuple[str, ...]) -> Comparison:
    """Return a comparison whose models have ever fewer hits; the first is the baseline."""
    chance = random.Random(5)
    truth = {user: ["a", "b"] for user in USERS}

    def lists(hits: float) -> dict[str, list[str]]:
        return {
            user: [item if chance.random() < hits else f"{item}{user}" for item in ("a", "b", "c")]
            for user in USERS
        }

    return cc.compare(
        {name: lists(0.9 / (1 + at)) for at, name in enumerate(models)},
        truth,
        metrics=list(primary),
        baseline=models[0],
        primary=list(primary),
        min_effect=0.01,
        conventions=cc.preset("standard"),
        resamples=99,
        panel=False,
    )


def printed_lines(
    comparison: Comparison,
    width: int = 80,
    most_lines: int | None = None,
    labels: Sequence[str] | None = None,
) -> list[str]:
    output = Console(file=io.StringIO(), width=width)
    print_leaderboard(output, comparison, labels or comparison.primary, most_lines)
    text: str = output.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def printed_numbers(lines: Sequence[str]) -> list[str]:
    return re.findall(r"(?<![\w.@-])[+−]?\d+\.\d{3,4}\b", "\n".join(lines))


@pytest.mark.parametrize(
    "models",
    [["one"], ["base", "als"], [f"model-{i}" for i in range(20)], ["base", LONG]],
)
@pytest.mark.parametrize("width", [80, 60, 30])
def test_no_number_is_cut_at_any_width(models: list[str], width: int) -> None:
    comparison = compare_models(models, PRIMARY)

    narrow, wide = printed_lines(comparison, width), printed_lines(comparison, 300)

    assert printed_numbers(narrow) == printed_numbers(wide)
    assert len(printed_numbers(wide)) >= len(PRIMARY) * (3 * len(models))  # a mean and its interval
    assert all(len(line) <= max(width, len(LONG) + 2) for line in narrow)


def test_a_usual_model_takes_one_line_of_80_columns() -> None:
    lines = printed_lines(compare_models(["popularity", "ease-recent"], ["nDCG@3", "R@3"]))

    assert [line.split()[0] for line in lines if line] == [
        "nDCG@3",
        "popularity",
        "ease-recent",
        "R@3",
        "popularity",
        "ease-recent",
        "best:",
    ]
    assert lines[1].endswith("baseline")
    assert lines[2].endswith("worse")
    assert max(map(len, lines)) <= 80


def test_means_intervals_and_differences_are_those_of_the_comparison() -> None:
    comparison = compare_models(["base", "als"], ["R@3"])
    score, pair = comparison.score("als", "R@3"), comparison.difference("als", "base", "R@3")
    assert pair is not None

    _, _, line, *_ = printed_lines(comparison)

    expected = (score.mean, score.ci_low, score.ci_high, pair.difference, pair.ci_low, pair.ci_high)
    numbers = [float(text.replace("−", "-")) for text in printed_numbers([line])]
    assert numbers == pytest.approx(expected, abs=0.0006)


@pytest.mark.parametrize(
    ("models", "primary", "remaining"),
    [
        (["base", "a", "b", "c", "d"], 2, None),
        (["base", *(f"m{i}" for i in range(19))], 1, "… 9 more models: `concord leaderboard`"),
        (["base", *(f"m{i}" for i in range(19))], 2, "… 15 more models: `concord leaderboard`"),
        (
            ["base", "a", "b", "c", "d"],
            6,
            "… 3 more models and 2 more primary metrics: `concord leaderboard`",
        ),
        (
            ["base", LONG, "b"],
            6,
            "… 1 more models and 2 more primary metrics: `concord leaderboard`",
        ),
    ],
)
def test_short_leaderboard_counts_models_that_do_not_fit(
    models: list[str], primary: int, remaining: str | None
) -> None:
    lines = printed_lines(compare_models(models, PRIMARY[:primary]), most_lines=12)

    assert len(lines) <= 13 or LONG in models
    assert "" not in lines
    assert lines[-1] == remaining or (remaining is None and lines[-1].endswith("worse"))


def test_short_leaderboard_has_the_baseline_even_if_last() -> None:
    worst_first = compare_models(["base", *(f"m{i:02}" for i in range(20))], ["R@3"])
    lines = printed_lines(cc.Comparison(**{**vars(worst_first), "baseline": "m19"}), most_lines=12)

    assert lines[-2].startswith("m19")
    assert lines[-2].endswith("baseline")


@pytest.mark.parametrize(
    ("variables", "terminal", "coloured"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        ({"TERM": "xterm"}, False, False),
    ],
)
def test_verdicts_are_coloured_on_a_terminal_only(
    variables: dict[str, str], terminal: bool, coloured: bool
) -> None:
    output = Console(file=io.StringIO(), width=80, force_terminal=terminal, _environ=variables)
    print_leaderboard(output, compare_models(["base", "als"], ["R@3"]), ["R@3"])
    text: str = output.file.getvalue()  # type: ignore[attr-defined]

    assert ("\x1b[31mworse" in text) == coloured
    assert ("\x1b[" in text) == terminal  # bold is no colour


def test_interval_over_replicates_is_below_each_model() -> None:
    comparison = replicate_sample()
    again = comparison.retrained("als", "pop", PRIMARY[0])
    assert again is not None

    lines = printed_lines(comparison, 110, labels=[PRIMARY[0]])

    assert [line.split("  ")[0] or line.strip().split("  ")[0] for line in lines[1:6]] == [
        "als",
        "replicates",
        "ease",
        "replicates",
        "pop",
    ]
    assert signed_interval(again.ci_low, again.ci_high, 3) in lines[2]
    assert lines[2].endswith("better")
    assert len(printed_lines(comparison, 110, 5, labels=[PRIMARY[0]])) <= 6
    assert "too few: 2" in "\n".join(
        printed_lines(replicate_sample((2, 3, 1)), 110, labels=[PRIMARY[0]])
    )


@pytest.mark.parametrize(("low", "is_noted"), [(0.01, True), (-0.01, False)])
def test_an_undecided_interval_without_zero_has_the_reason(low: float, is_noted: bool) -> None:
    comparison = compare_models(["base", "als"], ["R@3"])
    (pair,) = comparison.pairs
    changed = replace(pair, verdict="undecided", ci_low=low, ci_high=0.2)
    comparison = replace(comparison, pairs=(changed,))

    lines = printed_lines(comparison)

    note = "undecided, though the interval excludes 0: the adjusted p value is not significant"
    assert (note in " ".join(lines)) == is_noted
    assert note not in " ".join(printed_lines(comparison, most_lines=12))
