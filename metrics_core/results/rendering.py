"""The one way from a result to `concord.reports`, which is imported when a result is shown."""

from importlib import import_module
from typing import Any, Literal


def render(result: Any, form: Literal["text", "html", "markdown"]) -> str:
    """Return a result as plain text, as a piece of HTML for a notebook, or as Markdown."""
    blocks = import_module("concord.reports.text.blocks")
    if form == "markdown":
        return str(blocks.view_of(result).to_markdown(result))
    write = blocks.to_text if form == "text" else blocks.to_html
    return str(write(blocks.blocks_of(result)))
