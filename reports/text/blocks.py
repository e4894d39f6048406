"""Sentences and tables as lines of text and as HTML."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, product, zip_longest
from typing import Any
from unicodedata import combining, east_asian_width

from concord.metrics_core.errors import printable
from concord.metrics_core.results.rendering import view_of
from concord.reports.text.display_words import display_words
from concord.reports.text.numbers import MISSING
from concord.reports.text.verdict_styles import VERDICTS

_GAP = 2  # between two columns; 1 where the table fits only then
_TABLE = 'style="border-collapse: collapse; color: inherit"'
_CELL = 'style="text-align: {}; padding: 0.15em 1em 0.15em 0"'
_TONES = {style.word: style.tone for style in VERDICTS.values()}
_NUMBER = re.compile(r"[+−]?[\d.,]+( to [+−]?[\d.,]+)?")  # such cells are not wrapped
_DIFFERENCE = re.compile(r"^[+−]?[\d.,]+ ")
_STARTS_AS_NUMBER = re.compile(r"[+−<]? ?\d")
Style = Callable[[str, str], str]  # text, and `bold` or the tone of a verdict -> styled text


@dataclass(frozen=True)
class TextTable:
    """A table of texts: one header, rows of the same length."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Heading(str):
    """A line that names what follows; bold in a terminal and in HTML."""


Block = str | TextTable  # a line, or a table; an empty line separates paragraphs


def blocks_of(result: Any) -> Iterator[Block]:
    """Yield the sentences and tables of a result."""
    return show_words(view_of(result).describe(result), result)


def show_words(blocks: Iterable[Block], result: Any) -> Iterator[Block]:
    """Yield the blocks with the result's words for user, item and request."""
    show = display_words(result).show if hasattr(result, "words") else str
    for block in blocks:
        if isinstance(block, TextTable):
            header, *rows = ([*map(show, row)] for row in (block.header, *block.rows))
            yield TextTable(header, rows)
        else:
            yield type(block)(show(block))


def to_text(blocks: Iterable[Block]) -> str:
    """Return the blocks as lines of plain text."""
    return "\n".join(to_lines(blocks))


def _plain(text: str, _: str) -> str:
    return text


def to_lines(
    blocks: Iterable[Block], width: int = sys.maxsize, style: Style = _plain
) -> Iterator[str]:
    """Yield the blocks as lines of printable characters, which are wrapped between words."""
    for block in blocks:
        if isinstance(block, TextTable):
            yield from _table_lines(block, width, style)
        else:
            text = printable(block)
            for line in [text] if text.startswith(" ") else _wrap(text, width):
                yield style(line, "bold") if isinstance(block, Heading) else line


def _table_lines(table: TextTable, width: int, style: Style) -> Iterator[str]:
    """Yield a line per row, or several if a cell is wrapped; a block per row if none fits."""
    rows = [[*map(printable, row)] for row in (table.header, *table.rows)]
    layouts = product((_length, _longest_word), (_GAP, 1))  # first without a wrapped cell
    gap = next((gap for length, gap in layouts if _width(rows, gap, length) <= width), None)
    if gap is None:
        yield from _records(rows, width, style)
        return
    widths = _column_widths(rows, width, gap)
    for number, row in enumerate(rows):
        wrapped = (_wrap(cell, length) for cell, length in zip(row, widths, strict=True))
        for texts in zip_longest(*wrapped, fillvalue=""):
            line = ""
            for column, (text, length) in enumerate(zip(texts, widths, strict=True)):
                tone = _tone(row[column]) if column else ""
                padding = " " * (length - _length(text) + gap)
                line += style(text, tone if number else "bold") + padding
            yield line.rstrip()


def _tone(cell: str) -> str:
    """Return the tone of a verdict, which may follow a difference; empty for another text."""
    word = _DIFFERENCE.sub("", cell).partition(", perhaps")[0]
    return _TONES.get(word, "")


def _records(rows: Sequence[Sequence[str]], width: int, style: Style) -> Iterator[str]:
    (first_title, *header), *others = rows
    yield from filter(None, [style(first_title, "bold")])
    for name, *cells in others:
        yield style(name, "bold")
        for title, cell in zip(header, cells, strict=True):
            for line in _wrap(f"{title}: {cell}", width - _GAP) if cell else ():
                yield f"{' ' * _GAP}{line}"


def _width(rows: Sequence[Sequence[str]], gap: int, length: Callable[[str], int]) -> int:
    """Return the width of a table whose columns are as wide as the longest of their cells."""
    columns = [*zip(*rows, strict=True)]
    return sum(max(map(length, column)) for column in columns) + gap * (len(columns) - 1)


def _column_widths(rows: Sequence[Sequence[str]], width: int, gap: int) -> list[int]:
    """Return column widths that fit, in proportion but never below the longest words."""
    columns = [*zip(*rows, strict=True)]
    widest = [max(map(_length, column)) for column in columns]
    least = [max(map(_longest_word, column)) for column in columns]
    missing = sum(widest) - sum(least)
    spare = min(width - gap * (len(columns) - 1) - sum(least), missing)
    return [
        low + (high - low) * spare // (missing or 1)
        for low, high in zip(least, widest, strict=True)
    ]


def _longest_word(cell: str) -> int:
    words = [cell] if _NUMBER.fullmatch(cell) else cell.split(" ")
    return max(map(_length, words))


def _wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text; a word that is longer than the width has its own line."""
    first, *words = text.split(" ")
    lines = [first]
    for word in words:
        if _length(lines[-1]) + 1 + _length(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _length(text: str) -> int:
    """Return the number of columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def holds_numbers(column: Sequence[str]) -> bool:
    """True if every cell begins with a number, or is empty."""
    return all(_STARTS_AS_NUMBER.match(cell) for cell in column if cell not in {"", MISSING})


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
    text = "\n".join(escape(printable(str(line))) for line in lines)
    return f'<p style="white-space: pre-wrap">{text}</p>'


def _block_html(block: Block) -> str:
    if isinstance(block, TextTable):
        return _table_html(block)
    return f"<p><strong>{escape(printable(block))}</strong></p>" if block else ""


def _table_html(table: TextTable) -> str:
    sides = [
        "right" if holds_numbers(column) else "left" for column in zip(*table.rows, strict=True)
    ]
    sides = sides or ["left"] * len(table.header)

    def row(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag} {_CELL.format(side)}>{escape(printable(cell))}</{tag}>"
            for cell, side in zip(cells, sides, strict=True)
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in table.rows)
    return f"<table {_TABLE}><tr>{row(table.header, 'th')}</tr>{body}</table>"
