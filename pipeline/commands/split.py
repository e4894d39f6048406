"""`concord split INTERACTIONS --how METHOD --into DIR`: train, truth and a manifest, larger than memory."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.checking.problems import InputError, in_words, refuse
from concord.metrics_core.checking.settings import Arguments
from concord.metrics_core.reading.background import INTERACTIONS_COLUMNS
from concord.metrics_core.reading.columns.input_table import InputTable, columns_of
from concord.metrics_core.reading.formats.source import format_of, refuse_missing
from concord.metrics_core.reading.given import INTERACTIONS, columns_named
from concord.metrics_core.reading.hashes import hashes
from concord.metrics_core.reading.stores.places import place_of
from concord.metrics_core.splitting.asked import SECONDS, asked_of
from concord.metrics_core.splitting.dividing import Divided, divide
from concord.metrics_core.splitting.methods import HISTORY, LEFT_OUT, TRAIN, TRUTH
from concord.pipeline.loading.sorted_parquet import ROW_GROUP, write_rows
from concord.pipeline.loading.unchanged import unchanged
from concord.pipeline.running.announce import say
from concord.pipeline.running.connections import workspace
from concord.pipeline.running.disk import explain_disk_errors, refuse_unwritable
from concord.pipeline.running.outputs import flush_to_disk, write_json
from concord.pipeline.running.progress import counted
from concord.pipeline.running.temporary_files import part_of, remove_stale_parts
from concord.pipeline.terminal.arguments import PLACE, as_options
from concord.pipeline.terminal.table import console, print_table

MANIFEST = "manifest.json"
FILES = tuple(f"{side}.parquet" for side in (TRAIN, TRUTH, HISTORY))
GIVEN = ("last", "at", "share", "gap", "newest", "seed")
OPTIONS = {name: f"--{name}" for name in (*GIVEN, "how", "repeats")}


@dataclass(frozen=True)
class _Options(Arguments):
    """Settings as options of the command."""

    def path(self) -> str:
        return "name the file of interactions"

    def columns(self, ours: str, theirs: str = "…") -> str:
        return f"`--column {ours}={'' if theirs == 'null' else theirs}`"

    def all_columns(self) -> str:
        return "`--column OURS=THEIRS`"


def split(
    interactions: str,
    how: str,
    given: Mapping[str, Any],
    *,
    repeats: str,
    columns: Sequence[str],
    into: str,
    force: bool,
) -> None:
    """Writes the split whole or not at all, and tells what is in it.

    Raises
    ------
    InputError : what is wrong with the options or the table; the folder holds a split; a side would be empty
    """
    try:
        asked = asked_of(how, given, repeats)
    except InputError as error:
        raise as_options(error, OPTIONS) from None
    folder = Path(into)
    _finish_swap(folder)
    table = _table(interactions, columns)
    _refuse_what_is_there(folder, table, force=force)
    refuse_unwritable(folder)
    remove_stale_parts(folder)
    with workspace() as connection:
        try:
            with unchanged(table.path):
                found = divide(connection, table, asked, watch=counted)
        except InputError as error:
            raise as_options(error, OPTIONS) from None
        _write(connection, found, folder)
    _tell(found.manifest, folder)


def _table(path: str, columns: Sequence[str]) -> InputTable:
    place, settings = place_of(path), _Options(INTERACTIONS)
    refuse_missing(place, settings)
    needs_and_more = columns_of(INTERACTIONS_COLUMNS, _named(columns))
    return InputTable(path, format_of(place, None, settings), *needs_and_more, settings)


def _named(columns: Sequence[str]) -> Mapping[str, str | None]:
    """Ours -> theirs, of options such as `user=userId`."""
    named = {}
    for each in columns:
        ours, equals, theirs = each.partition("=")
        if not equals or (not theirs and ours != "grade"):
            raise refuse(f"{PLACE}: --column", f"{each!r} names no column", "write it as user=userId")  # fmt: skip
        named[ours] = theirs or None
    return columns_named({INTERACTIONS: named}, {INTERACTIONS: INTERACTIONS})[INTERACTIONS]


def _refuse_what_is_there(folder: Path, table: InputTable, *, force: bool) -> None:
    there = [name for name in (MANIFEST, *FILES) if (folder / name).exists()]
    if isinstance(table.path, Path) and any(table.path.samefile(folder / name) for name in there):
        raise refuse(table.name, "would be written over by its own split", "name another folder by --into")  # fmt: skip
    if there and not force:
        what = f"holds {', '.join(there)}"
        raise refuse(f"{folder}/", what, "name another folder, or add --force to write over them")  # fmt: skip


def _write(connection: DuckDBPyConnection, found: Divided, folder: Path) -> None:
    """Write all files into a folder of their own, which then takes the place of what was there."""
    part = part_of(folder / "split")
    try:
        part.mkdir()
        for side, query in found.queries.items():
            name = f"{side}.parquet"
            with explain_disk_errors(folder / name, part / name):
                reader = connection.sql(query).to_arrow_reader(ROW_GROUP)
                write_rows(part / name, reader.schema, reader)
                flush_to_disk(part / name)
            found.manifest["files"][name]["sha256"] = hashes(part / name).sha256
        write_json(part / MANIFEST, found.manifest)
        _swap(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _swap(part: Path, folder: Path) -> None:
    """Put new files in place: by exchanging folders where a split is replaced, else one by one, the manifest last.

    A folder that holds other files, is mounted or is the working directory cannot be exchanged.
    """
    if (folder / MANIFEST).is_file() and _holds_only_a_split(folder, part.name):
        before = _before(folder)
        try:
            folder.rename(before)
            (before / part.name).rename(folder)
        finally:
            _finish_swap(folder)
        return
    for name in (MANIFEST, *FILES):
        (folder / name).unlink(missing_ok=True)
    for name in (*FILES, MANIFEST):
        if (part / name).exists():
            (part / name).rename(folder / name)


def _holds_only_a_split(folder: Path, part: str) -> bool:
    """True if nothing else lies in the folder or depends on its place."""
    is_fixed = folder.is_mount() or folder.is_symlink()
    is_fixed = is_fixed or Path.cwd().is_relative_to(folder.resolve())
    return not is_fixed and {each.name for each in folder.iterdir()} <= {part, MANIFEST, *FILES}


def _before(folder: Path) -> Path:
    """Return the place of the former split while folders are exchanged."""
    return folder.with_name(f".{folder.name}.concord-before")


def _finish_swap(folder: Path) -> None:
    """Complete an exchange of folders that was killed, or undo it where the new one is not in place."""
    before = _before(folder)
    if before.is_dir():
        if folder.exists():
            shutil.rmtree(before)
        else:
            before.rename(folder)


def _tell(manifest: Mapping[str, Any], folder: Path) -> None:
    files = manifest["files"]
    head = ("", "rows", "users", "items", "from", "to")
    print_table(head, [_cells(name, each) for name, each in files.items()])
    out = console()
    out.print()
    for line in _lines(manifest):
        out.print(line)
    say(f"{folder / MANIFEST} has every count; in params.yaml:")
    say(f"  data: {{truth: {{path: {folder / 'truth.parquet'}, columns: {{time: time}}}}}}")
    say(f"  background: {{train: {{path: {folder / 'train.parquet'}, columns: {{time: time}}}}}}")


def _cells(name: str, counts: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (f"{counts[each]:,}" for each in ("rows", "users", "items"))
    return (name, *numbers, _time(counts["first"]), _time(counts["last"]))


def _time(time: float | None) -> str:
    if time is None:
        return ""
    if not SECONDS[0] <= time < SECONDS[1]:
        return f"{time:,.15g}"
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")


def _lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    for reason, rows in manifest["left_out"].items():
        if rows:
            yield f"left out: {in_words(rows, 'row')}: {LEFT_OUT[reason]}"
    yield from manifest["notes"]
