"""The Markdown twin for pull requests: the same story in short, tables only, never longer than a comment may be."""

import re

from concord.metrics_core.comparison.comparison import Comparison
from concord.reports.page import environment

COMMENT_LIMIT = 65_535  # characters of a comment on GitHub
_ROWS = (200, 50, 25, 10, 3)  # of each table: the first that fits is taken
_SPECIAL = re.compile(r"([\\`*_\[\]|#~!])")


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


def words(text: str) -> str:
    """The text as nothing but words: no table cell, tag, link, mention or emphasis can come of it."""
    one_line = " ".join(str(text).split())
    plain = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"(?<!\w)@", "&#64;", _SPECIAL.sub(r"\\\1", plain))
