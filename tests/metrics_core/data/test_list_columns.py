"""Columns that separate lists which would be read as one are named, with what to do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.data.arguments import open_table
from concord.metrics_core.data.input_table import LIST_COLUMNS, InputTable, resolve_columns
from concord.metrics_core.errors import InputError, params_keys

USERS = [f"u{n}" for n in range(12)]
TRUTH = {user: ["a"] for user in USERS}
REQUESTS = "identifies the requests of a user, "
UNIT = "set `data.unit: [user, "
READ_ONE = "names models, stages or splits, read one ("


def _rows(column: str, values: list[str]) -> pl.DataFrame:
    """Return a list of each user for each value, with the best item first."""
    rows = [(user, item, value) for user in USERS for value in values for item in "abc"]
    return pl.DataFrame(rows, ["user", "item", column], orient="row")


def _ranked(column: str, values: list[str]) -> pl.DataFrame:
    rank = pl.int_range(pl.len()).over("user", column) + 1
    return _rows(column, values).with_columns(rank=rank)


def _scored(column: str, values: list[str]) -> pl.DataFrame:
    return (
        _rows(column, values)
        .with_row_index("number")
        .select("user", "item", column, score=1 / (1 + pl.col("number")))
    )


def _fix(lists: pl.DataFrame, folder: Path, truth: dict[str, Any]) -> str:
    """Return what a project is told to do about its lists."""
    lists.write_csv(folder / "lists.csv")
    pl.DataFrame(truth).write_csv(folder / "truth.csv")
    columns = resolve_columns(LIST_COLUMNS, {})
    table = InputTable(str(folder / "lists.csv"), "csv", *columns, params_keys("models.bpr"))
    table = replace(table, truth=open_table("truth", folder / "truth.csv", {}))
    with pytest.raises(InputError) as error:
        cc.evaluate(table, TRUTH, metrics=["RR"])
    return error.value.problems[0].fix


@pytest.mark.parametrize("make", [_ranked, _scored])
@pytest.mark.parametrize("column", ["algorithm", "stage", "colour", "session"])
def test_a_column_that_the_ground_truth_lacks_separates_models(
    tmp_path: Path, make: Any, column: str
) -> None:
    fix = _fix(make(column, ["als", "bpr"]), tmp_path, {"user": USERS, "item": "a"})

    assert fix.startswith(f"if {column!r} {READ_ONE}als, bpr): `models.bpr.where: ")
    assert f"where: {{{column}: bpr}}`" in fix
    assert REQUESTS not in fix


@pytest.mark.parametrize("column", ["algorithm", "session"])
def test_a_column_of_both_tables_separates_requests(tmp_path: Path, column: str) -> None:
    truth = {"user": USERS, "item": "a", column: "als"}
    fix = _fix(_ranked(column, ["als", "bpr"]), tmp_path, truth)

    assert fix.startswith(f"if {column!r} {REQUESTS}also in the ground truth, {UNIT}{column}]`")
    assert READ_ONE not in fix


def test_many_sessions_are_no_models(tmp_path: Path) -> None:
    values = [f"s{n}" for n in range(40)]
    fix = _fix(_ranked("session", values), tmp_path, {"user": USERS, "item": "a"})

    assert fix.startswith(f"if 'session' {REQUESTS}add it to the ground truth, and {UNIT}session]`")


def test_many_models_are_no_sessions(tmp_path: Path) -> None:
    values = [f"m{n:02}" for n in range(40)]
    fix = _fix(_ranked("model", values), tmp_path, {"user": USERS, "item": "a"})

    assert READ_ONE + "m00, m01" in fix
    assert "… (40 in all)): `models.bpr.where: {model: m00}`" in fix
    assert REQUESTS not in fix


def test_hints_lead_to_one_list_if_two_columns_separate_lists() -> None:
    lists = pl.concat(
        _ranked("model", ["x", "y"]).with_columns(stage=pl.lit(stage)) for stage in ("a", "b")
    )
    where: dict[str, Any] = {}
    for name, value in (("model", "x"), ("stage", "a")):
        with pytest.raises(InputError) as error:
            cc.evaluate(lists, TRUTH, metrics=["RR"], where=where)
        where[name] = value
        assert f"`where={{'recs': {where}}}`" in str(error.value)

    assert cc.evaluate(lists, TRUTH, metrics=["RR"], where=where)["RR"] == 1


def test_warning_and_error_give_the_same_advice() -> None:
    lists = _scored("search_system", ["als", "bpr"])
    with pytest.raises(InputError) as error:
        cc.evaluate(lists, TRUTH, metrics=["RR"])
    conventions = cc.preset("standard", duplicates="keep")
    warnings = cc.evaluate(lists, TRUTH, metrics=["RR"], conventions=conventions).warnings
    (warning,) = (each for each in warnings if each.code == "several_lists")

    assert warning.fix in str(error.value)


@pytest.mark.parametrize("duplicates", ["keep", "first", "drop"])
@pytest.mark.parametrize("column", ["algorithm", "colour"])
def test_lists_that_are_read_as_one_are_a_serious_warning(duplicates: Any, column: str) -> None:
    conventions = cc.preset("standard", duplicates=duplicates)
    lists = _scored(column, ["als", "bpr"])
    warnings = cc.evaluate(lists, TRUTH, metrics=["RR"], conventions=conventions).warnings
    (warning,) = (each for each in warnings if each.code == "several_lists")

    assert warning.severity == "serious"
    assert f"{column!r} may separate several lists of a user" in warning.sentence
    assert f"`where={{'recs': {{{column!r}: 'als'}}}}`" in warning.fix


@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_column_of_models_is_named_if_no_list_repeats_an_item(*, is_sorted: bool) -> None:
    """Sorted lists are evaluated while they are read."""
    first, second = USERS[:6], USERS[6:]
    rows = [(u, item, "als") for u in USERS for item in ("ab" if u in first else "cd")]
    rows += [(u, item, "bpr") for u in USERS for item in ("ab" if u in second else "cd")]
    lists = pl.DataFrame(rows, ["user", "item", "model"], orient="row")
    order = ["user"] if is_sorted else ["item"]
    lists = lists.sort(order, maintain_order=True).with_columns(
        score=-pl.int_range(pl.len()).cast(pl.Float64)
    )
    (warning,) = cc.evaluate(lists, TRUTH, metrics=["RR"]).warnings

    assert (warning.code, warning.severity) == ("several_lists", "notice")


def test_ranks_of_one_list_show_that_a_column_separates_none() -> None:
    lists = _ranked("session", ["s"]).with_columns(
        model=pl.when(pl.col("user") < "u5", pl.col("item") == "a")
        .then(pl.lit("x"))
        .otherwise(pl.lit("y"))
    )

    assert not cc.evaluate(lists, TRUTH, metrics=["RR"]).warnings


@pytest.mark.parametrize(
    "values",
    [
        pl.when(pl.col("item") == "a").then(pl.lit("x")).otherwise(pl.lit("y")),  # of items
        pl.when(pl.col("user") == "u1").then(pl.lit("x")).otherwise(pl.lit("y")),  # of users
        pl.lit("x"),
    ],
)
def test_a_property_of_items_or_users_separates_no_lists(values: pl.Expr) -> None:
    lists = _scored("session", ["s"]).with_columns(system=values)

    assert not cc.evaluate(lists, TRUTH, metrics=["RR"]).warnings
