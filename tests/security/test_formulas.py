"""CSV cells that a spreadsheet would run are escaped; parquet and numbers stay unchanged."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from concord.pipeline.running.outputs import escape_formulas
from concord.pipeline.stages.compare import main as compare
from tests.pipeline.stages.compare_project import params_of, write_evaluation

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "=1\n+2"]
HARMLESS = ["a=1", " =1", "'=1", "1-2", "é", "", "ease-2", "x@y"]


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_begins_like_a_formula_is_quoted(text: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"user": [text, "u", None]})
    assert escape_formulas(table)["user"].to_list() == [f"'{text}", "u", None]
    escape_formulas(table).write_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.DictReader(file))["user"] == f"'{text}"


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays(text: str) -> None:
    assert escape_formulas(pl.DataFrame({"user": [text]}))["user"].to_list() == [text]


def test_numbers_stay_numbers() -> None:
    table = pl.DataFrame({"difference": [-0.5, 1.0], "rank": [-1, 2], "best": [True, None]})
    assert escape_formulas(table).equals(table)


def test_an_id_that_is_read_again_stays() -> None:
    table = pl.DataFrame({"user": ["-0bTl2pXcVI", "@u", ""], "title": ["=1", None, "t"]})
    written = escape_formulas(table, ids=["user"])
    assert written.rows() == [("-0bTl2pXcVI", "'=1"), ("@u", None), ("", "t")]


def test_the_stage_quotes_in_csv_and_not_in_parquet_or_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    params = params_of(tmp_path, ["base", "other"], metrics=["nDCG"], ks=[10])
    for seed, model in enumerate(params.models):
        values = [((n * 7 + seed * n) % 10) / 10 for n in range(40)]
        write_evaluation(params, model, {"nDCG@10": values})
    quality = Path(params.results.quality) / "base.json"
    quality.write_text(
        json.dumps({"model": "base", "rows": 40, "has_scores": True, "notes": ["=1+1"]})
    )
    compare(params)

    folder = Path(params.results.comparison)
    assert "=1+1" in pl.read_parquet(folder / "quality.parquet")["text"].to_list()
    assert "'=1+1" in pl.read_csv(folder / "quality.csv", infer_schema=False)["text"].to_list()
    assert "'=1+1" not in (folder / "comparison.json").read_text()
    curves = (folder / "curves.csv").read_text(encoding="utf-8")
    assert "'" not in curves
