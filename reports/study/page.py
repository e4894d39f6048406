"""Render the page of a study.

It is not in `page.py`: the text of a study imports statistics, and stage `report` must not depend
on them.
"""

from concord.metrics_core.analyses.study.result import Study
from concord.reports.page import render_page
from concord.reports.study import chart as charts
from concord.reports.study import text


def render(study: Study) -> str:
    """Return the page of a study."""
    return render_page("study.html.j2", study=study, text=text, charts=charts)
