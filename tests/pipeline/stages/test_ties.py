"""Equal scores through all stages, engines and the gate."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from concord.metrics_core.files import load_json
from concord.metrics_core.results.stored import read_comparison
from tests.library import (
    COMPARISON,
    assert_same_bits,
    compared_as_pinned,
    evaluated_project,
)
from tests.metrics_core.comparison.test_ties import CLIPPED, CONSTANT, GATE, RANDOM, THIRD, TRUTH
from tests.project import attempt, change_params, copied_from, run

pytestmark = pytest.mark.whole


def _table(scores: Mapping[int, Mapping[int, float]]) -> pl.DataFrame:
    rows = [(u, item, score) for u, items in scores.items() for item, score in items.items()]
    return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = {"third": THIRD, "rand": RANDOM, "const": CONSTANT, "clipped": CLIPPED}
    tables = {model: _table(scores) for model, scores in models.items()}
    truth = [(u, item) for u, items in TRUTH.items() for item in items]
    tables["truth"] = pl.DataFrame(truth, schema=["user", "item"], orient="row")
    changes = {
        "comparison.baseline": "third",
        "comparison.primary": ["RR@10"],
        "comparison.min_effect": 0.0,
        "evaluation.metrics": ["RR", "Hit", "nDCG"],
        "evaluation.ks": [10],
        "evaluation.panel": False,
        "gate": {**GATE, "models": ["const", "clipped"]},
    }
    return evaluated_project(tmp_path_factory.mktemp("ties"), tables, changes, last="compare")


def test_the_gate_believes_no_order_of_equal_scores(project: Path, tmp_path: Path) -> None:
    suspicious = attempt(project, "concord", "gate")
    assert suspicious.returncode == 4
    assert "const" in suspicious.stdout

    copy = copied_from(project, tmp_path)
    change_params(copy, {"gate.models": ["clipped"]})
    run(copy, "concord", "run", "compare")
    undecided = attempt(copy, "concord", "gate")
    assert undecided.returncode == 3
    assert "the order of equal scores decides" in undecided.stdout


def test_the_accident_is_undecided_and_named(project: Path) -> None:
    comparison = read_comparison(project / COMPARISON)
    pair = comparison.difference("const", "third", "RR@10")
    assert pair is not None
    assert pair.verdict == "undecided_by_order"
    named = {each.code: each.models for each in comparison.serious}
    assert named["constant_scores"] == ("const",)
    assert {each.models for each in comparison.serious if each.code == "tie_range"} == {
        ("const",),
        ("clipped",),
    }


def test_only_models_with_ties_store_other_orders(project: Path) -> None:
    columns = {
        model: pl.read_parquet_schema(project / f"results/per_user/{model}.parquet").keys()
        for model in ("rand", "const")
    }
    others = {
        f"#{kind}:{x}@10" for x in ("RR", "Hit", "nDCG") for kind in ("average", "low", "high")
    }
    assert {name for name in columns["rand"] if name.startswith("#")} == set()
    assert {name for name in columns["const"] if name.startswith("#")} == others
    assert "ties" not in load_json(project / "results/summary/rand.json", "")


def test_the_library_gives_the_same(project: Path) -> None:
    library, stored = compared_as_pinned(project), read_comparison(project / COMPARISON)
    assert (library.ties, library.pairs) == (stored.ties, stored.pairs)


def test_the_engine_in_memory_gives_the_same_bits(project: Path, tmp_path: Path) -> None:
    assert_same_bits(project, tmp_path, {"evaluation.engine": "polars"}, "const", "clipped")


def test_small_ranges_give_the_same_bits(project: Path, tmp_path: Path) -> None:
    assert_same_bits(project, tmp_path, {"evaluation.rows_per_partition": 3000}, "const", "clipped")
