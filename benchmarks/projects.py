"""Projects on the files of a workload, and the cost of their commands."""

import shutil
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from benchmarks.measured import Measured, best, command
from benchmarks.workload import KS, METRICS, Files

PRIMARY = ["nDCG@10", "R@20"]
MODELS = ("a", "b", "c", "d", "e")


def make_project(folder: Path, files: Files, models: int) -> Path:
    """Make a repository with git and DVC, a truth, and models with equal lists."""
    from tests.project import change_params, copied

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    project = copied(folder)
    data = project / "data" / "bench"
    data.mkdir()
    shutil.copy(files.truth, data / "truth.parquet")
    change_params(
        project,
        {
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
    with_models(project, files, models)
    return project


def with_models(project: Path, files: Files, models: int) -> None:
    """Give the project this number of models."""
    from tests.project import change_params

    entries: dict[str, Any] = {}
    for name in MODELS[:models]:
        path = f"data/bench/{name}.parquet"
        if not (project / path).exists():
            shutil.copy(files.lists, project / path)
        entries[name] = {"path": path}
    change_params(project, {"models": entries})


def stage(project: Path, *words: str, times: int = 3) -> Measured:
    """Return the best cost of `concord stage …`."""
    environment = _environment(project)
    return best(times, lambda: command(project, "concord", "stage", *words, **environment))


def repro(project: Path, *words: str) -> Measured:
    """Return the cost of `dvc repro`."""
    return command(project, "dvc", "repro", *words, **_environment(project))


def run(project: Path, *words: str) -> Measured:
    """Return the cost of `concord run`."""
    return command(project, "concord", "run", *words, **_environment(project))


def log(project: Path, times: int = 3) -> Measured:
    """Return the best cost of `concord stage log` into a new MLflow database."""

    def log_once() -> Measured:
        for file in project.glob("mlflow.db*"):
            file.unlink()
        shutil.rmtree(project / "mlruns", ignore_errors=True)
        shutil.rmtree(project / "mlartifacts", ignore_errors=True)
        return command(project, "concord", "stage", "log", **_environment(project))

    return best(times, log_once)


def bare_dvc(project: Path, folder: Path) -> Path:
    """Make a repository with as many stages as the project; each writes one line."""
    stages = YAML(typ="safe").load((project / "dvc.lock").read_text())["stages"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "in.txt").write_text("in\n")
    content = {
        f"stage-{n}": {"cmd": f"echo {n} > {n}.txt", "deps": ["in.txt"], "outs": [f"{n}.txt"]}
        for n in range(len(stages))
    }
    with (folder / "dvc.yaml").open("w") as file:
        YAML().dump({"stages": content}, file)
    command(folder, "git", "init", "-q")
    command(folder, "dvc", "init", "-q")
    repro(folder)
    return folder


def _environment(project: Path) -> dict[str, str]:
    return {"DVC_SITE_CACHE_DIR": str(project.parent / "dvc-site")}
