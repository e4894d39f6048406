"""`concord gate [REV]` in a real project with history: what it decides, with which exit code, and what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.statistics.pairs import compare
from concord.pipeline.commands.gate import EXIT_CODES
from tests.pipeline.revisions import cached_file, commit, scored_lists
from tests.project import (
    attempt,
    change_params,
    commit_results,
    copied,
    copied_from,
    made_once,
    run,
    run_all_stages,
)

pytestmark = pytest.mark.whole

GATE = {
    "guardrails": {"nDCG@10": "2%", "Coverage@10": "min_effect"},
    "segments": {"activity": {"nDCG@10": "5%"}, "wanted": {"R@10": 0.05}},
    "success": ["R@10"],
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    made = made_once(tmp_path_factory, worker_id, gate_project) / "a project"
    return copied_from(made, tmp_path_factory.mktemp("gate"))


def gate_project(folder: Path) -> None:
    """Two models; since the tag `v1` one of them has lost its hits for users of whom much is known, and a third and P are new."""
    project = copied(folder)
    demo = project / "data/demo"
    models = {"ease": {"path": "data/demo/ease.parquet"}, "knn": {"path": "data/demo/item-knn.parquet"}}  # fmt: skip
    change_params(
        project,
        {
            "models": models,
            "comparison.baseline": "knn",
            "comparison.primary": ["nDCG@10"],
            "comparison.resamples": 199,
            "segments": {
                "activity": {"by": "activity", "edges": [0, 20, 50]},
                "wanted": {"by": "truth_item", "shares": [0.5, 0.8]},
            },
            "gate": GATE,
            "evaluation.metrics": ["nDCG", "R", "Coverage"],
            "evaluation.ks": [10],
            "evaluation.panel": False,
        },
    )
    lists = scored_lists(project)
    lists.write_parquet(demo / "ease.parquet")
    _evaluate_and_commit(project)
    run(project, "git", "tag", "v1")
    train = pl.read_parquet(demo / "train.parquet").group_by("user").len()
    busy = train.filter(pl.col("len") > 50)["user"].implode()
    turned = pl.when(pl.col("user").is_in(busy)).then(-pl.col("score")).otherwise(pl.col("score"))
    lists.with_columns(turned.alias("score")).write_parquet(demo / "ease.parquet")
    models = {**models, "recent": {"path": "data/demo/ease-recent"}}
    metrics = ["nDCG", "R", "Coverage", "P"]
    change_params(project, {"models": models, "evaluation.metrics": metrics})
    _evaluate_and_commit(project)


@pytest.fixture(autouse=True)
def _params_as_they_were(project: Path) -> Iterator[None]:
    kept = (project / "params.yaml").read_bytes()
    yield
    (project / "params.yaml").write_bytes(kept)


def _evaluate_and_commit(project: Path) -> None:
    run_all_stages(project, last="compare")
    commit_results(project, last="compare")
    commit(project, "a state")


def _decided(project: Path, *arguments: str, **gate: Any) -> dict[str, Any]:
    """What `--json` prints; the exit code is that of its outcome."""
    if gate:
        change_params(project, {"gate": gate})
    done = attempt(project, "concord", "gate", *arguments, "--json")
    assert done.stdout, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == content["exit_code"] == EXIT_CODES[content["outcome"]]
    return content


def _model(decision: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in decision["models"] if each["model"] == name]
    return found


def test_the_command_and_the_comparison_decide_alike(project: Path) -> None:
    stored = json.loads((project / "results/comparison/comparison.json").read_text())["gate"]
    decision = _decided(project)

    assert {key: decision[key] for key in stored} == stored
    assert [each["model"] for each in stored["models"]] == ["ease", "recent"]
    assert len(stored["lines"]) == 3


def test_a_gate_that_is_added_makes_the_comparison_run_again_and_nothing_else(
    project: Path,
) -> None:
    change_params(project, {"gate": {"guardrails": {"nDCG@10": "3%"}}})
    stale = json.loads(run(project, "dvc", "status", "--json"))

    assert {stage for stage in stale if "@" in stage or stage in {"load-truth", "compare"}} == {"compare"}  # fmt: skip


def test_a_segment_that_got_worse_fails_against_the_revision(project: Path) -> None:
    decision = _decided(project, "v1", guardrails={}, segments={"activity": {"nDCG@10": "5%"}})
    outcomes = {g["segment"]: g["outcome"] for g in _model(decision, "ease")["guardrails"]}

    assert decision["outcome"] == "worse"
    assert (decision["against"], decision["reference"]) == ("revision", "v1")
    assert outcomes == {"0": "pass", "1 to 20": "pass", "21 to 50": "pass", "over 50": "worse"}
    assert _model(decision, "knn")["outcome"] == "pass"  # it is as it was
    assert decision["notes"] == ["not in v1, so not decided on: recent"]
    done = attempt(project, "concord", "gate", "v1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "worse, against v1: ease is worse; knn passes."
    assert "ease on nDCG@10 of activity “over 50”: −0." in done.stdout.splitlines()[1]
    assert done.stdout.splitlines()[3] == "note: not in v1, so not decided on: recent"


def test_numbers_against_a_revision_are_those_of_the_two_files(project: Path) -> None:
    decision = _decided(project, "v1")
    path = "results/per_user/ease.parquet"
    files = {"now": project / path, "then": cached_file(project, "v1", path)}
    values = {name: pl.read_parquet(file)["nDCG@10"].to_numpy() for name, file in files.items()}
    (expected,) = compare(values, [("now", "then")], confidence=0.95)

    found = _model(decision, "ease")["guardrails"][0]

    assert (found["label"], found["difference"], found["ci_low"]) == ("nDCG@10", expected.difference, expected.ci_low)  # fmt: skip
    assert found["margin"] == pytest.approx(0.02 * float(values["then"].mean()))


def test_coverage_and_wanted_items_are_decided_against_a_revision_too(project: Path) -> None:
    decision = _decided(project, "v1")
    ease, knn = (_model(decision, name)["guardrails"] for name in ("ease", "knn"))
    (covered,) = [each for each in ease if each["label"] == "Coverage@10"]
    wanted = [each["segment"] for each in ease if each["segmentation"] == "wanted"]

    assert covered["test"] == "jackknife"
    assert covered["ci_low"] < covered["difference"] < covered["ci_high"]
    assert wanted[:3] == ["head", "middle", "tail"]
    assert {each["outcome"] for each in knn} == {"pass"}


def test_equal_models_pass_and_exit_with_0(project: Path) -> None:
    guardrails = {"nDCG@10": "1%", "Coverage@10": 0}
    assert _decided(project, "v1", guardrails=guardrails, models=["knn"])["outcome"] == "pass"
    assert attempt(project, "concord", "gate", "v1").returncode == 0


def test_a_label_that_was_not_evaluated_then_is_undecided(project: Path) -> None:
    decision = _decided(project, "v1", guardrails={"P@10": "5%"}, models=["knn"])
    code = attempt(project, "concord", "gate", "v1").returncode
    waived = _decided(project, "v1", guardrails={"P@10": "5%"}, models=["knn"], undecided="pass")

    assert (decision["outcome"], code) == ("undecided", 3)
    assert decision["models"][0]["guardrails"][0]["why"] == "it was not evaluated at v1"
    assert waived["outcome"] == "pass"
    assert waived["lines"][1].startswith("Let pass though undecided: knn on P@10")


@pytest.mark.parametrize(
    ("gate", "arguments", "words"),
    [
        (None, (), "gate: asks nothing\n  fix: write what it asks, such as `gate: {guardrails: {nDCG@10: 2%}}`"),
        ({"segments": {"wanted": {"nDCG@10": "2%"}}}, (), "nDCG@10 is not known of groups of wanted items"),
        ({"segments": {"activity": {"Coverage@10": "2%"}}}, (), "Coverage@10 is one number over all users"),
        ({"success": ["nDCG@10", "nDCG@10"]}, (), "names a label more than once"),
        ({"success": ["nDCG@10"], "models": ["knn"]}, (), "there is no model beside the baseline, knn, to decide on"),
        ({"success": ["nDCG@10"], "models": ["recent"]}, ("v1",), "v1 has no results of recent"),
        ({"success": ["nDCG@10"]}, ("v0",), "'v0' is no revision of a git repository here"),
    ],
)  # fmt: skip
def test_what_cannot_be_decided_is_refused_with_2(
    project: Path, gate: dict[str, Any] | None, arguments: tuple[str, ...], words: str
) -> None:
    change_params(project, {"gate": gate})
    done = attempt(project, "concord", "gate", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert "fix: " in done.stderr
    assert not done.stdout


def test_a_decision_on_results_that_are_older_than_their_files_says_so(project: Path) -> None:
    lists = project / "data/demo/ease.parquet"
    kept = lists.read_bytes()
    assert "beware" not in attempt(project, "concord", "gate").stderr
    change_params(project, {"gate": {"success": ["R@10"]}})  # it decides by the gate of now
    assert "beware" not in attempt(project, "concord", "gate").stderr

    for spoilt in (kept[:-1], kept[:-1] + b"?"):
        lists.write_bytes(spoilt)
        assert "beware, data/demo/ease.parquet has changed since" in attempt(project, "concord", "gate").stderr  # fmt: skip
    lists.write_bytes(kept)
    change_params(project, {"conventions.gain": "exp2", "conventions.preset": "custom"})
    text = attempt(project, "concord", "comment")

    assert "beware, params.yaml (conventions) has changed since these results were made: run `dvc repro`" in text.stderr  # fmt: skip
    assert "> **Read this first:** params.yaml (conventions) has changed since" in text.stdout


def test_other_conventions_are_refused(revisions: Path, tmp_path: Path) -> None:
    copy = copied_from(revisions / "a project", tmp_path)
    change_params(copy, {"gate": {"success": ["nDCG@10"]}})
    done = attempt(copy, "concord", "gate", "v1")

    assert done.returncode == 2
    assert "ease, knn had other conventions: gain was 'linear' and is 'exp2'" in done.stderr


def test_errors_of_the_machine_are_no_decision(project: Path) -> None:
    broken = project / "results/per_user/ease.parquet"
    kept = broken.read_bytes()
    broken.unlink()
    broken.write_bytes(kept[:1000])
    done = attempt(project, "concord", "gate")
    broken.write_bytes(kept)

    assert done.returncode == 2
    assert done.stderr
    assert attempt(project, "concord", "gate", "--what").returncode == 2
    assert attempt(project, "bash", "-c", "exec concord gate > /dev/full").returncode == 2
