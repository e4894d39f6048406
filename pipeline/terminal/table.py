"""Values, tables and the history as the terminal shows them."""

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
from concord.metrics_core.results.history import History, Revision
from concord.metrics_core.results.words import one_line
from concord.pipeline.running.messages import printable, raw_stream
from concord.reports.text.blocks import Block, Heading, TextTable, blocks_of
from concord.reports.writing import history as written

GAP = 2  # between two columns
_AT_LINE_END = re.compile(r" +(?=\n)")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table without lines, as wide as the terminal; nothing in it is markup, and no word of it is cut.

    Where the longest words of the columns do not fit side by side, each row is a block of lines.
    """
    out = console()
    widths = column_widths([header, *rows], out.width)
    if widths is None:
        _print_blocks(out, header, rows)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for name, width in zip(header, widths, strict=True):
        table.add_column(Text(printable(name)), width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    out.print(table)


def print_result(result: BaseResult) -> None:
    """Print the text of a result, its tables as wide as the terminal."""
    print_blocks(blocks_of(result))


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print sentences and tables, the tables as wide as the terminal."""
    out = console()
    for block in blocks:
        if isinstance(block, TextTable):
            print_table(block.header, block.rows)
        else:
            style = "bold" if isinstance(block, Heading) else None
            is_indented = block.startswith(" ")  # such lines are not text
            out.print(one_line(block), style=style, soft_wrap=is_indented)


def column_widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """As wide as the cells; where that is too wide, as the longest words and a fair share of the rest; None if even they are."""
    columns = [[printable(cell) for cell in column] for column in zip(*rows, strict=True)]
    widest = [max(map(cell_len, column)) for column in columns]
    least = [max(longest_word(cell) for cell in column) for column in columns]
    room = width - GAP * (len(columns) - 1)
    if sum(widest) <= room:
        return widest
    spare, wanted = room - sum(least), sum(widest) - sum(least)
    if spare < 0:
        return None
    return [low + (high - low) * spare // wanted for low, high in zip(least, widest, strict=True)]


def longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _print_blocks(out: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for first, *others in rows:
        out.print(Text(printable(first), style="bold", overflow="fold"))
        for name, cell in zip(header[1:], others, strict=True):
            out.print(Padding(Text(printable(f"{name}: {cell}"), overflow="fold"), (0, 0, 0, 2)))


def console() -> Console:
    """Where commands print; a terminal's width, or plain text in a file."""
    return _Console(file=raw_stream(sys.stdout), markup=False, highlight=False)


class _Console(Console):
    """What is printed comes from files too: no character of it is a command to the terminal. No line ends in spaces."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        held: list[Segment] = []  # spaces, until it is known whether the line ends there
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            text = _AT_LINE_END.sub("", printable(segment.text))
            kept = text.rstrip(" ")
            if kept:
                yield from () if kept.startswith("\n") else held
                yield Segment(kept, segment.style)
                held.clear()
            if len(kept) < len(text):
                held.append(Segment(text[len(kept) :], segment.style))
        yield from held

    def on_broken_pipe(self) -> None:
        """Left to the one who ends the process."""
        raise


HEAD = ("what changed", "best model", "against the baseline", "since the revision before")


def print_history(history: History) -> None:
    """The best model of each revision, how it stands against the baseline, and which models changed."""
    out = console()
    for label in history.labels:
        digits = written.digits(history, label)
        rows = [_row(each, label, digits, first=i == 0) for i, each in enumerate(history.revisions)]
        print_table((label, *HEAD), rows)
        out.print()
    if not history.labels:
        print_table(("revision", HEAD[0]), [(written.name(each), written.changed(each, first=False)) for each in history.revisions])  # fmt: skip
        out.print()
    for note in history.notes:
        out.print(f"note: {note}")
    if history.reuse is not None:
        beware = {"serious": "beware: ", "notice": "notice: ", None: ""}[history.reuse.severity]
        out.print(f"{beware}{history.reuse.sentence}")


def _row(revision: Revision, label: str, digits: int, *, first: bool) -> tuple[str, ...]:
    changed = written.changed(revision, first=first)
    ranked = revision.of(label)
    if not ranked:
        return (written.name(revision), changed, "not a primary metric" if revision.standings else "", "", "")  # fmt: skip
    best = ranked[0]
    return (
        written.name(revision),
        changed,
        written.mean(best, digits),
        written.against_baseline(revision, best, digits),
        _since(revision, label, digits),
    )


def _since(revision: Revision, label: str, digits: int) -> str:
    told = [
        f"{each.model} {written.against_former(each, digits)}"
        for each in revision.changes
        if each.label == label
    ]
    if revision.unpaired and not told:
        return "" if revision.gone else f"not comparable: {revision.unpaired}"
    return "; ".join(told) or "the same for every user" * bool(revision.same)
