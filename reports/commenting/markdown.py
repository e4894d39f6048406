"""Pieces of Markdown: tables and folded parts, of cells that are escaped here and nowhere else."""

from collections.abc import Sequence

from concord.reports.writing.escaping import words

_MOST_CELL, _MOST_SENTENCE = 300, 3000  # characters: names come from files


def cell(text: str) -> str:
    """Words, cut where a name would fill the comment."""
    return words(_cut(text, _MOST_CELL))


def sentence(text: str) -> str:
    """Words in which several names stand."""
    return words(_cut(text, _MOST_SENTENCE))


def table(heads: str, rows: Sequence[Sequence[str]], most: int) -> str:
    """The first rows, and how many there are more. Heads are divided by `;`, and `>` begins that of a column of numbers."""
    names = heads.split(";")
    rule = "|".join("--:" if name.startswith(">") else ":--" for name in names)
    lines = [_line([name.removeprefix(">") for name in names]), f"|{rule}|"]
    lines += [_line(row) for row in rows[:most]]
    return "\n".join(lines) + more(len(rows) - most)


def bullets(sentences: Sequence[str], most: int) -> str:
    """The first sentences, and how many there are more."""
    told = "\n".join(f"- {sentence(text)}" for text in sentences[:most])
    return told + more(len(sentences) - most)


def more(n: int) -> str:
    """`… and 12 more.`, if there are any."""
    return f"\n\n… and {n:,} more." if n > 0 else ""


def folded(title: str, content: str) -> str:
    """A part that a click opens."""
    return f"<details><summary>{cell(title)}</summary>\n\n{content}\n\n</details>"


def with_interval(number: str, interval: str) -> str:
    """`0.242 (0.230 to 0.254)`, without brackets where there is no interval."""
    return f"{number} ({interval})" if interval else number


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(cell, cells))} |"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
