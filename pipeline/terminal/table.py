"""Results in the terminal: sentences and tables as wide as it is, or JSON."""

import json
import os
import shutil
import sys
from collections.abc import Iterable

from concord.metrics_core.results.base import BaseResult, to_plain
from concord.pipeline.running.messages import escape_unprintable
from concord.reports.text.blocks import Block, blocks_of, to_lines

_CODES = {"bold": 1, "open": 2, "worse": 31, "better": 32}  # of ANSI terminals


def print_result(result: BaseResult, *, as_json: bool = False) -> None:
    """Print the text of a result, or its JSON."""
    if as_json:
        print_json(result)
    else:
        print_blocks(blocks_of(result))


def print_json(result: object) -> None:
    """Print the fields of a result as JSON, in which unprintable characters are escaped."""
    text = json.dumps(to_plain(result), indent=2, ensure_ascii=False, allow_nan=False)
    print(escape_unprintable(text, keep="\n"))


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print sentences and tables; on a terminal, headings are bold and verdicts coloured."""
    for line in terminal_lines(blocks):
        print(line)


def terminal_lines(blocks: Iterable[Block]) -> list[str]:
    """Return the lines to print, which are not longer than the terminal is wide."""
    return [*to_lines(blocks, shutil.get_terminal_size().columns, _styled)]


def _styled(text: str, style: str) -> str:
    has_styles = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if not text or style not in _CODES or not has_styles or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"
