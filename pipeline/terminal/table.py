"""Tables and sentences in the terminal."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from concord.metrics_core.results.base import BaseResult
from concord.metrics_core.results.text_format import to_one_line
from concord.pipeline.running.messages import escape_unprintable, raw_stream
from concord.reports.text.blocks import Block, Heading, TextTable, blocks_of

GAP = 2  # between two columns
_AT_LINE_END = re.compile(r" +(?=\n)")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as wide as the terminal, without markup and without breaking words.

    If the longest words of the columns do not fit side by side, each row becomes a block of lines.
    """
    terminal = console()
    widths = column_widths([header, *rows], terminal.width)
    if widths is None:
        _print_rows_as_blocks(terminal, header, rows)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for name, width in zip(header, widths, strict=True):
        table.add_column(Text(escape_unprintable(name)), width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text(escape_unprintable(cell)) for cell in row))
    terminal.print(table)


def print_result(result: BaseResult, *, as_json: bool = False) -> None:
    """Print the text of a result, with tables as wide as the terminal, or its JSON."""
    if as_json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_blocks(blocks_of(result))


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print sentences and tables, the tables as wide as the terminal."""
    terminal = console()
    for block in blocks:
        if isinstance(block, TextTable):
            print_table(block.header, block.rows)
        else:
            style = "bold" if isinstance(block, Heading) else None
            is_indented = block.startswith(" ")  # such lines must not be wrapped
            terminal.print(to_one_line(block), style=style, soft_wrap=is_indented)


def column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Return column widths that fit, in proportion but never below the longest words.

    None if the longest words do not fit.
    """
    columns = [[escape_unprintable(cell) for cell in column] for column in zip(*rows, strict=True)]
    widest = [max(map(cell_len, column)) for column in columns]
    least = [max(longest_word(cell) for cell in column) for column in columns]
    available = width - GAP * (len(columns) - 1)
    if sum(widest) <= available:
        return widest
    spare, missing = available - sum(least), sum(widest) - sum(least)
    if spare < 0:
        return None
    return [low + (high - low) * spare // missing for low, high in zip(least, widest, strict=True)]


def longest_word(text: str) -> int:
    """Return the width of the longest word."""
    return max(map(cell_len, text.split()), default=0)


def _print_rows_as_blocks(
    terminal: Console, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    for first, *others in rows:
        terminal.print(Text(escape_unprintable(first), style="bold", overflow="fold"))
        for name, cell in zip(header[1:], others, strict=True):
            terminal.print(
                Padding(Text(escape_unprintable(f"{name}: {cell}"), overflow="fold"), (0, 0, 0, 2))
            )


def console() -> Console:
    """Return the console of commands; it prints plain text if stdout is a file."""
    return _Console(file=raw_stream(sys.stdout), markup=False, highlight=False)


class _Console(Console):
    """Console that escapes control characters and strips spaces at the end of lines."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        spaces: list[Segment] = []  # spaces that may be at the end of a line
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            text = _AT_LINE_END.sub("", escape_unprintable(segment.text))
            visible = text.rstrip(" ")
            if visible:
                yield from () if visible.startswith("\n") else spaces
                yield Segment(visible, segment.style)
                spaces.clear()
            if len(visible) < len(text):
                spaces.append(Segment(text[len(visible) :], segment.style))
        yield from spaces

    def on_broken_pipe(self) -> None:
        """Raise the error again, for the function that ends the process."""
        raise
