"""Evaluations that are attached to training runs, by ids in params.yaml or in files."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from concord.pipeline.mlflow.evaluation_runs import evaluation_runs
from concord.pipeline.mlflow.log import main as log
from concord.pipeline.mlflow.newest import newest_search
from concord.pipeline.mlflow.training_runs import log_on_training_run, training_run_ids
from concord.pipeline.params.model import Params
from concord.pipeline.running.outputs import write_json
from tests.pipeline.mlflow.log_project import MEANS, params_of, write_project
from tests.pipeline.mlflow.stores import client_interrupted_at, points, runs_of
from tests.pipeline.refusals import refusal_of

STARTED, ENDED = 1_700_000_000_000, 1_700_000_100_000


@pytest.fixture
def trained(client: MlflowClient, project: Path) -> str:
    """Return the id of a finished training run, in a separate experiment."""
    experiment = client.create_experiment("training", (project / "mlruns").as_uri())
    run = client.create_run(experiment, start_time=STARTED, run_name="als-64-factors")
    client.log_metric(run.info.run_id, "loss", 0.1, timestamp=STARTED)
    client.log_param(run.info.run_id, "ks", "of the training")
    client.set_tag(run.info.run_id, "mlflow.note.content", "as the script describes it")
    client.set_terminated(run.info.run_id, end_time=ENDED)
    return str(run.info.run_id)


def params_with_run(folder: Path, run_id: str, attach: str, **also: str) -> Params:
    return params_of(write_project(folder, training={"als": run_id, **also}, attach=attach))


def test_metrics_are_added_to_a_finished_training_run(
    client: MlflowClient, trained: str, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="concord")
    params = params_with_run(project, trained, "metrics")
    for _ in range(2):
        log(params)
    run = client.get_run(trained)
    runs = runs_of(client)

    assert (run.info.status, run.info.start_time, run.info.end_time) == (
        "FINISHED",
        STARTED,
        ENDED,
    )
    assert run.data.metrics["loss"] == 0.1
    assert points(client, run, "accuracy/ndcg_at_10") == [(0, 0.40)]
    assert points(client, run, "by_k/ndcg") == [(5, 0.36), (10, 0.40)]
    assert run.data.params == {"ks": "of the training"}
    assert run.data.tags["concord.param.ks"] == "5, 10"
    assert run.data.tags["concord.verdict.ndcg_at_10"] == "better"
    assert run.data.tags["mlflow.note.content"] == "as the script describes it"
    assert {f.path for f in client.list_artifacts(trained, "concord")} == {
        "concord/conventions.yaml",
        "concord/inputs.json",
        "concord/metrics",
        "concord/report.html",
        "concord/report.md",
    }
    assert "als" not in runs
    assert runs["comparison"][0].data.tags["concord.run.als"] == trained
    assert [record.message for record in caplog.records if trained in record.message] == [
        f"als: attached to run {trained}",
        f"als: already in run {trained}",
    ]


@pytest.mark.parametrize("step", ["log_batch", "log_inputs", "log_artifact"])
def test_an_interrupted_attachment_is_completed_with_one_point_a_step(
    client: MlflowClient, trained: str, project: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = params_with_run(project, trained, "metrics")
    als = evaluation_runs(params).models[1]
    interrupted = client_interrupted_at(step, f"sqlite:///{project}/mlflow.db")
    with pytest.raises(KeyboardInterrupt):
        log_on_training_run(interrupted, client.get_run(trained), als)
    log(params)
    run = client.get_run(trained)

    assert points(client, run, "accuracy/ndcg_at_10") == [(0, 0.40)]
    assert run.info.end_time == ENDED


def test_a_child_is_below_the_training_run_in_its_experiment(
    client: MlflowClient, trained: str, project: Path
) -> None:
    params = params_with_run(project, trained, "child")
    for _ in range(2):
        log(params)
    training = client.get_run(trained)
    (child,) = client.search_runs(
        [training.info.experiment_id], f"tags.`mlflow.parentRunId` = '{trained}'"
    )
    runs = runs_of(client)

    assert (child.info.run_name, child.info.status) == ("als", "FINISHED")
    assert points(client, child, "accuracy/ndcg_at_10") == [(0, 0.40)]
    assert training.data.metrics == {"loss": 0.1}
    assert (training.info.status, training.info.end_time) == ("FINISHED", ENDED)
    assert "als" not in runs
    assert runs["comparison"][0].data.tags["concord.run.als"] == child.info.run_id


def test_both_logs_a_child_and_primary_metrics_beside_the_parameters(
    client: MlflowClient, trained: str, project: Path
) -> None:
    log(params_with_run(project, trained, "child"))
    params = params_with_run(project, trained, "both")
    for value in (0.40, 0.31, 0.40):
        write_json(project / "results/metrics/als.json", {**MEANS["als"], "nDCG@10": value})
        log(params)
    run = client.get_run(trained)
    children = client.search_runs(
        [run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{trained}'"
    )

    assert run.data.params == {"ks": "of the training"}
    assert run.data.metrics == {"loss": 0.1, "accuracy/ndcg_at_10": 0.40}
    assert points(client, run, "accuracy/ndcg_at_10") == [(0, 0.40), (0, 0.31), (0, 0.40)]
    assert (run.info.status, run.info.end_time) == ("FINISHED", ENDED)
    assert len(children) == 2  # of two evaluations; that of `child` is found again
    assert runs_of(client)["comparison"][0].data.tags["concord.run.als"] in {
        child.info.run_id for child in children
    }


def test_only_the_newest_comparison_and_its_models_carry_the_tag(
    client: MlflowClient, trained: str, project: Path
) -> None:
    def found() -> list[str]:
        experiments = [each.experiment_id for each in client.search_experiments()]
        runs = client.search_runs(experiments, newest_search("demo"))
        return sorted(run.info.run_name for run in runs)

    log(params_with_run(project, trained, "child"))
    assert found() == ["als", "comparison", "popularity"]
    params = params_with_run(project, trained, "both")
    log(params)
    assert found() == ["als-64-factors", "comparison", "popularity"]
    client.set_tag(trained, "concord.newest", "of another evaluation")
    log(params)
    write_json(project / "results/metrics/popularity.json", {**MEANS["popularity"], "nDCG@5": 0.2})
    log(params_of(write_project(project, means={**MEANS, "als": {**MEANS["als"], "Rprec": 0.1}})))
    assert found() == ["als", "comparison", "popularity"]
    assert "concord.newest" not in client.get_run(trained).data.tags


def test_a_quote_in_the_name_of_the_experiment_can_be_searched(
    client: MlflowClient, project: Path
) -> None:
    log(params_of(write_project(project, experiment="Ana's shop")))
    experiment = client.get_experiment_by_name("Ana's shop")

    assert experiment is not None
    assert len(client.search_runs([experiment.experiment_id], newest_search("Ana's shop"))) == 3


@pytest.mark.fault(26, "one warning; the model gets its own run with the id as a tag")
@pytest.mark.parametrize("attach", ["metrics", "child"])
def test_models_with_unknown_or_deleted_training_runs_get_separate_runs(
    client: MlflowClient, trained: str, project: Path, attach: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The ids are in git, so clones have them without the database of the training."""
    client.delete_run(trained)
    params = params_with_run(project, trained, attach, popularity="no-such-run")
    for _ in range(2):
        log(params)
    runs = runs_of(client)
    (als,), (popularity,) = runs["als"], runs["popularity"]

    assert len(runs) == 3
    assert als.data.tags["concord.training_run"] == trained
    assert popularity.data.tags["concord.training_run"] == "no-such-run"
    assert points(client, als, "accuracy/ndcg_at_10") == [(0, 0.40)]
    assert "report.html" in {file.path for file in client.list_artifacts(als.info.run_id)}
    assert caplog.messages == 2 * [
        "warning: MLflow at sqlite:///mlflow.db has no active training run of popularity and als: "
        "each has a separate run, with the id as the tag concord.training_run. To attach them, "
        "let training and evaluation share one MLflow (mlflow.tracking_uri), or restore deleted "
        "runs (`mlflow runs restore`); then `concord log --again`"
    ]


def test_metrics_are_added_to_a_training_run_found_later(
    client: MlflowClient, trained: str, project: Path
) -> None:
    """The training run is in the experiment of the model's own run."""
    params = params_of(write_project(project, training={"als": trained}, experiment="training"))
    client.delete_run(trained)
    log(params)
    client.restore_run(trained)
    for _ in range(2):
        log(params)
    parents = [
        run.data.tags.get("mlflow.parentRunId") for run in runs_of(client, "training")["als"]
    ]

    assert parents == [trained, None]


def test_two_models_cannot_write_their_metrics_into_one_run(tmp_path: Path) -> None:
    def written(**mlflow: Any) -> Path:
        return write_project(tmp_path, training={"popularity": "a", "als": "a"}, **mlflow)

    for attach in ("metrics", "both"):
        file = written(attach=attach)
        assert refusal_of(partial(params_of, file)).endswith(
            "models.als.training_run_id: 'a' is the training run of popularity too\n"
            "  fix: name another run, or set `mlflow.attach: child`"
        )
    assert params_of(written(attach="child"))


RUN = "2ddc4ecdd06340f683e1ad25ec01c6a9"


def run_ids(project: Path, selected: Any, **mlflow: Any) -> dict[str, str]:
    return training_run_ids(params_of(write_project(project, training={"als": selected}, **mlflow)))


def test_id_is_the_complete_text_of_a_file(project: Path) -> None:
    Path("run.txt").write_text(f"  {RUN}\n")

    assert run_ids(project, {"file": "run.txt"}) == {"als": RUN}


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("run_id", {"run_id": RUN}),
        ("mlflow.als.run_id", {"mlflow": {"als": {"run_id": RUN}}}),
        ("mlflow.run_id", {"mlflow.run_id": RUN}),
    ],
)
def test_id_in_json_is_read_by_its_key(project: Path, key: str, content: Any) -> None:
    Path("run.json").write_text(json.dumps(content))

    assert run_ids(project, {"file": "run.json", "key": key}) == {"als": RUN}


def test_ids_from_files_and_params_are_logged_alike(project: Path) -> None:
    Path("run.txt").write_text(RUN)
    read = evaluation_runs(params_of(write_project(project, training={"als": {"file": "run.txt"}})))
    selected = evaluation_runs(params_of(write_project(project, training={"als": RUN})))

    assert read.models[1].training == selected.models[1].training
    assert read.fingerprints == selected.fingerprints


REFUSED: dict[str, tuple[bytes | None, str | None, str]] = {
    "missing": (None, None, "run: cannot be read for models.als.training_run_id: No such file"),
    "empty": (b"\n", None, "run: is '\\n', not a run id\n"),
    "two lines": (b"a\nb\n", None, "run: is 'a\\nb\\n', not a run id\n"),
    "binary": (b"\x80\x04\x95", None, "run: is not a text in UTF-8\n"),
    "too large": (b"a" * 1_000_001, None, "run: has more than 1,000,000 bytes\n"),
    "JSON without a key": (
        b'{"run_id": "a"}',
        None,
        "run: is JSON, and `models.als.training_run_id` names no key of it\n",
    ),
    "no such key": (b'{"id": "a"}', "run_id", "run: has no key 'run_id'; it has id\n"),
    "no JSON": (b"a", "run_id", "run: is not valid JSON: Expecting value"),
    "a number": (b'{"run_id": 12}', "run_id", "run: run_id: is 12, not a run id\n"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_an_id_is_refused(project: Path, name: str) -> None:
    content, key, message = REFUSED[name]
    if content is not None:
        Path("run").write_bytes(content)
    refusal = refusal_of(lambda: run_ids(project, {"file": "run", "key": key}))

    assert refusal.startswith(message)
    assert "\n  fix: " in refusal


def test_a_pipe_is_refused_before_it_is_opened(project: Path) -> None:
    os.mkfifo("run")

    assert refusal_of(lambda: run_ids(project, {"file": "run"})).startswith(
        "run: is a pipe, a socket or a device"
    )


def test_a_file_outside_the_project_is_refused_unless_allowed(project: Path) -> None:
    (project.parent / "run.txt").write_text(RUN)
    refusal = refusal_of(lambda: run_ids(project, {"file": "../run.txt"}))
    write_project(project, training={"als": {"file": "../run.txt"}})
    settings = json.loads(Path("params.yaml").read_text())
    settings["input"]["allow_outside"] = True
    Path("params.yaml").write_text(json.dumps(settings))

    assert refusal == (
        "../run.txt: is outside the repository\n  fix: copy it into the repository and name it in "
        "`models.als.training_run_id.file`, or set `input.allow_outside: true`"
    )
    assert training_run_ids(params_of(project)) == {"als": RUN}


def test_two_files_with_one_id_cannot_take_the_metrics_of_two_models(project: Path) -> None:
    Path("run.txt").write_text(RUN)
    training = {model: {"file": "run.txt"} for model in ("popularity", "als")}
    params = params_of(write_project(project, training=training, attach="metrics"))

    assert refusal_of(lambda: training_run_ids(params)).startswith(
        f"params.yaml: models.als.training_run_id: '{RUN}' is the training run of popularity too\n"
    )
    assert training_run_ids(params_of(write_project(project, training=training))) == {
        "popularity": RUN,
        "als": RUN,
    }


@pytest.mark.parametrize(
    ("selected", "message"),
    [
        ({"file": ""}, "models.als.training_run_id.file: is ''"),
        ({"path": "run.txt"}, "models.als.training_run_id.path: is not a key that Concord knows"),
        (["run.txt"], "models.als.training_run_id: is ['run.txt']\n  fix: write a text"),
    ],
)
def test_training_run_id_that_is_neither_text_nor_file_is_refused(
    project: Path, selected: Any, message: str
) -> None:
    assert message in refusal_of(lambda: run_ids(project, selected))
