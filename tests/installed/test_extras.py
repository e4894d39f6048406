"""What each extra is enough for, and what is said where one is missing."""

import json
from pathlib import Path

import pytest

from tests.installed.environments import attempt, environment, run
from tests.installed.repository import Repository
from tests.project import ROOT, stages_run

pytestmark = pytest.mark.whole

COMMANDS = ("validate", "init", "leaderboard", "metrics", "diff HEAD", "gate", "log", "stage load als")  # fmt: skip
EVALUATE_ONCE = ROOT / "tests" / "pipeline" / "tracking" / "evaluator" / "evaluate_once.py"
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
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded & {"altair", "dvc", "jinja2", "mlflow", "pydantic", "rich", "ruamel"}))
"""


@pytest.fixture(scope="module")
def core(wheel: Path) -> Path:
    """The `bin` of an environment with `concord-eval` alone, and the pandas of its user."""
    return environment("core", wheel, "", "pandas")


def test_the_core_computes_from_pandas(core: Path, tmp_path: Path) -> None:
    ndcg, als, bpr, first, *said = run(str(core / "python"), "-c", FRAMES, cwd=tmp_path).splitlines()  # fmt: skip

    assert float(ndcg) == (0.6309297535714575 + 1) / 2  # 1 / log2(3) for ann, 1 for bob
    assert [als, bpr] == [ndcg, "1.0"]
    assert first.startswith("<Comparison of 2 models on nDCG@10")
    assert "  fix: `pip install 'concord-eval[report]'`" in said
    assert "<td>&quot;bpr&quot;</td>" in said[-2]
    assert "pip install &#x27;concord-eval[report]&#x27;" in said[-2]
    assert said[-1] == "[]"


def test_the_core_needs_few_packages(core: Path) -> None:
    of = ("uv", "pip", "list", "-q", "--format", "json", "--python", str(core.parent))
    found = {each["name"] for each in json.loads(run(*of))}
    pandas = {"pandas", "python-dateutil", "six", "pytz", "tzdata"}

    assert found - pandas == {"concord-eval", "duckdb", "numpy", "polars", "polars-runtime-32", "pyarrow", "scipy"}  # fmt: skip


def test_help_and_version_need_no_extra(core: Path, tmp_path: Path) -> None:
    for asked in (("--help",), ("--version",), ("gate", "--help")):
        done = attempt(str(core / "concord"), *asked, cwd=tmp_path)

        assert (done.returncode, done.stderr) == (0, "")
        assert "concord" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_pipeline_name_their_extra(
    core: Path, tmp_path: Path, command: str
) -> None:
    done = attempt(str(core / "concord"), *command.split(), cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "pydantic: is not installed, and this needs it\n"
        "  fix: `pip install 'concord-eval[dvc]'`\n"
    )  # fmt: skip


def test_mlflow_alone_evaluates_with_the_report(wheel: Path, tmp_path: Path) -> None:
    programs = environment("mlflow", wheel, "mlflow")
    store = (f"sqlite:///{tmp_path / 'mlflow.db'}", (tmp_path / "runs").as_uri())
    once = (str(programs / "python"), str(EVALUATE_ONCE), *store, "mlflow.models.evaluate")
    told = json.loads(run(*once, cwd=tmp_path).splitlines()[-1])
    (page,) = (tmp_path / "runs").rglob("report.html")

    assert told["metrics"]["accuracy/rr_at_3"] == 0.25
    assert told["artifacts"] == ["conventions", "per_user", "report", "summary"]
    assert "<svg" in page.read_text(encoding="utf-8")


def test_dvc_alone_evaluates_and_logs_nowhere(wheel: Path, tmp_path: Path) -> None:
    programs = environment("dvc", wheel, "dvc")
    tiny = Repository("tiny", tmp_path, programs)
    said = tiny.run("concord", "init")
    output = tiny.run("dvc", "repro", at="evaluation")
    ran = stages_run(output)
    results = tiny.root / "evaluation" / "results"

    assert "MLflow is not installed, so dvc.yaml has no stage `log`: `pip install 'concord-eval[mlflow]'`" in said  # fmt: skip
    assert ran == ["load-truth", *(f"{stage}@{model}" for stage in ("load", "evaluate") for model in ("one", "two")), "compare", "report"]  # fmt: skip
    assert (results / "report" / "report.html").stat().st_size > 100_000
    assert not (results / "mlflow").exists()
    assert (
        "\none     0.135  0.091 to 0.178" in output.partition("report: results/")[2]
    )  # the leaderboard
