"""Values and tables as the terminal shows them."""

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from concord.pipeline.running.announce import plain, terminal


def print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table without lines, as wide as the terminal; nothing in it is markup."""
    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def console() -> Console:
    """Where commands print; a terminal's width, or plain text in a file."""
    return _Console(file=terminal(sys.stdout), markup=False, highlight=False)


class _Console(Console):
    """What is printed comes from files too: no character of it is a command to the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else plain(text), style, control)

    def on_broken_pipe(self) -> None:
        """Left to the one who ends the process."""
        raise


def word(value: object) -> str:
    """A convention's value as params.yaml has it."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {word(inner)}" for name, inner in value.items())
    return "null" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
