"""`concord history` in a project of four commits; `history`, `diff` and `gate` with replicates."""

import json
from contextlib import chdir
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest

from concord.pipeline.dvc.history import history
from concord.reports.page import render_history
from tests.pipeline.dvc.revisions import (
    SECOND,
    cache_without,
    evaluate_and_commit,
    scored_lists,
    without_code,
)
from tests.project import attempt, change_params, copied, copied_from, made_once, run

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def project(revisions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied_from(revisions / "a project", tmp_path_factory.mktemp("history"))


def history_rows(project: Path, *arguments: str) -> list[dict[str, Any]]:
    with chdir(project):
        return history(*arguments).to_frame().to_dicts()


def rows_by_model(rows: list[dict[str, Any]], subject: str) -> dict[str, dict[str, Any]]:
    return {f"{row['model']} {row['label']}": row for row in rows if row["subject"] == subject}


def test_change_of_a_model_equals_that_of_concord_diff(
    project: Path, revisions: Path, tmp_path: Path
) -> None:
    rows = rows_by_model(history_rows(project), "Another ease, and a new model")
    second = copied_from(revisions / SECOND / "a project", tmp_path)
    diff = run(second, "concord", "diff", "v1", "--json")
    changes = json.loads(diff)["changes"]
    expected = {f"{each['model']} {each['label']}": each for each in changes if each["primary"]}

    names = {"change": "difference", "change_low": "ci_low", "change_high": "ci_high"}
    names |= {"change_p_adjusted": "p_adjusted", "change_verdict": "verdict"}
    for key in ("ease nDCG@10", "ease R@20"):
        assert [rows[key][name] for name in names] == [expected[key][x] for x in names.values()]
    assert [
        (rows[f"knn {x}"]["change"], rows[f"knn {x}"]["change_verdict"])
        for x in ("nDCG@10", "R@20")
    ] == [(0.0, "identical")] * 2
    assert rows["recent nDCG@10"]["change"] is None
    assert rows["ease R@20"]["changed"] == "new: recent; other lists: ease"


def test_labels_of_other_conventions_are_named_and_not_compared(project: Path) -> None:
    rows = rows_by_model(history_rows(project), "Gains of grades")

    assert {row["changed"] for row in rows.values()} == {"gain: linear → exp2"}
    assert {row["note"] for row in rows.values()} == {"nDCG@10 had other conventions"}
    assert {row["change"] for key, row in rows.items() if "nDCG" in key} == {None}
    assert {row["change"] for key, row in rows.items() if "R@20" in key} == {0.0}


def test_means_and_verdicts_are_those_of_the_comparison(project: Path) -> None:
    rows = rows_by_model(history_rows(project), "Gains of grades")
    comparison = json.loads((project / "results/comparison/comparison.json").read_text())
    means = {f"{s['model']} {s['label']}": s["mean"] for s in comparison["scores"]}
    verdicts = {
        f"{d['a']} {d['label']}": d["verdict"] for d in comparison["pairs"] if d["vs_baseline"]
    }

    assert {key: row["mean"] for key, row in rows.items()} == {key: means[key] for key in rows}
    assert {key: row["verdict"] for key, row in rows.items()} == {
        key: verdicts.get(key) for key in rows
    }


def test_each_decision_on_a_truth_is_counted_once(project: Path) -> None:
    output = " ".join(run(project, "concord", "history", "--csv", "../history.csv").split())

    # one list on two labels; two new lists; and all of it again under other conventions
    assert f"in 3 comparisons to decide {1 * 2 + 2 * 2 + 2 * 2} times whether" in output
    assert "chance" not in output
    written = pl.read_csv(project.parent / "history.csv", infer_schema_length=None)
    assert written["mean"].to_list() == [row["mean"] for row in history_rows(project)]


def test_revision_without_later_changes_is_refused(project: Path) -> None:
    done = attempt(project, "concord", "history", "v2")

    assert done.returncode == 2
    assert "the comparison has not changed since v2\n  fix: " in done.stderr


def test_revision_with_lost_results_is_a_row_from_git(project: Path) -> None:
    before = rows_by_model(history_rows(project), "Two models")
    with cache_without(project, "v1", "results/comparison"):
        output = run(project, "concord", "history", COLUMNS="200")
        rows = rows_by_model(history_rows(project), "Two models")
        after = rows_by_model(history_rows(project), "Another ease, and a new model")

    assert rows.keys() == before.keys()
    for key, row in rows.items():
        assert (row["mean"], row["verdict"]) == (before[key]["mean"], before[key]["verdict"])
        assert (row["ci_low"], row["note"]) == (None, "its results are not in DVC's cache")
    assert after["ease R@20"]["change"] is None
    assert after["ease R@20"]["note"] == "the revision before cannot be read"
    assert after["ease R@20"]["changed"] == "new: recent; other lists: ease"
    assert "note: 1 revision cannot be read in full" in output
    assert "in 3 comparisons to decide 10 times" in output


def test_lost_per_user_values_leave_a_row_without_a_difference(project: Path) -> None:
    with cache_without(project, "v1", "results/per_user/ease.parquet"):
        row = rows_by_model(history_rows(project), "Another ease, and a new model")["ease R@20"]

    assert (row["change"], row["note"]) == (None, "users' values of ease are not in DVC's cache")
    assert row["mean"] is not None


def test_the_working_tree_is_the_last_row_where_it_differs(project: Path) -> None:
    head = run(project, "git", "rev-parse", "HEAD").strip()
    run(project, "git", "reset", "-q", "--soft", "v1")
    rows = history_rows(project)
    run(project, "git", "reset", "-q", "--soft", head)

    assert list(dict.fromkeys(row["revision"] for row in rows))[1:] == ["working tree"]
    assert rows[-1]["date"] == ""


def test_page_is_that_of_the_library_and_names_no_folder(project: Path) -> None:
    page = project.parent / "history.html"
    run(project, "concord", "history", "--html", str(page))
    with chdir(project):
        again = render_history(history())

    assert page.read_text(encoding="utf-8") == again
    assert str(project) not in again


LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def replicates_project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    path = made_once(tmp_path_factory, worker_id, make_replicates_project) / "a project"
    return copied_from(path, tmp_path_factory.mktemp("replicates_project"))


def make_replicates_project(folder: Path) -> None:
    """Make commits: three models, `models`; replicates of one, `one`; a fourth, `more`."""
    project = copied(folder)
    without_code(project)
    lists = scored_lists(project)
    for seed in range(1, 5):
        noise = pl.Series(np.random.default_rng(seed).normal(0, 0.1, len(lists)))
        trained = lists.with_columns(pl.col("score") + noise)
        trained.write_parquet(project / f"data/demo/ease-{seed}.parquet")
    settings = {
        "comparison.baseline": "knn",
        "comparison.primary": [LABEL],
        "segments": {},
        "background": {},
    }
    requested = {"evaluation.metrics": ["nDCG"], "evaluation.ks": [10], "evaluation.panel": False}
    change_params(project, settings | requested | model_settings(3))
    evaluate_and_tag(project, "models", "knn", "ease-1", "ease-2", "ease-3")
    change_params(project, replicate_settings(3))
    evaluate_and_tag(project, "one")
    change_params(project, model_settings(4) | replicate_settings(4))
    gate = {"guardrails": {LABEL: 0.5}, "models": ["ease"]}
    change_params(project, {"gate": gate})
    evaluate_and_tag(project, "more", "ease-4")


def model_settings(seeds: int) -> dict[str, Any]:
    trained = {f"ease-{n}": {"path": f"data/demo/ease-{n}.parquet"} for n in range(1, seeds + 1)}
    return {"models": {"knn": {"path": "data/demo/item-knn.parquet"}, **trained}}


def replicate_settings(seeds: int) -> dict[str, Any]:
    return {"comparison.replicates": {"ease": {n: f"ease-{n}" for n in range(1, seeds + 1)}}}


def evaluate_and_tag(project: Path, name: str, *models: str) -> None:
    stages = [*(f"load {m}" for m in models), *(f"evaluate {m}" for m in models)]
    stages += ["reference", "compare"]
    if name == "models":
        stages = ["load-truth", *stages, "report"]
    evaluate_and_commit(project, name, *stages)
    run(project, "git", "tag", name)


def model_history(replicates_project: Path, model: str) -> list[dict[str, Any]]:
    with chdir(replicates_project):
        return [row for row in history().to_frame().to_dicts() if row["model"] == model]


def run_diff(replicates_project: Path, *arguments: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        run(replicates_project, "concord", "diff", *arguments, "--json")
    )
    return content


def test_model_is_compared_with_all_its_former_replicates(replicates_project: Path) -> None:
    columns = [
        pl.read_parquet(replicates_project / f"results/per_user/ease-{n}.parquet")[LABEL].to_list()
        for n in range(1, 5)
    ]
    now, then = ([fmean(row) for row in zip(*columns[:n], strict=True)] for n in (4, 3))
    expected = fmean(a - b for a, b in zip(now, then, strict=True))

    for revision in ("one", "models"):
        result = run_diff(replicates_project, revision)
        (ease,) = [row for row in result["changes"] if row["model"] == "ease"]
        assert ease["difference"] == pytest.approx(expected, abs=1e-12)
    assert model_history(replicates_project, "ease")[-1]["change"] == pytest.approx(
        expected, abs=1e-12
    )


@pytest.mark.parametrize("revision", ["one", "models"])
def test_new_replicates_are_named_and_former_models_are_not(
    replicates_project: Path, revision: str
) -> None:
    note = f"replicates that are not in {revision}: ease-4"
    gated = attempt(replicates_project, "concord", "gate", revision, "--json")

    assert run_diff(replicates_project, revision)["notes"] == [note]
    assert gated.returncode == 0, gated.stderr
    assert note in json.loads(gated.stdout)["notes"]
    assert not [each for each in json.loads(gated.stdout)["notes"] if "removed" in each]


def test_fix_of_a_replicate_names_its_model(replicates_project: Path) -> None:
    refused = attempt(replicates_project, "concord", "diff", "one", "--model", "ease-1")

    assert refused.returncode == 2
    assert "fix: did you mean 'ease'?" in refused.stderr


def test_gate_refuses_only_models_without_any_list_at_the_revision(
    replicates_project: Path,
) -> None:
    content = (replicates_project / "params.yaml").read_bytes()
    change_params(
        replicates_project,
        {"comparison.replicates": {"new": {1: "ease-4", 2: "ease-3"}}, "gate.models": ["new"]},
    )
    some = attempt(replicates_project, "concord", "gate", "one")
    change_params(
        replicates_project,
        model_settings(4) | {"comparison.replicates": {}, "gate.models": ["ease-4"]},
    )
    none = attempt(replicates_project, "concord", "gate", "one")
    (replicates_project / "params.yaml").write_bytes(content)

    assert "replicates that are not in one: ease-4" in some.stdout, some.stderr
    assert none.returncode == 2
    assert "one has no results of ease-4" in none.stderr


def test_a_model_is_one_decision_with_or_without_cached_results(
    replicates_project: Path,
) -> None:
    """Three models, then one of their lists, then one of four."""
    cache, aside = replicates_project / ".dvc/cache/files", replicates_project / ".dvc/aside"
    with chdir(replicates_project):
        remote = history().reuse
        cache.rename(aside)
        gone = history().reuse
        aside.rename(cache)

    assert remote is not None
    assert (remote.comparisons, remote.decisions) == (3, 5)
    assert gone == remote


def test_history_notes_replicates_outside_the_intervals(
    replicates_project: Path,
) -> None:
    message = "intervals and verdicts are over users: other replicates of ease are not in them"
    with chdir(replicates_project):
        assert history().notes == history("models").notes == (message,)
    assert f"note: {message}" in run(replicates_project, "concord", "history", COLUMNS="200")

    run(replicates_project, "git", "checkout", "-q", "models")
    with chdir(replicates_project):
        notes = history().notes
    run(replicates_project, "git", "checkout", "-q", "-")
    assert notes == ()


def test_gate_notes_that_it_decides_over_users(replicates_project: Path) -> None:
    message = "decided over users: other replicates of ease are not in the intervals"

    for revision in ([], ["one"]):
        assert f"note: {message}" in run(
            replicates_project, "concord", "gate", *revision, COLUMNS="200"
        )
    content = (replicates_project / "params.yaml").read_bytes()
    change_params(replicates_project, {"gate.models": ["knn"]})
    of_another = run(replicates_project, "concord", "gate", "one")
    (replicates_project / "params.yaml").write_bytes(content)
    assert message not in of_another
