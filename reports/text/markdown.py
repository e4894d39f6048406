"""Parts of Markdown: escaped text, tables, collapsed sections, and the limit of a comment."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from concord.metrics_core.errors import printable
from concord.reports.text.blocks import Block, Heading, TextTable, holds_numbers

COMMENT_LIMIT = 65_535  # characters of a comment on GitHub
_MAX_ROWS = (200, 50, 25, 10, 3)  # of each table
_OMITTED = "Left out, as the comment would be too long: {}. The report has everything."
_OMITTED_LENGTH = 1000  # characters, at most
_MAX_CELL, _MAX_SENTENCE = 300, 3000  # characters: names from files may be long
_SPECIAL = re.compile(r"([\\`*_\[\]|#~!$])")
_CODE = re.compile(r"\\`(\w[\w.: \\={}()'\",%…-]*)\\`", re.ASCII)  # `user_no_recs: zero`, escaped
_ESCAPED = re.compile(r"\\(.)")
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
    one_line = printable(" ".join(text.split()))
    broken = _LINKED.sub(lambda match: match[0] + _BREAK, one_line)
    plain = broken.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain).replace(_BREAK, "&#8203;")


def escape_sentence(text: str) -> str:
    """Return a sentence without markup, but with settings between backticks as code."""
    escaped = escape_markdown(text)
    return _CODE.sub(lambda code: "`" + _ESCAPED.sub(r"\1", code[1]) + "`", escaped)


Section = Callable[[int], str]  # number of rows of a table -> text


def fit_comment(sections: Mapping[str, Section], show: Callable[[str], str]) -> str:
    """Return the sections with as many rows per table as fit in a comment.

    Sections that do not fit with a few rows are named at the end.
    """
    texts: dict[str, str] = {}
    for max_rows in _MAX_ROWS:
        texts = {name: show(section(max_rows)) for name, section in sections.items()}
        text = paragraphs(*texts.values()) + "\n"
        if len(text) <= COMMENT_LIMIT:
            return text
    n_free, kept, omitted = COMMENT_LIMIT - _OMITTED_LENGTH, [], []
    for name, text in texts.items():
        if len(text) + 2 <= n_free:
            n_free -= len(text) + 2
            kept.append(text)
        else:
            omitted.append(name)
    return paragraphs(*kept, _OMITTED.format(", ".join(omitted))) + "\n"


def paragraphs(*texts: str) -> str:
    """Return the texts that are not empty, with an empty line between them."""
    return "\n\n".join(filter(None, texts))


def titled(title: str, *texts: str) -> str:
    """Return the texts under a heading; empty if all are."""
    content = paragraphs(*texts)
    return f"### {title}\n\n{content}" if content else ""


def cell(text: str) -> str:
    """Return escaped text for a table cell, cut if it is very long."""
    return escape_markdown(_cut(text, _MAX_CELL))


def sentence(text: str) -> str:
    """Return escaped text of a sentence, cut if it is very long."""
    return escape_sentence(_cut(text, _MAX_SENTENCE))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], max_rows: int) -> str:
    """Return a table of the first rows, and the number of the others; numbers are on the right."""
    if not rows:
        return ""
    rule = "|".join("--:" if holds_numbers(column) else ":--" for column in zip(*rows, strict=True))
    lines = [_line(header), f"|{rule}|", *map(_line, rows[:max_rows])]
    return "\n".join(lines) + more(len(rows) - max_rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(cell, cells))} |"


def bullets(sentences: Sequence[str], max_rows: int) -> str:
    """Return a list of the first sentences, and the number of the others."""
    lines = "\n".join(f"- {sentence(text)}" for text in sentences[:max_rows])
    return lines + more(len(sentences) - max_rows)


def to_markdown(blocks: Iterable[Block]) -> str:
    """Return the blocks as lists and tables."""
    lines = []
    for block in blocks:
        if isinstance(block, TextTable):
            lines.append(f"\n{table(block.header, block.rows, len(block.rows))}\n")
        elif isinstance(block, Heading):
            lines.append(f"\n**{sentence(block.strip('=- '))}**\n")
        else:
            indent = " " * (len(block) - len(block.lstrip()))
            lines.append(f"{indent}- {sentence(block)}" if block else "")
    return "\n".join(lines).strip()


def more(n: int, what: str = "") -> str:
    """Return a paragraph such as `… and 3 more.`; empty if there are none."""
    return f"\n\n… and {n:,} more{what}." if n > 0 else ""


def folded(title: str, content: str) -> str:
    """Return a collapsed section; empty if its content is."""
    summary = f"<summary>{cell(title)}</summary>"
    return f"<details>{summary}\n\n{content}\n\n</details>" if content else ""
