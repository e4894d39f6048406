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
from tests.reports.samples.axe import axe_script
from tests.reports.samples.browser import Page

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def project(revisions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied_from(revisions / "a project", tmp_path_factory.mktemp("history"))


def _table(project: Path, *arguments: str) -> list[dict[str, Any]]:
    with chdir(project):
        return history(*arguments).to_frame().to_dicts()


def _by_model(rows: list[dict[str, Any]], subject: str) -> dict[str, dict[str, Any]]:
    return {f"{row['model']} {row['label']}": row for row in rows if row["subject"] == subject}


def test_change_of_a_model_equals_that_of_concord_diff(
    project: Path, revisions: Path, tmp_path: Path
) -> None:
    rows = _by_model(_table(project), "Another ease, and a new model")
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
    rows = _by_model(_table(project), "Gains of grades")

    assert {row["changed"] for row in rows.values()} == {"gain: linear → exp2"}
    assert {row["note"] for row in rows.values()} == {"nDCG@10 had other conventions"}
    assert {row["change"] for key, row in rows.items() if "nDCG" in key} == {None}
    assert {row["change"] for key, row in rows.items() if "R@20" in key} == {0.0}


def test_means_and_verdicts_are_those_of_the_comparison(project: Path) -> None:
    rows = _by_model(_table(project), "Gains of grades")
    comparison = json.loads((project / "results/comparison/comparison.json").read_text())
    means = {f"{s['model']} {s['label']}": s["mean"] for s in comparison["leaderboard"]}
    verdicts = {
        f"{d['a']} {d['label']}": d["verdict"]
        for d in comparison["differences"]
        if d["vs_baseline"]
    }

    assert {key: row["mean"] for key, row in rows.items()} == {key: means[key] for key in rows}
    assert {key: row["verdict"] for key, row in rows.items()} == {
        key: verdicts.get(key) for key in rows
    }


def test_every_decision_on_this_truth_is_counted_once(project: Path) -> None:
    output = " ".join(run(project, "concord", "history", "--csv", "../history.csv").split())

    # one list on two labels; two new lists; and all of it again under other conventions
    assert f"3 comparisons with {1 * 2 + 2 * 2 + 2 * 2} decisions" in output
    assert "chance" not in output
    written = pl.read_csv(project.parent / "history.csv", infer_schema_length=None)
    assert written["mean"].to_list() == [row["mean"] for row in _table(project)]


def test_revision_without_later_changes_is_refused(project: Path) -> None:
    done = attempt(project, "concord", "history", "v2")

    assert done.returncode == 2
    assert "the comparison has not changed since v2\n  fix: " in done.stderr


def test_revision_with_lost_results_is_a_row_from_git(project: Path) -> None:
    before = _by_model(_table(project), "Two models")
    with cache_without(project, "v1", "results/comparison"):
        output = run(project, "concord", "history", COLUMNS="200")
        rows = _by_model(_table(project), "Two models")
        after = _by_model(_table(project), "Another ease, and a new model")

    assert rows.keys() == before.keys()
    for key, row in rows.items():
        assert (row["mean"], row["verdict"]) == (before[key]["mean"], before[key]["verdict"])
        assert (row["ci_low"], row["note"]) == (None, "its results are not in DVC's cache")
    assert after["ease R@20"]["change"] is None
    assert after["ease R@20"]["note"] == "the revision before cannot be read"
    assert after["ease R@20"]["changed"] == "new: recent; other lists: ease"
    assert "note: 1 revision cannot be read in full" in output
    assert "3 comparisons with 10 decisions" in output


def test_lost_per_user_values_leave_a_row_without_a_difference(project: Path) -> None:
    with cache_without(project, "v1", "results/per_user/ease.parquet"):
        row = _by_model(_table(project), "Another ease, and a new model")["ease R@20"]

    assert (row["change"], row["note"]) == (None, "users' values of ease are not in DVC's cache")
    assert row["mean"] is not None


def test_the_working_tree_is_the_last_row_where_it_differs(project: Path) -> None:
    head = run(project, "git", "rev-parse", "HEAD").strip()
    run(project, "git", "reset", "-q", "--soft", "v1")
    rows = _table(project)
    run(project, "git", "reset", "-q", "--soft", head)

    assert list(dict.fromkeys(row["revision"] for row in rows))[1:] == ["working tree"]
    assert rows[-1]["date"] == ""


def test_the_page_is_the_same_twice_and_whole_in_a_browser(project: Path, browser: Page) -> None:
    page = project.parent / "history.html"
    run(project, "concord", "history", "--html", str(page))
    with chdir(project):
        again = render_history(history())

    assert page.read_text(encoding="utf-8") == again
    assert str(project) not in again
    for width in (1200, 420):
        browser.show(page, width=width)
        assert browser.errors == []
        assert browser.run("document.documentElement.scrollWidth <= innerWidth") is True
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    browser.call("Runtime.evaluate", expression=axe_script())
    assert browser.run("axe.run().then(r => r.violations.map(v => v.id).join())") == ""


LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    path = made_once(tmp_path_factory, worker_id, trainings_project) / "a project"
    return copied_from(path, tmp_path_factory.mktemp("trainings"))


def trainings_project(folder: Path) -> None:
    """`models`: three lists, each a model; `one`: they are trainings of one; `more`: a fourth."""
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
    change_params(project, settings | requested | _models(3))
    _evaluated(project, "models", "knn", "ease-1", "ease-2", "ease-3")
    change_params(project, _numbered(3))
    _evaluated(project, "one")
    change_params(project, _models(4) | _numbered(4))
    gate = {"guardrails": {LABEL: 0.5}, "models": ["ease"]}
    change_params(project, {"gate": gate})
    _evaluated(project, "more", "ease-4")


def _models(seeds: int) -> dict[str, Any]:
    trained = {f"ease-{n}": {"path": f"data/demo/ease-{n}.parquet"} for n in range(1, seeds + 1)}
    return {"models": {"knn": {"path": "data/demo/item-knn.parquet"}, **trained}}


def _numbered(seeds: int) -> dict[str, Any]:
    return {"comparison.replicates": {"ease": {n: f"ease-{n}" for n in range(1, seeds + 1)}}}


def _evaluated(project: Path, name: str, *models: str) -> None:
    stages = [*(f"load {m}" for m in models), *(f"evaluate {m}" for m in models), "compare"]
    if name == "models":
        stages = ["load-truth", *stages, "report"]
    evaluate_and_commit(project, name, *stages)
    run(project, "git", "tag", name)


def _history(trainings: Path, model: str) -> list[dict[str, Any]]:
    with chdir(trainings):
        return [row for row in history().to_frame().to_dicts() if row["model"] == model]


def _diff(trainings: Path, *arguments: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(run(trainings, "concord", "diff", *arguments, "--json"))
    return content


def test_model_is_compared_with_all_its_former_replicates(trainings: Path) -> None:
    columns = [
        pl.read_parquet(trainings / f"results/per_user/ease-{n}.parquet")[LABEL].to_list()
        for n in range(1, 5)
    ]
    now, then = ([fmean(row) for row in zip(*columns[:n], strict=True)] for n in (4, 3))
    expected = fmean(a - b for a, b in zip(now, then, strict=True))

    for revision in ("one", "models"):
        result = _diff(trainings, revision)
        (ease,) = [row for row in result["changes"] if row["model"] == "ease"]
        assert ease["difference"] == pytest.approx(expected, abs=1e-12)
    assert _history(trainings, "ease")[-1]["change"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("revision", ["one", "models"])
def test_new_replicates_are_named_and_former_models_are_not(trainings: Path, revision: str) -> None:
    note = f"replicates that are not in {revision}: ease-4"
    gated = attempt(trainings, "concord", "gate", revision, "--json")

    assert _diff(trainings, revision)["notes"] == [note]
    assert gated.returncode == 0, gated.stderr
    assert note in json.loads(gated.stdout)["notes"]
    assert not [each for each in json.loads(gated.stdout)["notes"] if "removed" in each]


def test_replicate_is_no_model_and_the_fix_names_the_model(trainings: Path) -> None:
    refused = attempt(trainings, "concord", "diff", "one", "--model", "ease-1")

    assert refused.returncode == 2
    assert "fix: did you mean 'ease'?" in refused.stderr


def test_gate_refuses_only_models_without_any_list_at_the_revision(trainings: Path) -> None:
    content = (trainings / "params.yaml").read_bytes()
    change_params(
        trainings,
        {"comparison.replicates": {"new": {1: "ease-4", 2: "ease-3"}}, "gate.models": ["new"]},
    )
    some = attempt(trainings, "concord", "gate", "one")
    change_params(trainings, _models(4) | {"comparison.replicates": {}, "gate.models": ["ease-4"]})
    none = attempt(trainings, "concord", "gate", "one")
    (trainings / "params.yaml").write_bytes(content)

    assert "replicates that are not in one: ease-4" in some.stdout, some.stderr
    assert none.returncode == 2
    assert "one has no results of ease-4" in none.stderr


def test_a_model_is_one_decision_whether_or_not_its_results_are_in_the_cache(
    trainings: Path,
) -> None:
    """Three models, then one of their lists, then one of four."""
    cache, aside = trainings / ".dvc/cache/files", trainings / ".dvc/aside"
    with chdir(trainings):
        remote = history().reuse
        cache.rename(aside)
        gone = history().reuse
        aside.rename(cache)

    assert remote is not None
    assert (remote.comparisons, remote.decisions) == (3, 5)
    assert gone == remote


def test_history_notes_replicates_outside_the_intervals(
    trainings: Path,
) -> None:
    message = "intervals and verdicts are over users: other replicates of ease are not in them"
    with chdir(trainings):
        assert history().notes == history("models").notes == (message,)
    assert f"note: {message}" in run(trainings, "concord", "history", COLUMNS="200")

    run(trainings, "git", "checkout", "-q", "models")
    with chdir(trainings):
        notes = history().notes
    run(trainings, "git", "checkout", "-q", "-")
    assert notes == ()


def test_gate_notes_that_it_decides_over_users(trainings: Path) -> None:
    message = "decided over users: other replicates of ease are not in the intervals"

    for revision in ([], ["one"]):
        assert f"note: {message}" in run(trainings, "concord", "gate", *revision, COLUMNS="200")
    content = (trainings / "params.yaml").read_bytes()
    change_params(trainings, {"gate.models": ["knn"]})
    of_another = run(trainings, "concord", "gate", "one")
    (trainings / "params.yaml").write_bytes(content)
    assert message not in of_another
