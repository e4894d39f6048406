"""Tables of everything that the report shows."""

import polars as pl
import pytest

from concord.metrics_core.comparison.exports import exports
from tests.reports.samples import sample
from tests.reports.samples.typed import typed


def test_every_number_of_a_part_is_in_its_table() -> None:
    content = sample.five_models()
    tables = exports(typed(content))

    assert len(tables["distributions"]) == 101 * len(content["distributions"])
    first = content["distributions"][0]
    assert tables["distributions"]["difference"][:101].to_list() == first["quantiles"]
    assert tables["best"].to_dicts() == content["best"]
    cells = [cell for entry in content["segments"] for cell in entry["cells"]]
    assert tables["segments"].drop("segmentation", "kind").to_dicts() == cells
    assert tables["gaps"]["gap"].to_list() == [0.0123] * 15
    points = [point for entry in content["tradeoffs"] for point in entry["points"]]
    assert tables["tradeoffs"].drop("x_label", "y_label").to_dicts() == points
    assert tables["warnings"]["severity"].to_list() == ["serious", "notice"]


def test_the_panel_has_a_row_for_every_definition_and_model() -> None:
    content = sample.five_models()
    tables = exports(typed(content))
    rows = {(r["label"], r["definition"], r["model"]): r for r in tables["panel"].to_dicts()}
    presets = tables["panel_presets"]

    for entry in content["panel"]:
        for each in entry["definitions"]:
            for model, value in each["values"].items():
                row = rows.pop((entry["metric"], each["name"], model))
                assert (row["value"], row["rank"]) == (value, each["ranks"][model])
                assert row["verdict"] == each["verdicts"].get(model)
                assert (row["says"], row["top_two_hold"]) == (each["says"], each["top_two_hold"])
            mine = presets.filter(label=entry["metric"], definition=each["name"])
            assert mine["preset"].to_list() == each["presets"]
            assert mine["stands_for"].to_list() == each["stands_for"]
        (left_out,) = presets.filter(pl.col("label") == entry["metric"], pl.col("left_out").is_not_null()).to_dicts()  # fmt: skip
        assert left_out["preset"] == entry["left_out"][0]["preset"]
        assert (left_out["definition"], left_out["left_out"]) == (None, entry["left_out"][0]["why"])
    assert rows == {}


def test_every_finding_in_the_files_is_a_number_or_a_text() -> None:
    table = exports(typed(sample.five_models()))["quality"]
    found = {(r["role"], r["finding"]): r for r in table.to_dicts()}

    assert found["item-knn", "users.without_list"]["number"] == 7
    assert found["item-knn", "users.shorter_than.20"]["number"] == 47
    assert found["item-knn", "judged_share.10"]["number"] == 0.129
    assert found["item-knn", "ties.policy"]["text"] == "item_asc"
    assert found["item-knn", "has_scores"]["text"] == "true"
    assert found["truth", "grades.3"]["number"] == 887
    assert found["truth", "notes.1"]["text"] == "166 users have no item of grade 1 or higher."
    assert all((r["number"] is None) != (r["text"] is None) for r in found.values())


def test_conventions_are_told_by_value_with_their_overrides() -> None:
    content = sample.five_models()
    tables = exports(typed(content))
    rows = {(r["convention"], r["metric"]): r for r in tables["conventions"].to_dicts()}

    assert len(rows) == len(content["conventions"]["knobs"]) + 1
    assert rows["discount", None]["value"] == '{"log": 2}'
    assert rows["relevance_threshold", None]["value"] == "1"
    assert rows["round", None]["value"] == "null"
    assert rows["gain", None]["changes"] == "nDCG"
    assert rows["gain", None]["meaning"].endswith("the grade.")
    assert rows["ap_denominator", "AP"]["value"] == "relevant"
    assert tables["inputs"].to_dicts() == content["provenance"]["inputs"]


EMPTY = {
    "quality": {},
    "conventions": {"preset": "custom", "fingerprint": "", "knobs": [], "overrides": {}},
}


@pytest.mark.parametrize(
    "key",
    [
        "distributions",
        "best",
        "tradeoffs",
        "segments",
        "warnings",
        "panel",
        "quality",
        "conventions",
    ],
)
@pytest.mark.parametrize("part", ["empty", "absent"])
def test_a_missing_part_has_the_same_columns_and_no_rows(key: str, part: str) -> None:
    content = sample.five_models()
    full = exports(typed(content))[key].schema
    content[key] = EMPTY.get(key, [])
    if part == "absent":
        del content[key]

    table = exports(typed(content))[key]

    assert (table.schema, len(table)) == (full, 0)


def test_types_do_not_depend_on_what_is_null() -> None:
    tables = exports(typed(sample.one_model()))

    assert tables["segments"].schema["difference"] == pl.Float64
    assert tables["segments"]["difference"].null_count() == len(tables["segments"]) > 0
