"""Values and tables as the terminal shows them."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table without lines, as wide as the terminal; nothing in it is markup."""
    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def console() -> Console:
    """Where commands print; a terminal's width, or plain text in a file."""
    return Console(markup=False, highlight=False)


def word(value: object) -> str:
    """A convention's value as params.yaml has it."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {word(inner)}" for name, inner in value.items())
    return "null" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
