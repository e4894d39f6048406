"""Projects with a history: commits in git, and the files of each in DVC's cache."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.project import change_params, commit_stages, copied, copied_from, run, run_stages

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b.c",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.c",
}
SECOND = "second"  # folder of the project as it was at its second commit
_FILES = {"ease": "ease.parquet", "knn": "item-knn.parquet", "recent": "ease-recent"}


def git(root: Path, *arguments: str) -> str:
    return run(root, "git", *arguments, **IDENTITY)


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)


def cached_file(project: Path, revision: str, path: str) -> Path:
    """Return the file of DVC's cache with the content of `path` at a revision."""
    lock = run(project, "git", "show", f"{revision}:dvc.lock")
    md5 = lock.rsplit(f"- path: {path}\n", 1)[1].split("md5: ")[1].split("\n")[0]
    return project / ".dvc/cache/files/md5" / md5[:2] / md5[2:]


@contextmanager
def cache_without(project: Path, revision: str, path: str) -> Iterator[None]:
    """Remove the content of `path` at a revision from DVC's cache while the block runs."""
    file = cached_file(project, revision, path)
    content = file.read_bytes()
    file.unlink()
    yield
    file.write_bytes(content)


def scored_lists(project: Path) -> pl.DataFrame:
    """Return the lists of the demo's model `ease`, one item per row."""
    nested = pl.read_ndjson(project / "data/demo/ease.jsonl.gz")
    return nested.explode("items", "scores").rename({"items": "item", "scores": "score"})


def worsen_for_active_users(project: Path, lists: pl.DataFrame) -> None:
    """Write the lists of `ease` with the order of users of more than 50 interactions reversed."""
    demo = project / "data/demo"
    train = pl.read_parquet(demo / "train.parquet").group_by("user").len()
    busy = train.filter(pl.col("len") > 50)["user"].implode()
    turned = pl.when(pl.col("user").is_in(busy)).then(-pl.col("score")).otherwise(pl.col("score"))
    lists.with_columns(turned.alias("score")).write_parquet(demo / "ease.parquet")


def without_code(project: Path) -> None:
    """Remove the folders of code from dvc.yaml: DVC would hash them for each commit."""
    stages = (project / "dvc.yaml").read_text(encoding="utf-8")
    stages = re.sub(r" +- (metrics_core|pipeline|reports)(/.*)?\n", "", stages)
    (project / "dvc.yaml").write_text(stages, encoding="utf-8")


def evaluate_and_commit(project: Path, message: str, *stages: str) -> None:
    run_stages(project, *stages)
    commit_stages(project, *stages)
    commit(project, message)


def history_project(folder: Path) -> None:
    """Two models (v1); other lists of ease, a new model and metric; another convention (v2)."""
    project = copied(folder)
    without_code(project)
    ease = project / "data/demo/ease.parquet"
    scored_lists(project).write_parquet(ease)
    settings = {
        "comparison.baseline": "knn",
        "segments": {},
        "background": {},
        "evaluation.panel": False,
    }
    metrics = {"evaluation.metrics": ["nDCG", "R", "P"], "evaluation.ks": [10, 20]}
    change_params(project, settings | metrics | _models("ease", "knn"))
    _evaluate(project, "Two models", ("ease", "knn"), ("ease", "knn"), "report")
    run(project, "git", "tag", "v1")
    lists = pl.read_parquet(ease)
    noise = pl.Series(np.random.default_rng(1).normal(0, 0.3, len(lists)))
    lists.with_columns(pl.col("score") + noise).write_parquet(ease)
    change_params(project, _models(*_FILES) | {"evaluation.metrics": ["nDCG", "R", "AP"]})
    _evaluate(project, "Another ease, and a new model", ("ease", "recent"), tuple(_FILES), "report")
    copied_from(project, folder / SECOND)
    change_params(project, {"conventions.preset": "custom", "conventions.gain": "exp2"})
    _evaluate(project, "Gains of grades", (), tuple(_FILES))
    (project / "README").write_text("words")
    commit(project, "Words")
    git(project, "tag", "-a", "v2", "-m", "two")


def _models(*names: str) -> dict[str, Any]:
    return {"models": {name: {"path": f"data/demo/{_FILES[name]}"} for name in names}}


def _evaluate(
    project: Path, message: str, loaded: tuple[str, ...], evaluated: tuple[str, ...], *more: str
) -> None:
    stages = ["load-truth", *(f"load {m}" for m in loaded), *(f"evaluate {m}" for m in evaluated)]
    evaluate_and_commit(project, message, *stages, "reference", "compare", *more)
