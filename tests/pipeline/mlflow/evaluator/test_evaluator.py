"""MLflow's `evaluate` finds Concord by its entry point, and the run has Concord's values."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import polars as pl
import pytest
from mlflow import MlflowClient
from mlflow.data.dataset import Dataset
from mlflow.entities import DatasetInput
from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry

import concord as cc
from concord.metrics_core.errors import InputError
from concord.pipeline.mlflow.evaluator import ConcordEvaluator
from tests.parity.measure import python_with
from tests.pipeline.mlflow.evaluator.evaluate_once import evaluate_once
from tests.pipeline.mlflow.log_project import ROOT
from tests.pipeline.refusals import refusal_of

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow and pandas warn of each other
evaluate: Any = mlflow.models.evaluate
FOLDER = Path(__file__).parent
GROUP = "mlflow.model_evaluator"
RECS = {"ann": ["a", "b", "c"], "bob": ["d", "e", "f"]}
GRADES = {"ann": {"b": 3}, "bob": {"d": 1, "x": 2}}


def _frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {"recs": list(RECS.values()), "truth": list(GRADES.values()), "user": list(RECS), **columns}
    )


@pytest.fixture
def client(
    tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MlflowClient]:
    """Yield a client of a store, with the evaluator registered as by its entry point."""
    database = tmp_path / "mlflow.db"
    database.write_bytes(empty_store.read_bytes())
    before = mlflow.get_tracking_uri()
    monkeypatch.setitem(_model_evaluation_registry._registry, "concord", ConcordEvaluator)
    mlflow.set_tracking_uri(f"sqlite:///{database}")
    client = MlflowClient()
    mlflow.set_experiment(
        experiment_id=client.create_experiment("shop", (tmp_path / "runs").as_uri())
    )
    yield client
    mlflow.set_tracking_uri(before)


def _evaluate(data: Any, config: Any, *, kind: str = "ranker", **arguments: Any) -> Any:
    with mlflow.start_run():
        return evaluate(
            data=data, model_type=kind, evaluators="concord", evaluator_config=config, **arguments
        )


def _evaluate_frame(config: Any, **columns: Any) -> Any:
    return _evaluate(_frame(**columns), config, predictions="recs", targets="truth")


def _registered(folder: Path) -> Path:
    """Return a folder for PYTHONPATH with the entry points of an installed Concord."""
    info = folder / "concord_eval-0.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: concord-eval\nVersion: 0.0\n")
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    lines = [f"[{GROUP}]", *(f"{name} = {where}" for name, where in entries[GROUP].items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


def _run_of_script(python: Path, folder: Path, kind: str) -> dict[str, Any]:
    run = subprocess.run(
        [python, FOLDER / "evaluate_once.py", f"sqlite:///{folder}/it.db", folder.as_uri(), kind],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{_registered(folder / 'installed')}:{ROOT}"},
    )
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout.splitlines()[-1]))


def _assert_run_is_complete(reported: dict[str, Any]) -> None:
    assert reported["metrics"]["accuracy/rr_at_3"] == 0.25  # (1/2 + 0) / 2
    assert reported["metrics"]["accuracy/rr_at_1"] == 0.0
    assert reported["metrics"]["interval/rr_at_3_n_undefined"] == 0
    assert reported["curve"] == [[1, 0.0], [3, 0.25]]
    assert reported["returned"] == {k: v for k, v in reported["metrics"].items() if k[:4] != "by_k"}
    assert reported["artifacts"] == ["conventions", "per_user", "report", "summary"]
    assert reported["files"] == [
        f"concord/{name}"
        for name in ("conventions.yaml", "per_user.parquet", "report.html", "summary.json")
    ]
    assert reported["per_user"] == {"user": ["ann", "bob"], "RR@3": [0.5, 0.0], "RR@1": [0.0, 0.0]}
    assert reported["status"] == "FINISHED"


def test_a_run_holds_metrics_curve_and_artifacts(client: MlflowClient) -> None:
    _assert_run_is_complete(evaluate_once("mlflow.models.evaluate"))


def test_the_entry_point_of_the_package_is_the_evaluator() -> None:
    assert entry_points(group=GROUP)["concord"].load() is ConcordEvaluator


@pytest.mark.nightly
def test_mlflow_2_finds_the_evaluator(tmp_path: Path) -> None:
    path = _run_of_script(python_with(FOLDER / "with_mlflow_2.txt"), tmp_path, "mlflow.evaluate")

    assert path["version"].startswith("2.22.")
    _assert_run_is_complete(path)


EXP2 = cc.preset("standard", gain="exp2")


@pytest.mark.parametrize("settings", [{"conventions": {"gain": "exp2"}}, {"preset": EXP2}])
def test_the_numbers_and_intervals_are_those_of_the_library(
    client: MlflowClient, settings: dict[str, Any]
) -> None:
    result = _evaluate_frame({"metrics": ["nDCG@3"], **settings})
    (row,) = cc.evaluate(RECS, GRADES, metrics=["nDCG@3"], conventions=EXP2).to_frame().to_dicts()

    assert result.metrics == {
        "accuracy/ndcg_at_3": row["mean"],
        "interval/ndcg_at_3_ci_low": row["ci_low"],
        "interval/ndcg_at_3_ci_high": row["ci_high"],
        "interval/ndcg_at_3_n_undefined": 0,
    }


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_data_sets_of_mlflow_are_accepted(client: MlflowClient, kind: str) -> None:
    columns = {"recs": list(RECS.values()), "truth": [["b"], ["x"]]}
    data: Dataset = (
        mlflow.data.from_pandas(pd.DataFrame(columns), predictions="recs", targets="truth")  # type: ignore[attr-defined]
        if kind == "pandas"
        else mlflow.data.from_polars(pl.DataFrame(columns), predictions="recs", targets="truth")  # type: ignore[attr-defined]
    )
    config = {"metrics": ["RR@3"], "per_user": True, "report": False}
    result = _evaluate(data, config, kind="recommender")

    assert result.metrics["accuracy/rr_at_3"] == 0.25
    assert sorted(result.artifacts) == ["conventions", "per_user", "summary"]
    assert result.artifacts["per_user"].content["user"].tolist() == [1, 2]


def test_filled_grades_of_other_users_are_ignored(
    client: MlflowClient,
) -> None:
    filled = [{"b": 3, "d": None, "x": None}, {"b": None, "d": 1, "x": 2}]
    results, expected = (_evaluate_frame({}, truth=truth) for truth in (filled, [*GRADES.values()]))

    assert results.metrics == expected.metrics


def test_model_without_lists_has_a_score(client: MlflowClient) -> None:
    result = _evaluate_frame({"metrics": ["RR@3"]}, recs=[[], []])

    assert result.metrics["accuracy/rr_at_3"] == 0.0


@pytest.mark.parametrize("kind", ["regressor", "question-answering", "retriever", None])
def test_other_types_of_models_are_not_evaluated(kind: str | None) -> None:
    assert not ConcordEvaluator.can_evaluate(model_type=kind, evaluator_config={})  # type: ignore[arg-type]


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "unknown setting": (
        {},
        {"metric": ["RR@3"]},
        "evaluator_config: 'metric': is not a setting of Concord\n  fix: did you mean 'metrics'?",
    ),
    "items to count": (
        {},
        {
            "conventions": {
                "candidates": {"negatives": 4, "catalogue": "items", "sampling": "uniform"}
            }
        },
        "conventions.candidates.catalogue: reads train or items, but `mlflow.models.evaluate` "
        "reads only lists and ground truth\n  fix: write the number of items",
    ),
    "no list": (
        {"recs": [["a"], "b"]},
        {},
        "data: column 'recs', row 2: is 'b' (str), not a list of items",
    ),
    "mixed truth": (
        {"truth": [["a"], {"b": 1}]},
        {},
        "data: column 'truth': has lists in some rows, dicts in others",
    ),
    "no such column": (
        {},
        {"user": "customer"},
        "evaluator_config: 'user': is 'customer', but the frame has user",
    ),
    "a user twice": (
        {"user": ["ann", "ann"]},
        {"user": "user"},
        "data: column 'user', row 2: user 'ann' occurs in row 1 too",
    ),
    "no id": (
        {"user": ["ann", None]},
        {"user": "user"},
        "data: column 'user', row 2: nan is not a user id",
    ),
    "no switch": (
        {},
        {"per_user": "yes"},
        "evaluator_config: 'per_user': is 'yes'\n  fix: write True or False",
    ),
    "a list of columns": (
        {},
        {"user": ["user"]},
        "evaluator_config: 'user': is ['user']\n  fix: write the name of one column",
    ),
    "two presets": (
        {},
        {"conventions": {"preset": "ms_recommenders"}},
        "evaluator_config: 'conventions': names a preset",
    ),
    "conventions with a whole preset": (
        {},
        {"preset": cc.preset("standard"), "conventions": {"gain": "exp2"}},
        "evaluator_config: 'conventions': is set, but `preset` has all conventions",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_data_or_setting_is_refused_in_plain_words(client: MlflowClient, name: str) -> None:
    columns, config, message = REFUSED[name]

    assert message in refusal_of(lambda: _evaluate_frame(config, **columns))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"metrics": ["Entropy@3"]}, "Entropy@3 is one number over all users"),
        ({"preset": "nope"}, "preset: 'nope' is not a preset"),
    ],
)
def test_refusal_of_the_library_is_a_value_error_and_nothing_is_logged(
    client: MlflowClient, config: dict[str, Any], message: str
) -> None:
    with mlflow.start_run() as run, pytest.raises(ValueError, match=re.escape(message)):
        evaluate(
            data=_frame(),
            predictions="recs",
            targets="truth",
            model_type="ranker",
            evaluators="concord",
            evaluator_config=config,
        )
    run_data = client.get_run(run.info.run_id).data

    assert run_data.metrics == {}
    assert not {tag for tag in run_data.tags if tag.startswith("concord.")}


def test_a_model_instead_of_lists_is_refused(client: MlflowClient) -> None:
    message = refusal_of(
        lambda: _evaluate(_frame(), {}, model=lambda frame: frame["recs"], targets="truth")
    )

    assert message.startswith("model: is set, but Concord evaluates existing lists")


def test_a_truncated_spark_frame_is_refused(client: MlflowClient) -> None:
    """MLflow logs the number of rows of a Spark frame, and passes only the first 10,000."""
    data = mlflow.data.from_pandas(_frame(), predictions="recs", targets="truth")  # type: ignore[attr-defined]
    dataset = data.to_evaluation_dataset()
    entity = data._to_mlflow_entity()
    entity._profile = '{"approx_count": 25000}'  # as in SparkDataset.profile
    with mlflow.start_run() as run:
        client.log_inputs(run.info.run_id, [DatasetInput(entity, [])])
        with pytest.raises(InputError) as refused:
            ConcordEvaluator().evaluate(
                model_type="ranker", dataset=dataset, run_id=run.info.run_id, evaluator_config={}
            )

    assert str(refused.value).startswith(
        "data: is a Spark frame of about 25,000 rows, but MLflow passes only 2\n"
    )
