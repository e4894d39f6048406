"""`concord run`: which stages run, when, and that they write what `dvc repro` writes."""

import fcntl
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from concord.metrics_core.files import load_json
from concord.pipeline.commands import stage
from concord.pipeline.running.outputs import write_json
from concord.pipeline.running.signals import StopSignal
from concord.pipeline.stages import run_state
from tests.pipeline.dvc.revisions import git
from tests.pipeline.init.repository import LISTS, USUAL, tree, write
from tests.project import (
    ROOT,
    attempt,
    change_params,
    copied,
    copied_from,
    made_once,
    process_environment,
    run,
    run_process,
)

MODELS = ["als", "popular"]
UP_TO_COMPARE = [
    "load-truth",
    *(f"{stage} {model}" for stage in ("load", "evaluate") for model in MODELS),
    "compare",
]
STAGES = [*UP_TO_COMPARE, "report"]


def evaluated_without_dvc(folder: Path) -> None:
    root = folder / "shop"
    write(root, USUAL)
    (folder / "init.txt").write_text(run(root, "concord", "init", "--no-dvc"))
    change_params(root / "evaluation", {"comparison.resamples": 99, "evaluation.panel": False})
    attempt(root / "evaluation", "concord", "run", "report").check_returncode()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder without DVC and git, with an evaluation after its first run."""
    return made_once(tmp_path_factory, worker_id, evaluated_without_dvc) / "shop"


@pytest.fixture
def project(finished: Path, tmp_path: Path) -> Path:
    """Return an evaluation that a test may change; its tables are in the folder above."""
    return copied_from(finished, tmp_path) / "evaluation"


def stages_run(project: Path, *arguments: str) -> list[str]:
    """Run up to `compare` or as the arguments say; return the stages that ran, in order."""
    done = attempt(project, "concord", "run", *(arguments or ["compare"]))
    assert done.returncode == 0, done.stderr
    return _stages_in(done.stderr)


def _stages_in(messages: str) -> list[str]:
    names = [line.partition(":")[0] for line in messages.splitlines()]
    return [name for name in names if name in STAGES]


def test_init_without_dvc_writes_params_and_gitignore(finished: Path) -> None:
    written = {name for name in tree(finished) if not name.startswith("evaluation/results/")}

    assert written == {*USUAL, "evaluation/params.yaml", "evaluation/.gitignore"}
    assert finished.with_name("init.txt").read_text().splitlines()[-1] == (
        "next: cd evaluation && concord validate && concord run"
    )


def test_validate_names_the_command_that_runs_without_dvc(project: Path) -> None:
    assert run(project, "concord", "validate").endswith(
        "no problem found: `concord run` evaluates\n"
    )


def test_unchanged_stages_are_skipped(project: Path) -> None:
    assert attempt(project, "concord", "run", "report").stderr == "ran none of 8 stages\n"


def test_force_runs_every_stage_and_the_leaderboard_follows(project: Path) -> None:
    before = tree(project)
    done = attempt(project, "concord", "run", "report", "--force")

    assert _stages_in(done.stderr) == STAGES
    assert "\nnDCG@1 ↑  mean " in done.stdout
    assert {name for name, content in tree(project).items() if content != before[name]} == {
        "results/concord-run.json"  # times of the files
    }


def _other_lists(project: Path) -> None:
    write(project.parent, {"out/als.csv": LISTS.replace("u3,b", "u3,c")})


def _other_cutoff(project: Path) -> None:
    change_params(project, {"evaluation.ks": [1, 2]})


def _other_title(project: Path) -> None:
    change_params(project, {"report.title": "Shop"})


def _other_policy(project: Path) -> None:
    change_params(project, {"input.nan_score": "last"})


def _other_lists_evaluated(project: Path) -> None:
    _other_lists(project)
    stages_run(project, "evaluate")


def _damaged_values(project: Path) -> None:
    (project / "results/per_user/als.parquet").write_bytes(b"PAR1")


def _two_conventions(project: Path) -> None:
    other = {"conventions.preset": "custom", "conventions.ties": "item_desc"}
    change_params(project, {**other, "conventions.gain": "exp2"})


def _missing_lists(project: Path) -> None:
    (project.parent / "out/als.csv").unlink()


def _failed_run(project: Path) -> None:
    write(project.parent, {"out/als.csv": LISTS.replace("u3,b,1", "u3,b,")})
    assert attempt(project, "concord", "run", "compare").returncode == 2


def _without_als(project: Path) -> None:
    change_params(project, {"models": {"popular": {"path": "../out/popular.csv"}}})


def _damaged_state(project: Path) -> None:
    (project / "results/concord-run.json").write_text('{"stages": {')


def _state_of_another_format(project: Path) -> None:
    state = project / "results/concord-run.json"
    stages: dict[str, object] = {name: {"inputs": {}} for name in load_json(state, "")["stages"]}
    write_json(state, {"stages": stages, "files": {}})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_other_lists, ["load als", "evaluate als", "compare"]),
        (_other_cutoff, ["evaluate als", "evaluate popular", "compare"]),
        (_other_title, ["compare"]),
        (_damaged_values, ["evaluate als"]),  # its results are the same as before
        (_without_als, ["compare"]),
        (_damaged_state, UP_TO_COMPARE),
        (_state_of_another_format, UP_TO_COMPARE),
    ],
)
def test_a_change_runs_the_stages_that_it_affects(
    project: Path, change: Callable[[Path], None], expected: list[str]
) -> None:
    change(project)

    assert stages_run(project) == expected
    assert stages_run(project) == []


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        (_other_lists, "../out/als.csv has"),
        (_other_cutoff, "params.yaml (evaluation) has"),
        (_other_policy, "params.yaml (input.nan_score) has"),
        (_two_conventions, "params.yaml (conventions) has"),
        (_missing_lists, "../out/als.csv (missing) has"),
        (_failed_run, "../out/als.csv has"),
        (_damaged_values, "results/per_user has"),
        (_damaged_state, "results/concord-run.json (incomplete) has"),
        (_state_of_another_format, "results/concord-run.json (incomplete) has"),
        (_other_lists_evaluated, "results/lists, results/summary and results/quality have"),
    ],
)
def test_results_that_are_out_of_date_are_named(
    project: Path, change: Callable[[Path], None], changed: str
) -> None:
    change(project)
    output = run(project, "concord", "leaderboard", COLUMNS="200")

    assert output.startswith(
        f"warning: {changed} changed since these results were made: run `concord run`\n"
    )


def test_dvc_lock_decides_if_the_results_are_not_those_of_the_last_run(project: Path) -> None:
    (project / "dvc.lock").write_text(
        "schema: '2.0'\nstages:\n  compare:\n    cmd: concord\n    params:\n"
        "      params.yaml:\n        report.title: Older\n    outs:\n"
        "    - path: results/comparison\n      md5: 00.dir\n"
    )
    current = run(project, "concord", "leaderboard")
    _damaged_state(project)

    assert current.startswith("nDCG@1 ")
    assert run(project, "concord", "leaderboard").startswith(
        "warning: params.yaml (report.title) has changed since these results were made"
    )


def test_another_version_of_concord_is_named_and_runs_every_stage(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = version("concord-eval")
    monkeypatch.setattr(run_state, "version", lambda _: "99.0")

    assert run(project, "concord", "leaderboard").startswith(
        f"warning: Concord ({old} → 99.0) has changed since these results were made"
    )
    assert stages_run(project) == UP_TO_COMPARE


def test_quiet_prints_no_results(project: Path) -> None:
    done = attempt(project, "concord", "-q", "run", "--force", "report")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_stale_results_are_not_logged(project: Path) -> None:
    _other_cutoff(project)
    changed = attempt(project, "concord", "log", "--again")
    status = attempt(project, "concord", "log")
    stages_run(project)
    without_report = attempt(project, "concord", "log", "--again")

    assert (changed.returncode, changed.stderr) == (
        2,
        "params.yaml (evaluation): has changed since these results were made\n"
        "  fix: run `concord run`\n",
    )
    assert status.stderr.startswith("warning: params.yaml (evaluation) has changed since")
    assert without_report.returncode == 2
    assert without_report.stderr.startswith("results/comparison: has changed since")


def test_history_names_the_way_to_dvc(project: Path) -> None:
    assert attempt(project, "concord", "history").stderr == (
        "evaluation: is not in a DVC repository, and its values are read from DVC's cache\n"
        "  fix: `dvc init`, `concord init --upgrade`, `dvc repro`, and commit dvc.lock; "
        "`concord gate` compares with the baseline without DVC\n"
    )


def test_other_code_runs_all_stages(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_state, "_hash_code", lambda: "other")

    assert {"load-truth", "compare"} < {*stages_run(project)}


def test_results_of_a_removed_model_and_old_tables_are_removed(project: Path) -> None:
    (project / "results/comparison/old.csv").touch()
    _without_als(project)
    stages_run(project)

    assert not [name for name in tree(project) if "als" in name or name.endswith("old.csv")]


def test_a_folder_of_other_files_is_never_emptied(project: Path) -> None:
    write(project, {"notes/plan.md": "keep"})
    change_params(project, {"results.comparison": "notes"})
    stages_run(project)

    assert (project / "notes" / "plan.md").read_text() == "keep"


def test_a_named_stage_runs_with_those_that_it_needs(project: Path) -> None:
    _other_cutoff(project)
    _other_lists(project)

    assert stages_run(project, "evaluate@als") == ["load als", "evaluate als"]
    assert stages_run(project, "evaluate") == ["evaluate popular"]


def test_an_unknown_stage_is_refused(project: Path) -> None:
    done = attempt(project, "concord", "run", "evaluate@alz")

    assert (done.returncode, done.stderr) == (
        2,
        "command line: 'evaluate@alz' is not a stage\n  fix: did you mean 'evaluate@als'?\n",
    )


def test_a_failing_stage_ends_the_run_as_it_ends_alone(project: Path) -> None:
    write(project.parent, {"out/als.csv": LISTS.replace("u3,b,1", "u3,b,")})
    alone = attempt(project, "concord", "stage", "load", "als")
    done = attempt(project, "concord", "run", "compare")

    assert (done.returncode, done.stderr) == (2, alone.stderr)
    write(project.parent, {"out/als.csv": LISTS})
    assert stages_run(project) == []  # the results are still those of these lists


def test_an_interrupted_stage_is_repeated(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_main = stage.import_main

    def interrupted(name: str) -> Callable[..., str]:
        def stop(*_: object) -> str:
            raise StopSignal(15)

        return stop if name == "evaluate" else import_main(name)

    _other_cutoff(project)
    with monkeypatch.context() as patched:
        patched.setattr(stage, "import_main", interrupted)
        attempt(project, "concord", "run", "compare")

    stale = run(project, "concord", "leaderboard")
    assert stale.startswith("warning: params.yaml (evaluation) ")
    assert stages_run(project) == ["evaluate als", "evaluate popular", "compare"]


def test_a_second_run_waits_for_the_first(project: Path) -> None:
    with (project / "results/.concord-run.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = subprocess.Popen(
            [sys.executable, "-m", "concord", "run", "report"],
            cwd=project,
            env=process_environment(project),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert second.stderr is not None
        first_line = second.stderr.readline()
        waits = second.poll() is None
    _, messages = second.communicate()

    assert (first_line, waits) == ("waiting for another `concord run` in this folder\n", True)
    assert (second.returncode, messages) == (0, "ran none of 8 stages\n")


@pytest.mark.parametrize("name", ["python", "make"])
def test_the_examples_of_the_page_run(project: Path, name: str) -> None:
    root, page = project.parent, (ROOT / "docs/how-to/without-dvc.md").read_text()
    example = page.partition(f"```{name}\n")[2].partition("```")[0]
    write(root, {"Makefile": example, "cell.py": example})
    (project / "results/report/primary.json").unlink()
    command = [sys.executable, "cell.py"] if name == "python" else ["make"]
    run_process(root, *command)

    assert (project / "results/report/primary.json").is_file()


def test_comment_without_dvc_compares_with_the_baseline(project: Path) -> None:
    change_params(project, {"gate": {"guardrails": {"nDCG@1": 0.99}}})
    for command in (["init", "-q"], ["add", "params.yaml"], ["commit", "-qm", "a state"]):
        git(project, *command)
    done = attempt(project, "concord", "comment", "HEAD")

    assert done.stderr == (
        "HEAD has no dvc.yaml in this folder: the models are compared with the baseline\n"
    )
    assert done.returncode == 0
    assert "## ✅ Gate: passed" in done.stdout


@pytest.mark.whole
def test_run_writes_the_bytes_of_dvc_repro(demo: Path, tmp_path: Path) -> None:
    project = copied(tmp_path)
    run(project, "concord", "run")
    own = {"concord-run.json", ".concord-run.lock", "mlflow/runs.json"}  # ids differ by store
    results = tree(project / "results")

    assert {*results} - {*tree(demo / "results")} == own - {"mlflow/runs.json"}
    for name, content in tree(demo / "results").items():
        assert name in own or results[name] == content, name
