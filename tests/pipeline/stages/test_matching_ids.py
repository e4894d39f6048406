"""Matches of the ids in lists, truth and catalogue: counts, warnings and errors."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.errors import params_keys
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.evaluation.warnings.data import id_warnings
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.pipeline.params.model import BackgroundFile, Params
from concord.pipeline.stages.evaluate import check_model_ids, model_data
from tests.pipeline.refusals import refusal_of
from tests.pipeline.stages.load_project import params_of

DECOMPOSED, COMPOSED = "cafe\u0301", "caf\u00e9"


def match_ids(
    folder: Path,
    lists: list[tuple[Any, Any]],
    truth: list[tuple[Any, Any]],
    items: list[Any] | None = None,
    **policies: str,
) -> dict[str, Any]:
    params = params_of("lists.csv", **policies)
    results = params.results.model_copy(update={"data": str(folder), "lists": str(folder)})
    params = params.model_copy(update={"results": results})
    pl.DataFrame(lists, schema=["user", "item"], orient="row").with_columns(
        rank=pl.int_range(1, pl.len() + 1)
    ).write_parquet(folder / "m.parquet")
    pl.DataFrame(truth, schema=["user", "item"], orient="row").with_columns(
        grade=1.0
    ).write_parquet(folder / "truth.parquet")
    if items is not None:
        params = _with_items(params)
        pl.DataFrame({"item": items}).write_parquet(folder / "items.parquet")
    return check_model_ids(params, "m", model_data(params, "m"))


def _with_items(params: Params) -> Params:
    catalogue = BackgroundFile.model_validate({"path": "items.csv"})
    return params.model_copy(update={"background": {"items": catalogue}})


def test_matched_ids_are_counted(tmp_path: Path) -> None:
    counts = match_ids(
        tmp_path, [("u", "a"), ("v", "b")], [("u", "a"), ("w", "c")], ["a", "b", "c"]
    )

    assert counts == {
        "users": {"listed": 2, "known": 1, "alike": 0},
        "items": {"listed": 2, "known": 1, "alike": 0},
        "unknown_items": 0,
    }


@pytest.mark.bad_input(28, "compared as decimal text; an error if no user matches")
def test_integers_and_text_are_compared_by_their_decimal_text(tmp_path: Path) -> None:
    assert match_ids(tmp_path, [(1, 7)], [("1", "7")])["users"]["known"] == 1

    assert refusal_of(lambda: match_ids(tmp_path, [(1, 7)], [("u1", "7")])) == (
        "lists.csv: column 'user': no user id occurs in the ground truth: '1' here, 'u1' there\n"
        "  fix: write user ids the same way in both"
    )


@pytest.mark.bad_input(32, "an error if one form would make them match")
@pytest.mark.parametrize("position", [0, 1])
def test_two_unicode_forms_of_one_id_are_refused(tmp_path: Path, position: int) -> None:
    listed, known = (
        (name, "x") if position == 0 else ("x", name) for name in (DECOMPOSED, COMPOSED)
    )

    column = ("user", "item")[position]
    assert refusal_of(lambda: match_ids(tmp_path, [listed], [known])) == (
        f"lists.csv: column '{column}': 1 id would match the ground truth in one Unicode form: "
        "'cafe\\u0301' here, 'caf\\xe9' there\n"
        "  fix: normalise all ids the same way (NFC)"
    )


def test_two_unicode_forms_in_one_file_are_two_ids(tmp_path: Path) -> None:
    both = [("u", DECOMPOSED), ("u", COMPOSED)]

    assert match_ids(tmp_path, both, both)["items"] == {"listed": 2, "known": 2, "alike": 0}


@pytest.mark.bad_input(38, "an error with an example; `input.unknown_items: keep` counts them")
def test_items_missing_from_the_catalogue_are_refused(tmp_path: Path) -> None:
    lists, truth = [("u", "a"), ("u", "z"), ("v", "z")], [("u", "a")]

    assert refusal_of(lambda: match_ids(tmp_path, lists, truth, ["a", "b"])) == (
        "lists.csv: column 'item': 1 item in 2 rows of 2 users not in items.csv, such as 'z' "
        "(user 'u')\n"
        "  fix: add them to the catalogue, leave them out of the lists, or set "
        "`input.unknown_items: keep`"
    )
    assert match_ids(tmp_path, lists, truth, ["a", "b"], unknown_items="keep")["unknown_items"] == 2
    assert match_ids(tmp_path, lists, truth)["unknown_items"] is None


def test_items_missing_from_the_catalogue_are_a_warning_if_kept(tmp_path: Path) -> None:
    lists, truth = [("u", "a"), ("u", "z"), ("v", "z")], [("u", "a")]
    counts = match_ids(tmp_path, lists, truth, ["a", "b"], unknown_items="keep")

    warnings = _warnings(pop={"id_match": counts}, als={"id_match": counts | {"unknown_items": 0}})

    assert warnings["not_in_catalogue"].models == ("pop",)
    assert "2 rows" in warnings["not_in_catalogue"].sentence.replace("\N{NO-BREAK SPACE}", " ")


def _warnings(**models: dict[str, Any]) -> dict[str, DataWarning]:
    no_path = Path("-")
    evaluations = {
        name: ModelResult(
            no_path,
            no_path,
            no_path,
            {"id_match": content.get("id_match", {})},
            content.get("quality", {}),
        )
        for name, content in models.items()
    }
    return {row.code: row for row in id_warnings(evaluations, params_keys("comparison"))}


@pytest.mark.bad_input(33, "warning with the number of ids")
def test_ids_in_another_case_or_with_zeros_are_a_warning(tmp_path: Path) -> None:
    counts = match_ids(tmp_path, [("u", "A1"), ("u", "007"), ("u", "b")], [("u", "a1"), ("u", "7")])
    assert counts["items"] == {"listed": 3, "known": 0, "alike": 2}

    warnings = _warnings(
        pop={"id_match": match_ids(tmp_path, [("u", "b")], [("u", "b")])}, als={"id_match": counts}
    )

    assert warnings["spelled_otherwise"].models == ("als",)
    assert "2 items" in warnings["spelled_otherwise"].sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert "no_common_item" not in warnings  # of the same cause


@pytest.mark.bad_input(40, "warning that names the models")
def test_one_file_under_several_names_is_a_warning() -> None:
    same, other = {"quality": {"sha256": "x"}}, {"quality": {"sha256": "y"}}

    warnings = _warnings(a=same, b=other, c=same, d=same)

    assert list(warnings) == ["same_file"]
    assert warnings["same_file"].models == ("a", "c", "d")
    assert _warnings(a=same, b=other) == {}
