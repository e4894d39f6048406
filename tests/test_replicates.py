"""Models that were trained several times, through all stages: real ratings, five seeds of two models."""

import json
import math
import sqlite3
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import polars as pl
import pytest
from scipy.stats import t as student

import concord as cc
from concord.metrics_core.comparison.stored import read_comparison, to_json
from tests.library import compared_as_pinned
from tests.project import (
    attempt,
    change_params,
    commit_results,
    copied,
    copied_from,
    made_once,
    movielens,
    run,
    run_all_stages,
    run_stages,
    stages_to_run,
)
from tests.trained import train_all

pytestmark = pytest.mark.whole

SEEDS = range(1, 6)
LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return made_once(tmp_path_factory, worker_id, replicates_project) / "a project"


def replicates_project(folder: Path) -> None:
    """Four seeds of each model, evaluated."""
    data, project = movielens(), copied(folder)
    train_all(data / "train.parquet", project / "runs", SEEDS)
    lists = {f"{m}-{s}": {"path": f"runs/{m}-{s}.parquet"} for m in ("als", "bpr") for s in SEEDS}
    first = {name: entry for name, entry in lists.items() if not name.endswith("5")}
    change_params(
        project,
        {
            "input.allow_outside": True,
            "data.truth": {
                "path": str(data / "test.parquet"),
                "columns": {"grade": "rating", "time": "timestamp"},
            },
            "background": {
                "train": {"path": str(data / "train.parquet"), "columns": {"time": "timestamp"}},
                "items": {"path": str(data / "items.parquet"), "columns": {"title": "title"}},
            },
            "models": {"popularity": {"path": str(data / "popularity.csv")}, **first},
            "evaluation.metrics": ["nDCG", "R", "Coverage@10"],
            "evaluation.ks": [10, 20],
            "comparison.replicates": {"als": "als-*", "bpr": "bpr-*"},
            "comparison.primary": [LABEL],
            "segments": {
                "activity": {"by": "activity", "edges": [20, 50]},
                "shown items": {"by": "recommended_item", "shares": [0.5, 0.8]},
            },
            "conventions.preset": "custom",
            "conventions.err_max_grade": 5,
            "conventions.relevance_threshold": 4,
        },
    )
    run_all_stages(project)


def _comparison(project: Path) -> cc.Comparison:
    return read_comparison(project / "results/comparison/comparison.json")


def _values(project: Path, model: str, label: str = LABEL) -> list[list[float]]:
    """Users' values of each training."""
    found = sorted((project / "results/per_user").glob(f"{model}-*.parquet"))
    return [pl.read_parquet(path)[label].to_list() for path in found]


def _component(rows: list[list[float]]) -> float:
    """What trainings add to the variance of the mean: (MS_trainings - MS_rest) / (users x trainings), at least 0."""
    n, r = len(rows[0]), len(rows)
    of_users = [fmean(column) for column in zip(*rows, strict=True)]
    means = [fmean(row) for row in rows]
    centre = fmean(means)
    rest = math.fsum(
        (value - of_users[u] - mean + centre) ** 2
        for row, mean in zip(rows, means, strict=True)
        for u, value in enumerate(row)
    ) / ((n - 1) * (r - 1))
    return max(0.0, (n * variance(means) - rest) / (n * r))


def test_the_interval_is_that_of_the_formula(project: Path) -> None:
    """half^2 = t(n - 1)^2 s^2 / n + t(Welch)^2 times the sum of what the trainings of each model add."""
    als, bpr = (_values(project, model) for model in ("als", "bpr"))
    kept = [u for u in range(len(als[0])) if not math.isnan(als[0][u])]
    als, bpr = ([[row[u] for u in kept] for row in rows] for rows in (als, bpr))
    n, r = len(kept), len(als)
    gaps = [
        fmean(a) - fmean(b)
        for a, b in zip(zip(*als, strict=True), zip(*bpr, strict=True), strict=True)
    ]
    parts = [student.ppf(0.975, n - 1) ** 2 * variance(gaps) / n]
    of_als, of_bpr = (_component(rows) for rows in (als, bpr))
    df = (of_als + of_bpr) ** 2 / ((of_als**2 + of_bpr**2) / (r - 1))
    parts.append(student.ppf(0.975, df) ** 2 * (of_als + of_bpr))

    found = _comparison(project).retrained("als", "bpr", LABEL)

    assert found is not None
    assert found.ci_low == pytest.approx(fmean(gaps) - math.sqrt(sum(parts)), abs=1e-12)
    assert found.ci_high == pytest.approx(fmean(gaps) + math.sqrt(sum(parts)), abs=1e-12)
    assert (found.trainings_a, found.trainings_b) == (r, r)
    assert found.trainings_df == pytest.approx(df)
    over_users = _comparison(project).difference("als", "bpr", LABEL)
    assert over_users is not None
    assert over_users.ci_low == pytest.approx(fmean(gaps) - math.sqrt(parts[0]), abs=1e-12)


def test_a_model_is_the_mean_of_its_trainings(project: Path) -> None:
    comparison = _comparison(project)
    means = [
        json.loads((project / f"results/metrics/als-{seed}.json").read_text())
        for seed in range(1, 5)
    ]

    for label in (LABEL, "R@20", "Coverage@10"):
        mean = comparison.score("als", label).mean
        assert mean == pytest.approx(fmean(each[label] for each in means), abs=1e-12)
    assert comparison.models == ("popularity", "als", "bpr")
    assert list(comparison.lists) == ["popularity"] + [
        f"{model}-{seed}" for model in ("als", "bpr") for seed in range(1, 5)
    ]


def test_a_number_over_all_users_is_tested_over_trainings(project: Path) -> None:
    means = [
        json.loads((project / f"results/metrics/bpr-{seed}.json").read_text())["Coverage@10"]
        for seed in range(1, 5)
    ]
    half = student.ppf(0.975, 3) * math.sqrt(variance(means) / 4)

    found = _comparison(project).retrained("bpr", "popularity", "Coverage@10")

    assert found is not None
    assert not found.over_users
    assert found.ci_high is not None
    assert found.difference is not None
    assert found.ci_high - found.difference == pytest.approx(half, rel=1e-9)


def test_the_first_screen_answers_whether_it_would_hold(project: Path) -> None:
    page = (project / "results/report/report.html").read_text()
    comparison = _comparison(project)

    assert comparison.replicates is not None
    assert comparison.replicates.answers[0].startswith(
        (f"On {LABEL}, yes: als ", f"On {LABEL}, not surely: als ")
    )
    assert page.index("Would it hold if trained again?") < page.index('id="differences"')


def test_the_library_gives_the_same_comparison(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    stored = project / "results" / "comparison" / "comparison.json"

    assert to_json(compared_as_pinned(project)) == stored.read_text(encoding="utf-8")


def test_mlflow_knows_whose_training_a_run_is(project: Path) -> None:
    with sqlite3.connect(project / "mlflow.db") as database:
        tags = database.execute("SELECT run_uuid, key, value FROM tags").fetchall()
        metrics = database.execute("SELECT key FROM latest_metrics").fetchall()
    of_run: dict[str, dict[str, Any]] = {}
    for run_id, key, value in tags:
        of_run.setdefault(run_id, {})[key] = value
    replicates = [
        each["concord.replicate_of"] for each in of_run.values() if "concord.replicate_of" in each
    ]

    assert sorted(replicates) == ["als"] * 4 + ["bpr"] * 4
    assert ("leader/trained_low_ndcg_at_10",) in metrics


def test_a_seed_more_runs_that_seed(project: Path, tmp_path: Path) -> None:
    project = copied_from(project, tmp_path)
    params = project / "params.yaml"
    before = _comparison(project)
    _commit(project, "four seeds")

    params.write_text(
        params.read_text().replace(
            "  als-4:\n", "  als-5:\n    path: runs/als-5.parquet\n  als-4:\n", 1
        )
    )
    assert stages_to_run(project) == {"load@als-5", "evaluate@als-5", "compare", "log"}
    run_stages(project, "load als-5", "evaluate als-5", "compare", "report", "log")
    now = _comparison(project).retrained("als", "bpr", LABEL)
    then = before.retrained("als", "bpr", LABEL)
    assert now is not None
    assert then is not None
    assert (now.trainings_a, then.trainings_a) == (5, 4)
    _commit(project, "a fifth")
    history = run(project, "concord", "history", COLUMNS="200")
    assert "new: als-5" in history
    assert "not comparable" not in history
    _told_alike_since_four_seeds(project)


def _told_alike_since_four_seeds(project: Path) -> None:
    """diff, gate and history compare a model with its former self, all trainings of each side together."""
    four, five = (
        [fmean(column) for column in zip(*_values(project, "als")[:n], strict=True)] for n in (4, 5)
    )
    gaps = [b - a for a, b in zip(four, five, strict=True) if not math.isnan(a)]

    found = json.loads(run(project, "concord", "diff", "HEAD~1", "--model", "als", "--json"))

    (row,) = [each for each in found["changes"] if each["label"] == LABEL]
    assert row["difference"] == pytest.approx(fmean(gaps), abs=1e-12)
    assert row["n_users"] == len(gaps)
    assert found["notes"] == ["trainings that are not in HEAD~1: als-5"]
    refused = attempt(project, "concord", "diff", "HEAD~1", "--model", "als-1")
    assert "did you mean 'als'" in refused.stderr

    change_params(project, {"gate": {"guardrails": {LABEL: 0.5}, "models": ["als"]}})
    gated = attempt(project, "concord", "gate", "HEAD~1", COLUMNS="200")
    assert gated.returncode == 0, gated.stderr
    assert "trainings that are not in HEAD~1: als-5" in gated.stdout + gated.stderr


def _commit(project: Path, message: str) -> None:
    me = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    commit_results(project)
    run(project, "git", "add", "-A")
    run(project, "git", *me, "commit", "-qm", message)


@pytest.mark.parametrize(
    ("replicates", "said"),
    [
        ({"als": "als-*", "popularity": "bpr-*"}, "popularity: is the name of lists, too"),
        (
            {"als": "als_*"},
            "als: 'als_*' fits no entry of `models`\n  fix: `*` stands for the number, as in `als-*`",
        ),
        (
            {"als": ["als-1", "als-2"]},
            "name trainings by their numbers: {als: {1: als-1, 2: als-2}}",
        ),
        ({"als": {1: "als-1", 2: "als-9"}}, "als: names als-9, and there are no such lists"),
        (
            {"als": "als-*", "two": {1: "als-1", 2: "bpr-1"}},
            "two: names als-1, which is a training",
        ),
        ({"als": "als"}, "comparison.replicates.als"),
    ],
)
def test_replicates_that_are_none_are_refused(
    project: Path, tmp_path: Path, replicates: dict[str, Any], said: str
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "params.yaml").write_bytes((project / "params.yaml").read_bytes())
    change_params(copy, {"comparison.replicates": replicates})

    done = attempt(copy, "concord", "stage", "compare")

    assert done.returncode == 2
    assert said in done.stderr
