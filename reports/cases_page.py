"""The cases behind a difference as one HTML page, in the manner of the report: no network, readable without scripts."""

from markupsafe import Markup

from concord.metrics_core.comparison.cases import Cases
from concord.reports.charts import palette
from concord.reports.page import environment, file_of, sha256_of
from concord.reports.writing import cases as written


def render_cases(cases: Cases) -> str:
    """The page: users in a table and side by side, and the items; a filter over all of them."""
    script = file_of("sort.js") + file_of("cases.js")
    styles = (palette.stylesheet(), file_of("style.css"), file_of("cases.css"))
    page = environment(autoescape=True).get_template("cases_page.html.j2")
    return page.render(
        cases=cases,
        style=Markup("\n".join(styles)),
        script=Markup(script),
        script_hash=sha256_of(script),
        written=written,
    )
