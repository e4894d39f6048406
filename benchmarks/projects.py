"""Projects on the files of a workload, and the cost of their commands."""

import shutil
from pathlib import Path

from benchmarks.measured import Measured, command
from benchmarks.workload import KS, METRICS, Files

PRIMARY = ["nDCG@10", "R@20"]
MODELS = ("a", "b")


def make_project(folder: Path, files: Files) -> Path:
    """Make a repository with git and DVC, a truth, and two models with equal lists."""
    from tests.project import change_params

    project = demo(folder)
    data = project / "data" / "bench"
    data.mkdir()
    shutil.copy(files.truth, data / "truth.parquet")
    for name in MODELS:
        shutil.copy(files.lists, data / f"{name}.parquet")
    change_params(
        project,
        {
            "models": {name: {"path": f"data/bench/{name}.parquet"} for name in MODELS},
            "data.truth": {"path": "data/bench/truth.parquet"},
            "background": {},
            "segments": {},
            "gate": {},
            "evaluation.metrics": list(METRICS),
            "evaluation.ks": list(KS),
            "comparison.primary": PRIMARY,
            "comparison.baseline": MODELS[0],
            "conventions.err_max_grade": 5,
        },
    )
    return project


def demo(folder: Path) -> Path:
    """Return a new copy of the demo project, without results."""
    from tests.project import copied

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return copied(folder)


def change(project: Path, key: str, value: object) -> None:
    """Set a key of params.yaml."""
    from tests.project import change_params

    change_params(project, {key: value})


def stage(project: Path, *words: str) -> Measured:
    """Return the cost of `concord stage …`."""
    return command(project, "concord", "stage", *words, **_environment(project))


def repro(project: Path, *words: str) -> Measured:
    """Return the cost of `dvc repro`."""
    return command(project, "dvc", "repro", *words, **_environment(project))


def run(project: Path, *words: str) -> Measured:
    """Return the cost of `concord run`."""
    return command(project, "concord", "run", *words, **_environment(project))


def _environment(project: Path) -> dict[str, str]:
    return {"DVC_SITE_CACHE_DIR": str(project.parent / "dvc-site")}
