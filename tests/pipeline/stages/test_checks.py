"""`checks:` in params.yaml: decided by `concord gate`, shown by every view."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.library import (
    COMPARISON,
    assert_library_gives_the_same,
    assert_same_bits,
    evaluated_project,
)
from tests.pipeline.dvc.revisions import commit
from tests.project import attempt, change_params, commit_results, copied_from, run, run_stages

CHECKS = {
    "adult": {"never": {"items": {"group": "adult"}, "users": {"age_group": "minor"}}},
    "stable": {"overlap": {"with": "old", "at_least": 0.5}},
}


def _lists(first: str) -> pl.DataFrame:
    """Return lists of 40 users with the same relevant items, at another rank for some of them."""
    rows = [
        (f"u{n:02}", item, rank)
        for n in range(40)
        for rank, item in enumerate([f"i{n % 7}", f"i{n % 7 + 1}", first][:: 1 if n % 4 else -1], 1)
    ]
    return pl.DataFrame(rows, ["user", "item", "rank"], orient="row")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    users = [f"u{n:02}" for n in range(40)]
    items = [*(f"i{n}" for n in range(9)), "xxx", "yyy"]
    tables = {
        "truth": pl.DataFrame({"user": users, "item": [f"i{n % 7}" for n in range(40)]}),
        "items": pl.DataFrame({"item": items, "rating": [*["all"] * 9, "adult", "all"]}),
        "users": pl.DataFrame({"user": users, "age_group": ["minor", "adult"] * 20}),
        "old": _lists("yyy"),
        "new": _lists("xxx"),
    }
    changes = {
        "comparison.baseline": "old",
        "comparison.primary": ["R@3"],
        "evaluation.metrics": ["R"],
        "evaluation.ks": [3],
        "evaluation.panel": False,
        "gate": {"guardrails": {"R@3": "5%"}},
        "checks": CHECKS,
        "background": {
            "items": {"path": "items.parquet", "columns": {"group": "rating"}},
            "users": {"path": "users.parquet"},
        },
    }
    return evaluated_project(tmp_path_factory.mktemp("checks"), tables, changes)


def test_a_failed_check_fails_the_gate(project: Path) -> None:
    process = attempt(project, "concord", "gate")

    assert process.returncode == 1
    # every second of 40 users is a minor, and every list holds xxx once
    assert (
        "new fails the check adult: 20 of 20 lists have a forbidden item in the top 3.\n"
    ) in process.stdout
    assert "note: Lists changed from old's top 3, over 40 users: new for 100" in process.stdout


def test_every_view_shows_failures_with_examples(project: Path) -> None:
    report = (project / "results/report/report.html").read_text(encoding="utf-8")
    markdown = (project / "results/report/report.md").read_text(encoding="utf-8")
    comment = attempt(project, "concord", "comment").stdout
    leaderboard = run(project, "concord", "leaderboard")

    for view in (report, markdown, comment, leaderboard):
        assert "new fails the check adult: 20 of 20 lists" in view
        assert "first u00 has xxx at rank 1" in view
        assert "The check stable holds: new, lists keep 66.7" in view
        assert "Lists changed from old" in view


def test_a_revision_is_decided_by_the_checks_of_now(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    commit_results(copy, last="report")
    commit(copy, "checked")

    process = attempt(copy, "concord", "gate", "HEAD")

    assert process.returncode == 1
    assert "new fails the check adult" in process.stdout


def test_the_library_and_the_other_engine_give_the_same(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    change_params(copy, {"gate": {}})
    run_stages(copy, "compare")

    assert_library_gives_the_same(copy)
    assert_same_bits(copy, tmp_path / "polars", {"evaluation.engine": "polars"}, "old", "new")


def test_without_examples_in_the_report_checks_name_no_users(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    change_params(copy, {"comparison.cases": []})
    run_stages(copy, "compare")

    (check, *_) = [
        each for each in json.loads((copy / COMPARISON).read_text())["checks"] if not each["passed"]
    ]
    assert (check["n_failed"], check["examples"]) == (20, [])


def test_validate_finds_conditions_that_no_row_meets(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    change_params(copy, {"checks.adult.never.items.group": "adlt"})

    process = attempt(copy, "concord", "validate")

    assert process.returncode == 2
    assert "no row of items has the value 'adlt'" in process.stdout + process.stderr


def test_run_compares_again_if_checks_change(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    run(copy, "concord", "run")
    change_params(copy, {"checks": {"stable": {"overlap": {"with": "old", "at_least": 0.7}}}})
    run(copy, "concord", "run")

    process = attempt(copy, "concord", "gate")

    assert process.returncode == 1
    assert "new fails the check stable: lists keep 66.7" in process.stdout  # 2 of 3 items
