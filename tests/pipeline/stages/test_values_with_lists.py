"""Models with values next to their lists, from the files to comparison, gate and history."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from ruamel.yaml import YAML

import concord as cc
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.init.render import dvc_yaml
from tests.library import assert_same_bits
from tests.pipeline.dvc.revisions import commit, git
from tests.pipeline.params.params_content import params_content
from tests.project import (
    attempt,
    change_params,
    commit_results,
    copied_from,
    run,
    run_all_stages,
    run_stages,
    stages_to_run,
)

N = 80
METRICS: dict[str, dict[str, Any]] = {
    "latency_ms": {"higher_is_better": False},
    "satisfied": {"higher_is_better": True, "bounds": [0, 1]},
}
MODELS: dict[str, Any] = {
    "small": {
        "path": "small.parquet",
        "values": {"path": "runs/small.csv", "columns": {"user": "uid", "latency_ms": "ms"}},
    },
    "large": {"path": "large.parquet", "values": {"path": "runs/large.parquet"}},
}
GATE = {"guardrails": {"nDCG@5": "5%", "latency_ms": "10%"}, "success": ["satisfied"]}


def _lists(model: str) -> pl.DataFrame:
    """Return lists of ten items for each of N users with integer ids."""
    rng = np.random.default_rng(sum(model.encode()))
    items = [[int(item) for item in rng.permutation(30)[:10]] for _ in range(N)]
    frame = pl.DataFrame({"user": range(N), "item": items}).explode("item")
    return frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))


def _truth() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rows = [(user, int(item)) for user in range(N) for item in rng.permutation(30)[:8]]
    return pl.DataFrame(rows, schema=["user", "item"], orient="row")


def _values(model: str) -> pl.DataFrame:
    """Return values of most users and of one who is not evaluated, in no order."""
    rng = np.random.default_rng(sum(model.encode()))
    users = [int(user) for user in rng.permutation(N + 1) if user != N // 2]
    return pl.DataFrame(
        {
            "user": users,
            "latency_ms": rng.gamma(4, 5 * len(model), N),
            "satisfied": rng.random(N).round(3),
        }
    )


def _project(folder: Path, **changes: Any) -> Path:
    project = folder / "a project"
    (project / "runs").mkdir(parents=True)
    for model in MODELS:
        _lists(model).write_parquet(project / f"{model}.parquet")
    _truth().write_parquet(project / "truth.parquet")
    names = {"user": "uid", "latency_ms": "ms"}
    _values("small").rename(names).write_csv(project / "runs/small.csv")
    _values("large").write_parquet(project / "runs/large.parquet")
    primary = {"primary": ["nDCG@5", "latency_ms"]}
    content = params_content(MODELS, ["nDCG"], [5], comparison=primary, **changes)
    content |= {"metrics": METRICS, "gate": GATE}
    YAML().dump(content, project / "params.yaml")
    (project / "dvc.yaml").write_text(dvc_yaml(models="lists and values"))
    run(project, "git", "init", "-q")
    run(project, "dvc", "init", "-q")
    return project


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = _project(tmp_path_factory.mktemp("lists"), evaluation={"panel": True})
    run_all_stages(project)
    return project


def _stored(project: Path) -> cc.results.Comparison:
    return read_comparison(project / "results/comparison/comparison.json")


def test_numbers_are_those_of_the_library(compared: Path) -> None:
    stored = _stored(compared)
    library = cc.compare(
        {model: cc.Model(_lists(model), _values(model)) for model in MODELS},
        _truth(),
        metrics=["nDCG@5"],
        baseline="small",
        primary=["nDCG@5", "latency_ms"],
        min_effect=0.005,
        resamples=199,
        title="Demo shop",
        higher_is_better={name: metric["higher_is_better"] for name, metric in METRICS.items()},
        bounds={"satisfied": (0, 1)},
        gate=GATE,
    )
    assert stored.labels == ("nDCG@5", "latency_ms", "satisfied")
    for part in (
        "scores",
        "pairs",
        "best",
        "distributions",
        "panel",
        "warnings",
        "gate",
        "metrics",
    ):
        assert getattr(stored, part) == getattr(library, part), part
    assert stored.verdicts == library.verdicts


def test_a_gate_and_reports_show_quality_and_latency(compared: Path) -> None:
    result = attempt(compared, "concord", "gate")
    assert "latency_ms" in result.stdout
    report = compared / "results/report"
    assert "latency_ms" in (report / "report.html").read_text("utf-8")
    assert "large on latency\\_ms" in (report / "report.md").read_text("utf-8")
    assert "satisfied" in run(compared, "concord", "leaderboard", "--metric", "satisfied")
    assert json.loads((compared / "results/mlflow/receipt.json").read_text())["logged"]


def test_files_of_values_are_inputs(compared: Path) -> None:
    files = {each.role: each.path for each in _stored(compared).provenance.inputs}
    assert files["small: values"] == "runs/small.csv"
    quality = json.loads((compared / "results/quality/large.json").read_text())
    assert (quality["values"]["path"], quality["values"]["users"]) == ("runs/large.parquet", N)


@pytest.mark.parametrize(
    "evaluation", [{"rows_per_partition": 90}, {"engine": "polars"}, {"panel": True}]
)
def test_engines_and_partitions_give_the_same_bits(
    compared: Path, tmp_path: Path, evaluation: dict[str, Any]
) -> None:
    changes = {f"evaluation.{key}": value for key, value in evaluation.items()}
    assert_same_bits(compared, tmp_path, changes, *MODELS)


REFUSED = {
    "cases small --versus large --metric latency_ms": "'latency_ms' is of values next to lists",
    "judge --metric latency_ms": "'latency_ms' is of values next to lists",
    "ppi --metric latency_ms": "'latency_ms' is of values next to lists",
    "explain 1 latency_ms --model small": "explain covers metrics of lists and truth; latency_ms",
    "reconcile 100 --metric latency_ms --model small": "values of another tool, which reconcile",
}


@pytest.mark.parametrize("command", REFUSED)
def test_analyses_of_lists_refuse_values(compared: Path, tmp_path: Path, command: str) -> None:
    project = compared
    if command.startswith("ppi"):
        project = copied_from(compared, tmp_path)
        change_params(project, {"data.truth.sample": "random"})
    result = attempt(project, "concord", *command.split())
    assert result.returncode == 2
    assert REFUSED[command] in result.stderr


def test_analyses_of_lists_leave_values_out(compared: Path, tmp_path: Path) -> None:
    assert "nDCG@5" in run(compared, "concord", "cases", "small", "--versus", "large")
    assert "latency_ms" not in run(compared, "concord", "judge")
    assert "latency_ms against small" in run(compared, "concord", "plan", "--metric", "latency_ms")
    project = copied_from(compared, tmp_path)
    train = _truth().with_columns(pl.col("item") + 30)
    train.write_parquet(project / "train.parquet")
    change_params(project, {"background": {"train": {"path": "train.parquet"}}})
    run_all_stages(project, last="compare")
    assert "latency_ms" not in run(project, "concord", "audit")


@pytest.mark.whole
def test_project_with_a_history(compared: Path, tmp_path: Path) -> None:
    """DVC sees a changed file of values; gate, diff and history compare with a tag."""
    project = copied_from(compared, tmp_path)
    commit_results(project)
    commit(project, "first")
    git(project, "tag", "v1")
    values = _values("large").with_columns(pl.col("latency_ms") + 100)
    values.write_parquet(project / "runs/large.parquet")
    assert stages_to_run(project) == {"load@large"}
    run_stages(project, "load large", "evaluate large", "compare", "report", "log")
    commit_results(project)
    commit(project, "second")

    means = [_stored(each).score("large", "latency_ms").mean for each in (compared, project)]
    assert means[1] == pytest.approx((means[0] or 0) + 100)
    gate = attempt(project, "concord", "gate", "v1")
    assert gate.returncode == 1
    assert "large on latency_ms" in gate.stdout
    assert "latency_ms" in run(project, "concord", "diff", "v1")
    assert "latency_ms" in run(project, "concord", "history")
    comment = attempt(project, "concord", "comment", "v1")
    assert "values of large" in comment.stdout


def test_concord_run_needs_no_dvc(tmp_path: Path) -> None:
    project = _project(tmp_path)
    run(project, "concord", "run", "compare")
    before = (project / "results/per_user/small.parquet").stat().st_mtime_ns
    values = _values("large").with_columns(pl.col("latency_ms") + 100)
    values.write_parquet(project / "runs/large.parquet")
    run(project, "concord", "run", "compare")
    assert (project / "results/per_user/small.parquet").stat().st_mtime_ns == before
    mean = _stored(project).score("large", "latency_ms").mean
    evaluated = values.filter(pl.col("user") < N)["latency_ms"]
    assert mean == pytest.approx(evaluated.to_numpy().mean())


def test_validate_reads_values_and_compares_dvc_yaml(compared: Path, tmp_path: Path) -> None:
    assert "no problem found" in run(compared, "concord", "validate")
    project = copied_from(compared, tmp_path)
    (project / "dvc.yaml").write_text(dvc_yaml())
    commit(project, "old stages")
    result = attempt(project, "concord", "validate")
    assert "stages.load.deps: lacks ${item.values.path}" in result.stderr
    run(project, "concord", "init", "--upgrade")
    assert "${item.values.path}" in (project / "dvc.yaml").read_text()


INVALID: list[tuple[dict[str, Any], str]] = [
    (
        {"models.small": {"path": "small.parquet"}},
        "models.small: has no values next to its lists, and another model has some",
    ),
    ({"metrics": {}}, "metrics: is missing, and the models have values"),
    (
        {"metrics": {**METRICS, "recall": {"higher_is_better": True}}},
        "metrics.recall: is the name of a metric of lists\n"
        "  fix: give it another name, without a cutoff",
    ),
    (
        {"models.small.values": {"path": "runs/small.csv", "columns": {"price": "p"}}},
        "models.small.values.columns.price: is neither the user nor a metric",
    ),
    ({"models.small.values": "runs/small.csv"}, "models.small.values: is 'runs/small.csv'"),
    ({"data.unit": ["user", "session"]}, "data.unit: values next to lists are of users"),
    ({"comparison.primary": ["latency"]}, "did you mean 'latency_ms'"),
]


@pytest.mark.parametrize(("changes", "message"), INVALID)
def test_invalid_settings_are_refused(
    compared: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    project = copied_from(compared, tmp_path)
    change_params(project, changes)
    result = attempt(project, "concord", "stage", "load", "small")
    assert result.returncode == 2
    assert message in result.stderr


def test_invalid_values_are_refused(compared: Path, tmp_path: Path) -> None:
    project = copied_from(compared, tmp_path)
    file = project / "runs/small.csv"
    text = file.read_text()
    file.write_text(text.replace("ms", "milliseconds", 1))
    result = attempt(project, "concord", "stage", "load", "small")
    assert "fix: change `models.small.values.columns`" in result.stderr
    rows = [f"x{line}" if n else line for n, line in enumerate(text.splitlines())]
    file.write_text("\n".join(rows))
    run_stages(project, "load small")
    result = attempt(project, "concord", "stage", "evaluate", "small")
    assert result.returncode == 2
    assert "runs/small.csv: has no evaluated user: its first is 'x0'" in result.stderr
