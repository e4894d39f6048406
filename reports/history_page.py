"""The history of a project as one HTML page, in the manner of the report."""

from altair.utils.schemapi import debug_mode
from markupsafe import Markup

from concord.metrics_core.comparison.history import History
from concord.reports.charts import history as charts
from concord.reports.charts import palette
from concord.reports.page import environment, file_of, sha256_of
from concord.reports.writing import history as written


def render_history(history: History) -> str:
    """The page: a picture and a table a primary metric, and what changed at each revision."""
    script = file_of("sort.js") + file_of("interact.js")
    page = environment(autoescape=True).get_template("history.html.j2")
    with debug_mode(False):
        return page.render(
            history=history,
            style=Markup(palette.stylesheet() + "\n" + file_of("style.css")),
            script=Markup(script),
            script_hash=sha256_of(script),
            charts=charts,
            written=written,
        )
