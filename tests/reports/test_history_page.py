"""The page of a history: what stands on it, and that nothing in it is obeyed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from concord.metrics_core.comparison.history import Changed, History
from concord.reports.charts.history import history_chart, turned
from concord.reports.history_page import render_history
from tests.reports.samples.browser import Page
from tests.reports.samples.sample_history import FIRST, GONE, HISTORY, REUSE, SECOND, standing

HOSTILE = '<script>alert("x")</script>'


def test_the_head_tells_the_last_revision() -> None:
    page = render_history(HISTORY)

    assert "<h1>R@1 at ccc3333: als 0.400, better than base " in page
    assert "3 revisions of the comparison since 2026-11-23" in page
    assert '<ul class="notices">\n<li>5 comparisons rest on this truth.</li>' in page


def test_a_serious_warning_comes_first() -> None:
    page = render_history(replace(HISTORY, reuse=replace(REUSE, severity="serious")))

    assert page.index("Read this first") < page.index('<section id="metric-1">')


def test_the_table_behind_the_picture_has_every_number() -> None:
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", render_history(HISTORY).split("as a table")[1]))  # fmt: skip

    assert "aaa1111 v1 als 0.300 0.290 to 0.310 better, +0.020 (+0.010 to +0.030)" in page
    assert "worse, −0.050 (−0.060 to −0.040)" in page
    assert "base 0.280 0.270 to 0.290 baseline the same for every user" in page
    assert "ccc3333 2026-11-23 made ccc3333 gain: linear → exp2 c8006b89fd2a" in page


def test_lines_break_where_conventions_did_and_verdicts_that_turned_are_marked() -> None:
    chart = str(history_chart(HISTORY, "R@1", narrow=False))
    unbroken = str(history_chart(replace(HISTORY, revisions=(FIRST, SECOND)), "R@1", narrow=False))

    assert turned(HISTORY, "R@1") == {"better", "worse"}
    assert chart.count("stroke-dasharray") == 1
    assert "stroke-dasharray" not in unbroken
    assert "<title>bbb2222, als: 0.250 (0.240 to 0.260), worse</title>" in chart
    assert chart == str(history_chart(HISTORY, "R@1", narrow=False))


def test_revisions_of_which_nothing_is_known() -> None:
    page = render_history(replace(HISTORY, revisions=(FIRST, GONE), reuse=None))

    assert "Nothing is known at ddd4444" in page
    assert "its results are not in DVC&#39;s cache" in page
    assert "Nothing is known" in render_history(History("", 0.95, (GONE,), None))


@pytest.mark.parametrize("n", [1, 200])
def test_one_revision_and_two_hundred(n: int) -> None:
    many = [replace(SECOND, name=f"r{i:06}") for i in range(n)]

    assert render_history(replace(HISTORY, revisions=tuple(many))).count('class="chart"') == 2


def test_nothing_that_stands_in_git_is_obeyed(tmp_path: Path, browser: Page) -> None:
    hostile = replace(FIRST, name=HOSTILE, tags=(HOSTILE,), subject=HOSTILE, standings=(standing(HOSTILE, 0.3, "better"),), changed=(Changed("truth", HOSTILE),))  # fmt: skip
    page = tmp_path / "page.html"
    page.write_text(render_history(replace(HISTORY, title=HOSTILE, revisions=(FIRST, hostile), notes=(HOSTILE,))))  # fmt: skip

    assert HOSTILE not in page.read_text()
    browser.show(page, width=1200)
    assert browser.errors == []
