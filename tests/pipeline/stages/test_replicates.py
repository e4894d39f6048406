"""Replicates of models through all stages."""

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
from concord.metrics_core.results.stored import read_comparison
from tests.library import COMPARISON, assert_library_gives_the_same, evaluated_project
from tests.metrics_core.comparison.test_compare_replicates import N_ITEMS, TRUTH, lists
from tests.project import (
    change_params,
    commit_results,
    copied_from,
    params_refusal,
    run_stages,
    stages_to_run,
)

pytestmark = pytest.mark.whole

LABEL = "nDCG@10"
SEEDS = range(1, 5)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an evaluated project with four seeds of each model."""
    tables = {"truth": TRUTH, "train": TRUTH[::3], "popularity": lists(99, 0.0)}
    tables |= {f"als-{s}": lists(s, 0.3 + 0.05 * s) for s in SEEDS}
    tables |= {f"bpr-{s}": lists(10 + s, 0.1 * s) for s in SEEDS}
    tables["items"] = pl.DataFrame({"item": range(N_ITEMS)})
    changes = {
        "evaluation.metrics": ["nDCG", "R", "Coverage@10"],
        "evaluation.ks": [5, 10],
        "comparison.replicates": {"als": "als-*", "bpr": "bpr-*"},
        "comparison.primary": [LABEL],
        "segments": {"recommended items": {"by": "recommended_item", "shares": [0.5, 0.8]}},
    }
    return evaluated_project(tmp_path_factory.mktemp("replicates"), tables, changes, last="log")


def _comparison(project: Path) -> cc.results.Comparison:
    return read_comparison(project / COMPARISON)


def _values(project: Path, model: str, label: str = LABEL) -> list[list[float]]:
    """Return the per-user values of each replicate."""
    result = sorted((project / "results/per_user").glob(f"{model}-*.parquet"))
    return [pl.read_parquet(path)[label].to_list() for path in result]


def _component(rows: list[list[float]]) -> float:
    """(MS_replicates - MS_rest) / (users x replicates), at least 0: variance by replicates."""
    n, r = len(rows[0]), len(rows)
    of_users = [fmean(column) for column in zip(*rows, strict=True)]
    means = [fmean(row) for row in rows]
    centre = fmean(means)
    remainder = math.fsum(
        (value - of_users[u] - mean + centre) ** 2
        for row, mean in zip(rows, means, strict=True)
        for u, value in enumerate(row)
    ) / ((n - 1) * (r - 1))
    return max(0.0, (n * variance(means) - remainder) / (n * r))


def test_interval_equals_the_formula(project: Path) -> None:
    """half^2 = t(n - 1)^2 s^2 / n + t(Welch)^2 times the sum of both models' replicate parts."""
    als, bpr = (_values(project, model) for model in ("als", "bpr"))
    remaining = [u for u in range(len(als[0])) if not math.isnan(als[0][u])]
    als, bpr = ([[row[u] for u in remaining] for row in rows] for rows in (als, bpr))
    n, r = len(remaining), len(als)
    gaps = [
        fmean(a) - fmean(b)
        for a, b in zip(zip(*als, strict=True), zip(*bpr, strict=True), strict=True)
    ]
    parts = [student.ppf(0.975, n - 1) ** 2 * variance(gaps) / n]
    of_als, of_bpr = (_component(rows) for rows in (als, bpr))
    df = (of_als + of_bpr) ** 2 / ((of_als**2 + of_bpr**2) / (r - 1))
    parts.append(student.ppf(0.975, df) ** 2 * (of_als + of_bpr))

    pair = _comparison(project).retrained("als", "bpr", LABEL)

    assert pair is not None
    assert pair.ci_low == pytest.approx(fmean(gaps) - math.sqrt(sum(parts)), abs=1e-12)
    assert pair.ci_high == pytest.approx(fmean(gaps) + math.sqrt(sum(parts)), abs=1e-12)
    assert (pair.n_replicates_a, pair.n_replicates_b) == (r, r)
    assert pair.replicates_df == pytest.approx(df)
    over_users = _comparison(project).difference("als", "bpr", LABEL)
    assert over_users is not None
    assert over_users.ci_low == pytest.approx(fmean(gaps) - math.sqrt(parts[0]), abs=1e-12)


def test_metrics_over_all_users_are_tested_over_replicates(project: Path) -> None:
    means = [
        json.loads((project / f"results/metrics/bpr-{seed}.json").read_text())["Coverage@10"]
        for seed in range(1, 5)
    ]
    half = student.ppf(0.975, 3) * math.sqrt(variance(means) / 4)

    pair = _comparison(project).retrained("bpr", "popularity", "Coverage@10")

    assert pair is not None
    assert not pair.over_users
    assert pair.ci_high is not None
    assert pair.difference is not None
    assert pair.ci_high - pair.difference == pytest.approx(half, rel=1e-9)


def test_the_library_gives_the_same_comparison(project: Path) -> None:
    assert_library_gives_the_same(project)


def test_mlflow_run_of_a_replicate_names_its_model(project: Path) -> None:
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


def test_another_seed_runs_only_that_seed(project: Path, tmp_path: Path) -> None:
    project = copied_from(project, tmp_path)
    commit_results(project)

    lists(5, 0.6).write_parquet(project / "als-5.parquet")
    change_params(project, {"models.als-5": {"path": "als-5.parquet"}})
    assert stages_to_run(project) == {"load@als-5", "evaluate@als-5", "compare", "log"}
    run_stages(project, "load als-5", "evaluate als-5", "compare")
    pair = _comparison(project).retrained("als", "bpr", LABEL)
    assert pair is not None
    assert (pair.n_replicates_a, pair.n_replicates_b) == (5, 4)


def test_a_failed_training_is_a_warning_of_stage_and_library(project: Path, tmp_path: Path) -> None:
    project = copied_from(project, tmp_path)
    lists(5, -3.0).write_parquet(project / "als-5.parquet")  # relevant items come last
    change_params(project, {"models.als-5": {"path": "als-5.parquet"}})
    run_stages(project, "load als-5", "evaluate als-5", "compare")

    warnings = {each.code: each for each in _comparison(project).warnings}
    assert warnings["outlying_training"].models == ("als",)
    assert warnings["outlying_training"].sentence.startswith(
        "als-5 is far from the other replicates"
    )
    assert_library_gives_the_same(project)


@pytest.mark.parametrize(
    ("replicates", "message"),
    [
        ({"als": "als-*", "popularity": "bpr-*"}, "popularity: is also the name of lists"),
        (
            {"als": "als_*"},
            "als: 'als_*' matches no entry of `models`\n  fix: `*` means the number, as in `als-*`",
        ),
        (
            {"als": ["als-1", "als-2"]},
            "name replicates by their numbers: {als: {1: als-1, 2: als-2}}",
        ),
        ({"als": {1: "als-1", 2: "als-9"}}, "als: names als-9, and there are no such lists"),
        (
            {"als": "als-*", "two": {1: "als-1", 2: "bpr-1"}},
            "two: names als-1, which is a replicate",
        ),
        ({"als": "als"}, "comparison.replicates.als"),
    ],
)
def test_invalid_replicates_are_refused(
    project: Path, replicates: dict[str, Any], message: str
) -> None:
    assert message in params_refusal(project, {"comparison.replicates": replicates})
