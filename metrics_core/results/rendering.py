"""Render results with `concord.reports`, which is imported on first use."""

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from concord.metrics_core.errors import report_missing_extra


def render(result: Any, form: Literal["text", "html", "markdown"]) -> str:
    """Return a result as plain text, as a piece of HTML for a notebook, or as Markdown."""
    blocks = import_module("concord.reports.text.blocks")
    module = import_module("concord.reports.text.markdown") if form == "markdown" else blocks
    return str(getattr(module, f"to_{form}")(blocks.blocks_of(result)))


_SENTENCES = {
    "verdicts": ("concord.reports.text.verdicts", "verdict_sentences"),
    "warning": ("concord.reports.text.warnings", "warning_texts"),
    "covers": ("concord.reports.text.summary", "covers"),
    "replicates": ("concord.reports.text.replicates", "replicate_answers"),
    "decision": ("concord.reports.text.gate", "describe"),
    "guardrail": ("concord.reports.text.gate", "reasons"),
}


def render_sentences(kind: str, result: Any) -> tuple[str, ...]:
    """Return the sentences about a result, or about a part of one."""
    module, function = _SENTENCES[kind]
    sentences = getattr(import_module(module), function)(result)
    if getattr(result, "words", None):
        words = import_module("concord.reports.text.display_words")
        sentences = map(words.display_words(result).show, sentences)
    return tuple(sentences)


_DOCUMENTS = {
    "html": ("concord.reports.page", "render_html"),
    "latex": ("concord.reports.latex", "render_latex"),
    "cases": ("concord.reports.page", "render_cases"),
    "study": ("concord.reports.study.page", "render_study"),
    "notebook": ("concord.reports.page", "render_notebook"),
}


def render_document(result: Any, kind: str, path: str | Path | None = None, **options: Any) -> str:
    """Return a result as a document; also write it to `path` if one is given.

    Parameters
    ----------
    kind : {"html", "latex", "cases", "study", "notebook"}
        The page of a comparison, its LaTeX table, the page of an error analysis or of a study,
        or the charts of a comparison for a notebook.
    **options : Any
        Arguments of the function that renders it.

    Raises
    ------
    InputError
        A package that renders it is not installed.
    """
    module, function = _DOCUMENTS[kind]
    with report_missing_extra():
        document = str(getattr(import_module(module), function)(result, **options))
    if path is not None:
        Path(path).write_text(document, encoding="utf-8", newline="\n")
    return document
