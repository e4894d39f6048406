"""What `concord init` says: what was found, what is assumed, how files would change, what to do next."""

import difflib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from concord.metrics_core.files import open_file
from concord.pipeline.init.discovery import MOST_FILES, Found
from concord.pipeline.init.tables import Table


def tell(found: Found, assumed: Sequence[str], models: Mapping[str, Mapping[str, object]]) -> None:
    """`models` are the entries of params.yaml."""
    rows = [(role, table, "") for role, table in found.tables.items()]
    for name, table in found.models.items():
        run = models.get(name, {}).get("training_run_id")
        rows.append((f"model {name}", table, _run(run) if isinstance(run, dict) else ""))
    _tell("found", [f"{what:<18} {_table(table)}{run}" for what, table, run in rows])
    _tell("left alone", [f"{shown(each.path)}: {each.why}" for each in found.left])
    _tell("not there yet; `dvc pull` or `dvc repro` brings it", [shown(path) for path in found.missing])  # fmt: skip
    if found.has_more:
        print(f"there are more than {MOST_FILES:,} files, and the others were not looked at: name tables by --truth and --model")  # fmt: skip
    _tell("assumed; change it in params.yaml", assumed)


def tell_changes(files: Mapping[Path, str]) -> None:
    """How files would differ."""
    for path, text in files.items():
        name = shown(path)
        before = read(path).splitlines(keepends=True)
        source = name if path.exists() else os.devnull
        lines = difflib.unified_diff(before, text.splitlines(keepends=True), source, name)
        print("".join(lines), end="")


def tell_next(project: Path, *, mlflow: bool) -> None:
    inside = shown(project)
    print(f"next: {f'cd {shlex.quote(inside)} && ' if inside != '.' else ''}concord validate && dvc repro")  # fmt: skip
    if not mlflow:
        print("MLflow is not installed, so dvc.yaml has no stage `log`: `pip install 'concord-eval[mlflow]'`, then `concord init --upgrade`")  # fmt: skip


def read(path: Path) -> str:
    """With its ends of lines as they are."""
    if not path.exists():
        return ""
    with open_file(path, "move it away") as file:
        return bytes(file.read()).decode("utf-8", errors="replace")


def shown(path: Path) -> str:
    """As seen from here."""
    return os.path.relpath(path)


def _tell(what: str, lines: Sequence[str]) -> None:
    if lines:
        print(what, *lines, sep="\n  ")


def _table(table: Table) -> str:
    named = table.columns.items()
    columns = ", ".join(ours if ours == theirs else f"{ours}: {theirs}" for ours, theirs in named)
    made = f"   out of {table.made_by}" if table.made_by else ""
    return f"{shown(table.path)}   {columns}{made}"


def _run(run: Mapping[str, str]) -> str:
    return f"   MLflow run in {run['file']}{': ' + run['key'] if 'key' in run else ''}"
