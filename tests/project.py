"""A copy of the project to run, and the real data that tests read in its folder."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from concord.metrics_core.errors import InputError
from concord.pipeline.params.read import read_params
from concord.pipeline.running.locks import open_locked
from tests import in_process
from tests.in_process import run_concord, run_dvc

ROOT = Path(__file__).parents[1]
MOVIELENS = Path(
    os.environ.get("CONCORD_MOVIELENS") or ROOT.parent / "shared" / "data" / "movielens-small"
)
CODE = (
    "concord",  # links to the next three
    "metrics_core",
    "pipeline",
    "reports",
    "data",
    ".dvc",
    "dvc.yaml",
    "params.yaml",
    ".dvcignore",
    ".gitignore",
)


def copied(folder: Path) -> Path:
    """Return a copy of the project in a new git repository, without results."""
    project = folder / "a project"  # spaces are part of life
    project.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "cache", "tmp")
    for name in CODE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, project / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(source, project / name)
    run(project, "git", "init", "-q")
    return project


def made_once(factory: pytest.TempPathFactory, worker: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of the session that `make` fills once, in the first worker."""
    base = factory.getbasetemp()
    folder = (base if worker == "master" else base.parent) / make.__name__
    folder.mkdir(exist_ok=True)
    with open_locked(folder / "lock"):
        if not (folder / "made").exists():
            make(folder)
            (folder / "made").touch()
    return folder


def copied_from(finished: Path, folder: Path) -> Path:
    """Return a copy of a project with results, cache and history."""
    copy = folder / finished.name
    ignored = shutil.ignore_patterns("__pycache__", "dvc-site")
    shutil.copytree(finished, copy, symlinks=True, ignore=ignored)
    return copy


def change_params(project: Path, change: Mapping[str, Any]) -> None:
    """Set keys of params.yaml, such as {"evaluation.ks": [5, 10]}."""
    yaml = YAML()
    content = yaml.load(project / "params.yaml")
    for key, value in change.items():
        *path, last = key.split(".")
        section = content
        for part in path:
            section = section[part]
        section[last] = value
    yaml.dump(content, project / "params.yaml")


def params_refusal(project: Path, change: Mapping[str, Any]) -> str:
    """Return the message with which the params.yaml of a project is refused after a change."""
    before = (project / "params.yaml").read_bytes()
    change_params(project, change)
    with chdir(project), pytest.raises(InputError) as refused:
        read_params()
    (project / "params.yaml").write_bytes(before)
    return str(refused.value)


def run(project: Path, *command: str, **environment: str) -> str:
    """Run a command in the project; its output, or a failed test that shows it."""
    return _output(attempt(project, *command, **environment))


def attempt(project: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the project: `concord` and `dvc` in this process, others as processes."""
    if command[0] == "concord":
        return run_concord(project, *command[1:], environment=environment)
    if command[0] == "dvc":
        environment = {**_site_cache(project), **environment}
        return run_dvc(project, *command[1:], environment=environment)
    return attempt_process(project, *command, **environment)


def run_process(project: Path, *command: str, **environment: str) -> str:
    """Run a command in the project as a process; its output, or a failed test that shows it."""
    return _output(attempt_process(project, *command, **environment))


def attempt_process(
    project: Path, *command: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in the project as a process, with the environment's own programs first."""
    return subprocess.run(
        command,
        cwd=project,
        env=process_environment(project, **environment),
        capture_output=True,
        text=True,
        check=False,
    )


def process_environment(project: Path, **environment: str) -> dict[str, str]:
    """Return the environment of processes in the project, with the programs of the tests first."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {"DVC_NO_ANALYTICS": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "PATH": programs}
    return {**os.environ, **quiet, **_site_cache(project), **environment}


def _site_cache(project: Path) -> dict[str, str]:
    """Return the variable that puts DVC's site cache beside the project."""
    return {"DVC_SITE_CACHE_DIR": str(project.parent / "dvc-site")}


def _output(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{' '.join(done.args)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_stages(project: Path, *stages: str, **environment: str) -> str:
    """Run stages one after the other, without DVC; return what they print."""
    return "".join(
        run(project, "concord", "stage", *stage.split(), **environment) for stage in stages
    )


def run_all_stages(project: Path, *, last: str = "log", **environment: str) -> str:
    """Run the stages of a project in order up to `last`, without DVC; return their output."""
    return run_stages(project, *_stages(project, last), **environment)


def _stages(project: Path, last: str) -> list[str]:
    params = YAML(typ="safe").load(project / "params.yaml")
    has_truth = "data" in params  # models with values of another tool have none
    stages = ["load-truth"] if has_truth else []
    stages += [f"load-background {name}" for name in params.get("background") or {}]
    stages += [f"{stage} {model}" for stage in ("load", "evaluate") for model in params["models"]]
    stages += ["reference"] if has_truth else []
    stages += ["compare", "report", "log"]
    return stages[: stages.index(last) + 1]


def commit_results(project: Path, *, last: str = "log") -> None:
    """Write dvc.lock and DVC's cache as `dvc repro` does, for all stages up to the last one."""
    commit_stages(project, *_stages(project, last))


def commit_stages(project: Path, *stages: str) -> None:
    """Do the same as `commit_results` for some stages."""
    names = [stage.replace(" ", "@") for stage in stages]
    in_process.commit_stages(project, names, _site_cache(project))


def stages_to_run(project: Path) -> set[str]:
    """Return the stages that `dvc repro` would run first; those after them are not known yet."""
    return set(json.loads(run(project, "dvc", "status", "--json")))


def stages_run(output: str) -> list[str]:
    """Return the stages that `dvc repro` ran."""
    lines = output.splitlines()
    return [line.split("'")[1] for line in lines if line.startswith("Running stage")]


def movielens() -> Path:
    """Return the folder of the real data; if it is missing, fail in CI and skip elsewhere."""
    if not MOVIELENS.is_dir():
        why = f"the MovieLens lists are not in {MOVIELENS}; CONTRIBUTING.md says what they are"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return MOVIELENS
