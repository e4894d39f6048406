"""Tables of a comparison for CSV and parquet."""

from typing import Any

import polars as pl
import pytest

from concord.metrics_core.results.exported_tables import export_tables
from concord.metrics_core.results.stored import from_content
from tests.reports.samples import sample


def test_every_number_of_a_part_is_in_its_table() -> None:
    content = sample.five_models()
    for entry in content["tradeoffs"]:
        for point in entry["points"]:
            point["dominated_by"] = ["ease", "als"]
    tables = export_tables(from_content(content))

    assert len(tables["distributions"]) == 101 * len(content["distributions"])
    first = content["distributions"][0]
    assert tables["distributions"]["difference"][:101].to_list() == first["quantiles"]
    assert tables["best"].to_dicts() == content["best"]
    missing = {"n_without_list": None, "n_with_both": None}
    cells = [cell | missing | cell for entry in content["segments"] for cell in entry["cells"]]
    assert tables["segments"].drop("segmentation", "kind").to_dicts() == cells
    gaps = [gap["gap"] for entry in content["segments"] for gap in entry["gaps"]]
    assert tables["gaps"]["gap"].to_list() == gaps != []
    entries = content["tradeoffs"]
    points = [p | {"dominated_by": "ease, als"} for entry in entries for p in entry["points"]]
    assert tables["tradeoffs"].drop("x_label", "y_label").to_dicts() == points
    severities = [warning["severity"] for warning in content["warnings"]]
    assert tables["warnings"]["severity"].to_list() == severities


def test_the_panel_has_a_row_for_every_definition_and_model() -> None:
    content = sample.five_models()
    tables = export_tables(from_content(content))
    rows = {(r["label"], r["definition"], r["model"]): r for r in tables["panel"].to_dicts()}
    presets = tables["panel_presets"]

    for entry in content["panel"]:
        for each in entry["definitions"]:
            for model, value in each["values"].items():
                row = rows.pop((entry["metric"], each["name"], model))
                assert (row["value"], row["rank"]) == (value, each["ranks"][model])
                assert row["verdict"] == each["verdicts"].get(model)
                assert row["top_two_hold"] == each["top_two_hold"]
                assert all(name in row["changed"] for name in each["changed"])
            mine = presets.filter(label=entry["metric"], definition=each["name"])
            assert mine["preset"].to_list() == each["presets"]
            assert all(mine["meaning"])
        excluded = presets.filter(
            pl.col("label") == entry["metric"], pl.col("exclusion_reason").is_not_null()
        )
        assert excluded["preset"].to_list() == [each["preset"] for each in entry["excluded"]]
        assert excluded["exclusion_reason"].to_list() == [
            each["reason"] for each in entry["excluded"]
        ]
        assert excluded["definition"].null_count() == len(excluded)
    assert rows == {}


def test_every_finding_in_the_files_is_a_number_or_a_text() -> None:
    content = sample.five_models()
    quality = content["quality"]["item-knn"] | {"notes": ["9 users have no list."]}
    content["quality"]["item-knn"] = quality
    table = export_tables(from_content(content))["quality"]
    results = {(r["role"], r["finding"]): r for r in table.to_dicts()}

    assert results["item-knn", "users.without_list"]["number"] == 9
    assert results["item-knn", "judged_share.10"]["number"] == quality["judged_share"]["10"]
    assert results["item-knn", "ties.policy"]["text"] == "item_asc"
    assert results["item-knn", "has_scores"]["text"] == "false"
    assert results["truth", "grades.3"]["number"] == content["quality"]["truth"]["grades"]["3"]
    assert results["item-knn", "notes.1"]["text"] == quality["notes"][0]
    assert not any(r["number"] is not None and r["text"] is not None for r in results.values())


def test_conventions_are_exported_by_value_with_their_overrides() -> None:
    content = sample.five_models()
    tables = export_tables(from_content(content))
    rows = {(r["convention"], r["metric"]): r for r in tables["conventions"].to_dicts()}

    assert len(rows) == len(content["conventions"]["values"]) + 1
    assert rows["discount", None]["value"] == '{"log": 2}'
    assert rows["relevance_threshold", None]["value"] == "1"
    assert rows["round", None]["value"] == "null"
    assert "nDCG" in rows["gain", None]["changes"]
    assert rows["gain", None]["meaning"].endswith("the grade.")
    assert rows["ap_denominator", "AP"]["value"] == "relevant"
    assert tables["inputs"].to_dicts() == content["provenance"]["inputs"]


NO_CONVENTIONS = {"preset": "custom", "fingerprint": "", "values": [], "overrides": {}}
EMPTY: dict[str, Any] = {
    **{key: [] for key in ("distributions", "best", "tradeoffs", "segments", "warnings", "panel")},
    "quality": {},
    "conventions": NO_CONVENTIONS,
}


@pytest.mark.parametrize("key", EMPTY)
def test_an_empty_part_has_the_same_columns_and_no_rows(key: str) -> None:
    content = sample.five_models()
    full = export_tables(from_content(content))[key].schema
    content[key] = EMPTY[key]

    table = export_tables(from_content(content))[key]

    assert (table.schema, len(table)) == (full, 0)


def test_types_do_not_depend_on_what_is_null() -> None:
    tables = export_tables(from_content(sample.one_model()))

    assert tables["segments"].schema["difference"] == pl.Float64
    assert tables["segments"]["difference"].null_count() == len(tables["segments"]) > 0
