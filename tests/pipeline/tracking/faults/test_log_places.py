"""Wherever a checkout lies, its runs land in it; and how to look at them is said in words that work there."""

import shutil
from pathlib import Path

import pytest

from concord.pipeline.tracking.store import Tracking
from tests.pipeline.tracking.log_project import ROOT, write_project
from tests.project import run_stages

NAME = """a%20b is it? 100 % #1 it's "quoted": yes\\b;c&d=e"""


def test_runs_land_in_the_checkout_whatever_its_name(tmp_path: Path, empty_store: Path) -> None:
    project = write_project(tmp_path / NAME)
    shutil.copy(empty_store, project / "mlflow.db")
    for message in ("logged as run", "already there, run"):
        assert run_stages(project, "log").count(message) == 3

    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    assert {path.name for path in project.iterdir()} == {
        "mlflow.db",
        "mlflow.db.lock",
        "mlruns",
        "params.yaml",
        "results",
    }
    assert len([*project.glob("mlruns/*/artifacts/metrics/*.json")]) == 2


def test_a_quoted_address_is_read_as_sqlalchemy_reads_it(tmp_path: Path) -> None:
    assert Tracking(f"sqlite:///{tmp_path}/my%20runs.db").database == tmp_path / "my runs.db"


def test_how_to_look_at_the_runs_is_a_command_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    local, other = Tracking("sqlite:///mlflow.db"), Tracking("sqlite:///my runs.db?timeout=9")
    command = "mlflow ui --backend-store-uri"
    assert local.to_look == f"{command} sqlite:///mlflow.db"
    (tmp_path / "Makefile").write_text("all:\n\techo the user's own\n")
    assert local.to_look == f"{command} sqlite:///mlflow.db"
    assert other.to_look == f"{command} 'sqlite:///my runs.db?timeout=9'"
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    assert local.to_look == "make ui"
    assert other.to_look.startswith(command)
    assert Tracking("http://ann:s3cret@h:1").to_look == "http://h:1"
