"""`concord plan` on results that the library made, on stated numbers, and on what is not there."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import concord as cc
from concord.metrics_core.comparison.stored import to_json
from concord.pipeline.commands.declared import parser_of
from concord.reports.charts.power import plan_picture
from tests.metrics_core.planning import shop
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT, attempt, change_params, copied_from, run

STATED = ("--sd", "0.2", "--users", "1192", "--tests", "20", "--effect", "0.02")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    (folder / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    results = folder / "results" / "comparison"
    results.mkdir(parents=True)
    (results / "comparison.json").write_text(to_json(shop.compared()), encoding="utf-8")
    return folder


def cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_it_shows_the_primary_metrics_and_changes_nothing(project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}

    lines = run(project, "concord", "plan", COLUMNS="80").splitlines()

    assert lines[0] == "nDCG@5 against popularity, 300 users"
    assert cells(lines[1]) == ["model", "sd", "smallest", "of 6", "better", "users for 0.01", "of 6", "equivalent"]  # fmt: skip
    assert {line.split()[0] for line in lines[2:4]} == {"als", "ease"}
    assert "R@5 against popularity, 300 users" in lines
    assert max(map(len, lines)) <= 80
    assert {file: file.read_bytes() for file in project.rglob("*") if file.is_file()} == before


def test_it_shows_what_is_asked(project: Path) -> None:
    shown = run(project, "concord", "plan", "--metric", "R @5", "--effect", "0.05", "--power", "0.9", "--segments", COLUMNS="140").splitlines()  # fmt: skip

    assert shown[0] == "R@5 against popularity, 300 users"
    assert "users for 0.05" in shown[1]
    assert any(line.startswith("R@5 against popularity by country") for line in shown)
    assert "90\N{NO-BREAK SPACE}% power at the 5\N{NO-BREAK SPACE}% level" in "\n".join(shown)
    assert not any(line.startswith("nDCG@5") for line in shown)


def test_stated_numbers_need_no_project(tmp_path: Path) -> None:
    """((1.96 + 0.8416) · 0.2 / 0.02)² = 785, and t adds two."""
    head, numbers, *_ = run(tmp_path, "concord", "plan", *STATED, COLUMNS="100").splitlines()

    assert cells(head) == ["users", "sd", "smallest", "of 20", "users for 0.02", "of 20", "equivalent"]  # fmt: skip
    assert cells(numbers)[:5] == ["1,192", "0.200", "0.0162", "0.0224", "787"]
    assert list(tmp_path.iterdir()) == []


def test_trainings_that_vary_too_much_are_told(tmp_path: Path) -> None:
    shown = run(tmp_path, "concord", "plan", *STATED, "--sd-seeds", "0.01", "--seeds", "3", COLUMNS="200")  # fmt: skip

    row = cells(shown.splitlines()[1])
    assert (row[1], row[5], row[8]) == ("3", "none", "8")
    assert (
        "No number of users finds 0.02 of a model with 3 seeds: trainings alone vary too much."
        in shown
    )


def test_the_picture_is_one_file_with_the_same_bytes_in_every_process(
    project: Path, tmp_path: Path
) -> None:
    run(project, "concord", "plan", "--plot", str(tmp_path / "plan.svg"))

    drawn = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    assert drawn == plan_picture(cc.plan(shop.compared()), "nDCG@5")
    texts = [element.text for element in ElementTree.fromstring(drawn).iter()]
    assert "nDCG@5 against popularity" in texts
    assert "Power to find 0.01, by users" in texts


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--sd", "0.2"], "--users is missing"),
        (["--tests", "3"], "--sd is missing"),
        (["--sd", "0.2", "--users", "9", "--seeds", "3"], "--sd-seeds is missing"),
        (["--sd", "0.2", "--users", "1"], "command line: --users: is 1"),
        (["--sd", "0.2", "--users", "9", "--effect", "2%"], "'2%' is a share of a mean"),
        (["--effect", "much"], "--effect: 'much' is no difference"),
        (["--power", "80"], "command line: --power: is 80.0"),
        (["--metric", "nDCG@6"], "'nDCG@6' is not evaluated"),
        (["--metric", "Coverage@5"], "--metric: Coverage@5 is one number over all users"),
        (["--plot", "plan.png"], "--plot: 'plan.png' is no SVG"),
        (["--plot", "nowhere/plan.svg"], "--plot: there is no folder 'nowhere'"),
    ],
)
def test_what_cannot_be_is_refused(
    project: Path,
    given: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project)
    chosen = parser_of(lambda _: None).parse_args(["plan", *given])

    assert said in refusal_of(lambda: chosen.command(chosen))
    assert capsys.readouterr().out == ""


def test_without_results_it_says_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())

    told = attempt(tmp_path, "concord", "plan")

    assert told.returncode == 2
    assert "comparison.json: is not there yet\n  fix: run `dvc repro` first" in told.stderr


@pytest.mark.whole
def test_the_gate_of_params_is_checked(demo: Path, tmp_path: Path) -> None:
    """As it is in params.yaml now, without another `dvc repro`."""
    project = copied_from(demo, tmp_path)
    change_params(project, {"gate": {"guardrails": {"nDCG@10": 0.002}, "segments": {"activity": {"nDCG@10": 0.5}}, "success": ["nDCG@10"]}})  # fmt: skip

    shown = run(project, "concord", "plan", COLUMNS="200")

    assert (
        "This gate can never pass a model that is just as good as popularity, but by luck" in shown
    )
    assert "users needed, 1,192 there" in shown
    assert "Success is found with 80\N{NO-BREAK SPACE}% power" in shown
    table = shown[shown.index("guardrail  ") :].splitlines()
    assert [line.split()[0] for line in table] == ["guardrail", "nDCG@10", "These"]
    assert table[-1] == "These users can show 4 other guardrails."
