"""`concord split INTERACTIONS --how METHOD --into DIR`: training set, ground truth, manifest."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.metrics_core.errors import Key, SettingNames, as_argument, refuse
from concord.pipeline.commands.parser import COMMAND_LINE

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from concord.metrics_core.data.input_table import InputTable

HELP = "split interactions into training set and ground truth"
MANIFEST = "manifest.json"
FILES = (MANIFEST, "train.parquet", "truth.parquet")
_NAMES = ("last", "at", "share", "gap", "seed", "repeats")
_OPTIONS = {"method": "--how", **{name: f"--{name}" for name in _NAMES}}


def _as_option(key: Key, value: Any = ...) -> str:
    """Return a setting of the table as an option of the command; empty if it is none."""
    if key[-1] in ("path", "columns"):
        return {"path": "`INTERACTIONS`", "columns": "`--column COLUMN=NAME`"}[key[-1]]
    if "columns" not in key:
        return as_argument(key, value)
    name = {...: "…", None: ""}.get(value, value)
    return f"`--column {key[-1]}={name}`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("interactions", metavar="INTERACTIONS", help="table of user, item, time, optionally grade")
    methods = "random, leave-last-out, global-time or user-time"
    add("--how", dest="method", required=True, metavar="METHOD", help=methods)
    add("--into", required=True, metavar="DIR", help="folder to write")
    add("--last", type=int, metavar="N", help="leave-last-out: rows per user (default: 1)")
    add(
        "--at",
        metavar="TIME",
        help="global-time: start of the ground truth, such as 2026-05-30 or a number",
    )
    add(
        "--share",
        type=float,
        metavar="X",
        help="share of the ground truth: of all interactions, or of each user's (user-time)",
    )
    add(
        "--gap",
        metavar="SPAN",
        help="global-time: time left out before the ground truth, such as 12h, 7d or a number",
    )
    add("--seed", type=int, metavar="N", help="random: seed of the choice (default: 0)")
    add(
        "--repeats",
        default="first",
        metavar="keep | first",
        help="keep repeated interactions of a user with an item; default: only the first",
    )
    add(
        "--column",
        action="append",
        default=[],
        metavar="COLUMN=NAME",
        help="name of the table's user, item, time or grade column; `grade=` for none; may repeat",
    )
    add("--force", action="store_true", help="overwrite an existing split")


def run(arguments: argparse.Namespace) -> None:
    """Write the files of a split and print their counts.

    Raises
    ------
    InputError
        If an option or the table is invalid, the folder holds a split, or a side is empty.
    """
    from concord.metrics_core.analyses.split.rows import split_rows
    from concord.metrics_core.analyses.split.split import parse_options
    from concord.pipeline.running.connections import isolated_connection
    from concord.pipeline.running.failures import refuse_unwritable
    from concord.pipeline.running.inputs import refuse_changes
    from concord.pipeline.running.messages import count_rows, print_line
    from concord.pipeline.running.outputs import remove_stale_files
    from concord.pipeline.terminal import option_names, print_blocks
    from concord.reports.split.text import describe_manifest

    folder = Path(arguments.into)
    with option_names(_OPTIONS):
        options = parse_options(
            arguments.method, **{name: getattr(arguments, name) for name in _NAMES}
        )
        table = _open_table(arguments.interactions, arguments.column)
        _refuse_existing(folder, table, force=arguments.force)
        refuse_unwritable(folder)
        remove_stale_files(folder)
        with isolated_connection() as connection:
            with refuse_changes(table.path):
                queries, manifest = split_rows(connection, table, options, progress=count_rows)
            _write(connection, queries, manifest, folder)
    print_blocks(describe_manifest(manifest))
    print_line(f"{folder / MANIFEST} has all counts; in params.yaml:")
    for key in ("data: {truth", "background: {train"):
        path = folder / f"{key.partition('{')[2]}.parquet"
        print_line(f"  {key}: {{path: {path}, columns: {{time: time}}}}}}")


def _open_table(path: str, columns: Sequence[str]) -> "InputTable":
    from concord.metrics_core.data.arguments import INTERACTIONS
    from concord.metrics_core.data.formats import check_path, detect_format
    from concord.metrics_core.data.input_table import (
        INTERACTIONS_COLUMNS,
        InputTable,
        resolve_columns,
    )
    from concord.metrics_core.data.paths import parse_path

    location, settings = parse_path(path), SettingNames((INTERACTIONS,), _as_option)
    check_path(location, settings)
    form = detect_format(location, None, settings)
    resolved = resolve_columns(INTERACTIONS_COLUMNS, _parse_columns(columns))
    return InputTable(path, form, *resolved, settings)


def _parse_columns(columns: Sequence[str]) -> Mapping[str, str | None]:
    """Return the column of the table for each name, from options such as `user=userId`."""
    from concord.metrics_core.data.arguments import INTERACTIONS, check_columns

    names = {}
    for text in columns:
        column, equals, name = text.partition("=")
        if not equals or (not name and column != "grade"):
            problem = f"{text!r} is not a column name"
            raise refuse(f"{COMMAND_LINE}: --column", problem, "write it as user=userId")
        names[column] = name or None
    return check_columns({INTERACTIONS: names}, {INTERACTIONS: INTERACTIONS})[INTERACTIONS]


def _refuse_existing(folder: Path, table: "InputTable", *, force: bool) -> None:
    """Refuse to overwrite the input, and to overwrite a split without --force."""
    existing = [name for name in FILES if (folder / name).exists()]
    if isinstance(table.path, Path) and any(
        table.path.samefile(folder / name) for name in existing
    ):
        problem = "would be overwritten by its own split"
        raise refuse(table.name, problem, "name another folder by --into")
    if existing and not force:
        problem = f"contains {', '.join(existing)}"
        fix = "name another folder, or add --force to overwrite them"
        raise refuse(f"{folder}/", problem, fix)


def _write(
    connection: "DuckDBPyConnection",
    queries: Mapping[str, str],
    manifest: dict[str, Any],
    folder: Path,
) -> None:
    """Write all files, then move them to their names, the manifest last."""
    from concord.metrics_core.data.hashes import hash_content
    from concord.pipeline.running.outputs import atomic_write, write_json
    from concord.pipeline.stages.load import write_query

    with ExitStack() as files:  # closed in reverse order
        target, *sides = (files.enter_context(atomic_write(folder / name)) for name in FILES)
        for query, path, name in zip(queries.values(), sides, FILES[1:], strict=True):
            write_query(connection, query, path)
            manifest["files"][name]["sha256"] = hash_content(path).sha256
        write_json(target, manifest)
        (folder / MANIFEST).unlink(missing_ok=True)
