"""An evaluation in a folder of a DVC repository: new files, or an upgrade of existing ones."""

import difflib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

from concord.metrics_core.comparison.config import ComparisonOptions
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.errors import InputError, Problem, format_count, raise_problems, refuse
from concord.metrics_core.metrics.label import expand, parse
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.dvc.git import run_git
from concord.pipeline.init.choices import Content, choose
from concord.pipeline.init.discovery import Discovery
from concord.pipeline.init.edit import read_text, upgraded_texts
from concord.pipeline.init.named_tables import (
    find_tables,
    parse_columns,
    print_discovery,
    print_list,
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
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import (
    VERSION_KEY,
    find_evaluation_folder,
    has_dvc,
    is_concord_project,
    relative_path,
    repository,
)
from concord.pipeline.params.yaml_files import YamlFile, load_yaml, read_yaml
from concord.pipeline.running.messages import print_text
from concord.pipeline.running.outputs import write_text

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
        Write dvc.yaml and the files that go with it; without it params.yaml and .gitignore.

    Returns
    -------
    places : int
        Number of values in params.yaml that are still to be filled in.

    Raises
    ------
    InputError
        If there is no DVC repository, neither ground truth nor recommendations, or files exist.
    """
    current, force = Path.cwd().resolve(), force or dry_run
    root, project = _free_folder(folder or DEFAULT_FOLDER, "--dir", force=force, dvc=dvc)
    discovery = find_tables(current, project, truth, models, parse_columns(columns))
    content, assumptions = choose(discovery, project, title=current.name)
    entries, files = content["models"], _files(root, project, content, dvc=dvc)
    written = [] if dry_run else _write(files)  # before a closed pipe ends the output
    print_discovery(discovery, assumptions, entries)
    _print_changes(files) if dry_run else print_list("written", written)
    params = project / PARAMS
    path, text = Path(relative_path(params)), files[params]
    places = [*YamlFile(path, text, load_yaml(text, str(path))).fill_in_problems()]
    if places or not dry_run:
        _print_next_step(project, places, dvc=dvc)
    return len(places)


def prepare_evaluation(folder: str, discovery: Discovery, given: Content) -> Callable[[], None]:
    """Return the function that writes an evaluation of exactly these tables, and the next step.

    Parameters
    ----------
    folder : str
        Folder to write.
    discovery : Discovery
        All tables.
    given : dict
        Content of params.yaml, instead of the choices of `concord init`.

    Raises
    ------
    InputError
        If the folder cannot be used, or params.yaml cannot express the metrics.
    """
    dvc = has_dvc(Path.cwd())
    root, project = _free_folder(folder, "--init", force=False, dvc=dvc)
    same = {"seed": ComparisonOptions.seed, "segments": False}
    content, _ = choose(discovery, project, project.name, {**same, **given})
    whole = [label for label in map(parse, given.get("metrics", ())) if label.k is None]
    whole = [each for each in whole if each not in expand([str(each)], content["ks"])]
    if whole:
        problem = f"{join_names([*map(str, whole)])} of whole lists cannot be written into {PARAMS}"
        raise refuse(f"{COMMAND_LINE}: --init", problem, f"write a cutoff: {whole[0]}@100")
    files = _files(root, project, content, dvc=dvc)

    def write() -> None:
        print_list("written", _write(files))
        _print_next_step(project, (), dvc=dvc)

    return write


def _free_folder(folder: str, option: str, *, force: bool, dvc: bool) -> tuple[Path, Path]:
    """Return the root of the repository, and the folder of a new evaluation that `option` names.

    Raises
    ------
    InputError
        If there is no DVC repository, the folder cannot be used, or files exist and are not
        Concord's, or `force` is not set.
    """
    root, project = _check_folder(Path.cwd().resolve(), folder, option, dvc=dvc)
    names = NAMES if dvc else NAMES[:1]
    existing = [project / name for name in names if (project / name).exists()]
    is_own = is_concord_project(project)
    if existing and not (is_own and force):
        fix = f"`{option} NAME` writes elsewhere"
        if is_own and option == "--dir":
            ways = "`concord init --upgrade` keeps their settings; `--force` writes them again"
            fix = f"{ways}; {fix}"
        raise InputError(Problem(relative_path(path), "exists already", fix) for path in existing)
    return root, project


def _files(root: Path, project: Path, content: Content, *, dvc: bool) -> dict[Path, str]:
    """Return the texts of the files of a new evaluation."""
    files = {project / PARAMS: params_yaml(content)}
    if dvc:
        named = NamedFiles.of_params({"models": content["models"]})
        stages = dvc_yaml(named, mlflow=is_mlflow_installed())
        files |= {
            project / name: text
            for name, text in zip(NAMES[1:], (stages, GITIGNORE, DVCIGNORE), strict=True)
        }
        if not (root / TEMPLATE).exists():
            files[root / TEMPLATE] = plot_template()
    elif not (project / ".gitignore").exists():
        files[project / ".gitignore"] = GITIGNORE
    return files


def upgrade(folder: str | None, *, dry_run: bool, dvc: bool = True) -> None:
    """Upgrade a project: missing keys, the version of values, and with DVC a new dvc.yaml.

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
    dvc = dvc and has_dvc(project)
    files = upgraded_texts(project, dvc=dvc, mlflow=mlflow)
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
            Problem(relative_path(path), "is not committed", fix)
            for path in changed
            if _is_changed(path)
        )
    _print_changes(changed)
    version = read_yaml(project / PARAMS).content.get(VERSION_KEY)
    if type(version) is int and version != VALUES_VERSION:
        where = "'Values changed' in the changelog lists them"
        print(f"numbers change with values_version {version} → {VALUES_VERSION}; {where}")
    if not dry_run:
        print_list("written", _write(changed, backup=not _is_in_git(project)))
        _print_next_step(project, (), dvc=dvc)


def _check_folder(current: Path, folder: str, option: str, *, dvc: bool) -> tuple[Path, Path]:
    """Return the root of the repository, and the folder of the evaluation."""
    root, project = repository(current), (current / folder).resolve()
    if dvc and not has_dvc(current):
        fix = "`git init`, then `dvc init`; `--no-dvc` writes an evaluation for `concord run`"
        raise refuse(str(current), "is not in a DVC repository", fix)
    if not project.is_relative_to(root):
        raise refuse(COMMAND_LINE, f"{folder!r} is outside the repository", "name a folder in it")
    fix_dir = f"name another folder by {option}"
    if dvc and (inner := repository(project)) != root:
        problem = f"belongs to another DVC repository, {relative_path(inner)}"
        raise refuse(
            relative_path(project), problem, f"remove {relative_path(inner / '.dvc')}, or {fix_dir}"
        )
    if project != current and is_concord_project(current):
        fix = (
            "run at the root of your repository; `concord init --upgrade` upgrades this evaluation"
        )
        raise refuse(PARAMS.name, "this folder is an evaluation of Concord already", fix)
    if _RESERVED.intersection(part.casefold() for part in project.relative_to(root).parts):
        raise refuse(relative_path(project), "is a folder of git or DVC", fix_dir)
    if file := next((path for path in (project, *project.parents) if path.is_file()), None):
        raise refuse(relative_path(file), "is a file", f"name a folder by {option}")
    ignored = run_git("check-ignore", "-q", str(project / "dvc.yaml"), folder=root)
    if dvc and ignored.returncode == 0:
        problem = "is ignored by git, so DVC does not read it"
        raise refuse(
            relative_path(project / "dvc.yaml"), problem, f"{fix_dir}, or change .gitignore"
        )
    return root, project


def _write(files: Mapping[Path, str], *, backup: bool = True) -> list[str]:
    """Write all files and return lines on them; files that change are kept as backups."""
    lines = []
    for path, text in files.items():
        line = relative_path(path)
        if backup and path.exists() and read_text(path) != text:
            old = _free_name(path)
            path.replace(old)
            line += f"; the old file is {old.name}"
        lines.append(line)
        write_text(path, text)
    return lines


def _free_name(path: Path) -> Path:
    """Return an unused name for a backup."""
    names = (f"{path.name}{BACKUP}{number if number > 1 else ''}" for number in count(1))
    return next(backup for name in names if not (backup := path.with_name(name)).exists())


def _is_in_git(folder: Path) -> bool:
    return run_git("rev-parse", folder=folder).returncode == 0


def _is_changed(path: Path) -> bool:
    """True if the file differs from git's, or git does not know it."""
    status = run_git("status", "--porcelain", "--ignored", "--", path.name, folder=path.parent)
    return path.exists() and bool(status.stdout.strip())


def _print_changes(files: Mapping[Path, str]) -> None:
    """Print the differences between files and their new texts."""
    for path, text in files.items():
        name = relative_path(path)
        old = read_text(path).splitlines(keepends=True)
        source = name if path.exists() else os.devnull
        lines = difflib.unified_diff(old, text.splitlines(keepends=True), source, name)
        if changes := "".join(lines):
            print_text(changes.removesuffix("\n"))


def _print_next_step(project: Path, places: Sequence[Problem], *, dvc: bool) -> None:
    """Print the values of params.yaml that are to be filled in, and the command to run next."""
    folder = relative_path(project)
    cd = "" if folder == "." else f"cd {shlex.quote(folder)} && "
    print_list(
        f"{format_count(len(places), 'place')} to fill in, in {relative_path(project / PARAMS)}",
        [f"{place.where}: {place.fix}" for place in places],
    )
    run = f"{cd}concord validate && {'dvc repro' if dvc else 'concord run'}"
    print_text(f"next: {'fill them in, then ' if places else ''}{run}")
    if dvc and not is_mlflow_installed():
        print_text(
            "MLflow is not installed, so dvc.yaml has no stage `log`: "
            "`pip install 'concord-eval[mlflow]'`, then `concord init --upgrade`"
        )
