"""Sentences and tables as plain text and as HTML."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from itertools import groupby
from types import ModuleType
from typing import Any

from concord.metrics_core.results.text_format import to_one_line
from concord.reports.text.display_words import display_words

_GAP = "  "  # between two columns
_TABLE = 'style="border-collapse: collapse; color: inherit"'
_CELL = 'style="text-align: left; padding: 0.15em 1em 0.15em 0"'


@dataclass(frozen=True)
class TextTable:
    """A table of texts: one header, rows of the same length."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Heading(str):
    """A line that names what follows; bold in a terminal and in HTML."""


Block = str | TextTable  # a line, or a table; an empty line separates paragraphs


_VIEWS = {  # class of a result -> module of this package that describes it
    "Audit": "audit",
    "Cases": "error_analysis",
    "Comparison": "comparison",
    "Decision": "gate_description",
    "Derivation": "explain",
    "Evaluation": "evaluation",
    "ExplanationDiff": "explain",
    "History": "history",
    "Judging": "judge",
    "MetricCheck": "check_metric",
    "Plan": "plan",
    "PredictionPowered": "ppi",
    "PresetConventions": "presets",
    "PresetList": "presets",
    "Reconciliation": "reconcile",
    "Split": "split",
    "Study": "study",
    "Verification": "verify",
}


def blocks_of(result: Any) -> Iterator[Block]:
    """Yield the sentences and tables of a result."""
    show = display_words(result).show if hasattr(result, "words") else str
    for block in view_of(result).describe(result):
        if isinstance(block, TextTable):
            header, *rows = ([*map(show, row)] for row in (block.header, *block.rows))
            yield TextTable(header, rows)
        else:
            yield type(block)(show(block))


def view_of(result: Any) -> ModuleType:
    """Return the module that describes a result."""
    return import_module(f"concord.reports.text.{_VIEWS[type(result).__name__]}")


def to_text(blocks: Iterable[Block]) -> str:
    """Return the blocks as lines of plain text."""
    lines: list[str] = []
    for block in blocks:
        lines += _table_lines(block) if isinstance(block, TextTable) else [to_one_line(block)]
    return "\n".join(lines)


def _table_lines(table: TextTable) -> list[str]:
    rows = [[to_one_line(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def to_html(blocks: Iterable[Block]) -> str:
    """Return the blocks as paragraphs and tables in the colours of the page around them.

    Lines that follow each other are one paragraph, with their line breaks and indents.
    """
    return "".join(
        _paragraph(group) if kind is str else "".join(map(_block_html, group))
        for kind, group in groupby(blocks, _kind)
    )


def _kind(block: Block) -> type:
    return str if block and isinstance(block, str) and not isinstance(block, Heading) else object


def _paragraph(lines: Iterable[Block]) -> str:
    text = "\n".join(escape(to_one_line(str(line))) for line in lines)
    return f'<p style="white-space: pre-wrap">{text}</p>'


def _block_html(block: Block) -> str:
    if isinstance(block, TextTable):
        return _table_html(block)
    return f"<p><strong>{escape(to_one_line(block))}</strong></p>" if block else ""


def _table_html(table: TextTable) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag} {_CELL}>{escape(to_one_line(cell))}</{tag}>" for cell in cells)

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in table.rows)
    return f"<table {_TABLE}><tr>{row(table.header, 'th')}</tr>{body}</table>"
