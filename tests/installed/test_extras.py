"""What each extra suffices for, and the message where one is missing."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.installed.environments import run
from tests.installed.repository import Repository
from tests.project import ROOT

pytestmark = pytest.mark.whole

FOLDER = Path(__file__).parent
COMMANDS = (
    "validate",
    "run",
    "init",
    "leaderboard",
    "metrics",
    "diff HEAD",
    "gate",
    "log",
    "stage load als",
)
HELP = ("--help", "--version", "gate --help")
CORE = ("duckdb", "numpy", "polars", "pyarrow", "scipy")
REPORT = (  # the extra, and what its packages need
    *("jinja2", "markupsafe", "typing_extensions"),
    *("annotated_types", "pydantic", "pydantic_core", "typing_inspection", "ruamel", "yaml"),
)
PANDAS = ("pandas", "dateutil", "six", "pytz", "tzdata")
EVALUATE_ONCE = ROOT / "tests" / "pipeline" / "mlflow" / "evaluator" / "evaluate_once.py"
FRAMES = """
import sys
import pandas as pd
import concord as cc

als = pd.DataFrame({"user": ["ann", "ann", "bob"], "item": ["x", "y", "z"], "rank": [1, 2, 1]})
bpr = pd.DataFrame({"user": ["ann", "ann", "bob"], "item": ["y", "x", "z"], "rank": [1, 2, 1]})
truth = pd.DataFrame({"user": ["ann", "bob"], "item": ["y", "z"]})
asked = {"metrics": ["nDCG@10"], "conventions": "standard"}
found = cc.evaluate(als, truth, **asked)
compared = cc.compare({"als": als, "bpr": bpr}, truth, baseline="als", **asked)
print(found["nDCG@10"], *compared.leaderboard["mean"], sep="\\n")
print(compared)
try:
    compared.to_html()
except cc.InputError as error:
    print(error)
print(compared._repr_html_().replace("\\n", " "))
"""


def _limited(programs: Path, lacks: Any, script: Path, *arguments: str, cwd: Path) -> str:
    """Return the output of a script in an environment without some packages."""
    python = str(programs / "python")
    return run(
        python, str(FOLDER / "limited.py"), json.dumps(lacks), str(script), *arguments, cwd=cwd
    )


def test_the_core_computes_from_pandas(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "frames.py").write_text(FRAMES)
    only = {"only": [*CORE, *PANDAS]}

    ndcg, als, bpr, first, *path = _limited(
        installed, only, tmp_path / "frames.py", cwd=tmp_path
    ).splitlines()

    assert float(ndcg) == (0.6309297535714575 + 1) / 2  # 1 / log2(3) for ann, 1 for bob
    assert [als, bpr] == [ndcg, "1.0"]
    assert first.startswith("2 models on nDCG@10; the baseline is ")
    assert "  fix: `pip install 'concord-eval[report]'`" in path
    assert ">bpr</td>" in path[-1]
    assert "pip install &#x27;concord-eval[report]&#x27;" in path[-1]


def test_help_needs_no_extra_and_commands_of_the_pipeline_name_theirs(
    installed: Path, tmp_path: Path
) -> None:
    requested = json.dumps([command.split() for command in (*HELP, *COMMANDS)])
    done = json.loads(
        _limited(installed, {"only": CORE}, FOLDER / "commands.py", requested, cwd=tmp_path)
    )

    for code, stdout, stderr in done[: len(HELP)]:
        assert (code, stderr) == (0, "")
        assert "concord" in stdout
    for code, stdout, stderr in done[len(HELP) :]:
        assert (code, stdout) == (2, "")
        assert re.fullmatch(
            r"(pydantic|ruamel|yaml): is not installed, and this needs it\n"
            r"  fix: `pip install 'concord-eval\[report\]'`\n",
            stderr,
        )


def test_mlflow_alone_evaluates_with_the_report(installed: Path, tmp_path: Path) -> None:
    store = (f"sqlite:///{tmp_path / 'mlflow.db'}", (tmp_path / "runs").as_uri())
    once = (*store, "mlflow.models.evaluate")
    content = json.loads(
        _limited(installed, ["dvc", "ruamel"], EVALUATE_ONCE, *once, cwd=tmp_path).splitlines()[-1]
    )
    (page,) = (tmp_path / "runs").rglob("report.html")

    assert content["metrics"]["accuracy/rr_at_3"] == 0.25
    assert content["artifacts"] == ["conventions", "per_user", "report", "summary"]
    assert "<svg" in page.read_text(encoding="utf-8")


def test_the_report_alone_evaluates_without_dvc(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "repositories" / "tiny", tmp_path / "tiny")
    init = ["init", "--no-dvc"]
    commands = json.dumps([init, ["validate"], ["run"], ["leaderboard"], ["comment"]])
    only = {"only": [*CORE, *REPORT]}
    done = json.loads(
        _limited(installed, only, FOLDER / "commands.py", commands, cwd=tmp_path / "tiny")
    )
    results = tmp_path / "tiny" / "evaluation" / "results"

    assert [code for code, *_ in done] == [0] * 5, done
    assert done[0][1].endswith("next: cd evaluation && concord validate && concord run\n")
    assert (results / "report" / "report.html").stat().st_size > 100_000
    assert not (results / "mlflow").exists()


def test_dvc_alone_evaluates_and_logs_nowhere(installed: Path, tmp_path: Path) -> None:
    tiny = Repository("tiny", tmp_path, installed)
    ((code, message, _),) = _commands(tiny, ["init"], at=".")
    stages = tiny.run_here("dvc", "stage", "list", "--name-only", at="evaluation").split()
    done = _commands(tiny, *(["stage", *stage.split("@")] for stage in stages), at="evaluation")
    results = tiny.root / "evaluation" / "results"

    assert code == 0
    assert (
        "MLflow is not installed, so dvc.yaml has no stage `log`: "
        "`pip install 'concord-eval[mlflow]'`" in message
    )
    assert stages == [
        "load-truth",
        *(f"{stage}@{model}" for stage in ("load", "evaluate") for model in ("one", "two")),
        "reference",
        "compare",
        "report",
    ]
    assert [code for code, *_ in done] == [0] * len(stages)
    assert (results / "report" / "report.html").stat().st_size > 100_000
    assert not (results / "mlflow").exists()
    assert re.search(r"\none +0\.1348 close +0\.0\d{3} to 0\.2114", done[-1][1])  # the leaderboard


def _commands(repository: Repository, *commands: list[str], at: str) -> list[tuple[int, str, str]]:
    """Run commands without MLflow: their exit codes, stdout and stderr."""
    folder, requested = repository.root / at, json.dumps(commands)
    done: list[tuple[int, str, str]] = json.loads(
        _limited(repository.programs, ["mlflow"], FOLDER / "commands.py", requested, cwd=folder)
    )
    return done
