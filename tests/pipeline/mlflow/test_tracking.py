"""Addresses of MLflow: safe texts, paths of files, and databases that are refused."""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from concord.pipeline.mlflow.client import Tracking, TrackingError
from tests.pipeline.mlflow.log_project import write_project
from tests.project import attempt


def test_a_relative_database_is_in_the_original_project_of_an_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "project/.dvc/tmp/exps/copy"
    (copy / ".dvc").mkdir(parents=True)  # a separate repository
    monkeypatch.chdir(copy)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "project"))
    tracking = Tracking("sqlite:///mlflow.db?timeout=9")

    assert tracking.resolved_uri == f"sqlite:///{tmp_path}/project/mlflow.db?timeout=9"
    assert tracking.artifact_location == (tmp_path / "project/mlruns").as_uri()


def test_without_dvc_a_relative_database_is_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)

    assert Tracking("sqlite:///mlflow.db").database == tmp_path / "mlflow.db"
    assert Tracking("sqlite:////shared/mlflow.db").database == Path("/shared/mlflow.db")


@pytest.mark.fault(7, "Concord waits, then raises an error")
def test_locked_database_is_an_error_after_the_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("concord.pipeline.mlflow.client.LOCK_TIMEOUT", 0.2)
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with (
            pytest.raises(TrackingError, match="is in use by another process") as refused,
            Tracking(f"sqlite:///{tmp_path}/mlflow.db").lock(),
        ):
            pass

    assert refused.value.reason == "is in use by another process"


def test_unknown_mlflow_error_is_shown_by_its_first_line() -> None:
    tracking = Tracking("http://ann:s3@cret@h:1/team")
    error = tracking.error(OSError("no such place at http://b:c@d/e\nmore"))

    assert str(error).startswith(
        "MLflow at http://h:1/team failed: no such place at http://d/e (the results are on disk; "
    )


def test_a_database_in_use_is_waited_for(tmp_path: Path) -> None:
    tracking = Tracking(f"sqlite:///{tmp_path}/mlflow.db")
    with closing(sqlite3.connect(tmp_path / "mlflow.db", check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")

        def release() -> None:
            time.sleep(0.3)
            other.rollback()

        releasing = Thread(target=release)
        releasing.start()
        started = time.monotonic()
        with tracking.lock():
            waited = time.monotonic() - started
        releasing.join()

    assert waited > 0.2


@pytest.mark.fault(6, "no lock file is left")
def test_one_thread_at_a_time_locks_a_database_and_no_lock_is_left(tmp_path: Path) -> None:
    tracking = Tracking(f"sqlite:///{tmp_path}/mlflow.db")
    inside: list[int] = []
    most: list[int] = []

    def hold() -> None:
        for _ in range(20):
            with tracking.lock():
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1] * 80
    assert [path.name for path in tmp_path.iterdir()] == ["mlflow.db"]


NAME = """a%20b is it? 100 % #1 it's "quoted": yes\\b;c&d=e"""


def test_runs_are_in_a_checkout_of_any_name(tmp_path: Path, empty_store: Path) -> None:
    project = write_project(tmp_path / NAME)
    shutil.copy(empty_store, project / "mlflow.db")
    for n_new in (3, 0):
        done = attempt(project, "concord", "stage", "log")
        assert f"log: {n_new} new runs for 2 models; " in done.stderr

    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert {path.name for path in project.iterdir()} == {
        "mlflow.db",
        "mlruns",
        "params.yaml",
        "results",
    }
    assert len([*project.glob("mlruns/*/artifacts/metrics/*.json")]) == 2


def test_a_quoted_address_is_read_as_sqlalchemy_reads_it(tmp_path: Path) -> None:
    assert Tracking(f"sqlite:///{tmp_path}/my%20runs.db").database == tmp_path / "my runs.db"


def test_hint_to_view_the_runs_is_an_existing_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    local, other = Tracking("sqlite:///mlflow.db"), Tracking("sqlite:///my runs.db?timeout=9")
    command, page = "mlflow ui --backend-store-uri", "http://127.0.0.1:5000/#/x"
    assert local.view_hint("/#/x") == f"{command} sqlite:///mlflow.db, then open {page}"
    assert other.view_hint("/#/x").startswith(f"{command} 'sqlite:///my runs.db?timeout=9', ")
    assert Tracking("http://ann:s3cret@h:1/").view_hint("/#/x") == "http://h:1/#/x"
    assert Tracking("databricks").view_hint("/#/x") == "databricks"
