"""`concord diff REV` in a real project with history: did my change help?

At the tag `v1` there were two models; since then the lists of one are worse, and a third model is new.
"""

import json
from pathlib import Path

import polars as pl
import pytest

from concord.metrics_core.statistics.pairs import compare
from tests.pipeline.revisions import SECOND, cache_without, cached_file
from tests.project import attempt, copied_from, run
from tests.reports.samples.browser import Page

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def project(revisions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied_from(revisions / SECOND / "a project", tmp_path_factory.mktemp("diff"))


def _changes(project: Path, *arguments: str) -> dict[str, dict[str, object]]:
    found = json.loads(run(project, "concord", "diff", *arguments, "--json"))
    return {f"{row['model']} {row['label']}": row for row in found["changes"]}


def test_a_model_is_compared_with_its_former_self_user_by_user(project: Path) -> None:
    now = pl.read_parquet(project / "results/per_user/ease.parquet")
    then = pl.read_parquet(cached_file(project, "v1", "results/per_user/ease.parquet"))
    values = {"now": now["nDCG@10"].to_numpy(), "then": then["nDCG@10"].to_numpy()}
    (expected,) = compare(values, [("now", "then")], confidence=0.95)

    row = _changes(project, "v1")["ease nDCG@10"]

    assert (row["difference"], row["ci_low"], row["p"]) == (expected.difference, expected.ci_low, expected.p)  # fmt: skip
    assert (row["verdict"], row["primary"]) == ("worse", True)
    assert row["n_users"] == len(now)


def test_what_did_not_change_is_identical_and_what_one_side_has_is_named(project: Path) -> None:
    found = run(project, "concord", "diff", "v1")

    assert "note: not in v1: recent" in found
    assert "note: not evaluated at v1: AP@10, AP@20" in found
    assert "note: no longer evaluated: P@10, P@20" in found
    assert "nDCG@10: the same for every user: knn" in found
    assert "nDCG@10: ease, against v1: worse, −0." in found
    assert {key.split()[1] for key in _changes(project, "v1")} == {"nDCG@10", "nDCG@20", "R@10", "R@20"}  # fmt: skip


def test_models_and_metrics_can_be_chosen(project: Path) -> None:
    found = run(project, "concord", "diff", "v1", "--model", "ease", "--metric", "R@10")

    assert "R@10: ease" in found
    assert "nDCG@10" not in found
    assert "knn" not in found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("v1", "--model", "als"), "'als' is not among the models"),
        (("v1", "--metric", "ERR@10"), "'ERR@10' is not evaluated"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    project: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = attempt(project, "concord", "diff", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert "fix: " in done.stderr


def test_other_conventions_are_refused_by_name_unless_told(revisions: Path) -> None:
    refused = attempt(revisions / "a project", "concord", "diff", "v1")
    anyway = run(revisions / "a project", "concord", "diff", "v1", "--anyway")

    assert refused.returncode == 2
    assert "ease, knn had other conventions: gain was 'linear' and is 'exp2'" in refused.stderr
    assert anyway.startswith("note: ease, knn had other conventions")


def test_results_that_are_gone_are_named_with_the_way_back(project: Path) -> None:
    with cache_without(project, "v1", "results/per_user/ease.parquet"):
        done = attempt(project, "concord", "diff", "v1")

    assert done.returncode == 2
    assert "results/per_user/ease.parquet: belongs to v1" in done.stderr
    assert "dvc fetch --rev v1" in done.stderr


def test_dvc_metrics_diff_has_a_row_a_model_and_primary_metric(project: Path) -> None:
    found = json.loads(run(project, "dvc", "metrics", "diff", "v1", "--json"))
    (changed,) = found.values()

    assert set(found) == {"results/report/primary.json"}
    assert changed["nDCG@10.ease"]["diff"] < 0
    assert changed["nDCG@10.recent"]["old"] is None
    assert "nDCG@10.knn" not in changed  # it is the same


def test_dvc_plots_diff_draws_both_revisions_without_a_network(
    project: Path, browser: Page
) -> None:
    run(project, "dvc", "plots", "diff", "v1", "-o", "plots")

    browser.show(project / "plots" / "index.html", width=1400)
    browser.run("new Promise(done => setTimeout(done, 1500))")
    drawn = browser.run("document.querySelectorAll('svg.marks path').length")

    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    assert drawn > 20
