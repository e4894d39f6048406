"""`dvc repro` on the demo runs exactly the stages that a change affects."""

import json
from pathlib import Path

import pytest

from concord.metrics_core.analyses.cases.cases import ExampleSelection
from concord.metrics_core.results.stored import read_cases, to_json
from concord.pipeline.params.read import read_params
from concord.pipeline.stages.evaluations import load_cases
from tests.library import cases_as_pinned, compared_as_pinned
from tests.project import (
    attempt,
    change_params,
    copied_from,
    made_once,
    run,
    stages_run,
    stages_to_run,
)

pytestmark = pytest.mark.whole

SHARED = ["compare", "report", "log"]
MODELS = ["popularity", "item-knn", "ease", "ease-recent", "als"]


QUICK = {  # which stages run does not depend on the amount of work
    "evaluation.metrics": ["nDCG"],
    "evaluation.ks": [10],
    "evaluation.panel": False,
    "comparison.primary": ["nDCG@10"],
    "comparison.resamples": 99,
    "segments": {},
}


@pytest.fixture(scope="module")
def quick(demo: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the demo after `dvc repro` with another metric and cutoff, and its output."""

    def quick_demo(folder: Path) -> None:
        project = copied_from(demo, folder)
        change_params(project, QUICK)
        (folder / "said.txt").write_text(run(project, "dvc", "repro"), encoding="utf-8")

    return made_once(tmp_path_factory, worker_id, quick_demo) / demo.name


@pytest.fixture
def project(quick: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may change."""
    return copied_from(quick, tmp_path)


def test_stages_end_with_the_leaderboard(demo: Path) -> None:
    output = demo.with_name("said.txt").read_text(encoding="utf-8")
    headline = "ease and ease-recent are too close to call; both beat popularity."
    last = output.rpartition(f"{headline}\n")[2].splitlines()
    shown = run(demo, "concord", "leaderboard", COLUMNS="80").splitlines()

    assert last[0].split() == ["model", "nDCG@10", "↑", "difference", "R@20", "↑", "difference"]
    assert [line.split()[:2] for line in last[1:6]] == [line.split()[:2] for line in shown[1:6]]
    assert last[6:8] == [
        "1 warning: `concord leaderboard`, or the report",
        "report: results/report/report.html",
    ]
    assert last[8].startswith("MLflow: mlflow ui --backend-store-uri ")
    assert last[9] == "Updating lock file 'dvc.lock'"


def test_the_first_run_runs_every_stage(demo: Path) -> None:
    stages = [
        "load-truth",
        "load-background@train",
        "load-background@items",
        "load-background@users",
        *(f"{stage}@{model}" for stage in ("load", "evaluate") for model in MODELS),
        "reference",
    ]
    output = demo.with_name("said.txt").read_text(encoding="utf-8")

    assert sorted(stages_run(output)) == sorted(stages + SHARED)


def test_second_run_runs_no_stage(project: Path) -> None:
    assert stages_run(run(project, "dvc", "repro")) == []
    assert "up to date" in run(project, "dvc", "status")


def test_the_library_gives_the_same_comparison(demo: Path) -> None:
    results = demo / "results"
    comparison = compared_as_pinned(demo)
    stored = {
        "comparison/comparison.json": to_json(comparison),
        "report/report.html": comparison.to_html(
            cases=read_cases(results / "comparison/cases.json")
        ),
        "report/table.tex": comparison.to_latex(),
    }

    for name, text in stored.items():
        assert (results / name).read_text(encoding="utf-8") == text, name


def test_the_library_gives_the_same_cases(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo)
    params = read_params()

    stored = load_cases(params, params.comparison_config, ExampleSelection(("als", "ease"), 20))

    assert cases_as_pinned(demo, "als", "ease") == stored


def test_dvc_shows_the_primary_metrics_with_verdicts_and_all_means_of_named_files(
    project: Path,
) -> None:
    primary = json.loads(run(project, "dvc", "metrics", "show", "--json"))[""]["data"]
    selected = [f"results/metrics/{model}.json" for model in MODELS]
    files = json.loads(run(project, "dvc", "metrics", "show", "--json", *selected))[""]["data"]

    ((name, content),) = primary.items()
    assert Path(name).name == "primary.json"
    assert list(content["data"]) == ["nDCG@10", "nDCG@10 verdict"]
    assert list(content["data"]["nDCG@10"]) == MODELS
    assert [Path(name).stem for name in files] == MODELS
    assert len({tuple(content["data"]) for content in files.values()}) == 1


def test_another_file_of_one_model_runs_that_model_and_the_shared_stages(project: Path) -> None:
    path = project / "data" / "demo" / "popularity.csv"
    remaining = path.read_text()
    path.write_text("".join(remaining.splitlines(keepends=True)[:-1]))
    ran = stages_run(run(project, "dvc", "repro"))
    path.write_text(remaining)
    back = stages_run(run(project, "dvc", "repro"))

    assert sorted(ran) == sorted(["load@popularity", "evaluate@popularity", *SHARED])
    assert back == ["report", "log"]  # other results are in DVC's cache


def test_cutoffs_and_metrics_evaluate_again_but_do_not_load(quick: Path) -> None:
    ran = stages_run(quick.with_name("said.txt").read_text(encoding="utf-8"))

    evaluated = [f"evaluate@{model}" for model in MODELS]
    assert sorted(ran) == sorted([*evaluated, "reference", *SHARED])


def test_a_convention_evaluates_again_but_does_not_load(project: Path) -> None:
    change_params(project, {"conventions.preset": "custom", "conventions.gain": "exp2"})

    evaluated = {f"evaluate@{model}" for model in MODELS}
    assert stages_to_run(project) == {*evaluated, "reference", "compare"}


def test_a_convention_of_ranking_loads_again(project: Path) -> None:
    change_params(project, {"conventions.preset": "custom", "conventions.ties": "item_desc"})

    assert {f"load@{model}" for model in MODELS} <= stages_to_run(project)


def test_code_that_changed_runs_the_stages_that_name_its_folder(project: Path) -> None:
    with (project / "metrics_core/comparison/differences.py").open("a") as code:
        code.write("# changed\n")

    assert stages_to_run(project) == {"compare"}


def test_a_new_model_is_one_entry_and_runs_alone(project: Path) -> None:
    text = (project / "params.yaml").read_text()
    models = "models:\n  twin: {path: data/demo/ease-recent}\n"
    (project / "params.yaml").write_text(text.replace("models:\n", models, 1))

    assert stages_to_run(project) == {"load@twin", "evaluate@twin", "compare", "log"}


def test_results_not_logged_are_logged_later_and_dvc_has_nothing_to_do(
    project: Path,
) -> None:
    store = "sqlite:///not a folder/mlflow.db"
    change_params(project, {"mlflow.required": False, "mlflow.tracking_uri": store})
    (project / "not a folder").write_text("")
    repro = attempt(project, "dvc", "repro")
    receipt = (project / "results/mlflow/receipt.json").read_text()
    status_without = run(project, "dvc", "status")
    (project / "not a folder").unlink()
    again = run(project, "concord", "log", "--again")

    assert (repro.returncode, stages_run(repro.stdout)) == (0, ["log"])
    assert "warning: not logged: MLflow at sqlite:///not a folder/mlflow.db" in repro.stderr
    assert str(project) not in receipt
    assert "up to date" in status_without
    assert again.startswith(f"logged: {len([*MODELS, 'comparison'])} new runs; ")
    assert "up to date" in run(project, "dvc", "status")


def test_results_that_are_out_of_date_are_not_logged_again(project: Path) -> None:
    change_params(project, {"evaluation.ks": [5, 10, 20]})
    done = attempt(project, "concord", "log", "--again")

    assert done.returncode == 2
    assert done.stderr.startswith(
        "params.yaml (evaluation): has changed since these results were made\n"
        "  fix: run `dvc repro`\n"
    )


def test_an_error_names_the_key_and_keeps_the_results(project: Path) -> None:
    content = (project / "params.yaml").read_bytes()
    change_params(project, {"conventions.gain": "exp2"})
    done = attempt(project, "dvc", "repro")
    (project / "params.yaml").write_bytes(content)
    back = stages_run(run(project, "dvc", "repro"))

    assert done.returncode != 0
    assert (
        ", conventions.gain: is 'exp2', but preset 'standard' has 'linear'\n"
        "  fix: set it to 'linear', or `preset: custom`; `concord pin standard` sets all"
    ) in done.stderr
    assert "Traceback" not in done.stderr
    assert back == []


def test_a_clone_computes_nothing(project: Path, tmp_path: Path) -> None:
    run(project, "dvc", "remote", "add", "-d", "store", str(tmp_path / "store"))
    run(project, "dvc", "push")
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    run(project, "git", "add", "-A")
    run(project, "git", *identity, "commit", "-qm", "results")

    clone = tmp_path / "clone"
    run(project, "git", "clone", "-q", str(project), str(clone))
    run(clone, "dvc", "pull")

    assert stages_to_run(clone) == {"log"}  # its MLflow is empty
