"""The one way from a result to `concord.reports`, which is imported when a result is shown."""

from importlib import import_module
from typing import Any, Literal

from concord.metrics_core.errors import extra_named


def render(result: Any, form: Literal["text", "html", "markdown"]) -> str:
    """Return a result as plain text, as a piece of HTML for a notebook, or as Markdown."""
    blocks = import_module("concord.reports.text.blocks")
    if form == "markdown":
        return str(blocks.view_of(result).to_markdown(result))
    write = blocks.to_text if form == "text" else blocks.to_html
    return str(write(blocks.blocks_of(result)))


_SENTENCES = {
    "verdicts": ("concord.reports.text.verdicts", "verdict_sentences"),
    "replicates": ("concord.reports.text.replicates", "replicate_answers"),
    "decision": ("concord.reports.text.gate", "decision_lines"),
    "guardrail": ("concord.reports.text.gate", "reasons"),
}


def render_sentences(kind: str, result: Any) -> tuple[str, ...]:
    """Return the sentences about a result, or about a part of one."""
    module, function = _SENTENCES[kind]
    return tuple(getattr(import_module(module), function)(result))


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
