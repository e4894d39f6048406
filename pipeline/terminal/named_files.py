"""Files that an option names, such as `--csv` and `--html`: those of others are not overwritten."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from concord.metrics_core.errors import refuse
from concord.pipeline.comparing.formulas import without_formulas
from concord.pipeline.running.outputs import is_stream, write_text
from concord.pipeline.terminal.arguments import PLACE

if TYPE_CHECKING:
    import polars as pl

# What all files of a kind have in common: a page's policy, a picture's font, a table's header, a comment's marker.
_BEGINNING = re.compile(r"<!doctype .*?script-src|<svg .*? width=|[^\n]*", re.DOTALL)


def refuse_folder(option: str, path: str | None) -> None:
    """Refuse a folder where an option has to name a file.

    Raises
    ------
    InputError : the path is a folder
    """
    if path is not None and Path(path).is_dir():
        raise refuse(f"{PLACE}: {option}", f"{path!r} is a folder", "name a file to write")


def write_named(option: str, path: str, text: str, *, force: bool) -> None:
    """Write the file that an option names.

    Raises
    ------
    InputError : a file is there that does not begin as Concord's files of this kind, and `force` is not set
    """
    file = Path(path)
    if not force and file.is_file() and not is_stream(file) and not _is_own(file, text):
        what = f"{path!r} is not a file that this command writes"
        raise refuse(f"{PLACE}: {option}", what, "name another file, or add --force to overwrite it")  # fmt: skip
    write_text(file, text)


def write_named_table(option: str, path: str, table: "pl.DataFrame", *, force: bool) -> None:
    """Write a table as CSV, in which no text is a formula; raises as `write_named`."""
    write_named(option, path, without_formulas(table).write_csv(), force=force)


def _is_own(file: Path, text: str) -> bool:
    beginning = _BEGINNING.match(text)
    assert beginning
    expected = beginning[0].encode()
    with file.open("rb") as written:
        return written.read(len(expected)) in {expected, b""}
