"""Credentials in an MLflow address are shown nowhere: all bytes that a stage writes are read."""

import shutil
import subprocess
from pathlib import Path

import pytest
from mlflow import MlflowClient

from concord.pipeline.mlflow.client import Tracking
from concord.pipeline.running.failures import without_credentials
from tests.pipeline.mlflow.log_project import free_port, write_project
from tests.project import ROOT, attempt

SECRETS = ("hunter2", "s3cr", "alice")


def _written(root: Path) -> str:
    files = [path for path in (root / "results").rglob("*") if path.is_file()]
    assert files
    return "".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


SERVER = "http://alice:hunter2/s3cr@127.0.0.1:{port}/?token=s3cr"
DATABASE = "postgresql://alice:hunter2/s3cr@127.0.0.1:{port}/db?password=s3cr"


@pytest.mark.parametrize(("uri", "flags"), [(SERVER, []), (SERVER, ["--debug"]), (DATABASE, [])])
def test_a_store_that_cannot_be_opened_keeps_its_secrets(
    tmp_path: Path, uri: str, flags: list[str]
) -> None:
    project = write_project(tmp_path / "p", uri=uri.format(port=free_port()))
    done = attempt(project, "concord", "stage", "log", *flags)
    assert done.returncode == 1
    assert flags or "MLflow at" in done.stderr
    _assert_silent(done.stdout + done.stderr + _written(project))


@pytest.mark.filterwarnings("ignore:Query string argument")  # SQLAlchemy, of the token
@pytest.mark.parametrize("key", ["timeout", "token"])
def test_a_store_that_is_opened_keeps_its_secrets(
    tmp_path: Path, empty_store: Path, key: str
) -> None:
    project = write_project(tmp_path / "p", uri=f"sqlite:///mlflow.db?{key}=17.125")
    shutil.copy(empty_store, project / "mlflow.db")
    done = attempt(project, "concord", "stage", "log")
    assert done.returncode == 0, done.stderr
    client = MlflowClient(tracking_uri=f"sqlite:///{project}/mlflow.db")
    (experiment,) = [e for e in client.search_experiments() if e.name == "demo"]
    runs = client.search_runs([experiment.experiment_id])
    logged = "".join(str(run.to_dictionary()) for run in runs)
    assert len(runs) == 3
    for text in (done.stdout, done.stderr, _written(project), logged, str(experiment)):
        assert "17.125" not in text
        assert f"?{key}" not in text
    assert b"17.125" not in (project / "mlflow.db").read_bytes()


def test_a_refused_params_file_keeps_its_secrets(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p")
    text = (project / "params.yaml").read_text(encoding="utf-8")
    section = text[text.index('"mlflow": {') : text.index('"results": {')]
    wrong = '"mlflow": "http://alice:hunter2@localhost/?token=s3cr",\n  '
    (project / "params.yaml").write_text(text.replace(section, wrong), encoding="utf-8")
    done = attempt(project, "concord", "stage", "log")
    assert done.returncode == 2
    assert ", mlflow: is 'http://localhost/'" in done.stderr
    _assert_silent(done.stdout + done.stderr)


@pytest.mark.parametrize(
    "password", ["s3'cret", 's3"cret', "s3<cret", "s3 cret", "12/a", "s3?cret", "s3/cret"]
)
def test_a_password_of_any_signs_is_cut_from_the_address(password: str) -> None:
    tracking = Tracking(f"postgresql://ann:{password}@host/db?password={password}")

    assert tracking.safe_uri == "postgresql://host/db"
    assert password not in str(tracking.error(OSError(f"no way to {tracking.uri}, ann:{password}")))


@pytest.mark.parametrize(
    ("text", "recommended"),
    [
        ("http://a:b@h/x", "http://h/x"),
        ("at 'https://a@h:5000' now", "at 'https://h:5000' now"),
        ("postgresql://a:b/c@h/db?x=1, again", "postgresql://h/db again"),
        ("http://a:b@c@h", "http://h"),
        ("sqlite:////x/y.db?key=1", "sqlite:////x/y.db"),
        ("http://h:5000/a@b", "http://h:5000/a@b"),
        ("http://h?token=s3cr#hunter2", "http://h"),
        ("gopher://a:b@h:1/?token=s3cr", "gopher://h:1/"),
        ("mail a@b, why? because", "mail a@b, why? because"),
    ],
)
def test_addresses_are_shown_without_credentials(text: str, recommended: str) -> None:
    assert without_credentials(text) == recommended


def test_addresses_with_secrets_are_in_no_committed_file() -> None:
    """The demo's own params name a local file."""
    tracked = subprocess.run(
        [
            "git",
            "grep",
            "-InE",
            r"(https?|postgresql|mysql)://[^/ ]+:[^/ ]+@",
            "--",
            ":!tests",
            ":!CHANGELOG.md",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tracked.stdout == ""


def _assert_silent(text: str) -> None:
    for secret in SECRETS:
        assert secret not in text
