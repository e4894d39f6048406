"""The catalogue of sampled candidates as a table of params.yaml."""

from pathlib import Path

import polars as pl

from tests.library import assert_library_gives_the_same, assert_same_bits, evaluated_project
from tests.metrics_core.evaluation.sampled_data import CATALOGUE, NEGATIVES, lists, truth
from tests.project import attempt, change_params

CANDIDATES = {"negatives": NEGATIVES, "catalogue": "items", "sampling": "uniform"}
RANKS = [1, 2, 3, 4, 5, 1]


def test_the_size_of_a_table_gives_the_bytes_of_the_number(tmp_path: Path) -> None:
    tables = {
        "truth": truth(6),
        "items": pl.DataFrame({"item": range(CATALOGUE)}),
        "a": lists(RANKS),
        "b": lists(RANKS[::-1]),
    }
    changes = {
        "evaluation.metrics": ["nDCG"],
        "evaluation.ks": [3],
        "comparison.baseline": "b",
        "comparison.primary": ["nDCG@3"],
        "comparison.min_effect": 0.0,
        "gate": {},
        "conventions.candidates": CANDIDATES,
    }
    project = evaluated_project(tmp_path, tables, changes)
    (tmp_path / "other").mkdir()
    number = {"conventions.candidates": {**CANDIDATES, "catalogue": CATALOGUE}}

    assert_library_gives_the_same(project)
    assert_same_bits(project, tmp_path / "other", number, "a", "b")
    assert "catalogue: 30" in (project / "results/report/report.html").read_text(encoding="utf-8")

    change_params(project, {"conventions.candidates": {**CANDIDATES, "negatives": CATALOGUE}})
    refused = attempt(project, "concord", "stage", "evaluate", "a")
    assert (refused.returncode, refused.stderr) == (
        2,
        "params.yaml: conventions.candidates.negatives: 30 are not less than the 30 items of the "
        "catalogue\n"
        "  fix: name how many items were ranked in all\n",
    )
