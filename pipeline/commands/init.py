"""`concord init`: an evaluation in a folder of somebody's DVC repository. It writes new files, and asks nothing."""

import difflib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import repository
from concord.pipeline.project.chosen import chosen
from concord.pipeline.project.found import Found, found_in
from concord.pipeline.project.taken_for import Table, named_table
from concord.pipeline.project.upgraded import upgraded
from concord.pipeline.project.written import (
    IGNORED,
    UNSEEN,
    dvc_yaml,
    logs_to_mlflow,
    params_yaml,
    plot_template,
)
from concord.pipeline.running.outputs import write_text
from concord.pipeline.terminal.arguments import PLACE

BEFORE = ".before"  # what --force replaces is kept beside


def init(
    folder: str, truth: str | None, models: Sequence[str], *, dry_run: bool, force: bool
) -> None:
    """Says what was found and what is written, and writes it.

    Raises
    ------
    InputError : there is no DVC repository, no truth or no list, or files are there already
    """
    root, project = _places(folder)
    found = _found(Path.cwd().resolve(), project, truth, models)
    made = chosen(found, project)
    files = {
        project / PARAMS: params_yaml(made.content, version("concord-eval")),
        project / "dvc.yaml": dvc_yaml(mlflow=logs_to_mlflow()),
        project / ".gitignore": IGNORED,
        project / ".dvcignore": UNSEEN,
    }
    template = root / ".dvc" / "plots" / "model_lines.json"
    if not template.exists():
        files[template] = plot_template()
    _tell(found, made.assumed)
    there = [path for path in files if path.exists()]
    if there and not (force or dry_run):
        fix = "`concord init --upgrade` keeps what they say; `--force` writes them anew; `--dir NAME` writes elsewhere"
        raise InputError(Problem(_shown(path), "is there already", fix) for path in there)
    _write(files, dry_run=dry_run)
    if not dry_run:
        _tell_next(project)


def upgrade(folder: str, *, dry_run: bool) -> None:
    """Carries a project to this version: new keys with their usual values, the version, and dvc.yaml anew.

    Raises
    ------
    InputError : there is no project, or its files hold changes that git does not know
    """
    here = Path.cwd().resolve()
    project = here if (here / PARAMS).is_file() and not (here / folder).is_dir() else here / folder
    if not (project / PARAMS).is_file():
        raise refuse(_shown(project / PARAMS), "is not there", "`concord init` writes it")
    files = upgraded(project, version("concord-eval"), mlflow=logs_to_mlflow())
    changed = {path: text for path, text in files.items() if _read(path) != text}
    unknown = [path for path in changed if not dry_run and _is_changed(path)]
    if unknown:
        fix = "commit it first, so that nothing is lost"
        raise InputError(Problem(_shown(path), "is not committed", fix) for path in unknown)
    _write(changed, dry_run=True)
    if not changed:
        print("nothing to change")
    elif not dry_run:
        for path, text in changed.items():
            write_text(path, text)
        _tell_next(project)


def _places(folder: str) -> tuple[Path, Path]:
    """The root of the repository, and the folder of the evaluation."""
    here = Path.cwd().resolve()
    root, project = repository(here), (here / folder).resolve()
    if not (root / ".dvc").is_dir():
        raise refuse(str(here), "lies in no DVC repository", "`git init`, then `dvc init`")
    if not project.is_relative_to(root):
        raise refuse(PLACE, f"{folder!r} lies outside the repository", "name a folder in it")
    if project == root and (root / "dvc.yaml").exists():
        what = f"{folder!r} is the root, and its dvc.yaml is there already"
        raise refuse(PLACE, what, "name a folder of its own")
    return root, project


def _found(here: Path, project: Path, truth: str | None, models: Sequence[str]) -> Found:
    """What the command line names, and what lies there else."""
    found = found_in(here, project)
    if truth is not None:
        found.tables["truth"] = named_table(here / truth, "truth")
    if models:
        found.models = dict(_named(here, models))
    problems = []
    if "truth" not in found.tables:
        what = "no table of users and items has test, holdout or truth in its path"
        problems.append(Problem("truth", what, "name it: `--truth data/heldout.parquet`"))
    if not found.models:
        what = "no table has users, items and a rank or a score"
        problems.append(Problem("lists of models", what, "name each: `--model als=out/als.csv`"))
    if problems:
        _tell(found, ())
        if found.missing:
            names = ", ".join(_shown(path) for path in found.missing[:5])
            fix = "`dvc pull` or `dvc repro`, then `concord init`"
            problems.append(Problem("outs of dvc.yaml", f"are not there yet: {names}", fix))
        raise InputError(problems)
    return found


def _named(here: Path, models: Sequence[str]) -> Iterator[tuple[str, Table]]:
    for each in models:
        name, mark, path = each.partition("=")
        if not mark:
            raise refuse(
                PLACE, f"{each!r} names no file", "write NAME=PATH: `--model als=out/als.csv`"
            )
        yield name, named_table(here / path, "lists")


def _tell(found: Found, assumed: Sequence[str]) -> None:
    rows = [(role, "", table) for role, table in found.tables.items()]
    rows += [("model", name, table) for name, table in found.models.items()]
    if rows:
        print("found")
    for role, name, table in rows:
        made = f"   out of {table.made_by}" if table.made_by else ""
        print(f"  {f'{role} {name}':<18} {_shown(table.path)}   {_columns(table)}{made}")
    if found.left:
        print("left alone")
    for left in found.left:
        print(f"  {_shown(left.path)}: {left.why}")
    if assumed:
        print("assumed; change it in params.yaml")
    for sentence in assumed:
        print(f"  {sentence}")


def _columns(table: Table) -> str:
    return ", ".join(
        ours if ours == theirs else f"{ours}: {theirs}" for ours, theirs in table.columns.items()
    )


def _write(files: Mapping[Path, str], *, dry_run: bool) -> None:
    """Writes them; what was there is kept beside. As a dry run, shows how they would differ."""
    if dry_run:
        for path, text in files.items():
            before, name = _read(path).splitlines(keepends=True), _shown(path)
            print("".join(difflib.unified_diff(before, text.splitlines(keepends=True), name, name)))
        return
    kept = {path for path, text in files.items() if path.exists() and _read(path) != text}
    for path, text in files.items():
        if path in kept:
            path.replace(path.with_name(path.name + BEFORE))
        write_text(path, text)
    print("written")
    for path in files:
        said = f"; what was there is {path.name}{BEFORE}" if path in kept else ""
        print(f"  {_shown(path)}{said}")


def _tell_next(project: Path) -> None:
    inside = _shown(project)
    print(f"next: cd {inside} && concord validate && dvc repro" if inside != "." else "next: concord validate && dvc repro")  # fmt: skip
    if not logs_to_mlflow():
        print("MLflow is not installed, so dvc.yaml has no stage `log`: `pip install 'concord-eval[mlflow]'`, then `concord init --upgrade`")  # fmt: skip


def _is_changed(path: Path) -> bool:
    command = ["git", "status", "--porcelain", "--", path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    return path.exists() and bool(done.returncode or done.stdout.strip())


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _shown(path: Path) -> str:
    """As seen from here."""
    return os.path.relpath(path)
