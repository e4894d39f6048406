"""`concord leaderboard` and `concord calibrate` on results that the library made, and where there are none."""

import csv
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.comparison.stored import to_json
from concord.pipeline.commands.asking import leaderboard as command
from concord.pipeline.running import announce
from tests.pipeline.revisions import commit, git
from tests.project import ROOT, attempt, run

LISTS = {"als": {"u1": ["a", "c"], "u2": ["d", "b"]}, "ease": {"u1": ["c", "a"], "u2": ["d", "e"]}}
TRUTH = {"u1": ["a"], "u2": ["b"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    made = cc.compare(
        LISTS,
        TRUTH,
        metrics=["R@1", "R@2", "nDCG@2", "RBP(p=0.8)@2"],
        baseline="als",
        primary=["R@2", "nDCG@2"],
        min_effect=0.01,
        conventions=cc.preset("standard"),
        resamples=99,
    )
    folder = tmp_path / "results" / "comparison"
    folder.mkdir(parents=True)
    (folder / "comparison.json").write_text(to_json(made), encoding="utf-8")
    return tmp_path


def test_it_shows_the_primary_metrics_and_changes_nothing(project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}

    lines = run(project, "concord", "leaderboard", COLUMNS="80").splitlines()

    assert lines[0].split()[:2] == ["R@2", "mean,"]
    assert [line.split()[:2] for line in lines[1:3]] == [["als", "1.000"], ["ease", "0.500"]]
    assert lines[4].startswith("nDCG@2 ")
    assert {file: file.read_bytes() for file in project.rglob("*") if file.is_file()} == before


def test_it_shows_other_metrics_where_they_are_named_once_each(project: Path) -> None:
    shown = run(project, "concord", "leaderboard", "--metric", "RBP(p=0.80) @2", "--metric", "R@1", "--metric", "R@1")  # fmt: skip
    heads = [line.split()[0] for line in shown.splitlines() if "mean, 95 % interval" in line]

    assert heads == ["RBP(p=0.8)@2", "R@1"]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("recall@2", "did you mean 'R@2'?"),
        ("ndcg@2", "did you mean 'nDCG@2'?"),
        ("R@20", "did you mean one of R@1, R@2?"),
        ("recall", "did you mean one of R@1, R@2?"),
        ("NDCG@10", "did you mean 'nDCG@2'?"),
        ("xyz", "known: R@1, R@2, RBP(p=0.8)@2, nDCG@2"),
    ],
)
def test_a_metric_as_people_write_it_is_told_the_label(project: Path, text: str, fix: str) -> None:
    done = attempt(project, "concord", "leaderboard", "--metric", text)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"command line: {text!r} is not evaluated\n  fix: {fix}\n"


def test_results_that_are_not_there_are_told_in_words(project: Path) -> None:
    (project / "results/comparison/comparison.json").unlink()
    done = attempt(project, "concord", "leaderboard")

    assert done.returncode == 2
    assert done.stderr == (
        "results/comparison/comparison.json: is not there yet\n  fix: run `dvc repro` first\n"
    )


LOCK = """schema: '2.0'
stages:
  compare:
    cmd: exec concord stage compare
    params:
      params.yaml:
        comparison: {baseline: als}
        evaluation.panel: true
        report.title: Demo shop
    outs:
    - path: results/comparison
  log:
    cmd: exec concord stage log
"""


@pytest.mark.parametrize(
    ("lock", "changed"),
    [
        (LOCK, " (comparison)"),
        (LOCK.replace("true", "false"), " (comparison, evaluation.panel)"),
        (LOCK.replace("        comparison: {baseline: als}\n", ""), None),
        ("", None),
        (LOCK.replace("compare", "evaluate"), None),
    ],
)
def test_results_older_than_params_are_told_with_what_has_changed(
    project: Path, lock: str, changed: str | None
) -> None:
    (project / "dvc.lock").write_text(lock, encoding="utf-8")
    said = run(project, "concord", "leaderboard", COLUMNS="200").splitlines()[0]

    told = (
        f"beware, params.yaml has changed since these results were made{changed}: run `dvc repro`"
    )
    assert said == told if changed else said.startswith("R@2")


def _after_repro() -> None:
    announce.set_up([])
    announce.show(command.after_repro)


def test_after_a_repro_it_is_shown_unless_quiet_was_asked_for(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    _after_repro()
    shown = capsys.readouterr().out
    monkeypatch.setenv("CONCORD_LOG", "quiet")
    _after_repro()

    assert shown.splitlines()[0].startswith("R@2 ")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("to", ["| true", "> /dev/full", ">&-"])
def test_a_reader_who_has_gone_does_not_fail_the_stage(project: Path, to: str) -> None:
    script = (
        "from concord.pipeline.commands.asking.leaderboard import after_repro; "
        "from concord.pipeline.running.announce import set_up, show; "
        "set_up([]); show(after_repro)"
    )
    (project / "shown.py").write_text(script, encoding="utf-8")
    done = attempt(project, "sh", "-c", f"(python shown.py; echo code $? >&2) {to}")

    assert done.stderr.splitlines()[-1] == "code 0"
    assert "Traceback" not in done.stderr


HEAD = "experiment,control,treatment,ctr,ctr_se\n"


def test_calibrate_shows_the_best_first_says_what_may_be_said_and_writes_all(project: Path) -> None:
    (project / "ab.csv").write_text(HEAD + "e1,ease,als,0.8,0.1\ne2,als,ease,-0.2,0.3\n")

    shown = run(project, "concord", "calibrate", "ab.csv", "--csv", "all.csv", COLUMNS="100")
    rows = list(csv.DictReader((project / "all.csv").read_text(encoding="utf-8").splitlines()))

    assert "2 of 2 experiments compared" in shown
    assert "1/1" in shown
    assert "With 1 experiment even perfect agreement leaves 3 % to 100 %" in shown
    assert "1 experiment whose online interval holds 0 did not count" in shown
    assert {(row["label"], row["agree"], row["n"]) for row in rows} >= {("R@1", "1", "1"), ("R@2", "1", "1")}  # fmt: skip


def test_experiments_that_are_wrong_are_refused_with_their_line(project: Path) -> None:
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
