"""`concord gate` and `concord diff` in projects with history: decisions, exit codes, errors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.stats.paired_test import paired_tests
from concord.pipeline.commands.gate import EXIT_CODES
from tests.pipeline.dvc.revisions import (
    SECOND,
    cache_without,
    cached_file,
    commit,
    scored_lists,
    worsen_for_active_users,
)
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
def gated(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    path = made_once(tmp_path_factory, worker_id, gate_project) / "a project"
    return copied_from(path, tmp_path_factory.mktemp("gate"))


def gate_project(folder: Path) -> None:
    """Two models; since the tag `v1`, one lost hits for active users; a third and P are new."""
    project = copied(folder)
    models = {
        "ease": {"path": "data/demo/ease.parquet"},
        "knn": {"path": "data/demo/item-knn.parquet"},
    }
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
    lists.write_parquet(project / "data/demo/ease.parquet")
    _evaluate_and_commit(project)
    run(project, "git", "tag", "v1")
    worsen_for_active_users(project, lists)
    models = {**models, "recent": {"path": "data/demo/ease-recent"}}
    metrics = ["nDCG", "R", "Coverage", "P"]
    change_params(project, {"models": models, "evaluation.metrics": metrics})
    _evaluate_and_commit(project)


@pytest.fixture(autouse=True)
def _restore_params(gated: Path) -> Iterator[None]:
    content = (gated / "params.yaml").read_bytes()
    yield
    (gated / "params.yaml").write_bytes(content)


def _evaluate_and_commit(project: Path) -> None:
    run_all_stages(project, last="compare")
    commit_results(project, last="compare")
    commit(project, "a state")


def run_gate(gated: Path, *arguments: str, **gate: Any) -> dict[str, Any]:
    """Return the content of `--json`; assert that the exit code is that of the outcome."""
    if gate:
        change_params(gated, {"gate": gate})
    done = attempt(gated, "concord", "gate", *arguments, "--json")
    assert done.stdout, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    decision: dict[str, Any] = content["decision"]
    assert done.returncode == EXIT_CODES[decision["outcome"]]
    return decision | {"notes": content["notes"]}


def _model(decision: dict[str, Any], name: str) -> dict[str, Any]:
    (result,) = [each for each in decision["models"] if each["model"] == name]
    return result


def test_command_and_comparison_decide_the_same(gated: Path) -> None:
    stored = json.loads((gated / "results/comparison/comparison.json").read_text())["gate"]
    decision = run_gate(gated)

    assert {key: decision[key] for key in stored} == stored
    assert [each["model"] for each in stored["models"]] == ["ease", "recent"]


def test_new_gate_reruns_only_the_comparison(
    gated: Path,
) -> None:
    change_params(gated, {"gate": {"guardrails": {"nDCG@10": "3%"}}})
    stale = json.loads(run(gated, "dvc", "status", "--json"))

    assert {stage for stage in stale if "@" in stage or stage in {"load-truth", "compare"}} == {
        "compare"
    }


def test_a_worse_segment_fails_against_the_revision(gated: Path) -> None:
    decision = run_gate(gated, "v1", guardrails={}, segments={"activity": {"nDCG@10": "5%"}})
    outcomes = {g["segment"]: g["outcome"] for g in _model(decision, "ease")["guardrails"]}

    assert decision["outcome"] == "worse"
    assert (decision["against"], decision["reference"]) == ("revision", "v1")
    assert outcomes == {"0": "pass", "1 to 20": "pass", "21 to 50": "pass", "over 50": "worse"}
    assert _model(decision, "knn")["outcome"] == "pass"  # unchanged
    assert decision["notes"] == ["not in v1, so not decided on: recent"]
    done = attempt(gated, "concord", "gate", "v1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == (
        "worse, against v1: 1 of 2 models changed; ease is worse."
    )
    assert "ease on nDCG@10 of segment activity=over 50: −0." in done.stdout.splitlines()[1]
    assert done.stdout.splitlines()[3] == "note: not in v1, so not decided on: recent"


def test_numbers_against_a_revision_are_those_of_the_two_files(gated: Path) -> None:
    decision = run_gate(gated, "v1")
    path = "results/per_user/ease.parquet"
    files = {"now": gated / path, "then": cached_file(gated, "v1", path)}
    values = {name: pl.read_parquet(file)["nDCG@10"].to_numpy() for name, file in files.items()}
    (expected,) = paired_tests(values, [("now", "then")], confidence=0.95, share_of="then")
    low, _ = expected.share_interval(0.95)

    result = _model(decision, "ease")["guardrails"][0]

    assert (result["label"], result["difference"], result["ci_low"]) == (
        "nDCG@10",
        expected.difference,
        pytest.approx(low * float(values["then"].mean())),
    )
    assert result["margin"] == pytest.approx(0.02 * float(values["then"].mean()))


def test_coverage_and_relevant_items_are_decided_against_a_revision(gated: Path) -> None:
    decision = run_gate(gated, "v1")
    ease, knn = (_model(decision, name)["guardrails"] for name in ("ease", "knn"))
    (covered,) = [each for each in ease if each["label"] == "Coverage@10"]
    segments = [each["segment"] for each in ease if each["segmentation"] == "wanted"]

    assert covered["test"] == "jackknife"
    assert covered["ci_low"] < covered["difference"] < covered["ci_high"]
    assert segments[:3] == ["head", "middle", "tail"]
    assert {each["outcome"] for each in knn} == {"pass"}


def test_replaced_lists_of_a_revision_are_refused(gated: Path) -> None:
    path = "results/lists/ease.parquet"
    cached = cached_file(gated, "v1", path)
    content = cached.read_bytes()
    cached.write_bytes((gated / path).read_bytes())
    done = attempt(gated, "concord", "gate", "v1")
    cached.write_bytes(content)

    assert done.returncode == 2
    assert f"{path} of v1: is damaged" in done.stderr


def test_diff_names_metrics_over_all_users(gated: Path) -> None:
    metrics = ("--metric", "R@10", "--metric", "Coverage@10", "--metric", "P@10")
    output = " ".join(run(gated, "concord", "diff", "v1", *metrics, COLUMNS="200").split())

    assert "R@10: ease, against v1: " in output
    assert "note: not evaluated at v1: P@10" in output
    assert (
        "note: no value per user, only one number over all users; `concord gate` compares it: "
        "Coverage@10"
    ) in output


def test_equal_models_pass_and_exit_with_0(gated: Path) -> None:
    guardrails = {"nDCG@10": "1%", "Coverage@10": 0}
    assert run_gate(gated, "v1", guardrails=guardrails, models=["knn"])["outcome"] == "pass"
    assert attempt(gated, "concord", "gate", "v1").returncode == 0


def test_a_label_not_evaluated_at_the_revision_is_undecided(gated: Path) -> None:
    decision = run_gate(gated, "v1", guardrails={"P@10": "5%"}, models=["knn"])
    code = attempt(gated, "concord", "gate", "v1").returncode
    waived = run_gate(gated, "v1", guardrails={"P@10": "5%"}, models=["knn"], undecided="pass")

    assert (decision["outcome"], code) == ("undecided", 3)
    assert waived["outcome"] == "pass"
    lines = run(gated, "concord", "gate", "v1").splitlines()
    assert lines[1].startswith("Passes although undecided: knn on P@10")
    assert "it was not evaluated at v1" in lines[1]


@pytest.mark.parametrize(
    ("gate", "arguments", "words"),
    [
        (
            None,
            (),
            "gate: has no rules\n  fix: write `gate: {guardrails: {nDCG@10: 2%}}` instead of "
            "`gate: {}`",
        ),
        (
            {"segments": {"wanted": {"nDCG@10": "2%"}}},
            (),
            "nDCG@10 is not known for groups of relevant items",
        ),
        (
            {"segments": {"activity": {"Coverage@10": "2%"}}},
            (),
            "Coverage@10 is one number over all users",
        ),
        ({"success": ["nDCG@10", "nDCG@10"]}, (), "names a label more than once"),
        (
            {"success": ["nDCG@10"], "models": ["knn"]},
            (),
            "there is no model besides the baseline, knn, to decide on",
        ),
        ({"success": ["nDCG@10"], "models": ["recent"]}, ("v1",), "v1 has no results of recent"),
        ({"success": ["nDCG@10"]}, ("v0",), "'v0' is not a revision of a git repository here"),
    ],
)
def test_undecidable_gate_exits_with_2(
    gated: Path, gate: dict[str, Any] | None, arguments: tuple[str, ...], words: str
) -> None:
    change_params(gated, {"gate": gate})
    done = attempt(gated, "concord", "gate", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert "fix: " in done.stderr
    assert not done.stdout


def test_decision_on_stale_results_has_a_warning(gated: Path) -> None:
    lists = gated / "data/demo/ease.parquet"
    content = lists.read_bytes()
    assert "warning" not in attempt(gated, "concord", "gate").stderr
    change_params(gated, {"gate": {"success": ["R@10"]}})  # the current gate decides
    assert "warning" not in attempt(gated, "concord", "gate").stderr

    for spoilt in (content[:-1], content[:-1] + b"?"):
        lists.write_bytes(spoilt)
        assert (
            "warning: data/demo/ease.parquet has changed since"
            in attempt(gated, "concord", "gate").stderr
        )
    lists.write_bytes(content)
    change_params(gated, {"conventions.gain": "exp2", "conventions.preset": "custom"})
    text = attempt(gated, "concord", "comment")

    assert (
        "warning: params.yaml (conventions) has changed since these results were made: run "
        "`dvc repro`"
    ) in text.stderr
    assert "> [!WARNING]\n> params.yaml (conventions) has changed since" in text.stdout


def test_other_conventions_are_refused(revisions: Path, tmp_path: Path) -> None:
    copy = copied_from(revisions / "a project", tmp_path)
    change_params(copy, {"gate": {"success": ["nDCG@10"]}})
    done = attempt(copy, "concord", "gate", "v1")

    assert done.returncode == 2
    assert "nDCG@10, nDCG@20 had other conventions: gain was 'linear' and is 'exp2'" in done.stderr


def test_system_errors_are_not_decisions(gated: Path) -> None:
    broken = gated / "results/per_user/ease.parquet"
    content = broken.read_bytes()
    broken.unlink()
    broken.write_bytes(content[:1000])
    done = attempt(gated, "concord", "gate")
    broken.write_bytes(content)

    assert done.returncode == 2
    assert done.stderr
    assert attempt(gated, "concord", "gate", "--what").returncode == 2
    assert attempt(gated, "bash", "-c", "exec concord gate > /dev/full").returncode == 2


@pytest.fixture(scope="module")
def project(revisions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied_from(revisions / SECOND / "a project", tmp_path_factory.mktemp("diff"))


def load_changes(project: Path, *arguments: str) -> dict[str, dict[str, object]]:
    content = json.loads(run(project, "concord", "diff", *arguments, "--json"))
    return {f"{row['model']} {row['label']}": row for row in content["changes"]}


def test_model_is_compared_with_its_former_values_by_user(project: Path) -> None:
    now = pl.read_parquet(project / "results/per_user/ease.parquet")
    then = pl.read_parquet(cached_file(project, "v1", "results/per_user/ease.parquet"))
    values = {"now": now["nDCG@10"].to_numpy(), "then": then["nDCG@10"].to_numpy()}
    (expected,) = paired_tests(values, [("now", "then")], confidence=0.95)

    row = load_changes(project, "v1")["ease nDCG@10"]

    assert (row["difference"], row["ci_low"], row["p"]) == (
        expected.difference,
        expected.interval(float(str(row["level"])))[0],
        expected.p,
    )
    assert (row["verdict"], row["primary"]) == ("worse", True)
    assert row["n_users"] == len(now)


def test_unchanged_models_are_identical_and_new_ones_are_named(project: Path) -> None:
    output = run(project, "concord", "diff", "v1")

    assert "note: not in v1: recent" in output
    assert "note: not evaluated at v1: AP@10, AP@20" in output
    assert "note: no longer evaluated: P@10, P@20" in output
    assert "nDCG@10: same values for every user: knn" in output
    assert "nDCG@10: ease, against v1: worse, −0." in output
    assert {key.split()[1] for key in load_changes(project, "v1")} == {
        "nDCG@10",
        "nDCG@20",
        "R@10",
        "R@20",
    }


@pytest.mark.parametrize("command", ["gate", "diff", "comment"])
def test_results_of_another_version_of_concord_are_a_warning(project: Path, command: str) -> None:
    summary = project / "results/summary/ease.json"
    actual, params = summary.read_bytes(), (project / "params.yaml").read_bytes()
    content = json.loads(actual)
    version = content["versions"]["concord-eval"]
    summary.write_text(json.dumps(content | {"versions": {"concord-eval": "99.1"}}))
    change_params(project, {"gate": {"guardrails": {"nDCG@10": "2%"}}})
    done = attempt(project, "concord", command, "v1")
    summary.write_bytes(actual)
    (project / "params.yaml").write_bytes(params)

    output = done.stdout.replace("\\", "")  # Markdown escapes
    assert f"ase was evaluated by Concord {version} at v1 and by Concord 99.1 now" in output


def test_models_and_metrics_can_be_chosen(project: Path) -> None:
    output = run(project, "concord", "diff", "v1", "--model", "ease", "--metric", "R@10")

    assert "R@10: ease" in output
    assert "nDCG@10" not in output
    assert "knn" not in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("v1", "--model", "als"), "'als' is not among the models"),
        (("v1", "--metric", "ERR@10"), "'ERR@10' is not evaluated"),
    ],
)
def test_incomparable_results_are_refused(
    project: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = attempt(project, "concord", "diff", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert "fix: " in done.stderr


def test_differing_conventions_are_named_and_refused_without_the_option(
    revisions: Path, tmp_path: Path
) -> None:
    copy = copied_from(revisions / "a project", tmp_path)
    refused = attempt(copy, "concord", "diff", "v1", "--metric", "nDCG@10")
    others, anyway = (
        " ".join(run(copy, "concord", "diff", "v1", *words).split())
        for words in ((), ("--anyway",))
    )

    differing = "nDCG@10, nDCG@20 had other conventions: gain was 'linear' and is 'exp2'"
    assert refused.returncode == 2
    assert differing in refused.stderr
    assert others.startswith(f"note: not compared: {differing}")
    assert "R@20: ease, against v1: worse" in others
    assert anyway.startswith(f"note: {differing}")
    assert "nDCG@10: ease, against v1: worse" in anyway


def test_changed_training_parameters_are_named(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    results = (copy / "dvc.lock").read_text()
    training = """  train:
    params:
      params.yaml: {l2: [%s]}
    outs:
    - path: data/demo/ease.parquet
"""
    (copy / "dvc.lock").write_text(results + training % 500)
    commit(copy, "trained by DVC")
    (copy / "dvc.lock").write_text(results + training % 50)

    text = run(copy, "concord", "diff", "HEAD", "--metric", "R@20")
    content = json.loads(run(copy, "concord", "diff", "HEAD", "--json"))

    assert "ease: l2 [500] → [50]" in text.splitlines()
    assert content["training_params"] == [
        {"name": "l2", "then": "[500]", "now": "[50]", "models": ["ease"]}
    ]


def test_lost_results_are_named_with_a_fix(project: Path) -> None:
    per_user, summary = "results/per_user/ease.parquet", "results/summary/ease.json"
    with cache_without(project, "v1", per_user):
        one = attempt(project, "concord", "diff", "v1")
        with cache_without(project, "v1", summary):
            two = attempt(project, "concord", "diff", "v1")

    assert one.returncode == two.returncode == 2
    missing = "neither in DVC's cache nor on a remote"
    assert f"results of v1: {per_user} is {missing}" in one.stderr
    assert f"results of v1: 2 files are {missing}, first {per_user}" in two.stderr
    assert two.stderr.count("dvc fetch --all-commits") == 1


def test_a_revision_without_dvc_lock_is_named(project: Path) -> None:
    index = {"GIT_INDEX_FILE": str(project / ".git" / "without-lock")}
    run(project, "git", "read-tree", "v1", **index)
    run(project, "git", "rm", "-qf", "--cached", "dvc.lock", **index)
    tree = run(project, "git", "write-tree", **index).strip()
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    commit = run(project, "git", *identity, "commit-tree", "-m", "no lock", tree).strip()
    refused = attempt(project, "concord", "diff", commit)

    assert refused.returncode == 2
    assert refused.stderr == (
        f"results of {commit}: no dvc.lock of this folder is in git at that revision\n"
        "  fix: commit dvc.lock after `dvc repro`, and name that revision\n"
    )


def test_dvc_metrics_diff_has_a_row_per_model_and_primary_metric(project: Path) -> None:
    content = json.loads(run(project, "dvc", "metrics", "diff", "v1", "--json"))
    (changed,) = content.values()

    assert set(content) == {"results/report/primary.json"}
    assert changed["nDCG@10.ease"]["diff"] < 0
    assert changed["nDCG@10.recent"]["old"] is None
    assert "nDCG@10.knn" not in changed  # it is the same


def test_dvc_plots_diff_has_the_curves_of_both_revisions(project: Path) -> None:
    run(project, "dvc", "plots", "diff", "v1", "-o", "plots")
    page = (project / "plots" / "index.html").read_text(encoding="utf-8")

    assert page.count("vegaEmbed(") == 1
    assert {rev for rev in ("v1", "workspace") if f'"rev": "{rev}"' in page} == {"v1", "workspace"}
