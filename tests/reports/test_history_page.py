"""The page of a history: what stands on it, and that nothing in it is obeyed."""

from dataclasses import replace

import pytest

from concord.metrics_core.comparison.history import History
from concord.reports.charts.history import history_chart, turned
from concord.reports.history_page import render_history
from tests.reports.samples.sample_history import FIRST, GONE, HISTORY, REUSE, SECOND


def test_a_serious_warning_comes_first() -> None:
    page = render_history(replace(HISTORY, reuse=replace(REUSE, severity="serious")))

    assert page.index("Read this first") < page.index('<section id="metric-1">')


def test_lines_break_where_conventions_did_and_verdicts_that_turned_are_marked() -> None:
    chart = str(history_chart(HISTORY, "R@1", narrow=False))
    unbroken = str(history_chart(replace(HISTORY, revisions=(FIRST, SECOND)), "R@1", narrow=False))

    assert turned(HISTORY, "R@1") == {"better", "worse"}
    assert chart.count("stroke-dasharray") == 1
    assert "stroke-dasharray" not in unbroken
    assert "<title>bbb2222, als: 0.250 (0.240 to 0.260), worse</title>" in chart
    assert chart == str(history_chart(HISTORY, "R@1", narrow=False))


def test_a_history_of_which_nothing_is_known_says_so() -> None:
    assert "Nothing is known" in render_history(History("", 0.95, (GONE,), None))


@pytest.mark.parametrize("n", [1, 50])
def test_one_revision_and_many(n: int) -> None:
    many = tuple(replace(SECOND, name=f"r{i:06}") for i in range(n))

    assert render_history(replace(HISTORY, revisions=many)).count('class="chart"') == 2
