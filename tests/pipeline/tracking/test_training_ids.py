"""Ids of training runs that stand in files which the training writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.tracking.content.comparison_content import contents
from concord.pipeline.tracking.content.training_ids import training_ids
from tests.pipeline.refusals import refusal_of
from tests.pipeline.tracking.log_project import params_of, write_project

RUN = "2ddc4ecdd06340f683e1ad25ec01c6a9"


def _ids(project: Path, named: Any, **mlflow: Any) -> dict[str, str]:
    return training_ids(params_of(write_project(project, training={"als": named}, **mlflow)))


def test_the_whole_text_of_a_file_is_the_id(project: Path) -> None:
    Path("run.txt").write_text(f"  {RUN}\n")

    assert _ids(project, {"file": "run.txt"}) == {"als": RUN}


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("run_id", {"run_id": RUN}),
        ("mlflow.als.run_id", {"mlflow": {"als": {"run_id": RUN}}}),
        ("mlflow.als.run_id", {"mlflow": {"als.run_id": RUN}}),
        ("mlflow.run_id", {"mlflow.run_id": RUN}),
    ],
)
def test_a_key_leads_to_the_id_in_json(project: Path, key: str, content: Any) -> None:
    Path("run.json").write_text(json.dumps(content))

    assert _ids(project, {"file": "run.json", "key": key}) == {"als": RUN}


def test_an_id_from_a_file_is_logged_as_if_it_stood_in_params(project: Path) -> None:
    Path("run.txt").write_text(RUN)
    read = contents(params_of(write_project(project, training={"als": {"file": "run.txt"}})))
    named = contents(params_of(write_project(project, training={"als": RUN})))

    assert read.models[1].training == named.models[1].training
    assert read.fingerprints == named.fingerprints


REFUSED: dict[str, tuple[bytes | None, str | None, str]] = {
    "missing": (None, None, "run: there is no such file, and models.als.training_run_id reads it\n"),
    "empty": (b"\n", None, "run: is empty\n"),
    "two lines": (b"a\nb\n", None, "run: has 2 lines, not one\n"),
    "binary": (b"\x80\x04\x95", None, "run: is no text in UTF-8\n"),
    "a NUL": (b"a\0b", None, "run: is no text: it holds a NUL\n"),
    "too large": (b"a" * 1_000_001, None, "run: has more than 1,000,000 bytes\n"),
    "JSON without a key": (b'{"run_id": "a"}', None, "run: holds JSON, and `models.als.training_run_id` names no key of it\n"),
    "no such key": (b'{"id": "a"}', "run_id", "run: has no key 'run_id'; it holds id\n"),
    "no such key below": (b'{"mlflow": "a"}', "mlflow.run_id", "run: has no key 'mlflow.run_id'; it holds mlflow\n"),
    "no JSON": (b"a", "run_id", "run: is not valid JSON: Expecting value"),
    "a number": (b'{"run_id": 12}', "run_id", "run: run_id: is 12, which is no text\n"),
    "an essay": (b"a" * 251, None, "run: is no id of a run: 'aaa"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_holds_no_id_is_refused(project: Path, name: str) -> None:
    content, key, message = REFUSED[name]
    if content is not None:
        Path("run").write_bytes(content)
    refusal = refusal_of(lambda: _ids(project, {"file": "run", "key": key}))

    assert refusal.startswith(message)
    assert "\n  fix: " in refusal


def test_a_folder_is_refused(project: Path) -> None:
    with pytest.raises(InputError, match=r"results: is a folder"):
        _ids(project, {"file": "results"})


def test_a_file_outside_the_project_is_refused_unless_that_is_allowed(project: Path) -> None:
    (project.parent / "run.txt").write_text(RUN)
    refusal = refusal_of(lambda: _ids(project, {"file": "../run.txt"}))
    write_project(project, training={"als": {"file": "../run.txt"}})
    settings = json.loads(Path("params.yaml").read_text())
    settings["input"]["allow_outside"] = True
    Path("params.yaml").write_text(json.dumps(settings))

    assert refusal == (
        "../run.txt: lies outside the repository\n  fix: copy it into the repository and name it in "
        "`models.als.training_run_id.file`, or set `input.allow_outside: true`"
    )
    assert training_ids(params_of(project)) == {"als": RUN}


def test_two_files_with_one_id_cannot_take_the_metrics_of_two_models(project: Path) -> None:
    Path("run.txt").write_text(RUN)
    training = {model: {"file": "run.txt"} for model in ("popularity", "als")}
    params = params_of(write_project(project, training=training, attach="metrics"))

    assert refusal_of(lambda: training_ids(params)).startswith(
        f"params.yaml: models.als.training_run_id: '{RUN}' is the training run of popularity too\n"
    )
    assert training_ids(params_of(write_project(project, training=training))) == {
        "popularity": RUN,
        "als": RUN,
    }


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"file": ""}, "models.als.training_run_id.file: is ''"),
        ({"path": "run.txt"}, "models.als.training_run_id.path: is not a key that Concord knows"),
        (["run.txt"], "models.als.training_run_id: is ['run.txt']\n  fix: write a text"),
    ],
)
def test_what_is_neither_text_nor_file_is_refused(project: Path, named: Any, message: str) -> None:
    assert message in refusal_of(lambda: _ids(project, named))
