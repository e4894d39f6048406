"""`concord diff REV` in a real project with history: did my change help?"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from concord.metrics_core.statistics.pairs import compare
from tests.project import (
    attempt,
    change_params,
    commit_results,
    copied,
    copied_from,
    made_once,
    run,
    run_all_stages,
    run_stages,
)
from tests.reports.samples.browser import Page

pytestmark = pytest.mark.whole

IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c"}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    made = made_once(tmp_path_factory, worker_id, diff_project) / "a project"
    return copied_from(made, tmp_path_factory.mktemp("diff"))


def diff_project(folder: Path) -> None:
    """Two models; since the tag `v1` the lists of one are worse, and a third model is new."""
    project = copied(folder)
    demo = project / "data/demo"
    change_params(
        project,
        {
            "models": {
                "ease": {"path": "data/demo/ease.parquet"},
                "knn": {"path": "data/demo/item-knn.parquet"},
            },
            "comparison.baseline": "knn",
            "segments": {},
            "evaluation.metrics": ["nDCG", "R", "P"],
            "evaluation.ks": [10, 20],
            "evaluation.panel": False,
        },
    )
    lists = pl.read_ndjson(demo / "ease.jsonl.gz").explode("items", "scores")
    lists = lists.rename({"items": "item", "scores": "score"})
    lists.write_parquet(demo / "ease.parquet")
    _evaluate_and_commit(project)
    run(project, "git", "tag", "v1")
    rng = np.random.default_rng(1)
    spoilt = lists.with_columns(pl.col("score") + pl.Series(rng.normal(0, 0.3, len(lists))))
    spoilt.write_parquet(demo / "ease.parquet")
    models = {name: {"path": f"data/demo/{file}"} for name, file in (("ease", "ease.parquet"), ("knn", "item-knn.parquet"), ("recent", "ease-recent"))}  # fmt: skip
    change_params(project, {"models": models, "evaluation.metrics": ["nDCG", "R", "AP"]})
    _evaluate_and_commit(project)


def _evaluate_and_commit(project: Path) -> None:
    run_all_stages(project, last="report")
    commit_results(project, last="report")
    run(project, "git", "add", "-A")
    run(project, "git", "commit", "-q", "-m", "a state", **IDENTITY)


def _changes(project: Path, *arguments: str) -> dict[str, dict[str, object]]:
    found = json.loads(run(project, "concord", "diff", *arguments, "--json"))
    return {f"{row['model']} {row['label']}": row for row in found["changes"]}


def test_a_model_is_compared_with_its_former_self_user_by_user(project: Path) -> None:
    now = pl.read_parquet(project / "results/per_user/ease.parquet")
    then_file = project.parent / "then.parquet"
    md5 = run(project, "git", "show", "v1:dvc.lock").split("results/per_user/ease.parquet")[1].split("md5: ")[1][:32]  # fmt: skip
    then_file.write_bytes((project / ".dvc/cache/files/md5" / md5[:2] / md5[2:]).read_bytes())
    then = pl.read_parquet(then_file)
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


def test_primary_p_values_are_adjusted_over_models_and_primary_labels(project: Path) -> None:
    rows = _changes(project, "v1")
    tested = [row for row in rows.values() if row["primary"] and row["p"] is not None]

    assert {row["label"] for row in tested} == {"nDCG@10", "R@20"}
    smallest = min(tested, key=lambda row: float(str(row["p"])))
    assert smallest["p_adjusted"] == pytest.approx(2 * float(str(smallest["p"])))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nope",), "'nope' is no revision of a git repository here"),
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


def test_other_conventions_are_refused_by_name_unless_told(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    change_params(copy, {"conventions.preset": "custom", "conventions.gain": "exp2"})
    run_stages(copy, "evaluate ease", "evaluate knn", "evaluate recent", "compare")
    refused = attempt(copy, "concord", "diff", "v1")
    anyway = run(copy, "concord", "diff", "v1", "--anyway")

    assert refused.returncode == 2
    assert "ease, knn had other conventions: gain was 'linear' and is 'exp2'" in refused.stderr
    assert anyway.startswith("note: ease, knn had other conventions")


def test_results_that_are_gone_are_named_with_the_way_back(project: Path) -> None:
    cache = project / ".dvc/cache/files/md5"
    md5 = run(project, "git", "show", "v1:dvc.lock").split("results/per_user/ease.parquet")[1].split("md5: ")[1][:32]  # fmt: skip
    path = cache / md5[:2] / md5[2:]
    kept = path.read_bytes()
    path.unlink()
    done = attempt(project, "concord", "diff", "v1")
    path.write_bytes(kept)

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
