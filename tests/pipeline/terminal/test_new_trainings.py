"""The leaderboard as text, of models that were trained several times."""

import io

from rich.console import Console

from concord.metrics_core.comparison.comparison import Comparison
from concord.pipeline.terminal.leaderboard import print_leaderboard
from concord.reports.writing.numbers import signed_interval
from tests.reports.samples.trained import trained

LABEL = "nDCG@3"


def _printed(comparison: Comparison, width: int, most_lines: int | None = None) -> list[str]:
    out = Console(file=io.StringIO(), width=width)
    print_leaderboard(out, comparison, [LABEL], most_lines)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_the_terminal_has_a_line_for_new_trainings_below_each_model() -> None:
    comparison = trained()
    again = comparison.retrained("als", "pop", LABEL)
    assert again is not None

    lines = _printed(comparison, 110)

    assert [line.split("  ")[0] or line.strip().split("  ")[0] for line in lines[1:]] == [
        "als", "new trainings", "ease", "new trainings", "pop",
    ]  # fmt: skip
    assert signed_interval(again.ci_low, again.ci_high, 3) in lines[2]
    assert lines[2].endswith("better")
    assert len(_printed(comparison, 110, 5)) <= 6
    assert "too few: 2" in "\n".join(_printed(trained((2, 3, 1)), 110))
