"""Output of `concord init`: detected tables, assumptions, changes of files, next step."""

import difflib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from concord.metrics_core.errors import Problem, format_count
from concord.metrics_core.files import open_file
from concord.pipeline.init.discovery import MAX_FILES, Discovery
from concord.pipeline.init.tables import Table
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.yaml_files import FILL_IN
from concord.pipeline.running.messages import print_text


def print_discovery(
    discovery: Discovery, assumptions: Sequence[str], models: Mapping[str, Mapping[str, object]]
) -> None:
    """Print tables and assumptions; `models` are the entries of params.yaml."""
    rows = [(role, table, "") for role, table in discovery.tables.items()]
    for name, table in discovery.models.items():
        run = models.get(name, {}).get("training_run_id")
        rows.append((f"model {name}", table, _run_text(run) if isinstance(run, dict) else ""))
    found = [row for row in rows if row[1].path.name != FILL_IN]
    _print_list("found", [f"{name:<18} {_table_text(table)}{run}" for name, table, run in found])
    skipped = [f"{relative(table.path)}: {table.reason}" for table in discovery.skipped]
    _print_list("not used", skipped)
    _print_list(
        "missing; `dvc pull` or `dvc repro` creates it", [*map(relative, discovery.missing)]
    )
    if discovery.has_more:
        print_text(f"only {MAX_FILES:,} files were inspected; name others by --truth and --model")
    _print_list("assumed; change it in params.yaml", assumptions)


def print_changes(files: Mapping[Path, str]) -> None:
    """Print the differences between files and their new texts."""
    for path, text in files.items():
        name = relative(path)
        old = read_text(path).splitlines(keepends=True)
        source = name if path.exists() else os.devnull
        lines = difflib.unified_diff(old, text.splitlines(keepends=True), source, name)
        if changes := "".join(lines):
            print_text(changes.removesuffix("\n"))


def print_next_step(project: Path, places: Sequence[Problem], *, dvc: bool, mlflow: bool) -> None:
    """Print the values of params.yaml that are to be filled in, and the command to run next."""
    folder = relative(project)
    cd = "" if folder == "." else f"cd {shlex.quote(folder)} && "
    _print_list(
        f"{format_count(len(places), 'place')} to fill in, in {relative(project / PARAMS)}",
        [f"{place.where}: {place.fix}" for place in places],
    )
    run = f"{cd}concord validate && {'dvc repro' if dvc else 'concord run'}"
    print_text(f"next: {'fill them in, then ' if places else ''}{run}")
    if dvc and not mlflow:
        print_text(
            "MLflow is not installed, so dvc.yaml has no stage `log`: "
            "`pip install 'concord-eval[mlflow]'`, then `concord init --upgrade`"
        )


def read_text(path: Path) -> str:
    """Return the text of a file with its line ends; empty if there is no file."""
    if not path.exists():
        return ""
    with open_file(path, "move it away") as file:
        return bytes(file.read()).decode("utf-8", errors="replace")


def relative(path: Path) -> str:
    """Return the path relative to the working directory."""
    return os.path.relpath(path)


def _print_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        print_text("\n  ".join([title, *lines]))


def _table_text(table: Table) -> str:
    names = table.columns.items()
    columns = ", ".join(name if name == column else f"{name}: {column}" for name, column in names)
    stage = f"   out of {table.stage}" if table.stage else ""
    return f"{relative(table.path)}   {columns}{stage}"


def _run_text(run: Mapping[str, str]) -> str:
    return f"   MLflow run in {run['file']}{': ' + run['key'] if 'key' in run else ''}"
