"""The demo cut down to two models and few metrics: every stage, real processes, a few seconds."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.project import change_params, copied

TINY: dict[str, Any] = {
    "background": {},
    "segments": {},
    "evaluation.metrics": ["nDCG", "AP"],
    "evaluation.ks": [5],
    "evaluation.panel": False,
    "comparison.primary": ["nDCG@5"],
    "comparison.resamples": 199,
}
MODELS = ("popularity", "als")
STAGES = ("load-truth", "load", "evaluate", "compare", "report")  # all but MLflow


def tiny_project(folder: Path) -> Path:
    """The project without results; its folder has a space in its name."""
    project = copied(folder)
    keep_two_models(project)
    return project


def keep_two_models(project: Path) -> None:
    models = YAML(typ="safe").load(project / "params.yaml")["models"]
    change_params(project, {**TINY, "models": {name: models[name] for name in MODELS}})


def start(project: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    """A command in a session of its own, as a terminal gives it."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {"DVC_NO_ANALYTICS": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "PATH": programs}
    own = {"DVC_SITE_CACHE_DIR": str(project.parent / "dvc-site")}
    return subprocess.Popen(
        command,
        cwd=project,
        env={**os.environ, **quiet, **own, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def digests(project: Path) -> dict[str, str]:
    """All results but what MLflow calls its runs, and dvc.lock; no `.part` is a result."""
    results = project / "results"
    files = [path for path in results.rglob("*") if path.is_file() and path.name != "runs.json"]
    files = [path for path in files if path.suffix != ".part"]
    files += [project / "dvc.lock"]
    return {
        path.relative_to(project).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
        if path.exists()
    }


def leftovers(project: Path) -> list[Path]:
    return sorted((project / "results").rglob("*.part"))


def forget(project: Path) -> None:
    """Nothing was ever run here."""
    for name in ("results", ".dvc/cache", ".dvc/tmp", "mlruns"):
        shutil.rmtree(project / name, ignore_errors=True)
    for name in ("dvc.lock", "mlflow.db"):
        (project / name).unlink(missing_ok=True)
