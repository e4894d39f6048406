"""`gate`, `diff` and `comment` compare a renamed model with its former results."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.pipeline.dvc.revision import renamed_lists
from tests.pipeline.dvc.revisions import SECOND, evaluate_and_commit
from tests.project import attempt, change_params, copied_from, params_refusal, run, run_stages

GATE = {"guardrails": {"nDCG@10": "2%"}}
SAME_FILE, OTHER_FILE = "data/demo/ease.parquet", "data/demo/slim.parquet"


@pytest.fixture(scope="module")
def project(revisions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Since the tag v1 ease has become worse, and is called slim."""
    copy = copied_from(revisions / SECOND / "a project", tmp_path_factory.mktemp("renamed"))
    shutil.copy(copy / SAME_FILE, copy / OTHER_FILE)
    rename_models(copy, path=SAME_FILE)
    run_stages(copy, "load slim", "evaluate slim", "compare")
    return copy


def rename_models(project: Path, **entry: str) -> None:
    """Set the models to knn, and slim with this entry."""
    models = {"knn": {"path": "data/demo/item-knn.parquet"}, "slim": entry}
    change_params(project, {"models": models, "gate": GATE})


def run_gate(project: Path, **gate: Any) -> tuple[int, list[str], list[str]]:
    """Return the exit code, the lines and the notes of a gate against v1."""
    change_params(project, {"gate": GATE | gate})
    done = attempt(project, "concord", "gate", "v1", "--json")
    assert done.stdout, done.stderr
    notes = json.loads(done.stdout)["notes"]
    lines = attempt(project, "concord", "gate", "v1").stdout.splitlines()
    return done.returncode, lines[: len(lines) - len(notes)], notes


@pytest.mark.whole
@pytest.mark.fault(43, "`was`, or the same file, identifies it")
@pytest.mark.parametrize("entry", [{"path": SAME_FILE}, {"path": OTHER_FILE, "was": "ease"}])
def test_renamed_model_is_compared_with_its_former_results(
    project: Path, entry: dict[str, str]
) -> None:
    rename_models(project, **entry)
    code, lines, notes = run_gate(project)

    assert code == 1
    assert lines[0] == "worse, against v1: 1 of 2 models changed; slim is worse."
    assert notes == ["renamed since v1: slim was ease"]
    (row,) = [
        each
        for each in json.loads(run(project, "concord", "diff", "v1", "--json"))["changes"]
        if (each["model"], each["label"]) == ("slim", "nDCG@10")
    ]
    assert row["verdict"] == "worse"
    assert "Renamed since v1: slim was ease." in attempt(project, "concord", "comment", "v1").stdout


@pytest.mark.whole
@pytest.mark.fault(43, "otherwise the gate is undecided and shows what to write")
@pytest.mark.parametrize("gate", [{}, {"undecided": "pass"}, {"models": ["knn", "slim"]}])
def test_vanished_and_new_models_are_undecided_and_never_waived(
    project: Path, gate: dict[str, Any]
) -> None:
    rename_models(project, path=OTHER_FILE)
    code, lines, _ = run_gate(project, **gate)
    comment = attempt(project, "concord", "comment", "v1", "--undecided", "pass")

    assert code == comment.returncode == 3
    assert lines[0] == "undecided, against v1: knn is unchanged; ease is gone while slim is new."
    assert lines[2].startswith("Write `models.slim.was: ease` if slim is the former ease;")
    assert lines[2].endswith("Checked: 1 guardrail of 1 model.")
    assert "Gate: undecided" in comment.stdout
    assert "Write `models.slim.was: ease` if" in comment.stdout


@pytest.mark.whole
def test_new_models_are_compared_with_the_baseline_or_ignored(project: Path) -> None:
    rename_models(project, path=OTHER_FILE)
    code, lines, notes = run_gate(project, new_models="baseline")
    assert code == 1
    assert lines[0] == (
        "worse, against v1: 1 of 2 models changed; slim (new, against knn) is worse."
    )
    assert notes == ["removed: ease"]

    code, lines, notes = run_gate(project, new_models="ignore")
    assert code == 0
    assert lines[0] == "pass, against v1: knn is unchanged."
    assert notes == ["not in v1, so not decided on: slim", "removed: ease"]

    assert run_gate(project, new_models="ignore", models=["knn", "slim"])[0] == 0


@pytest.mark.whole
def test_gate_with_only_new_models_has_a_fix(project: Path) -> None:
    models = {"slim": {"path": OTHER_FILE}}
    change_params(project, {"models": models, "comparison.baseline": "slim"})
    code, lines, _ = run_gate(project)
    change_params(project, {"comparison.baseline": "knn"})

    assert code == 3
    assert lines[0] == "undecided, against v1: ease and knn are gone while slim is new."
    assert "if new models are other ones, compare with the baseline: `concord gate`." in lines[2]


@pytest.mark.whole
def test_new_baseline_is_not_compared_with_itself_if_models_vanished(project: Path) -> None:
    rename_models(project, path=OTHER_FILE)
    change_params(project, {"comparison.baseline": "slim"})
    code, lines, _ = run_gate(project, new_models="baseline")
    change_params(project, {"comparison.baseline": "knn"})

    assert code == 3
    assert "`gate.new_models: baseline`" not in lines[2]
    assert "`gate.new_models: ignore` leaves them out" in lines[2]


@pytest.mark.whole
def test_renamed_model_outside_the_gate_has_not_vanished(project: Path) -> None:
    rename_models(project, path=OTHER_FILE, was="ease")
    code, lines, notes = run_gate(project, models=["knn"])

    assert (code, lines[0]) == (0, "pass, against v1: knn is unchanged.")
    assert "removed: ease" not in notes


@pytest.mark.whole
@pytest.mark.parametrize(
    ("models", "words"),
    [
        (
            {"knn": {"path": "a"}, "slim": {"path": "b", "was": "knn"}},
            "models.slim.was: is 'knn', which is still a model",
        ),
        (
            {"knn": {"path": "a", "was": "x"}, "slim": {"path": "b", "was": "x"}},
            "models.slim.was: is 'x', as that of knn",
        ),
    ],
)
def test_invalid_former_name_is_refused(project: Path, models: dict[str, Any], words: str) -> None:
    assert words in params_refusal(project, {"models": models})


@pytest.mark.whole
def test_history_compares_a_renamed_model_with_itself(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path / "history")
    rename_models(copy, path=OTHER_FILE, was="ease")
    evaluate_and_commit(copy, "Renamed", "load slim", "evaluate slim", "compare")
    run(copy, "concord", "history", "--csv", "history.csv")
    row = pl.read_csv(copy / "history.csv", infer_schema_length=None).row(
        by_predicate=(pl.col("subject") == "Renamed")
        & (pl.col("model") == "slim")
        & (pl.col("label") == "nDCG@10"),
        named=True,
    )

    assert row["changed"] == "removed: recent; renamed: slim was ease"
    assert (row["change"], row["change_verdict"]) == (0.0, "identical")


A, B = {"path": "a.csv"}, {"path": "b.csv"}


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        ({"new": A}, {"old": A}, {"new": "old"}),
        ({"new": {"path": "./x/../a.csv"}}, {"old": A}, {"new": "old"}),
        ({"new": B}, {"old": A}, {}),
        ({"new": {**B, "was": "old"}}, {"old": A}, {"new": "old"}),
        ({"new": {**B, "was": "never"}}, {"old": A}, {}),
        ({"new": A, "old": A}, {"old": A}, {}),  # a copy
        ({"new": A, "newer": A}, {"old": A}, {}),  # nobody knows which
        ({"new": A}, {"old": A, "older": A}, {}),
        ({"new": A}, {"old": A, "older": A, "oldest": B}, {}),
        ({"new": A, "newer": {**B, "was": "old"}}, {"old": A}, {"newer": "old"}),
        ({"old": {**B, "was": "older"}}, {"old": A, "older": B}, {}),  # its own name comes first
        ({"new": A}, {"old": None, "older": {"path": 1}}, {}),
    ],
)
def test_entries_continue_a_former_one_by_name_or_by_their_only_file(
    now: dict[str, Any], then: dict[str, Any], expected: dict[str, str]
) -> None:
    assert renamed_lists(now, then) == expected
