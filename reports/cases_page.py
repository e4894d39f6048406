"""The cases behind a difference as one HTML page, in the manner of the report: no network, readable without scripts."""

from concord.metrics_core.comparison.cases import Cases
from concord.reports.page import render_page
from concord.reports.writing import cases as written


def render_cases(cases: Cases) -> str:
    """The page: users in a table and side by side, and the items; a filter over all of them."""
    return render_page(
        "cases_page.html.j2",
        scripts=("sort.js", "cases.js"),
        styles=("style.css", "cases.css"),
        cases=cases,
        written=written,
    )
