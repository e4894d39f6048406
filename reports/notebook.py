"""A comparison in a cell of a notebook: leaderboard, verdicts and differences, without network, scripts or styles of a page."""

from concord.metrics_core.results.comparison import Comparison
from concord.reports.charts.differences import difference_chart
from concord.reports.page import environment


def render_notebook(comparison: Comparison) -> str:
    """A piece of HTML that can stand among others; in the light colours, whatever the notebook's are."""
    template = environment(autoescape=True).get_template("notebook.html.j2")
    charts = [
        (label, difference_chart(comparison, label, narrow=False))
        for label in comparison.primary
        if comparison.against_baseline(label)
    ]
    return template.render(comparison=comparison, charts=charts)
