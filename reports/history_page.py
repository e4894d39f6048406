"""The history of a project as one HTML page, in the manner of the report."""

from concord.metrics_core.results.history import History
from concord.reports.charts import history as charts
from concord.reports.page import render_page
from concord.reports.writing import history as written


def render_history(history: History) -> str:
    """The page: a picture and a table a primary metric, and what changed at each revision."""
    return render_page("history.html.j2", history=history, charts=charts, written=written)
