"""`concord history` in a real project: four commits, one of which adds a model and one changes a convention."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.pipeline.history.history import history
from concord.reports.history_page import render_history
from tests.pipeline.revisions import SECOND, cache_without
from tests.project import attempt, copied_from, run
from tests.reports.samples.axe import axe_script
from tests.reports.samples.browser import Page

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def project(revisions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied_from(revisions / "a project", tmp_path_factory.mktemp("history"))


def _table(project: Path, *arguments: str) -> list[dict[str, Any]]:
    with chdir(project):
        return history(*arguments).table.to_dicts()


def _by_model(rows: list[dict[str, Any]], subject: str) -> dict[str, dict[str, Any]]:
    return {f"{row['model']} {row['label']}": row for row in rows if row["subject"] == subject}


def test_a_difference_to_the_former_self_is_that_of_concord_diff(
    project: Path, revisions: Path
) -> None:
    rows = _by_model(_table(project), "Another ease, and a new model")
    diff = run(revisions / SECOND / "a project", "concord", "diff", "v1", "--json")
    changes = json.loads(diff)["changes"]
    expected = {f"{each['model']} {each['label']}": each for each in changes if each["primary"]}

    names = {"change": "difference", "change_low": "ci_low", "change_high": "ci_high"}
    names |= {"change_p_adjusted": "p_adjusted", "change_verdict": "verdict"}
    for key in ("ease nDCG@10", "ease R@20"):
        assert [rows[key][name] for name in names] == [expected[key][x] for x in names.values()]
    assert [(rows[f"knn {x}"]["change"], rows[f"knn {x}"]["change_verdict"]) for x in ("nDCG@10", "R@20")] == [(0.0, "identical")] * 2  # fmt: skip
    assert rows["recent nDCG@10"]["change"] is None
    assert rows["ease R@20"]["changed"] == "new: recent; other lists: ease"


def test_other_conventions_are_named_and_nothing_is_compared_across_them(project: Path) -> None:
    rows = _by_model(_table(project), "Gains of grades")

    assert {row["changed"] for row in rows.values()} == {"gain: linear → exp2"}
    assert {row["note"] for row in rows.values()} == {"other conventions"}
    assert {row["change"] for row in rows.values()} == {None}


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
    said = " ".join(run(project, "concord", "history", "--csv", "../history.csv").split())

    # one list on two labels; two new lists; and all of it again under other conventions
    assert f"3 comparisons with {1 * 2 + 2 * 2 + 2 * 2} decisions" in said
    assert "chance" not in said
    written = pl.read_csv(project.parent / "history.csv", infer_schema_length=None)
    assert written["mean"].to_list() == [row["mean"] for row in _table(project)]


def test_a_revision_since_which_nothing_changed_is_refused(project: Path) -> None:
    done = attempt(project, "concord", "history", "v2")

    assert done.returncode == 2
    assert "the comparison has not changed since v2\n  fix: " in done.stderr


def test_a_revision_whose_results_are_gone_is_a_row_with_what_git_has(project: Path) -> None:
    before = _by_model(_table(project), "Two models")
    with cache_without(project, "v1", "results/comparison"):
        shown = run(project, "concord", "history", COLUMNS="200")
        rows = _by_model(_table(project), "Two models")
        after = _by_model(_table(project), "Another ease, and a new model")

    assert rows.keys() == before.keys()
    for key, row in rows.items():
        assert (row["mean"], row["verdict"]) == (before[key]["mean"], before[key]["verdict"])
        assert (row["ci_low"], row["note"]) == (None, "its results are not in DVC's cache")
    assert after["ease R@20"]["change"] is None
    assert after["ease R@20"]["note"] == "the revision before cannot be read"
    assert after["ease R@20"]["changed"] == "new: recent; other lists: ease"
    assert "note: 1 revision cannot be read in full" in shown
    assert "3 comparisons with 10 decisions" in shown


def test_users_values_that_are_gone_leave_the_row_without_a_difference(project: Path) -> None:
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
