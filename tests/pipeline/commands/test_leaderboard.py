"""`concord leaderboard` and `plan`, with and without results of the library."""

import json
import re
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.results.stored import to_json
from concord.pipeline.commands import leaderboard as command
from concord.pipeline.commands import plan
from concord.pipeline.commands.cli import build_parser
from concord.pipeline.running import messages
from tests.faults.small import run_in_process
from tests.metrics_core.analyses.plan import plan_data
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT, attempt, change_params, copied_from, run

LISTS = {"als": {"u1": ["a", "c"], "u2": ["d", "b"]}, "ease": {"u1": ["c", "a"], "u2": ["d", "e"]}}
TRUTH = {"u1": ["a"], "u2": ["b"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    comparison = cc.compare(
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
    (folder / "comparison.json").write_text(to_json(comparison), encoding="utf-8")
    return tmp_path


def test_primary_metrics_are_printed_and_no_file_changes(project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}

    lines = run(project, "concord", "leaderboard", COLUMNS="80").splitlines()

    assert lines[0].split()[:3] == ["R@2", "↑", "mean"]
    assert [line.split()[:2] for line in lines[1:3]] == [["als", "1.000"], ["ease", "0.500"]]
    assert (lines[3], lines[4].split()[0]) == ("", "nDCG@2")
    assert {file: file.read_bytes() for file in project.rglob("*") if file.is_file()} == before


def test_a_warning_names_its_models_once(project: Path) -> None:
    file = project / "results/comparison/comparison.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    details = {"without_list": {"als": 1, "ease": 1}, "n_users": 2, "unit": "user"}
    warning = {"code": "user_sets_differ", "severity": "serious", "models": ["als", "ease"]}
    content["warnings"] = [{**warning, "details": {**details, "user_no_recs": "zero"}}]
    file.write_text(json.dumps(content), encoding="utf-8")
    output = run(project, "concord", "leaderboard", COLUMNS="500")

    assert "\nWarning: Not all models have lists for the same users: als and ease have" in output

    file.write_text(json.dumps(content | {"words": {"user": "query"}}), encoding="utf-8")
    output = run(project, "concord", "leaderboard", COLUMNS="500")

    assert "\nWarning: Not all models have lists for the same queries: als and ease have" in output


def test_each_requested_metric_is_shown_once(project: Path) -> None:
    names = ("RBP(p=0.80) @2", "R@1", "recall_1")
    options = [word for name in names for word in ("--metric", name)]
    output = run(project, "concord", "leaderboard", *options)
    heads = [line.split()[0] for line in output.splitlines() if "difference" in line]

    assert heads == ["RBP(p=0.8)@2", "R@1"]


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("recal@2", "did you mean 'R@2'?"),
        ("R@20", "did you mean one of R@1, R@2?"),
        ("recall", "did you mean one of R@1, R@2?"),
        ("NDCG@10", "did you mean 'nDCG@2'?"),
        ("xyz", "known: R@1, R@2, RBP(p=0.8)@2, nDCG@2"),
    ],
)
def test_common_spelling_of_a_metric_suggests_the_label(project: Path, text: str, fix: str) -> None:
    done = attempt(project, "concord", "leaderboard", "--metric", text)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"command line: {text!r} is not evaluated\n  fix: {fix}\n"


def test_missing_results_are_reported(project: Path) -> None:
    (project / "results/comparison/comparison.json").unlink()
    done = attempt(project, "concord", "leaderboard")

    assert done.returncode == 2
    assert done.stderr == (
        "results/comparison/comparison.json: does not exist yet\n  fix: run `concord run` first\n"
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
      md5: 00.dir
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
def test_report_of_stale_results_names_the_changed_params(
    project: Path, lock: str, changed: str | None
) -> None:
    (project / "dvc.yaml").touch()
    (project / "dvc.lock").write_text(lock, encoding="utf-8")
    output = run(project, "concord", "leaderboard", COLUMNS="200").splitlines()[0]

    reported = (
        f"warning: params.yaml{changed} has changed since these results were made: run `dvc repro`"
    )
    assert output == reported if changed else output.startswith("R@2")


def print_after_repro() -> None:
    messages.set_up_logging([])
    messages.print_unless_quiet(command.after_repro)


def test_leaderboard_is_shown_after_repro_unless_quiet(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    ended = run_in_process(print_after_repro, "concord")
    monkeypatch.setenv("CONCORD_LOG", "quiet")
    quiet = run_in_process(print_after_repro, "concord")

    headline, *lines, report = ended.out.splitlines()
    assert headline.startswith("No model is shown to beat als on R@2 or nDCG@2: ease is not ")
    heads = ["model", "R@2", "↑", "difference", "nDCG@2", "↑", "difference"]
    assert heads in [line.split() for line in lines]
    assert report == "report: results/report/report.html"
    assert (ended.code, quiet.code, quiet.out) == (0, 0, "")


STATED = ("--sd", "0.2", "--users", "1192", "--tests", "20", "--effect", "0.02")


@pytest.fixture(scope="module")
def planned_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    (folder / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    results = folder / "results" / "comparison"
    results.mkdir(parents=True)
    (results / "comparison.json").write_text(to_json(plan_data.shop_comparison()), encoding="utf-8")
    return folder


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_plan_shows_the_primary_metrics_and_writes_no_file(planned_project: Path) -> None:
    before = {file: file.read_bytes() for file in planned_project.rglob("*") if file.is_file()}

    lines = run(planned_project, "concord", "plan", COLUMNS="80").splitlines()

    assert lines[0].startswith("nDCG@5: 300 users detect a true difference of ")
    first = lines.index("nDCG@5 against popularity, 300 users")
    heads = "model sd detects detects better users for 0.01 equivalent"
    assert " ".join(lines[first + 1].split()) == heads
    assert all(line.count(" / ") == 2 for line in lines[first + 2 : first + 4])
    assert "x / y: as a single test / corrected for 4 tests." in lines
    assert {line.split()[0] for line in lines[first + 2 : first + 4]} == {"als", "ease"}
    assert "R@5 against popularity, 300 users" in lines
    assert max(map(len, lines)) <= 80
    assert {
        file: file.read_bytes() for file in planned_project.rglob("*") if file.is_file()
    } == before


def test_plan_shows_the_requested_metric_and_effect(planned_project: Path) -> None:
    options = ("--metric", "R @5", "--effect", "0.05", "--power", "0.9")
    output = run(planned_project, "concord", "plan", *options, COLUMNS="100").splitlines()

    assert output[0].startswith("R@5: 300 users detect a true difference of ")
    assert " in 90\N{NO-BREAK SPACE}% of cases" in output[0]
    head = output[output.index("R@5 against popularity, 300 users") + 1]
    assert "users for 0.05" in head
    assert "90\N{NO-BREAK SPACE}% power at the 5\N{NO-BREAK SPACE}% level" in " ".join(output)
    assert not any(line.startswith("nDCG@5") for line in output)


def test_plan_from_numbers_needs_no_project(tmp_path: Path) -> None:
    """((1.96 + 0.8416) · 0.2 / 0.02)² = 785, and t adds two."""
    lines = run(tmp_path, "concord", "plan", *STATED, COLUMNS="100").splitlines()
    _, _, head, numbers = lines[:4]

    assert " ".join(head.split()) == "users sd detects users for 0.02 equivalent"
    assert cells(numbers)[:4] == ["1,192", "0.200", "0.0162 / 0.0224", "787 / 1,499"]
    assert list(tmp_path.iterdir()) == []


def test_seeds_with_high_variance_are_reported(tmp_path: Path) -> None:
    output = run(
        tmp_path, "concord", "plan", *STATED, "--sd-seeds", "0.01", "--seeds", "3", COLUMNS="200"
    )

    row = cells(output.splitlines()[3])
    assert (row[1], row[4], row[6].split(" / ")[0]) == ("3", "none / none", "8")
    assert (
        "No number of users can detect 0.02 of a model with 3 seeds: seeds vary too much." in output
    )


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["--sd", "0.2"], "--users is missing"),
        (["--tests", "3"], "--sd is missing"),
        (["--sd", "0.2", "--users", "9", "--seeds", "3"], "--sd-seeds is missing"),
        (
            ["--sd", "0.2", "--users", "9", "--effect", "2%"],
            "'2%' is a share of the baseline's mean",
        ),
        (["--effect", "much"], "--effect: is 'much'"),
        (["--metric", "Coverage@5"], "--metric: Coverage@5 is one number over all users"),
    ],
)
def test_invalid_plan_is_refused(
    planned_project: Path,
    inputs: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(planned_project)
    arguments = build_parser().parse_args(["plan", *inputs])

    assert message in refusal_of(lambda: plan.run(arguments))
    assert capsys.readouterr().out == ""


@pytest.mark.whole
def test_the_gate_of_params_is_checked(demo: Path, tmp_path: Path) -> None:
    """As it is in params.yaml now, without another `dvc repro`."""
    project = copied_from(demo, tmp_path)
    change_params(
        project,
        {
            "gate": {
                "guardrails": {"nDCG@10": 0.002},
                "segments": {"activity": {"nDCG@10": 0.5}},
                "success": ["nDCG@10"],
            }
        },
    )

    output = run(project, "concord", "plan", COLUMNS="200")

    assert "This gate passes a model that is just as good as popularity only by chance" in output
    assert "users needed, 1,192 available" in output
    assert "Smallest gains that are a success with 80\N{NO-BREAK SPACE}% power" in output
    table = output[output.index("guardrail  ") :].splitlines()
    assert [line.split()[0] for line in table] == ["guardrail", "nDCG@10", "These"]
    assert table[-1] == "These users can show 4 other guardrails."
