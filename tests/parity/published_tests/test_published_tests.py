"""Concord gives the values that other libraries expect in their own tests and documentation.

README.md describes the files. `residue.csv` names the cases that no convention expresses; they
must still differ.
"""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.json"))


def _differing() -> dict[tuple[str, str], str]:
    """Return the reason for each library and case that is known to differ."""
    with (FOLDER / "residue.csv").open(encoding="utf-8", newline="") as lines:
        return {(row["library"], row["case"]): row["reason"] for row in csv.DictReader(lines)}


def _parameters() -> Iterator[Any]:
    differing = _differing()
    for path in FILES:
        library = json.loads(path.read_text(encoding="utf-8"))
        for case in library["cases"]:
            is_equal = (path.stem, case["name"]) not in differing
            yield pytest.param(library, case, is_equal, id=f"{path.stem}: {case['name']}")


@pytest.mark.parametrize(("library", "case", "is_equal"), list(_parameters()))
def test_concord_gives_the_values_that_the_library_expects(
    library: dict[str, Any], case: dict[str, Any], is_equal: bool
) -> None:
    """Cases of the residue must differ: a reason that no longer holds is removed."""
    tables = {
        name: _table(table, fill_gaps=name == "recs")
        for name, table in library["inputs"][case["input"]].items()
    }
    expected = case["values"]

    result = cc.evaluate(
        tables.pop("recs"),
        tables.pop("truth"),
        metrics=list(expected),
        conventions=case.get("conventions", library["conventions"]),
        columns=case.get("columns"),
        input=case.get("options"),
        **tables,
    )

    values = {label: _values(result, label, expected[label]) for label in expected}
    tolerance = case.get("tolerance", library["tolerance"])
    wanted = {
        label: pytest.approx(_undefined_as_nan(of_label), abs=tolerance, nan_ok=True)
        for label, of_label in expected.items()
    }
    if is_equal:
        assert values == wanted
    else:
        assert values != wanted


def test_the_page_states_the_number_of_values() -> None:
    cases = [
        case for path in FILES for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
    ]
    n_values = sum(len(values) for case in cases for values in case["values"].values())

    assert f", {n_values} values in all" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_known_difference_names_a_case() -> None:
    cases = {
        (path.stem, case["name"])
        for path in FILES
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
    }

    assert _differing().keys() <= cases


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_names_its_source_and_licence(path: Path) -> None:
    library = json.loads(path.read_text(encoding="utf-8"))

    assert library["source"].startswith("https://")
    assert library["licence"] in {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT"}
    assert {case["file"] for case in library["cases"]} <= library["files"].keys()


def _table(table: Any, *, fill_gaps: bool) -> Any:
    """Return the argument for `cc.evaluate`."""
    if "rows" in table:
        return pl.DataFrame(table["rows"], schema=table["columns"], orient="row")
    if not fill_gaps:
        return table
    return {user: _without_gaps(items) for user, items in table.items()}


def _without_gaps(items: Any) -> Any:
    """Fill ranks that the source leaves out (null) with items that no user wants."""
    if isinstance(items, dict):
        return items
    return [f"gap {rank}" if item is None else item for rank, item in enumerate(items, 1)]


def _values(
    result: cc.results.Evaluation, label: str, expected: dict[str, float]
) -> dict[str, Any]:
    """Return the values of the expected users, and the mean; None for a user left out."""
    per_user: dict[str, Any] = {"mean": result[label]}
    if label in result.per_user.columns:
        per_user |= dict(result.per_user.select("user", label).iter_rows())
    return {user: per_user.get(user) for user in expected}


def _undefined_as_nan(values: dict[str, float | None]) -> dict[str, float]:
    return {user: math.nan if value is None else value for user, value in values.items()}
