"""`concord audit` on the demo: the same results as the library's, as text, JSON and CSV."""

import csv
import json
from pathlib import Path

import pytest

from tests.library import audit_of_project
from tests.project import attempt, change_params, copied_from, run


@pytest.fixture(scope="module")
def project(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied_from(demo, tmp_path_factory.mktemp("audit"))


def test_findings_are_printed_and_no_file_changes(project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}

    output = run(project, "concord", "audit", COLUMNS="120")

    lines = output.splitlines()
    assert lines[0].startswith("1 of 11 checks found something, 1,192 users, conventions ")
    assert lines[1].split() == ["check", "rows", "users", "items", "nDCG@10", "R@20"]
    assert max(map(len, lines)) <= 120
    assert (
        "cold_users (notice)\n61 users of the ground truth (5.1\N{NO-BREAK SPACE}%) have no "
        "training row" in output
    )
    assert "; the ranking of the models stays the same." in " ".join(lines)
    assert "see: Schein et al. 2002" in lines
    assert {file: file.read_bytes() for file in project.rglob("*") if file.is_file()} == before


def test_command_equals_the_library(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = tmp_path / "audit.csv"
    content = json.loads(run(project, "concord", "audit", "--json", "--csv", str(table)))
    monkeypatch.chdir(project)

    audit = audit_of_project(project)

    expected = json.loads(json.dumps(audit.to_dict()))
    assert content.keys() == expected.keys()
    assert content["checks"] == expected["checks"]
    assert content["n_users"] == 1192
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert len(rows) == len(audit.effects)
    assert float(rows[0]["shift"]) == audit.effects["shift"][0]


def test_missing_entry_is_refused(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    folder = attempt(copy, "concord", "audit", "--csv", "results")
    (copy / "results" / "data" / "train.parquet").unlink()
    unloaded = attempt(copy, "concord", "audit")
    change_params(copy, {"background": {}, "segments": {}, "evaluation.metrics": ["nDCG", "R"]})
    trainless = attempt(copy, "concord", "audit")

    assert (folder.returncode, unloaded.returncode, trainless.returncode) == (2, 2, 2)
    assert "'results' is a folder" in folder.stderr
    assert "train.parquet: there is no such file" in unloaded.stderr
    assert "an audit needs the training set, which is missing" in trainless.stderr
    assert "name its file as `background.train`" in trainless.stderr


def test_results_that_are_older_than_params_are_reported(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    change_params(copy, {"comparison.primary": ["R@20"]})

    process = attempt(copy, "concord", "audit", COLUMNS="200")

    assert "has changed since these results were made: run `dvc repro`" in process.stderr
    assert process.stdout.splitlines()[1].split() == ["check", "rows", "users", "items", "R@20"]
