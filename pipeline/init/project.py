"""`concord init`: an evaluation in a folder of somebody's DVC repository. It writes new files, and asks nothing."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import count
from pathlib import Path

from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.results.words import listed
from concord.pipeline.init.choices import chosen, with_user_of
from concord.pipeline.init.discovery import Found, found_in, stage_of
from concord.pipeline.init.messages import read, shown, tell, tell_changes, tell_next
from concord.pipeline.init.render import (
    IGNORED,
    UNSEEN,
    dvc_yaml,
    logs_to_mlflow,
    params_yaml,
    plot_template,
    run_files,
)
from concord.pipeline.init.tables import Role, Table, named_table
from concord.pipeline.init.upgrade import upgraded
from concord.pipeline.params.checks import model_name_problems
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import is_concords, repository
from concord.pipeline.running.outputs import write_text
from concord.pipeline.terminal.parser import PLACE

BEFORE = ".before"  # what --force replaces is kept beside
TEMPLATE = ".dvc/plots/model_lines.json"  # in the root
_KEPT = {".git", ".dvc"}
NAMES = (PARAMS.name, "dvc.yaml", ".gitignore", ".dvcignore")


def init(
    folder: str, truth: str | None, models: Sequence[str], *, dry_run: bool, force: bool
) -> None:
    """Says what was found and what is written, and writes it.

    Raises
    ------
    InputError : there is no DVC repository, no truth or no list, or files are there already
    """
    here = Path.cwd().resolve()
    root, project = _places(here, folder)
    if there := [project / name for name in NAMES if (project / name).exists()]:
        _refuse_what_is_there(project, there, may_be=force or dry_run)
    found = _found(here, project, truth, models)
    made = chosen(found, project, title=here.name)
    entries, mlflow = made.content["models"], logs_to_mlflow()
    texts = params_yaml(made.content, version("concord-eval")), dvc_yaml(mlflow=mlflow, trained=run_files(entries)), IGNORED, UNSEEN  # fmt: skip
    files = {project / name: text for name, text in zip(NAMES, texts, strict=True)}
    template = root / TEMPLATE
    if not template.exists():
        files[template] = plot_template()
    tell(found, made.assumed, entries)
    if dry_run:
        tell_changes(files)
        return
    _write(files)
    tell_next(project, mlflow=mlflow)


def upgrade(folder: str, *, dry_run: bool) -> None:
    """Carries a project to this version: new keys with their usual values, the version, and dvc.yaml anew;
    so the template of its plot, unless somebody has changed it since the last commit.

    Raises
    ------
    InputError : there is no project, or its files hold changes that git does not know
    """
    here, mlflow = Path.cwd().resolve(), logs_to_mlflow()
    project = here if is_concords(here) and not is_concords(here / folder) else here / folder
    if not (project / PARAMS).is_file():
        raise refuse(shown(project / PARAMS), "is not there", "`concord init` writes it; `--dir` says where it is")  # fmt: skip
    files = upgraded(project, version("concord-eval"), mlflow=mlflow)
    template = repository(project) / TEMPLATE
    if not template.exists() or (_in_git(project) and not _is_changed(template)):
        files[template] = plot_template()
    changed = {path: text for path, text in files.items() if read(path) != text}
    if not changed:
        print("nothing to change")
        return
    if not dry_run and (unknown := [path for path in changed if _is_changed(path)]):
        fix = "commit it first, so that nothing is lost"
        raise InputError(Problem(shown(path), "is not committed", fix) for path in unknown)
    tell_changes(changed)
    if not dry_run:
        _write(changed, keep=not _in_git(project))
        tell_next(project, mlflow=mlflow)


def _places(here: Path, folder: str) -> tuple[Path, Path]:
    """The root of the repository, and the folder of the evaluation."""
    root, project = repository(here), (here / folder).resolve()
    if not (root / ".dvc").is_dir():
        raise refuse(str(here), "lies in no DVC repository", "`git init`, then `dvc init`")
    if not project.is_relative_to(root):
        raise refuse(PLACE, f"{folder!r} lies outside the repository", "name a folder in it")
    if (own := repository(project)) != root:
        what = f"lies in {shown(own)}, a DVC repository of its own, of which {shown(root)} sees nothing"
        raise refuse(shown(project), what, f"remove {shown(own / '.dvc')}, or name another folder by --dir")  # fmt: skip
    if project != here and is_concords(here):
        fix = "run at the root of your repository; `concord init --upgrade` carries this one on"
        raise refuse(PARAMS.name, "here lies an evaluation of Concord already", fix)
    if _KEPT.intersection(part.casefold() for part in project.relative_to(root).parts):
        what = "is a folder that git and DVC keep for themselves"
        raise refuse(shown(project), what, "name another folder by --dir")
    if file := next((at for at in (project, *project.parents) if at.is_file()), None):
        raise refuse(shown(file), "is a file", "name a folder by --dir")
    if _is_ignored(root, project):
        what = "is ignored by git, and DVC reads no such file"
        raise refuse(shown(project / "dvc.yaml"), what, "name another folder by --dir, or mend .gitignore")  # fmt: skip
    return root, project


def _refuse_what_is_there(project: Path, there: Sequence[Path], *, may_be: bool) -> None:
    """Files of Concord's own may be written again, those of others never."""
    ours = is_concords(project)
    if ours and may_be:
        return
    fix = "`--dir NAME` writes elsewhere"
    if ours:
        fix = f"`concord init --upgrade` keeps what they say; `--force` writes them anew; {fix}"
    raise InputError(Problem(shown(path), "is there already", fix) for path in there)


def _found(here: Path, project: Path, truth: str | None, models: Sequence[str]) -> Found:
    """What the command line names, and what lies there else."""
    lists = _named(here, models)
    named = [*lists.values(), *([] if truth is None else [_file(here, truth)])]
    if truth is not None and named[-1] in named[:-1]:
        raise refuse(PLACE, f"{truth!r} is named for the truth and for a model", "name another")
    found = found_in(here, project / "results", named)
    if truth is not None:
        found.tables["truth"] = _table(named[-1], "truth", found)
    if lists:
        found.models = {name: _table(file, "lists", found) for name, file in lists.items()}
    root, problems = repository(here), []
    higher = "" if here == root else f"the repository begins at {shown(root)}: run there, or "
    if "truth" not in found.tables and found.truths:
        several = [shown(path) for path in found.truths]
        fix = f"name the one that no model has seen: `--truth {shlex.quote(several[0])}`"
        problems.append(Problem("truth", f"may be {listed(several, 'or')}", fix))
    elif "truth" not in found.tables:
        what = "no table with columns of users and items (`user_id`, `item_id` …) has test, holdout or truth in its path"
        problems.append(Problem("truth", what, f"{higher}name it: `--truth data/heldout.parquet`"))
    if not found.models:
        what = "no table has columns of users, items and a rank or a score (`user_id`, `item_id`, `score` …)"
        problems.append(
            Problem("lists of models", what, f"{higher}name each: `--model als=out/als.csv`")
        )
    if problems:
        tell(found, (), {})
        raise InputError(problems)
    found.tables["truth"] = with_user_of(found.models, found.tables["truth"])
    return found


def _named(here: Path, models: Sequence[str]) -> dict[str, Path]:
    """The file of each model that the command line names."""
    files: dict[str, Path] = {}
    for each in models:
        name, mark, path = each.partition("=")
        if not mark:
            fix = "write NAME=PATH: `--model als=out/als.csv`"
            raise refuse(PLACE, f"{each!r} names no file", fix)
        if name in files:
            raise refuse(PLACE, f"two models are called {name!r}", "give one of them another name")
        files[name] = _file(here, path)
    raise_problems(replace(each, location=PLACE) for each in model_name_problems(files))
    return files


def _file(here: Path, path: str) -> Path:
    return Path(os.path.abspath(here / path))  # noqa: PTH100  # links are kept


def _table(file: Path, role: Role, found: Found) -> Table:
    """A link of an out may lead out of the repository, as into a shared cache."""
    stage = stage_of(file, found.outs)
    if stage is None and not file.resolve().is_relative_to(repository()):
        raise refuse(shown(file), "lies outside the repository", "copy it into the repository")
    return replace(named_table(file, role), made_by=stage or "")


def _write(files: Mapping[Path, str], *, keep: bool = True) -> None:
    """Writes all of them, then says so; what was there, and is not the same, is kept beside."""
    said = []
    for path, text in files.items():
        said.append(f"  {shown(path)}")
        if keep and path.exists() and read(path) != text:
            kept = _free(path)
            path.replace(kept)
            said[-1] += f"; what was there is {kept.name}"
        write_text(path, text)
    print("written", *said, sep="\n")


def _free(path: Path) -> Path:
    """A name beside it that no file has."""
    names = (f"{path.name}{BEFORE}{number if number > 1 else ''}" for number in count(1))
    return next(at for name in names if not (at := path.with_name(name)).exists())


def _is_ignored(root: Path, project: Path) -> bool:
    return _git(root, "check-ignore", "-q", str(project / "dvc.yaml")).returncode == 0


def _in_git(folder: Path) -> bool:
    return _git(folder, "rev-parse").returncode == 0


def _is_changed(path: Path) -> bool:
    """Does git know another text of it, or none?"""
    said = _git(path.parent, "status", "--porcelain", "--ignored", "--", path.name)
    return path.exists() and bool(said.stdout.strip())


def _git(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Without git, its commands fail."""
    try:
        return subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=False)  # fmt: skip
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 127, "", "")
