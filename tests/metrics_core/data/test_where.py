"""Only the rows that a filter names are read: `where`, in every form of a table."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.data.arguments import open_table
from concord.metrics_core.data.filters import check_where
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.load_tables import InMemorySink, load_recommendations
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.errors import InputError
from tests.metrics_core.data.test_forms_of_lists import WRITERS, Write

# Two models with the same items; `bpr` has a longer list for u1 and none for u3.
ROWS = pl.DataFrame(
    [
        ("u1", "a", 0.9, "als", 1),
        ("u1", "b", 0.8, "als", 1),
        ("u1", "b", 0.9, "bpr", 2),
        ("u1", "c", 0.7, "bpr", 2),
        ("u1", "a", 0.5, "bpr", 2),
        ("u2", "c", 0.4, "als", 1),
        ("u2", "a", 0.3, "bpr", 2),
        ("u3", "c", 0.3, "als", 1),
    ],
    schema=["user", "item", "score", "algorithm", "seed"],
    orient="row",
)
PLURAL = {"item": "items", "score": "scores"}
KEYS = ["user", "algorithm", "seed"]
MODELS = ("als", "bpr")
TRUTH = {"u1": ["a"], "u2": ["c"], "u3": ["c"]}


def _lists(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.rename(PLURAL).group_by(KEYS, maintain_order=True).agg(pl.all())


def _structs(rows: pl.DataFrame) -> pl.DataFrame:
    structs = rows.select(*KEYS, items=pl.struct("item", "score"))
    return structs.group_by(KEYS, maintain_order=True).agg(pl.all())


LAYOUTS = {"rows": lambda rows: rows, "lists": _lists, "structs": _structs}
FORMS: dict[str, Write] = {
    f"{layout}, {name}": lambda rows, folder, form=form, write=write: write(form(rows), folder)
    for layout, form in LAYOUTS.items()
    for name, write in WRITERS.items()
} | {
    "CSV": lambda rows, folder: _text(rows, folder, ","),
    "TSV": lambda rows, folder: _text(rows, folder, "\t"),
    "folders of a model": lambda rows, folder: _partitions(rows, folder),
}


def _text(rows: pl.DataFrame, folder: Path, separator: str) -> Path:
    path = folder / ("a.csv" if separator == "," else "a.tsv")
    rows.write_csv(path, separator=separator)
    return path


def _partitions(rows: pl.DataFrame, folder: Path) -> Path:
    for (model,), part in rows.group_by("algorithm"):
        path = folder / "parts" / f"algorithm={model}" / "0.parquet"
        path.parent.mkdir(parents=True)
        part.drop("algorithm").write_parquet(path)
    return folder / "parts"


def _loaded(table: InputTable) -> tuple[list[Any], dict[str, Any]]:
    """Return the ranked rows and their quality."""
    sink, conventions = InMemorySink(), cc.preset("standard")
    with in_memory() as connection:
        loaded = load_recommendations(connection, table, Policies(), conventions, sink.collect)
        return sink.table.to_pylist(), loaded.describe()


@pytest.mark.parametrize("where", [{"algorithm": "bpr"}, {"algorithm": "bpr", "seed": 2}])
@pytest.mark.parametrize("form", FORMS)
def test_a_filter_gives_the_rows_of_the_filtered_table(
    tmp_path: Path, form: str, where: Mapping[str, Any]
) -> None:
    table = open_table("recs", FORMS[form](ROWS, tmp_path), {})
    rows, quality = _loaded(replace(table, where=where))
    expected, alone = _loaded(open_table("recs", ROWS.filter(pl.col("algorithm") == "bpr"), {}))

    assert rows == expected
    assert quality["where"] == where
    assert quality["list_length"] == alone["list_length"]
    given, kept = (len(ROWS), 4) if form[:5] not in ("lists", "struc") else (5, 2)
    condition = " and ".join(f"{name!r} is {value!r}" for name, value in where.items())
    assert quality["notes"][0] == f"{kept} of {given} rows: those where {condition}"


@pytest.mark.parametrize(
    ("method", "name"), [("write_parquet", "parquet"), ("write_ndjson", "jsonl")]
)
@pytest.mark.parametrize(("model", "n_empty"), [("als", 0), ("bpr", 1)])
def test_empty_lists_of_other_rows_are_not_counted(
    tmp_path: Path, method: str, name: str, model: str, n_empty: int
) -> None:
    columns = {"user": ["u1", "u1", "u2"], "algorithm": ["als", "bpr", "bpr"]}
    truth = pl.DataFrame({**columns, "items": [["a"], [], ["b"]]})
    getattr(truth, method)(tmp_path / f"a.{name}")
    evaluated = cc.evaluate(
        {"u1": ["a"], "u2": ["b"]},
        tmp_path / f"a.{name}",
        metrics=["RR"],
        where={"truth": {"algorithm": model}},
    )

    counted = [w.details["lists"] for w in evaluated.warnings if w.code == "empty_truth"]
    assert counted == [n_empty] * bool(n_empty)


@pytest.mark.parametrize(
    ("values", "value"),
    [
        (["als", "bpr"], "als"),
        (["1", "2"], 1),
        ([1, 2], 1),
        ([1, 2], "1"),
        ([1.0, 2.0], 1),
        (["1.0", "2.0"], "1"),
        ([0.5, 0.25], 0.5),
        ([True, False], True),
        (["True", "False"], True),
        (["TRUE", "FALSE"], "true"),
        ([True, False], "True"),
        ([-4.0, -5.0], -4),
        (["-4.0", "-5.0"], -4.0),
        ([1e15, 2e15], 1e15),
        ([Decimal("1.00"), Decimal("2.50")], 1),
        ([datetime(2026, 11, 1), datetime(2026, 11, 2)], "2026-11-01"),
        (["1.10", "1.1"], "1.10"),
        ([date(2026, 11, 1), date(2026, 11, 2)], "2026-11-01"),
    ],
)
@pytest.mark.parametrize("form", ["write_parquet", "write_csv", "write_ndjson"])
def test_values_are_equal_as_they_are_written(
    tmp_path: Path, form: str, values: list[Any], value: Any
) -> None:
    path = tmp_path / {"write_parquet": "a.parquet", "write_csv": "a.csv"}.get(form, "a.jsonl")
    rows = pl.DataFrame({"user": ["u1", "u1"], "item": ["a", "b"], "fold": values})
    getattr(rows.with_columns(rank=1), form)(path)
    evaluated = cc.evaluate(path, {"u1": ["a"]}, metrics=["P"], where={"fold": value})

    assert evaluated["P"] == 1.0


@pytest.mark.parametrize(
    ("where", "problem", "fix"),
    [
        ({"algorithm": "bpr", "seed": 1}, "no row has 'bpr' in 'algorithm' and 1 in 'seed'", ""),
        ({"algorithm": "bpr", "seed": 8}, "column 'seed': no row has 8", "its values: 1, 2"),
        ({"algorithm": "alss"}, "column 'algorithm': no row has 'alss'", "its values: als, bpr"),
        ({"algo": "als"}, "column 'algo': is missing; the columns are: user, item", "name another"),
        ({"score": 0.9}, "column 'score': is read as data", "filter the table before"),
    ],
)
@pytest.mark.parametrize("form", ["rows, parquet", "rows, polars", "rows, JSON lines", "CSV"])
def test_a_filter_without_a_row_names_the_values(
    tmp_path: Path, form: str, where: Any, problem: str, fix: str
) -> None:
    data = FORMS[form](ROWS, tmp_path)
    with pytest.raises(InputError) as error:
        cc.evaluate(data, TRUTH, metrics=["RR"], where=where)

    assert problem in str(error.value)
    assert fix in str(error.value)


@pytest.mark.parametrize("name", ["a.run", "a.json"])
def test_files_without_columns_have_no_filter(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"u1": {"a": 1}}' if name == "a.json" else "u1 Q0 a 1 1 tag\n")
    with pytest.raises(InputError, match=r"has no column names\n.*leave out `where="):
        cc.evaluate(tmp_path / name, TRUTH, metrics=["RR"], where={"tag": "als"})


@pytest.mark.parametrize("form", ["rows, parquet", "CSV", "rows, JSON lines"])
def test_a_message_names_the_row_of_the_whole_table(tmp_path: Path, form: str) -> None:
    rows = pl.concat([ROWS, ROWS[2:3]])  # the last row repeats an item of bpr
    with pytest.raises(InputError) as error:
        cc.evaluate(FORMS[form](rows, tmp_path), TRUTH, metrics=["RR"], where={"algorithm": "bpr"})
    first, last = {"CSV": (4, 10)}.get(form, (3, 9))

    assert f" {first} and " in str(error.value)
    assert f" {last} (user 'u1', item 'b')" in str(error.value)


@pytest.mark.parametrize(
    ("method", "name"), [("write_parquet", "a.parquet"), ("write_ndjson", "a.jsonl")]
)
def test_a_model_of_empty_lists_is_read_if_they_are_kept(
    tmp_path: Path, method: str, name: str
) -> None:
    lists = {"user": ["u1", "u1"], "algorithm": ["als", "bpr"], "items": [[], ["a"]]}
    getattr(pl.DataFrame(lists), method)(tmp_path / name)
    options: dict[str, Any] = {"metrics": ["RR"], "where": {"algorithm": "als"}}
    kept = cc.evaluate(tmp_path / name, TRUTH, input={"empty_lists": "keep"}, **options)

    assert kept["RR"] == 0
    with pytest.raises(InputError, match="has no rows"):
        cc.evaluate(tmp_path / name, TRUTH, **options)


def test_other_lines_decide_nothing_about_the_lines_that_are_read(tmp_path: Path) -> None:
    lines = [
        {"user": "u1", "algorithm": "bpr", "items": ["a", "b"], "scores": [1]},
        {"user": "u1", "algorithm": "als", "items": ["a", "b"]},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    assert cc.evaluate(path, TRUTH, metrics=["RR"], where={"algorithm": "als"})["RR"] == 1 / 3


def test_hashes_are_those_of_the_rows(tmp_path: Path) -> None:
    table = open_table("recs", FORMS["CSV"](ROWS, tmp_path), {})
    filters: list[Mapping[str, Any]] = [
        {"algorithm": "als"},
        {"algorithm": "als", "seed": 1},
        {"seed": "1.0", "algorithm": "als"},
    ]
    hashes = [
        (quality["sha256"], quality["md5"])
        for where in filters
        for _, quality in [_loaded(replace(table, where=where))]
    ]

    assert hashes[1] == hashes[2]
    assert len({*hashes}) == 2


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"algorithm": None}, "where: recs: 'algorithm': cannot be None"),
        ({"items": {"a": 1}}, "where: 'items': is not a table with a filter"),
        ("algorithm", "where: is not a dict"),
    ],
)
def test_an_invalid_filter_is_refused(where: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_where(where)


@pytest.mark.parametrize("form", ["rows, polars", "rows, pandas", "rows, parquet", "CSV"])
def test_one_table_of_models_is_compared_as_a_table_for_each(tmp_path: Path, form: str) -> None:
    options: dict[str, Any] = {"metrics": ["RR", "P@2"], "baseline": "als", "panel": False}
    compared = cc.compare(FORMS[form](ROWS, tmp_path), TRUTH, model="algorithm", **options)
    tables = {model: ROWS.filter(pl.col("algorithm") == model) for model in MODELS}
    expected = cc.compare(tables, TRUTH, **options)

    assert compared.leaderboard.equals(expected.leaderboard)
    assert compared.differences.equals(expected.differences)
    assert [str(each) for each in compared.warnings] == [str(each) for each in expected.warnings]


def test_a_model_of_one_table_has_its_own_filter() -> None:
    options: dict[str, Any] = {"metrics": ["RR"], "baseline": "als", "panel": False}
    compared = cc.compare(
        ROWS.with_columns(stage=pl.col("item")),
        TRUTH,
        model="algorithm",
        where={"bpr": {"stage": "a"}},
        **options,
    )

    assert compared.leaderboard["mean"].to_list() == [1.0, 1 / 3]


def test_where_of_all_lists_and_of_other_tables() -> None:
    truth = pl.DataFrame(
        [(user, item, split) for user, (item,) in TRUTH.items() for split in ("test",)]
        + [("u1", "x", "valid")],
        schema=["user", "item", "split"],
        orient="row",
    )
    compared = cc.compare(
        ROWS,
        truth,
        model="algorithm",
        where={"truth": {"split": "test"}},
        metrics=["RR"],
        baseline="als",
        panel=False,
    )
    of_seed = cc.compare(
        {"als": ROWS, "same": ROWS},
        TRUTH,
        where={"seed": 1, "same": {"algorithm": "als"}},
        metrics=["RR"],
        baseline="als",
        panel=False,
    )

    assert compared.leaderboard["mean"].to_list() == [1.0, (1 / 3 + 0 + 0) / 3]
    assert of_seed.leaderboard["mean"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("models", "model", "message"),
    [
        (ROWS, None, r"models: is one table\n.*`model='algorithm'`"),
        (ROWS, "algo", r"models: column 'algo': is missing.*\n.*in `model`"),
        ({"als": ROWS}, "algorithm", "models: is not a table, or `model` is not the name"),
        (ROWS, ["algorithm", "seed"], "`model` is not the name of a column"),
        (
            ROWS.with_columns(algorithm=pl.lit(None, pl.String)),
            "algorithm",
            "models: column 'algorithm': has rows without a value",
        ),
    ],
)
def test_a_column_of_models_needs_one_table_with_names(
    models: Any, model: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        cc.compare(models, TRUTH, model=model, metrics=["RR"], baseline="als")
