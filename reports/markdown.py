"""The Markdown twin for pull requests: the same story in short, tables only, never longer than a comment may be."""

import re
from functools import partial

from concord.metrics_core.results.comparison import Comparison
from concord.reports.page import environment
from concord.reports.writing.markdown import fitting, words


def render_markdown(comparison: Comparison) -> str:
    """The comparison in Markdown; tables are cut, with a note, until all of it fits in a comment."""
    return fitting(partial(_rendered, comparison))


def _rendered(comparison: Comparison, rows: int) -> str:
    # Names are escaped by the filter `words`, for Markdown and HTML both.
    jinja = environment(autoescape=False)
    jinja.filters["words"] = words
    page = jinja.get_template("report.md.j2")
    text = page.render(comparison=comparison, most=rows)
    return re.sub(r"\n{3,}", "\n\n", text)
