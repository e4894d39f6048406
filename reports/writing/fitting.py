"""Markdown that is as short as a comment may be: tables are cut until all of it fits."""

from collections.abc import Callable

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
