"""`concord validate`: all files, all problems, and no files remain."""

from pathlib import Path
from typing import Any

import pytest

from concord.pipeline.init.project import init
from concord.pipeline.init.validation import validate
from tests.pipeline.init.repository import ITEMS, USUAL, repository, write
from tests.pipeline.refusals import refusal_of
from tests.project import attempt, change_params, copied, run_stages


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("validate"))


def run_validate(project: Path) -> tuple[int, str, str]:
    done = attempt(project, "concord", "validate")
    return done.returncode, done.stdout, done.stderr


def test_valid_project_is_described_file_by_file(project: Path) -> None:
    code, message, wrong = run_validate(project)

    assert (code, wrong) == (0, "")
    assert [line.partition(":")[0] for line in message.splitlines() if line[0] != " "] == [
        "truth",
        "train",
        "items",
        "users",
        "popularity",
        "item-knn",
        "ease",
        "ease-recent",
        "als",
        "no problem found",
    ]
    assert "popularity: 36,000 rows, 1,200 users\n" in message
    assert message.endswith("no problem found: `dvc repro` evaluates\n")
    assert not (project / "results").exists()


def test_problems_of_all_files_are_reported_at_once(project: Path) -> None:
    (project / "data/bad.csv").write_text("user,item,rank\nu1,,1\n")
    (project / "data/truth.csv").write_text("user,item\nu1,a\nu1,a\n")
    change_params(
        project,
        {"models.als": {"path": "data/bad.csv"}, "data.truth": {"path": "data/truth.csv"}},
    )

    code, message, wrong = run_validate(project)

    assert code == 2
    assert wrong.startswith("data/truth.csv: line 2 and line 3 (user 'u1', item 'a')")
    assert "data/bad.csv: line 2, column 'item' (user 'u1', item ''): is blank" in wrong
    assert "als: 1 problem\n" in message
    assert "ease: 34,170 rows" in message
    assert not (project / "results").exists()


@pytest.fixture
def small_project(tmp_path: Path) -> Path:
    """Return a small project of one model."""
    project = copied(tmp_path)
    (project / "data/truth.csv").write_text("user,item,points\nu1,A1,4\nu2,A2,5\n")
    (project / "data/pop.csv").write_text("user,item\nu1,A1\nu2,A1\n")
    (project / "data/strangers.csv").write_text("user,item\nnobody,A1\n")
    (project / "data/users.csv").write_text("user,plan\nu1,free\nu2,paid\n")
    change_params(
        project,
        {
            "models": {"pop": {"path": "data/pop.csv", "order": "file"}},
            "data.truth": {"path": "data/truth.csv", "columns": {"grade": "points"}},
            "background": {"users": {"path": "data/users.csv"}},
            "evaluation.metrics": ["nDCG"],
            "comparison.baseline": "pop",
            "comparison.primary": ["nDCG@10"],
            "comparison.min_effect": 0.01,
            "segments": {"plan": {"by": "user", "column": "plan"}},
            "conventions.relevance_threshold": 4,
        },
    )
    return project


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"data.truth": {"path": "data/truth.csv"}},
            "params.yaml: conventions.relevance_threshold: is 4, and the highest grade in "
            "data/truth.csv is 1: no user "
            "has a relevant item\n  fix: lower it, or name the column of the grades: "
            "`data.truth.columns: {grade: rating}`\n",
        ),
        (
            {"evaluation.metrics": ["nDCG", "ERR", "nERR"], "conventions.err_max_grade": 3},
            "params.yaml: conventions.err_max_grade: is 3, and data/truth.csv has grade 5\n"
            "  fix: set it to 5, or leave out ERR and nERR\n",
        ),
        (
            {"segments.plan.column": "plna"},
            "params.yaml: segments.plan: users have no column 'plna'\n  fix: did you mean "
            "'plan'?\n",
        ),
        (
            {"models.pop.path": "data/strangers.csv"},
            "data/strangers.csv: column 'user': no user id occurs in the ground truth: "
            "'nobody' here, 'u1' there\n"
            "  fix: write user ids the same way in both\n",
        ),
    ],
)
def test_problem_of_a_later_stage_is_reported_now(
    small_project: Path, change: dict[str, Any], message: str
) -> None:
    change_params(small_project, change)

    assert run_validate(small_project)[::2] == (2, message)


def test_threshold_above_all_grades_ends_the_stage(small_project: Path) -> None:
    change_params(small_project, {"data.truth": {"path": "data/truth.csv"}})
    run_stages(small_project, "load-truth", "load-background users", "load pop")
    done = attempt(small_project, "concord", "stage", "evaluate", "pop")

    assert done.returncode != 0
    assert "conventions.relevance_threshold: is 4, and the highest grade" in done.stderr


def test_suspicious_ids_are_reported(small_project: Path) -> None:
    (small_project / "data/pop.csv").write_text("user,item\nu1,a1\nu2,a2\n")

    code, message, _ = run_validate(small_project)

    assert code == 0
    assert (
        "pop: warning: 2 items differ from the ground truth only in capitals or leading zeros\n"
        in message
    )
    assert "pop: warning: none of its items occurs in the ground truth\n" in message


def test_files_are_not_read_with_invalid_params(small_project: Path) -> None:
    text = (small_project / "params.yaml").read_text()
    (small_project / "params.yaml").write_text(text.replace("  wilcoxon:", "  wilcoxn:"))

    code, message, wrong = run_validate(small_project)

    assert (code, message) == (2, "the files are not read until params.yaml is valid\n")
    assert wrong.count("\n  fix:") == 1  # not: `wilcoxon` is missing
    assert "did you mean 'wilcoxon'?" in wrong


def test_all_values_of_params_are_checked_before_a_file_is_read(small_project: Path) -> None:
    (small_project / "data/pop.csv").write_text("user,item\nu1,\n")
    change_params(
        small_project,
        {
            "evaluation.metrics": ["nDCG", "recal@20", "mapp", "accuracy"],
            "comparison.primary": ["nDCG@11"],
            "conventions.gain": "best",
        },
    )

    code, actual, wrong = run_validate(small_project)

    assert (code, actual) == (2, "the files are not read until params.yaml is valid\n")
    assert wrong.count("\n  fix:") == 5
    for message in (
        "'recal' is unknown; did you mean 'R@20'?",
        "'mapp' is unknown; did you mean 'AP'?",
        "'accuracy' has several meanings; did you mean 'Hit' or 'P'?",
        "comparison.primary: 'nDCG@11' is not evaluated",
        "conventions.gain: is 'best'",
    ):
        assert message in wrong


def test_fix_of_a_repeated_item_names_all_changes(small_project: Path) -> None:
    (small_project / "data/pop.csv").write_text("user,item\nu1,A1\nu1,A1\nu2,A1\n")
    _, _, wrong = run_validate(small_project)
    fix = (
        "set `conventions.duplicates` to drop or first, as for chunks of one document, or keep, "
        "and `conventions.preset` to custom"
    )
    change_params(
        small_project, {"conventions.duplicates": "first", "conventions.preset": "custom"}
    )

    assert fix in wrong
    assert fix not in run_validate(small_project)[2]
    assert "conventions" not in run_validate(small_project)[2]


OUT_OF_STAGES = """stages:
  train: {cmd: x, outs: [out/als.csv, out/als.run.json]}
  prepare: {cmd: x, outs: [data/items.csv]}
"""


@pytest.fixture
def untrained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an evaluation in a repository whose training has not run in this clone."""
    ids = {"out/als.run.json": '{"run_id": "' + "0" * 32 + '"}'}
    root = repository(
        tmp_path, {**USUAL, **ids, "dvc.yaml": OUT_OF_STAGES, "data/items.csv": ITEMS}
    )
    monkeypatch.chdir(root)
    init("evaluation", None, (), dry_run=False, force=False)
    monkeypatch.chdir(root / "evaluation")
    for name in ("out/als.csv", "out/als.run.json", "data/items.csv"):
        (root / name).unlink()
    return root


@pytest.mark.bad_input(74, "reported if a stage makes it, else an error that recommends `dvc pull`")
def test_output_of_a_later_stage_is_not_missing(
    untrained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    validate()

    assert capsys.readouterr().out.splitlines() == [
        "items: ../data/items.csv does not exist yet; stage ../dvc.yaml:prepare of `dvc "
        "repro` makes it",
        "als: ../out/als.csv does not exist yet; stage ../dvc.yaml:train of `dvc repro` makes it",
        "als: ../out/als.run.json does not exist yet; stage ../dvc.yaml:train of `dvc repro` "
        "makes it",
        "truth: 3 rows, 3 users",
        "popular: 4 rows, 3 users",
        "no problem found: `dvc repro` evaluates once the missing files exist",
    ]


def test_files_in_dvc_are_fetched_and_unknown_files_are_missing(untrained: Path) -> None:
    remaining = (
        "outs:\n- {md5: d41d8cd98f00b204e9800998ecf8427e, size: 0, hash: md5, path: test.csv}\n"
    )
    write(untrained, {"data/test.csv.dvc": remaining})
    (untrained / "data/test.csv").unlink()
    (untrained / "out/popular.csv").unlink()

    assert refusal_of(validate).splitlines() == [
        "../data/test.csv: is missing here; DVC tracks it",
        "  fix: `dvc pull`, or `dvc checkout` if it is in the cache",
        "../out/popular.csv: there is no such file",
        "  fix: set `models.popular.path` to the path of the file",
    ]
