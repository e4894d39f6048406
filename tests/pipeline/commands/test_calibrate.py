"""`concord calibrate FILE` on results that the library made, and on a revision of a git repository."""

import csv
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.comparison.stored import to_json
from tests.pipeline.revisions import commit, git
from tests.project import ROOT, attempt, run

TRUTH = {"u1": ["a"], "u2": ["b"]}
LISTS = {"als": {"u1": ["a", "c"], "u2": ["d", "c"]}, "ease": {"u1": ["a", "c"], "u2": ["b", "e"]}}
HEAD = "experiment,control,treatment,ctr,ctr_se\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    made = cc.compare(
        LISTS,
        TRUTH,
        metrics=["R@1", "R@2"],
        baseline="als",
        primary=["R@2"],
        conventions=cc.preset("standard"),
        resamples=99,
    )
    folder = tmp_path / "results" / "comparison"
    folder.mkdir(parents=True)
    (folder / "comparison.json").write_text(to_json(made), encoding="utf-8")
    return tmp_path


def test_it_shows_the_best_first_says_what_may_be_said_and_writes_all(project: Path) -> None:
    (project / "ab.csv").write_text(HEAD + "e1,als,ease,0.8,0.1\ne2,ease,als,-0.2,0.3\n")

    shown = run(project, "concord", "calibrate", "ab.csv", "--csv", "all.csv", COLUMNS="100")
    rows = list(csv.DictReader((project / "all.csv").read_text(encoding="utf-8").splitlines()))

    assert "2 of 2 experiments compared" in shown
    assert "1/1" in shown
    assert "With 1 experiment even perfect agreement leaves 3 % to 100 %" in shown
    assert "1 experiment whose online interval holds 0 did not count" in shown
    assert {(row["label"], row["agree"], row["n"]) for row in rows} >= {("R@1", "1", "1"), ("R@2", "1", "1")}  # fmt: skip


def test_what_is_wrong_is_refused_with_its_line(project: Path) -> None:
    (project / "ab.csv").write_text(HEAD + "e1,als,eese,0.8,0.1\n")
    failed = attempt(project, "concord", "calibrate", "ab.csv")

    assert failed.returncode == 2
    assert "ab.csv: line 2: treatment: 'eese' is not among the models" in failed.stderr
    assert "there is no such file" in attempt(project, "concord", "calibrate", "none.csv").stderr


def test_a_model_at_a_revision_is_read_from_there(project: Path) -> None:
    """Both of one revision share its truth; whether a revision shares that of today is not known here."""
    git(project, "init", "-q")
    commit(project, "a")
    git(project, "tag", "v1")
    run(project, "dvc", "init", "-q")
    file = project / "results/comparison/comparison.json"
    (project / "ab.csv").write_text(HEAD + "e1,als@v1,ease,0.8,0.1\ne2,als@v1,ease@v0,0.8,0.1\n")
    failed = attempt(project, "concord", "calibrate", "ab.csv")
    assert "ab.csv: line 3" in failed.stderr
    assert "'v0' is no revision" in failed.stderr

    (project / "ab.csv").write_text(HEAD + "e1,als@v1,ease,0.8,0.1\ne2,als@v1,ease@v1,0.8,0.1\n")
    shown = run(project, "concord", "calibrate", "ab.csv")

    assert file.is_file()
    assert "1 of 2 experiments compared" in shown
    assert "skipped: e1: it is not known whether" in shown  # a library's frames carry no hash
