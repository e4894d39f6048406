"""An evaluation in a folder of a DVC repository: new files, or an upgrade of existing ones."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import count
from pathlib import Path
from subprocess import CompletedProcess

from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.init.choices import choose, with_user_column
from concord.pipeline.init.discovery import Discovery, discover, stage_of
from concord.pipeline.init.fill_in import (
    NamedColumns,
    add_missing_tables,
    apply_columns,
    fill_in_problems,
    parse_columns,
)
from concord.pipeline.init.messages import (
    print_changes,
    print_discovery,
    print_next_step,
    read_text,
    relative,
)
from concord.pipeline.init.render import (
    DVCIGNORE,
    GITIGNORE,
    NamedFiles,
    dvc_yaml,
    is_mlflow_installed,
    params_yaml,
    plot_template,
)
from concord.pipeline.init.tables import Role, Table, named_table
from concord.pipeline.init.upgrade import upgraded_texts
from concord.pipeline.params.checks import model_name_problems
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import (
    find_evaluation_folder,
    has_dvc,
    is_concord_project,
    repository,
)
from concord.pipeline.running.git import run_git
from concord.pipeline.running.messages import print_text
from concord.pipeline.running.outputs import write_text
from concord.pipeline.terminal.parser import COMMAND_LINE

DEFAULT_FOLDER = "evaluation"
BACKUP = ".before"  # ending of files that --force replaces
TEMPLATE = ".dvc/plots/model_lines.json"  # relative to the root
_RESERVED = {".git", ".dvc"}
NAMES = (PARAMS.name, "dvc.yaml", ".gitignore", ".dvcignore")


def init(
    folder: str | None,
    truth: str | None,
    models: Sequence[str],
    columns: Sequence[str] = (),
    *,
    dry_run: bool,
    force: bool,
    dvc: bool = True,
) -> int:
    """Print the detected tables and the files to write, and write them.

    Parameters
    ----------
    folder : str or None
        Folder to write; None: evaluation.
    truth, models
        The ground truth, and `NAME=PATH` of models; None and empty to detect them.
    columns
        `COLUMN=NAME` for all tables, `TABLE.COLUMN=NAME` for one.
    dry_run : bool
        Write nothing.
    force : bool
        Replace existing files of Concord.
    dvc : bool, default=True
        Write dvc.yaml and the files that go with it; without it only params.yaml.

    Returns
    -------
    places : int
        Number of values in params.yaml that are still to be filled in.

    Raises
    ------
    InputError
        If there is no DVC repository, neither ground truth nor recommendations, or files exist.
    """
    current = Path.cwd().resolve()
    root, project = _check_folder(current, folder or DEFAULT_FOLDER, dvc=dvc)
    names = NAMES if dvc else NAMES[:1]
    existing = [project / name for name in names if (project / name).exists()]
    if existing and not (is_concord_project(project) and (force or dry_run)):
        raise _exists_error(existing, is_own=is_concord_project(project))
    discovery = _discover(current, project, truth, models, parse_columns(columns))
    content, assumptions = choose(discovery, project, title=current.name)
    entries, mlflow = content["models"], is_mlflow_installed()
    files = {project / PARAMS: params_yaml(content, version("concord-eval"))}
    if dvc:
        stages = dvc_yaml(NamedFiles.of_params({"models": entries}), mlflow=mlflow)
        files |= {
            project / name: text
            for name, text in zip(NAMES[1:], (stages, GITIGNORE, DVCIGNORE), strict=True)
        }
        if not (root / TEMPLATE).exists():
            files[root / TEMPLATE] = plot_template()
    print_discovery(discovery, assumptions, entries)
    print_changes(files) if dry_run else _write(files)
    params = project / PARAMS
    places = fill_in_problems(Path(relative(params)), files[params])
    if places or not dry_run:
        print_next_step(project, places, dvc=dvc, mlflow=mlflow)
    return len(places)


def upgrade(folder: str | None, *, dry_run: bool, dvc: bool = True) -> None:
    """Upgrade a project to this version: missing keys, the version, and with DVC a new dvc.yaml.

    The template of its plot is replaced too, unless it has changed since the last commit.
    `folder` is that of the project; None: the nearest one.

    Raises
    ------
    InputError
        If there is no project, or its files have uncommitted changes.
    """
    current, mlflow = Path.cwd().resolve(), is_mlflow_installed()
    nearest = find_evaluation_folder(current) or current / DEFAULT_FOLDER
    project = nearest if folder is None else current / folder
    if not (project / PARAMS).is_file():
        fix = "run `concord init`, or name the folder by `--dir`"
        raise refuse(relative(project / PARAMS), "there is no such file", fix)
    dvc = dvc and has_dvc(project)
    files = upgraded_texts(project, version("concord-eval"), dvc=dvc, mlflow=mlflow)
    template = repository(project) / TEMPLATE
    if dvc and (not template.exists() or (_is_in_git(project) and not _is_changed(template))):
        files[template] = plot_template()
    changed = {path: text for path, text in files.items() if read_text(path) != text}
    if not changed:
        print("nothing to change")
        return
    if not dry_run:
        fix = "commit it first, so that nothing is lost"
        raise_problems(
            Problem(relative(path), "is not committed", fix)
            for path in changed
            if _is_changed(path)
        )
    print_changes(changed)
    if not dry_run:
        _write(changed, backup=not _is_in_git(project))
        print_next_step(project, (), dvc=dvc, mlflow=mlflow)


def _check_folder(current: Path, folder: str, *, dvc: bool) -> tuple[Path, Path]:
    """Return the root of the repository, and the folder of the evaluation."""
    root, project = repository(current), (current / folder).resolve()
    if dvc and not has_dvc(current):
        fix = "`git init`, then `dvc init`; `--no-dvc` writes an evaluation for `concord run`"
        raise refuse(str(current), "is not in a DVC repository", fix)
    if not project.is_relative_to(root):
        raise refuse(COMMAND_LINE, f"{folder!r} is outside the repository", "name a folder in it")
    fix_dir = "name another folder by --dir"
    if dvc and (inner := repository(project)) != root:
        problem = f"belongs to another DVC repository, {relative(inner)}"
        raise refuse(relative(project), problem, f"remove {relative(inner / '.dvc')}, or {fix_dir}")
    if project != current and is_concord_project(current):
        fix = (
            "run at the root of your repository; `concord init --upgrade` upgrades this evaluation"
        )
        raise refuse(PARAMS.name, "this folder is an evaluation of Concord already", fix)
    if _RESERVED.intersection(part.casefold() for part in project.relative_to(root).parts):
        raise refuse(relative(project), "is a folder of git or DVC", fix_dir)
    if file := next((path for path in (project, *project.parents) if path.is_file()), None):
        raise refuse(relative(file), "is a file", "name a folder by --dir")
    if dvc and _run_git(root, "check-ignore", "-q", str(project / "dvc.yaml")).returncode == 0:
        problem = "is ignored by git, so DVC does not read it"
        raise refuse(relative(project / "dvc.yaml"), problem, f"{fix_dir}, or change .gitignore")
    return root, project


def _exists_error(existing: Sequence[Path], *, is_own: bool) -> InputError:
    """Return the error for existing files; --force may replace only those of Concord."""
    fix = "`--dir NAME` writes elsewhere"
    if is_own:
        fix = f"`concord init --upgrade` keeps their settings; `--force` writes them again; {fix}"
    return InputError(Problem(relative(path), "exists already", fix) for path in existing)


def _discover(
    current: Path,
    project: Path,
    truth: str | None,
    models: Sequence[str],
    columns: NamedColumns,
) -> Discovery:
    """Return the tables that the command line names, and detected ones."""
    lists = _named_models(current, models)
    files = [*lists.values(), *([] if truth is None else [_file(current, truth)])]
    if truth is not None and files[-1] in files[:-1]:
        problem = f"{truth!r} is named as ground truth and as a model"
        raise refuse(COMMAND_LINE, problem, "name another file for one of them")
    names = columns.shared
    discovery = discover(current, project / "results", files, names)
    if truth is not None:
        discovery.tables["truth"] = _table(files[-1], "truth", names, discovery)
    if lists:
        discovery.models = {
            name: _table(file, "lists", names, discovery) for name, file in lists.items()
        }
    if problems := _missing_tables(discovery, current):
        print_discovery(discovery, (), {})
        raise InputError(problems)
    apply_columns(discovery, columns)
    add_missing_tables(discovery, project)
    discovery.tables["truth"] = with_user_column(discovery.tables["truth"], discovery.models)
    return discovery


def _missing_tables(discovery: Discovery, current: Path) -> list[Problem]:
    """Return problems if several tables may be the ground truth, or if all tables are missing."""
    root, problems = repository(current), []
    elsewhere = ""
    if current != root:
        elsewhere = f"run at the root of the repository ({relative(root)}), or "
    if "truth" not in discovery.tables and discovery.truth_candidates:
        candidates = [relative(path) for path in discovery.truth_candidates]
        fix = f"name the one that no model was trained on: `--truth {shlex.quote(candidates[0])}`"
        problems.append(Problem("ground truth", f"may be {join_names(candidates, 'or')}", fix))
    elif "truth" not in discovery.tables and not discovery.models:
        problem = (
            "no table with columns of users and items (`user_id`, `item_id` …) "
            "has test, holdout or truth in its path"
        )
        fix = f"{elsewhere}name it: `--truth data/heldout.parquet`"
        problems.append(Problem("ground truth", problem, fix))
    if not discovery.models and "truth" not in discovery.tables:
        problem = (
            "no table has columns of users, items and a rank or a score "
            "(`user_id`, `item_id`, `score` …)"
        )
        fix = f"{elsewhere}name each: `--model als=out/als.csv`"
        problems.append(Problem("recommendations", problem, fix))
    return problems


def _named_models(current: Path, models: Sequence[str]) -> dict[str, Path]:
    """Return the file of each model that the command line names."""
    files: dict[str, Path] = {}
    for text in models:
        name, equals, path = text.partition("=")
        if not equals:
            fix = "write NAME=PATH: `--model als=out/als.csv`"
            raise refuse(COMMAND_LINE, f"{text!r} names no file", fix)
        if name in files:
            problem = f"two models have the name {name!r}"
            raise refuse(COMMAND_LINE, problem, "give one of them another name")
        files[name] = _file(current, path)
    raise_problems(replace(p, location=COMMAND_LINE) for p in model_name_problems(files))
    return files


def _file(current: Path, path: str) -> Path:
    return Path(os.path.abspath(current / path))  # noqa: PTH100  # links are kept


def _table(file: Path, role: Role, names: Mapping[str, str], discovery: Discovery) -> Table:
    """Return a named table; a link of an out may lead out of the repository, as into a cache."""
    stage = stage_of(file, discovery.outs)
    if stage is None and not file.resolve().is_relative_to(repository()):
        raise refuse(relative(file), "is outside the repository", "copy it into the repository")
    return replace(named_table(file, role, names), stage=stage or "")


def _write(files: Mapping[Path, str], *, backup: bool = True) -> None:
    """Write all files and print their names; files that change are kept as backups."""
    lines = []
    for path, text in files.items():
        line = f"  {relative(path)}"
        if backup and path.exists() and read_text(path) != text:
            old = _free_name(path)
            path.replace(old)
            line += f"; the old file is {old.name}"
        lines.append(line)
        write_text(path, text)
    print_text("\n".join(["written", *lines]))


def _free_name(path: Path) -> Path:
    """Return an unused name for a backup."""
    names = (f"{path.name}{BACKUP}{number if number > 1 else ''}" for number in count(1))
    return next(backup for name in names if not (backup := path.with_name(name)).exists())


def _is_in_git(folder: Path) -> bool:
    return _run_git(folder, "rev-parse").returncode == 0


def _is_changed(path: Path) -> bool:
    """True if the file differs from git's, or git does not know it."""
    status = _run_git(path.parent, "status", "--porcelain", "--ignored", "--", path.name)
    return path.exists() and bool(status.stdout.strip())


def _run_git(folder: Path, *command: str) -> CompletedProcess[str]:
    """Run git; a missing git counts as a failure."""
    try:
        return run_git(*command, folder=folder)
    except FileNotFoundError:
        return CompletedProcess(command, 127, "", "")
