"""Pieces of Markdown: escaped text, tables, folded parts, and no more than a comment may hold."""

import re
from collections.abc import Callable, Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]|#~!$])")
_BREAK = "\N{ZERO WIDTH SPACE}"
# Names and addresses are looked for in the text as it is shown, behind every escape: only a break inside stops that.
# What stands before counts in ASCII, as there: `é@team` is a mention.
_LOOKED_FOR = re.compile(
    r"(?<![A-Za-z0-9_])[@#!~$%&](?=[\w\"])"  # @team, #12, !12, ~label, $12, %milestone, &12
    r"|(?<=\w)@(?=[\w-]+\.\w)"  # a@b.c
    r"|(?<=\w)[#!](?=\d)"  # owner/project#12
    r"|\bGH-(?=\d)"
    r"|:(?=//)|:(?=[\w+-]+:)"  # addresses, and pictures such as :smile:
    r"|\bwww(?=\.)",
    re.IGNORECASE,
)


def words(text: str) -> str:
    """The text as nothing but words: no table cell, tag, link, mention, formula or emphasis can come of it.

    What cannot be printed is shown by its code.
    """
    one_line = " ".join(str(text).split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in one_line)
    broken = _LOOKED_FOR.sub(lambda found: found[0] + _BREAK, shown)
    plain = broken.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain).replace(_BREAK, "&#8203;")


COMMENT_LIMIT = 65_535  # characters of a comment on GitHub
FEWEST_ROWS = 3
_ROWS = (200, 50, 25, 10, FEWEST_ROWS)  # of each table


def fitting(rendered: Callable[[int], str]) -> str:
    """What is rendered with the most rows that fit; with the fewest where nothing does."""
    text = ""
    for rows in _ROWS:
        text = rendered(rows)
        if len(text) <= COMMENT_LIMIT:
            break
    return text


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
