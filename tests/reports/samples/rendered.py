"""Render the content of a sample as HTML, Markdown and LaTeX."""

import json
from functools import cache

from concord.metrics_core.results.stored import from_content
from concord.reports.latex import render_latex
from concord.reports.markdown import render_markdown
from concord.reports.page import render_html
from tests.reports.samples.sample import Content


def html(content: Content) -> str:
    """Return the page; it is cached by content, since it takes seconds."""
    return _html(json.dumps(content))


@cache
def _html(content: str) -> str:
    return render_html(from_content(json.loads(content)))


def markdown(content: Content) -> str:
    return render_markdown(from_content(content))


def latex(content: Content) -> str:
    return render_latex(from_content(content))
