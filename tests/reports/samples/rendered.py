"""A sample's content as the reports that are made of it."""

import json
from functools import cache

from concord.reports.latex import render_latex
from concord.reports.page import render_html, render_markdown
from tests.reports.samples.sample import Content
from tests.reports.samples.typed import typed


def html(content: Content) -> str:
    """The page, drawn once for equal contents: it takes seconds."""
    return _html(json.dumps(content))


@cache
def _html(content: str) -> str:
    return render_html(typed(json.loads(content)))


def markdown(content: Content) -> str:
    return render_markdown(typed(content))


def latex(content: Content) -> str:
    return render_latex(typed(content))
