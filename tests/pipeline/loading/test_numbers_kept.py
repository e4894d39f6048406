"""Scores, grades and ids are the numbers that stand in the file, or are refused: nothing becomes a tie by rounding."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.loading.load_project import loaded, loaded_truth, refusal, truth_refusal

BEYOND = 2**53 + 1


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _written(form: str, score: str) -> str:
    if form == "csv":
        Path("a.csv").write_text(f"user,item,score\nu,a,{score}\nu,b,1\n")
    elif form == "run":
        Path("a.run").write_text(f"u Q0 a 1 {score} m\nu Q0 b 2 1 m\n")
    elif form in ("jsonl", "quoted.jsonl"):
        value = json.dumps(score) if form.startswith("quoted") else score
        Path(f"a.{form}").write_text(f'{{"user": "u", "item": "a", "score": {value}}}\n')
    else:
        kind = pa.decimal128(38, 4) if form == "decimal.parquet" else pa.decimal256(60, 4)
        scores = pa.array([Decimal(score), Decimal(1)], kind)
        table = pa.table({"user": ["u", "u"], "item": ["a", "b"], "score": scores})
        pq.write_table(table, f"a.{form}")
    return f"a.{form}"


FORMS = ["csv", "run", "jsonl", "quoted.jsonl", "decimal.parquet", "wide.parquet"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "score", [f"{BEYOND}", f"-{BEYOND}", f"{BEYOND}.0", "12345678901234567890"]
)
@pytest.mark.bad_input(63, "refused in every format: beyond 2^53")
def test_scores_that_would_lose_digits_are_refused_in_every_format(form: str, score: str) -> None:
    if form == "jsonl" and "." in score:
        return  # a float for every reader of JSON
    told = refusal(_written(form, score), order="score" if form == "run" else None)
    assert "lies beyond 2^53, where numbers lose digits; 1 row affected" in told
    assert score[:18] in told


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("score", "read"),
    [
        (f"{2**53}", 2.0**53),
        ("0.1234567890123456789", 0.12345678901234568),
        (f"{2**53 + 2}.0", 2.0**53 + 2),
    ],
)
def test_scores_that_a_double_holds_are_read(form: str, score: str, read: float) -> None:
    if form.endswith("parquet") and score.startswith("0.1"):
        score = "0.1235"
        read = 0.1235
    rows, _ = loaded(_written(form, score), order="score" if form == "run" else None)
    assert rows[0][3] == read or rows[1][3] == read


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.bad_input(63, "refused: beyond what a float64 holds")
def test_numbers_that_would_be_infinite_are_refused(form: str) -> None:
    assert "'1e400' is no number; 1 row affected" in refusal(_written(form, "1e400"))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_powers_of_ten_are_floats_and_read_as_such(form: str) -> None:
    assert loaded(_written(form, "1.7e18"))[0][0][3] == 1.7e18


@pytest.mark.parametrize(
    ("kind", "highest"), [(np.float16, 2**11), (np.float32, 2**24), (np.float64, 2**53)]
)
@pytest.mark.bad_input(30, "refused from 2^11, 2^24 and 2^53 on, by the width of the float")
def test_float_ids_are_read_as_far_as_the_float_holds_integers(
    kind: type[np.floating[Any]], highest: int
) -> None:
    for user in (highest - 1, highest):
        users = pa.array(np.array([user], dtype=kind))
        pq.write_table(pa.table({"user": users, "item": ["a"], "score": [1.0]}), "a.parquet")
        if user < highest:
            assert loaded("a.parquet")[0][0][0] == user
        else:
            Path("results").rename(f"before-{kind.__name__}")
            power = highest.bit_length() - 1
            assert f"(floats hold them up to 2^{power})" in refusal("a.parquet")


@pytest.mark.bad_input(64, "refused: beyond 2^53")
def test_grades_whose_sums_would_overflow_are_refused() -> None:
    Path("t.csv").write_text("user,item,grade\nu,a,1e308\nu,b,1e308\n")
    assert truth_refusal("t.csv") == (
        "t.csv: line 2, column 'grade' (user 'u', item 'a'): 1e+308 lies beyond 2^53, where sums of grades lose digits; "
        "2 rows affected\n  fix: write lower grades"
    )


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.bad_input(64, "true and false are 1 and 0")
def test_grades_may_be_true_and_false(form: str) -> None:
    pairs = [("a", True), ("b", False)]
    if form == "csv":
        Path("t.csv").write_text("user,item,grade\n" + "".join(f"u,{i},{g}\n" for i, g in pairs))
    elif form == "jsonl":
        lines = (json.dumps({"user": "u", "item": i, "grade": g}) for i, g in pairs)
        Path("t.jsonl").write_text("\n".join(lines))
    else:
        table = pa.table({"user": ["u", "u"], "item": ["a", "b"], "grade": [True, False]})
        pq.write_table(table, "t.parquet")
    assert loaded_truth(f"t.{form}")[0] == [("u", "a", 1.0), ("u", "b", 0.0)]


def test_true_is_no_score() -> None:
    Path("a.csv").write_text("user,item,score\nu,a,true\n")
    assert "'true' is no number" in refusal("a.csv")
