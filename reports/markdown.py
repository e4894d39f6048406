"""The Markdown twin for pull requests: the same story in short, tables only, never longer than a comment may be."""

import re

from concord.metrics_core.comparison.comparison import Comparison
from concord.reports.page import environment
from concord.reports.writing.escaping import words

COMMENT_LIMIT = 65_535  # characters of a comment on GitHub
_ROWS = (200, 50, 25, 10, 3)  # of each table: the first that fits is taken


def render_markdown(comparison: Comparison) -> str:
    """The comparison in Markdown; tables are cut, with a note, until all of it fits in a comment."""
    text = ""
    for rows in _ROWS:
        text = _rendered(comparison, rows)
        if len(text) <= COMMENT_LIMIT:
            break
    return text


def _rendered(comparison: Comparison, rows: int) -> str:
    # Names are escaped by the filter `words`, for Markdown and HTML both.
    jinja = environment(autoescape=False)
    jinja.filters["words"] = words
    page = jinja.get_template("report.md.j2")
    text = page.render(comparison=comparison, most=rows)
    return re.sub(r"\n{3,}", "\n\n", text)
