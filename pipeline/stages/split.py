"""`concord split`: write train, truth and a manifest; data may be larger than memory."""

import shutil
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.analyses.split import parse_options
from concord.metrics_core.analyses.split_methods import HISTORY, TRAIN, TRUTH
from concord.metrics_core.analyses.split_rows import SplitRows, split_rows
from concord.metrics_core.data.arguments import INTERACTIONS, check_columns
from concord.metrics_core.data.formats import check_path, detect_format
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.data.input_table import INTERACTIONS_COLUMNS, InputTable, resolve_columns
from concord.metrics_core.data.paths import parse_path
from concord.metrics_core.errors import InputError, Key, SettingNames, as_argument, refuse
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.running.failures import explain_disk_errors, refuse_unwritable
from concord.pipeline.running.messages import count_rows, print_line
from concord.pipeline.running.outputs import (
    flush_to_disk,
    remove_stale_files,
    temporary_path,
    write_json,
)
from concord.pipeline.stages.load import ROW_GROUP, refuse_changes, write_rows
from concord.pipeline.terminal.arguments import with_option_names
from concord.pipeline.terminal.parser import COMMAND_LINE
from concord.pipeline.terminal.table import print_blocks
from concord.reports.text.split import describe_manifest, manifest_notes

MANIFEST = "manifest.json"
FILES = tuple(f"{side}.parquet" for side in (TRAIN, TRUTH, HISTORY))
_NAMES = ("last", "at", "share", "gap", "newest", "seed", "repeats")
_BY_TIME = ("global-time", "leave-last-out")  # methods whose leaks through time are to be seen
_OPTIONS = {"method": "--how", **{name: f"--{name}" for name in _NAMES}}


def _as_option(key: Key, value: Any = ...) -> str:
    """Return a setting of the table as an option of the command; empty if it is none."""
    if key[-1] in ("path", "columns"):
        return {"path": "`INTERACTIONS`", "columns": "`--column COLUMN=NAME`"}[key[-1]]
    if "columns" not in key:
        return as_argument(key, value)
    name = {...: "…", None: ""}.get(value, value)
    return f"`--column {key[-1]}={name}`"


def split(arguments: Namespace) -> None:
    """Write the files of a split, all or none, and print their counts.

    Raises
    ------
    InputError
        If an option or the table is invalid, the folder holds a split, or a side is empty.
    """
    folder = Path(arguments.into)
    try:
        options = parse_options(
            arguments.method, **{name: getattr(arguments, name) for name in _NAMES}
        )
        _finish_swap(folder)
        table = _open_table(arguments.interactions, arguments.column)
        _refuse_existing(folder, table, force=arguments.force)
        refuse_unwritable(folder)
        remove_stale_files(folder)
        with isolated_connection() as connection:
            with refuse_changes(table.path):
                rows = split_rows(connection, table, options, progress=count_rows)
            manifest = {**rows.manifest, "notes": [*manifest_notes(rows.manifest)]}
            _write(connection, SplitRows(rows.queries, manifest), folder)
    except InputError as error:
        raise with_option_names(error, _OPTIONS) from None
    print_blocks(describe_manifest(manifest))
    print_line(f"{folder / MANIFEST} has all counts; in params.yaml:")
    times = ", columns: {time: time}" if arguments.method in _BY_TIME else ""
    print_line(f"  data: {{truth: {{path: {folder / 'truth.parquet'}{times}}}}}")
    print_line(f"  background: {{train: {{path: {folder / 'train.parquet'}{times}}}}}")


def _open_table(path: str, columns: Sequence[str]) -> InputTable:
    location, settings = parse_path(path), SettingNames((INTERACTIONS,), _as_option)
    check_path(location, settings)
    form = detect_format(location, None, settings)
    resolved = resolve_columns(INTERACTIONS_COLUMNS, _parse_columns(columns))
    return InputTable(path, form, *resolved, settings)


def _parse_columns(columns: Sequence[str]) -> Mapping[str, str | None]:
    """Return the column of the table for each name, from options such as `user=userId`."""
    names = {}
    for text in columns:
        column, equals, name = text.partition("=")
        if not equals or (not name and column != "grade"):
            problem = f"{text!r} is not a column name"
            raise refuse(f"{COMMAND_LINE}: --column", problem, "write it as user=userId")
        names[column] = name or None
    return check_columns({INTERACTIONS: names}, {INTERACTIONS: INTERACTIONS})[INTERACTIONS]


def _refuse_existing(folder: Path, table: InputTable, *, force: bool) -> None:
    """Refuse to overwrite the input, and to overwrite a split without --force."""
    existing = [name for name in (MANIFEST, *FILES) if (folder / name).exists()]
    if isinstance(table.path, Path) and any(
        table.path.samefile(folder / name) for name in existing
    ):
        problem = "would be overwritten by its own split"
        raise refuse(table.name, problem, "name another folder by --into")
    if existing and not force:
        problem = f"contains {', '.join(existing)}"
        fix = "name another folder, or add --force to overwrite them"
        raise refuse(f"{folder}/", problem, fix)


def _write(connection: DuckDBPyConnection, rows: SplitRows, folder: Path) -> None:
    """Write all files into a temporary folder, then move them to the target folder."""
    temporary = temporary_path(folder / "split")
    try:
        temporary.mkdir()
        for side, query in rows.queries.items():
            name = f"{side}.parquet"
            with explain_disk_errors(folder / name, temporary / name):
                reader = connection.sql(query).to_arrow_reader(ROW_GROUP)
                write_rows(temporary / name, reader.schema, reader)
                flush_to_disk(temporary / name)
            rows.manifest["files"][name]["sha256"] = hash_content(temporary / name).sha256
        write_json(temporary / MANIFEST, rows.manifest)
        _swap(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap(temporary: Path, folder: Path) -> None:
    """Move new files to the target folder.

    A folder that holds a split is swapped with the new one. If it holds other files, is mounted
    or is the working directory, files are moved one by one, the manifest last.
    """
    if (folder / MANIFEST).is_file() and _holds_only_a_split(folder, temporary.name):
        backup = _backup_path(folder)
        try:
            folder.rename(backup)
            (backup / temporary.name).rename(folder)
        finally:
            _finish_swap(folder)
        return
    for name in (MANIFEST, *FILES):
        (folder / name).unlink(missing_ok=True)
    for name in (*FILES, MANIFEST):
        if (temporary / name).exists():
            (temporary / name).rename(folder / name)


def _holds_only_a_split(folder: Path, temporary: str) -> bool:
    """True if the folder has no other files and may be moved."""
    is_fixed = folder.is_mount() or folder.is_symlink()
    is_fixed = is_fixed or Path.cwd().is_relative_to(folder.resolve())
    names = {file.name for file in folder.iterdir()}
    return not is_fixed and names <= {temporary, MANIFEST, *FILES}


def _backup_path(folder: Path) -> Path:
    """Return the path of the old split while folders are swapped."""
    return folder.with_name(f".{folder.name}.concord-before")


def _finish_swap(folder: Path) -> None:
    """Complete a swap of folders that was killed, or undo it if the new folder is missing."""
    backup = _backup_path(folder)
    if backup.is_dir():
        if folder.exists():
            shutil.rmtree(backup)
        else:
            backup.rename(folder)
