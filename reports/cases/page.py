"""Render the page of an error analysis."""

from concord.metrics_core.analyses.cases.result import Cases
from concord.reports.page import render_page
from concord.reports.text.display_words import display_words


def render(cases: Cases) -> str:
    """Return the page of an error analysis: example users, items, and a filter."""
    return render_page(
        "error_analysis_page.html.j2",
        words=display_words(cases),
        scripts=("sort.js", "error_analysis.js"),
        styles=("style.css", "error_analysis.css"),
        cases=cases,
    )
