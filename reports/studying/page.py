"""The report of a study as one HTML page: no network, readable without scripts, the same bytes for the same study."""

from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from concord.metrics_core.studying.study import Study
from concord.reports.charts import palette
from concord.reports.page import environment, file_of, sha256_of
from concord.reports.studying import told
from concord.reports.studying.critical import critical_chart
from concord.reports.studying.forest import MOST_MODELS, forest_chart
from concord.reports.studying.heatmap import heatmap_charts


def render_study(study: Study) -> str:
    """The page of a study."""
    script = file_of("sort.js") + file_of("interact.js")
    page = environment(autoescape=True).get_template("study.html.j2")
    with debug_mode(False):  # the tests check every part of a chart against the schema
        return page.render(
            study=study,
            style=Markup(palette.stylesheet() + "\n" + file_of("style.css")),
            script=Markup(script),
            script_hash=sha256_of(script),
            told=told,
            heatmap_charts=heatmap_charts,
            critical_chart=critical_chart,
            forest_chart=forest_chart,
            most_in_forest=MOST_MODELS,
        )
