"""How models stand in the last comparison lies on their runs, in a real sqlite store."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from concord.pipeline.running.outputs import write_json
from concord.pipeline.tracking.log import log
from tests.pipeline.tracking.log_project import params_of
from tests.pipeline.tracking.stores import Logged, client_interrupted_at, points, runs_of

DIFFERENCE, P = "difference/ndcg_at_10", "p_adjusted/ndcg_at_10"
VERDICT = "concord.verdict.ndcg_at_10"


def _als(client: MlflowClient) -> Run:
    (als,) = runs_of(client)["als"]
    return als


def _compared_anew(**changed: Any) -> None:
    file = Path("results/comparison/comparison.json")
    content = json.loads(file.read_text())
    content["differences"][0].update(changed)
    write_json(file, content)


def test_runs_are_found_by_difference_p_and_verdict(logged_twice: Logged) -> None:
    client, als = logged_twice.client, logged_twice.run("als")
    found = client.search_runs(
        [als.info.experiment_id],
        f"metrics.`{DIFFERENCE}` > 0.04 and metrics.`{P}` < 0.01 and tags.`{VERDICT}` = 'better'",
    )

    assert [run.info.run_name for run in found] == ["als"]
    assert (als.data.tags["concord.place"], als.data.tags["concord.baseline"]) == ("1 of 2", "popularity")  # fmt: skip
    assert points(client, als, DIFFERENCE) == [(0, 0.05)]  # though it was logged twice
    popularity = logged_twice.run("popularity")
    assert popularity.data.tags[VERDICT] == "baseline"
    assert {DIFFERENCE, P} & popularity.data.metrics.keys() == set()


def test_the_comparison_carries_what_its_leader_reaches(logged_twice: Logged) -> None:
    comparison = logged_twice.run("comparison")

    assert comparison.data.metrics == {
        "leader/ndcg_at_10": 0.40,
        "leader/difference_ndcg_at_10": 0.05,
        "leader/p_adjusted_ndcg_at_10": 0.004,
    }
    assert comparison.data.tags["concord.leader.ndcg_at_10"] == "als"
    assert comparison.data.tags[VERDICT] == "better"


def test_a_run_stands_as_the_last_comparison_says_and_remains_one_run(client: MlflowClient) -> None:
    log(params_of(Path()))
    _compared_anew(p_adjusted=0.2, verdict="undecided")
    log(params_of(Path()))
    als = _als(client)

    assert als.data.tags[VERDICT] == "undecided"
    assert als.data.metrics[P] == 0.2
    assert points(client, als, P) == [(0, 0.004), (0, 0.2)]
    assert points(client, als, DIFFERENCE) == [(0, 0.05)]  # it did not change
    assert als.data.tags["concord.comparison"] == runs_of(client)["comparison"][0].info.run_id

    _compared_anew(difference=None, p_adjusted=None, verdict="too_few_users")
    log(params_of(Path()))

    assert math.isnan(_als(client).data.metrics[DIFFERENCE])
    assert math.isnan(_als(client).data.metrics[P])


def test_a_standing_that_was_interrupted_is_completed(
    client: MlflowClient, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = client_interrupted_at("get_run", f"sqlite:///{project}/mlflow.db")
    with monkeypatch.context() as patch:
        patch.setattr("mlflow.MlflowClient", type(interrupted))
        with pytest.raises(KeyboardInterrupt):
            log(params_of(Path()))
    before = _als(client).data
    log(params_of(Path()))

    assert VERDICT not in before.tags
    assert _als(client).data.tags[VERDICT] == "better"
    assert len(runs_of(client)["comparison"]) == 1


def test_data_sets_have_a_schema_and_a_profile(logged_twice: Logged) -> None:
    inputs = logged_twice.run("als").inputs
    assert inputs is not None
    schemas, profiles = {}, {}
    for used in inputs.dataset_inputs:
        columns = json.loads(used.dataset.schema or "")["mlflow_colspec"]
        schemas[used.dataset.name] = {each["name"]: each["type"] for each in columns}
        profiles[used.dataset.name] = json.loads(used.dataset.profile or "")

    assert schemas == {
        "truth": {"user": "string", "item": "long", "grade": "double"},
        "lists": {"user": "string", "item": "long", "rank": "long", "score": "double"},
    }
    assert profiles == {
        "truth": {"num_rows": 90, "num_elements": 270, "num_users": 40, "num_items": 30},
        "lists": {"num_rows": 400, "num_elements": 1600, "num_users": 39, "num_items": 25},
    }
