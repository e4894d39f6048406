"""Render results with `concord.reports`, which is imported on first use."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from concord.metrics_core.errors import printable, report_missing_extra


def view_of(result: Any, part: str = "text") -> ModuleType:
    """Return the module that shows a result.

    It is in the folder of `concord.reports` that has the name of the analysis, or in
    `concord.reports.text` for a result that several analyses share.
    """
    *_, folder, name = result.defined_in.split(".")
    view = f"{folder}.{part}" if name == "result" else f"text.{name}"
    return import_module(f"concord.reports.{view}")


def render(result: Any, form: Literal["text", "html", "markdown"]) -> str:
    """Return a result as plain text, as a piece of HTML for a notebook, or as Markdown."""
    blocks = import_module("concord.reports.text.blocks")
    module = import_module("concord.reports.text.markdown") if form == "markdown" else blocks
    return str(getattr(module, f"to_{form}")(blocks.blocks_of(result)))


_SENTENCES = {
    "headline": ("concord.reports.text.summary", "headline"),
    "verdicts": ("concord.reports.text.verdicts", "verdict_sentences"),
    "warning": ("concord.reports.text.warnings", "warning_texts"),
    "methods": ("concord.reports.text.methods", "methods"),
    "covers": ("concord.reports.text.summary", "covers"),
    "replicates": ("concord.reports.text.replicates", "replicate_answers"),
    "decision": ("concord.reports.text.gate", "describe"),
    "guardrail": ("concord.reports.text.gate", "reason"),
}


def render_sentences(kind: str, result: Any) -> tuple[str, ...]:
    """Return the sentence or sentences about a result, or a part of one, each on one line."""
    module, function = _SENTENCES[kind]
    sentences = getattr(import_module(module), function)(result)
    if isinstance(sentences, str):
        sentences = [sentences]
    if getattr(result, "words", None):
        words = import_module("concord.reports.text.display_words")
        sentences = map(words.display_words(result).show, sentences)
    return tuple(map(printable, sentences))


_DOCUMENTS = {
    "html": ("concord.reports.page", "render_html"),
    "latex": ("concord.reports.latex", "render_latex"),
    "markdown": ("concord.reports.markdown", "render_markdown"),
    "notebook": ("concord.reports.page", "render_notebook"),
}


def render_document(result: Any, kind: str, **options: Any) -> str:
    """Return a result as a document.

    Parameters
    ----------
    kind : {"html", "latex", "markdown", "notebook", "page"}
        The page of a comparison, its LaTeX table, its short report, its charts for a notebook, or
        the page of an analysis.
    **options : Any
        Arguments of the function that renders it.

    Raises
    ------
    InputError
        A package that renders it is not installed.
    """
    with report_missing_extra():
        if kind == "page":
            render_result = view_of(result, "page").render
        else:
            module, function = _DOCUMENTS[kind]
            render_result = getattr(import_module(module), function)
        return str(render_result(result, **options))


def draw(result: Any, kind: str, of: str | None) -> Any:
    """Return a picture of a comparison."""
    with report_missing_extra():
        return import_module("concord.reports.charts.plot").plot(result, kind, of)


def write_document(document: str, path: str | Path | None) -> str | Path:
    """Write a document to `path` and return the path; without one return the document.

    A notebook shows what the last line of a cell returns, and the text of a page fills many
    screens.
    """
    if path is None:
        return document
    file = Path(path)
    file.write_text(document, encoding="utf-8", newline="\n")
    return file
