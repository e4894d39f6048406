"""Parts of Markdown: escaped text, tables, collapsed sections, and the limit of a comment."""

import re
from collections.abc import Callable, Sequence

COMMENT_LIMIT = 65_535  # characters of a comment on GitHub
MIN_ROWS = 3
_MAX_ROWS = (200, 50, 25, 10, MIN_ROWS)  # of each table
_MAX_CELL, _MAX_SENTENCE = 300, 3000  # characters: names from files may be long
_SPECIAL = re.compile(r"([\\`*_\[\]|#~!$])")
_CODE = re.compile(r"\\`(\w[\w.: \\-]*)\\`", re.ASCII)  # `user_no_recs: zero`, escaped
_BREAK = "\N{ZERO WIDTH SPACE}"
# GitHub and GitLab find mentions and links in the rendered text, so escapes do not prevent them;
# a break inside does. The character before one is tested as ASCII, as they do: `é@team` is a
# mention.
_LINKED = re.compile(
    r"(?<![A-Za-z0-9_])[@#!~$%&](?=[\w\"])"  # @team, #12, !12, ~label, $12, %milestone, &12
    r"|(?<=\w)@(?=[\w-]+\.\w)"  # a@b.c
    r"|(?<=\w)[#!](?=\d)"  # owner/project#12
    r"|\bGH-(?=\d)"
    r"|:(?=//)|:(?=[\w+-]+:)"  # addresses, and pictures such as :smile:
    r"|\bwww(?=\.)",
    re.IGNORECASE,
)


def escape_markdown(text: str) -> str:
    """Return the text without markup: no cell, tag, link, mention, formula or emphasis.

    Unprintable characters are shown as their codes.
    """
    one_line = " ".join(str(text).split())
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in one_line)
    broken = _LINKED.sub(lambda match: match[0] + _BREAK, printable)
    plain = broken.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain).replace(_BREAK, "&#8203;")


def escape_sentence(text: str) -> str:
    """Return a sentence without markup, but with settings between backticks as code."""
    return _CODE.sub(lambda code: f"`{code[1].replace(chr(92), '')}`", escape_markdown(text))


def fit_comment(render: Callable[[int], str]) -> str:
    """Return the text with as many rows per table as fit in a comment, at least `MIN_ROWS`."""
    text = ""
    for max_rows in _MAX_ROWS:
        text = render(max_rows)
        if len(text) <= COMMENT_LIMIT:
            break
    return text


def cell(text: str) -> str:
    """Return escaped text for a table cell, cut if it is very long."""
    return escape_markdown(_cut(text, _MAX_CELL))


def sentence(text: str) -> str:
    """Return escaped text of a sentence, cut if it is very long."""
    return escape_sentence(_cut(text, _MAX_SENTENCE))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def table(heads: str, rows: Sequence[Sequence[str]], max_rows: int) -> str:
    """Return a table of the first rows, and the number of the others.

    Parameters
    ----------
    heads : str
        Headers, separated by `;`. The header of a column of numbers begins with `>`.
    """
    names = heads.split(";")
    rule = "|".join("--:" if name.startswith(">") else ":--" for name in names)
    lines = [_line([name.removeprefix(">") for name in names]), f"|{rule}|"]
    lines += [_line(row) for row in rows[:max_rows]]
    return "\n".join(lines) + _more(len(rows) - max_rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(cell, cells))} |"


def bullets(sentences: Sequence[str], max_rows: int) -> str:
    """Return a list of the first sentences, and the number of the others."""
    lines = "\n".join(f"- {sentence(text)}" for text in sentences[:max_rows])
    return lines + _more(len(sentences) - max_rows)


def _more(n: int) -> str:
    return f"\n\n… and {n:,} more." if n > 0 else ""


def folded(title: str, content: str) -> str:
    """Return a collapsed section."""
    return f"<details><summary>{cell(title)}</summary>\n\n{content}\n\n</details>"
