"""The stage `reference`: numbers of the library, and what makes it run again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.library import COMPARISON, assert_library_gives_the_same, evaluated_project
from tests.project import attempt, change_params, run

REFERENCE = "results/reference/reference.json"
CHANGES: dict[str, Any] = {
    "evaluation.metrics": ["nDCG", "AP", "ERR"],
    "evaluation.ks": [3],
    "evaluation.panel": False,
    "evaluation.rows_per_partition": 40,
    "comparison.primary": ["nDCG@3"],
    "comparison.baseline": "first",
}


def small_tables() -> dict[str, pl.DataFrame]:
    random = np.random.default_rng(3)
    pairs = pl.DataFrame(
        {"user": random.integers(0, 40, 800), "item": random.integers(0, 30, 800)}
    ).unique(maintain_order=True)
    graded = pairs.head(160).with_columns(grade=pl.lit(1.0) + pl.col("item") % 3)
    lists = [
        pl.DataFrame({"user": u, "item": int(i), "rank": rank})
        for u in range(40)
        for rank, i in enumerate(random.choice(30, 5, replace=False), 1)
    ]
    ranked = pl.concat(lists)
    return {
        "first": ranked,
        "second": ranked.with_columns(item=(pl.col("item") + 1) % 30),
        "truth": graded,
        "train": pairs.slice(160),
        "items": pl.DataFrame({"item": range(30)}),
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    made = evaluated_project(folder, small_tables(), CHANGES, last="load second")
    run(made, "concord", "run", "compare")
    return made


def test_the_library_computes_the_same(project: Path) -> None:
    stored = json.loads((project / COMPARISON).read_text(encoding="utf-8"))["references"]

    assert_library_gives_the_same(project)
    assert [each["label"] for each in stored["values"]] == ["AP@3", "nDCG@3", "ERR@3"]
    assert all(0 < each["chance"] < each["best_possible"] for each in stored["values"])
    assert all(0 < each["most_popular"] < each["best_possible"] for each in stored["values"])


def test_the_stage_says_what_it_computed(project: Path) -> None:
    log = attempt(project, "concord", "stage", "reference").stderr

    assert "chance, most popular, best possible of 3 metrics" in log


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        ({"comparison.primary": ["AP@3"]}, False),
        ({"models.second.path": "first.parquet"}, False),
        ({"conventions.preset": "custom", "conventions.gain": "exp2"}, True),
        ({"background.items.path": "more.parquet"}, True),
        ({"background.train.path": "first.parquet"}, True),
    ],
    ids=str,
)
def test_it_runs_again_if_its_inputs_change(
    project: Path, change: dict[str, Any], *, runs: bool
) -> None:
    before = (project / "params.yaml").read_bytes()
    run(project, "concord", "run", "compare")
    pl.DataFrame({"item": range(33)}).write_parquet(project / "more.parquet")
    try:
        change_params(project, change)
        log = attempt(project, "concord", "run", "compare").stderr
    finally:
        (project / "params.yaml").write_bytes(before)

    assert "compare: " in log
    assert ("reference: " in log) == runs


def test_references_of_other_conventions_are_left_out(project: Path) -> None:
    run(project, "concord", "run", "compare")
    path = project / REFERENCE
    before = path.read_bytes()
    content = json.loads(before)
    path.write_text(json.dumps({**content, "fingerprint": "other"}), encoding="utf-8")
    try:
        log = attempt(project, "concord", "stage", "compare").stderr
    finally:
        path.write_bytes(before)

    assert "computed with other conventions" in log
    comparison = json.loads((project / COMPARISON).read_text(encoding="utf-8"))
    assert "references" not in comparison


def test_a_missing_key_of_params_yaml_says_what_to_add(project: Path) -> None:
    before = (project / "params.yaml").read_text(encoding="utf-8")
    line = "  reference: results/reference\n"
    (project / "params.yaml").write_text(before.replace(line, ""), encoding="utf-8")
    try:
        done = attempt(project, "concord", "run")
    finally:
        (project / "params.yaml").write_text(before, encoding="utf-8")

    assert done.returncode == 2
    assert "results.reference" in done.stderr
    assert "missing" in done.stderr
