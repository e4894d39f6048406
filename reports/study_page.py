"""The page of a study, apart from `page.py`: its texts import statistics, on which the stage `report` must not depend."""

from concord.metrics_core.results.study import Study
from concord.reports.charts import study as charts
from concord.reports.page import render_page
from concord.reports.text import study as text


def render_study(study: Study) -> str:
    """Return the page of a study."""
    return render_page("study.html.j2", study=study, text=text, charts=charts)
