"""The report of a study as one HTML page: no network, readable without scripts, the same bytes for the same study."""

from concord.metrics_core.studying.study import Study
from concord.reports.page import render_page
from concord.reports.studying import told
from concord.reports.studying.critical import critical_chart
from concord.reports.studying.forest import MOST_MODELS, forest_chart
from concord.reports.studying.heatmap import heatmap_charts


def render_study(study: Study) -> str:
    """The page of a study."""
    return render_page(
        "study.html.j2",
        study=study,
        told=told,
        heatmap_charts=heatmap_charts,
        critical_chart=critical_chart,
        forest_chart=forest_chart,
        most_in_forest=MOST_MODELS,
    )
