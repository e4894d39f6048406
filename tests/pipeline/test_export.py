"""Tables of everything that the report shows."""

import polars as pl
import pytest

from pipeline.comparing.export import exports
from tests.reports import sample


def test_every_number_of_a_part_is_in_its_table() -> None:
    comparison = sample.five_models()
    tables = exports(comparison)

    assert len(tables["distributions"]) == 101 * len(comparison["distributions"])
    first = comparison["distributions"][0]
    assert tables["distributions"]["difference"][:101].to_list() == first["quantiles"]
    assert tables["best"].to_dicts() == comparison["best"]
    cells = [cell for entry in comparison["segments"] for cell in entry["cells"]]
    assert tables["segments"].drop("segmentation", "kind").to_dicts() == cells
    assert tables["gaps"]["gap"].to_list() == [0.0123] * 15
    points = [point for entry in comparison["tradeoffs"] for point in entry["points"]]
    assert tables["tradeoffs"].drop("x_label", "y_label").to_dicts() == points
    users = comparison["examples"]["users"]
    assert len(tables["examples"]) == sum(len(u["list_a"]) + len(u["list_b"]) for u in users)
    assert tables["warnings"]["severity"].to_list() == ["serious", "notice"]


@pytest.mark.parametrize("key", ["distributions", "best", "tradeoffs", "segments", "warnings"])
@pytest.mark.parametrize("content", [None, [], "absent"])
def test_a_missing_part_has_the_same_columns_and_no_rows(key: str, content: object) -> None:
    comparison = sample.five_models()
    full = exports(comparison)[key].schema
    comparison[key] = content
    if content == "absent":
        del comparison[key]

    table = exports(comparison)[key]

    assert (table.schema, len(table)) == (full, 0)


def test_types_do_not_depend_on_what_is_null() -> None:
    comparison = sample.one_model()
    comparison["examples"] = None

    tables = exports(comparison)

    assert tables["segments"].schema["difference"] == pl.Float64
    assert tables["segments"]["difference"].null_count() == len(tables["segments"]) > 0
    assert len(tables["examples"]) == 0
