"""A comparison as people look at it: the page, the table for a paper, the cell of a notebook.

Drawing is the affair of `reports`, which reads comparisons and is imported when one is to be shown.
"""

from importlib import import_module
from typing import Any

from concord.metrics_core.checking.extras import extra_named

_RENDERERS = {
    "html": ("concord.reports.page", "render_html"),
    "latex": ("concord.reports.latex", "render_latex"),
    "cases": ("concord.reports.page", "render_cases"),
    "study": ("concord.reports.study_page", "render_study"),
    "notebook": ("concord.reports.notebook", "render_notebook"),
}


def rendered(comparison: Any, form: str, *beside: Any) -> str:
    """The comparison as `html` (a whole page), `latex` (a table) or `notebook` (a piece of HTML); `beside` stands in it, too.

    Raises
    ------
    InputError : what draws is not installed
    """
    module, function = _RENDERERS[form]
    with extra_named():
        return str(getattr(import_module(module), function)(comparison, *beside))
