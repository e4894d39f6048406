"""Small DVC repositories: tables of three users, and stages that are never run."""

import subprocess
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

from dvc.repo import Repo

from concord.pipeline.init.validation import validate
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params

TRUTH = "user_id,item_id,rating\nu1,a,5\nu2,b,4\nu3,c,1\n"
TRAIN = "user_id,item_id\nu1,b\nu2,a\nu3,a\n"
LISTS = "user_id,item_id,rank\nu1,a,1\nu1,c,2\nu2,c,1\nu3,b,1\n"
ITEMS = "item_id,title,genres\na,One,x\nb,Two,y\nc,Three,x\n"
USUAL = {"data/test.csv": TRUTH, "out/als.csv": LISTS, "out/popular.csv": LISTS}


def repository(root: Path, files: Mapping[str, str] = USUAL, *, git: bool = True) -> Path:
    """Return a DVC repository with these files; nothing is committed."""
    root.mkdir(parents=True, exist_ok=True)
    if git:
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    Repo.init(str(root), no_scm=not git).close()
    write(root, files)
    return root


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def commit(root: Path) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", *identity, "commit", "-q", "-m", "all"], cwd=root, check=True)


def tree(root: Path) -> dict[str, bytes]:
    """Return the content of every file, except internal ones of DVC and git."""
    internal = (".dvc/tmp", ".dvc/cache", ".git/")
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes() for name, path in files.items() if not name.startswith(internal)
    }


def evaluation(folder: Path) -> Params:
    """Return the parameters of the evaluation in a folder."""
    with chdir(folder):
        return read_params()


def valid_evaluation(folder: Path) -> Params:
    """Return the parameters of a valid evaluation in a folder."""
    with chdir(folder):
        validate()
    return evaluation(folder)
