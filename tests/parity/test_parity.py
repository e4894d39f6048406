"""Each preset gives the number of the library that it is named for: per user and in the mean."""

import math
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.presets import PRESETS
from tests.parity import cases, environments
from tests.parity.residue import RESIDUE, excused
from tests.project import MOVIELENS

pytestmark = pytest.mark.whole

NAMES = sorted(path.stem for path in environments.LIBRARIES.glob("with_*.py"))
LIBRARIES = [
    pytest.param(name, marks=pytest.mark.nightly) if environments.is_slow(name) else name
    for name in NAMES
]
SINGLE = {"with_torchmetrics", "with_ignite"}  # they compute in float32
Row = tuple[str, str, str, str, float, float]  # preset, case, label, user or mean, ours, theirs


@cache
def _cases() -> dict[str, cases.Case]:
    real = [cases.movielens(MOVIELENS)] if MOVIELENS.is_dir() else []
    return {case["name"]: case for case in [*cases.small_cases(), *real]}


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_value_of_the_library_is_reproduced(
    library: str, tmp_path: Path, record_property: Any
) -> None:
    _install(library)
    said = environments.measure(library, list(_cases().values()), tmp_path)
    rows = _compared(said["values"])
    wrong = [row for row in rows if not _close(row, 1e-6 if library in SINGLE else 1e-9)]
    unexplained = [row for row in wrong if not excused(*row[:3])]

    record_property("compared", len(rows))
    print(f"{library}: {len(rows):,} values compared, {len(wrong):,} of them residue")
    assert rows
    assert unexplained == [], _told(unexplained)
    assert _idle(library, wrong, said["values"]) == []
    assert _not_reconciled(said["values"]) == []


def _install(library: str) -> None:
    """Make the library's environment; without a package registry that is an error in CI and a skip elsewhere."""
    try:
        environments.python_of(library)
    except RuntimeError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{library} could not be installed: {str(error)[-300:]}")


def _not_reconciled(values: list[list[Any]]) -> list[Any]:
    """Means of the library on MovieLens, as printed with five digits, that `reconcile` does not lead back to it."""
    asked = [
        (preset, label, f"{mean:.5f}")
        for preset, name, label, _, mean in values
        if name == "movielens" and label.endswith("@10") and mean is not None
        if not excused(preset, name, label)
    ]
    lists, truth = _recs("movielens"), _truth("movielens")
    standard = cc.preset("standard")
    return [
        (preset, label, text)
        for preset, label, text in asked
        if not any(
            preset in found.presets
            for found in cc.reconcile(lists, truth, value=text, metric=label, conventions=standard)
            if found.matches
        )
    ]


def _compared(values: list[list[Any]]) -> list[Row]:
    labels: dict[tuple[str, str], list[str]] = {}
    for preset, name, label, *_ in values:
        labels.setdefault((preset, name), []).append(label)
    results = {key: _result(*key, asked) for key, asked in labels.items()}
    return [row for value in values for row in _rows(value, results[value[0], value[1]])]


def _rows(value: list[Any], result: cc.Result) -> list[Row]:
    preset, name, label, users, mean = value
    key = (preset, name, label)
    rows = [] if mean is None else [(*key, "mean", result[label], float(mean))]
    if users is None:
        return rows
    given = result.per_user.select("user", label).drop_nulls().iter_rows()
    ours = {str(user): number for user, number in given}
    everybody = sorted(set(users) | {user for user, v in ours.items() if not math.isnan(v)})
    absent = math.inf  # a user whom only one of the two evaluates
    return rows + [
        (*key, user, ours.get(user, absent), float(users.get(user, absent))) for user in everybody
    ]


def _result(preset: str, name: str, labels: list[str]) -> cc.Result:
    case = _cases()[name]
    return cc.evaluate(
        _recs(name),
        _truth(name),
        metrics=labels,
        conventions=cc.preset(preset),
        train=case.get("train"),
        items=case.get("categories"),
    )


def _recs(name: str) -> pl.DataFrame:
    case = _cases().get(name, {})
    listed = [(user, *pair) for user, rows in case.get("lists", {}).items() for pair in rows]
    frame = pl.DataFrame(listed, schema=["user", "item", "score"], orient="row")
    return frame.cast({"user": pl.Int64, "item": pl.Int64}) if case.get("integers") else frame


def _truth(name: str) -> dict[Any, dict[Any, float]]:
    case = _cases().get(name, {})
    kind = int if case.get("integers") else str
    return {
        kind(user): {kind(item): grade for item, grade in held.items()}
        for user, held in case.get("truth", {}).items()
    }


def _close(row: Row, tolerance: float) -> bool:
    ours, theirs = row[4:]
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance)


def _told(rows: list[Row]) -> str:
    """How many rows of each preset, case and label differ, and the first of them."""
    counts = Counter(row[:3] for row in rows)
    first = {row[:3]: row[3:] for row in reversed(rows)}
    return "\n".join(f"{key}: {count}, first {first[key]}" for key, count in counts.items())


def _idle(library: str, wrong: list[Row], values: list[list[Any]]) -> list[Any]:
    """Excuses that excuse nothing any more, among the presets that this library speaks of."""
    spoken = {value[0] for value in values}
    return [
        excuse
        for excuse in RESIDUE
        if excuse.preset in spoken and not any(excuse.covers(*row[:3]) for row in wrong)
    ]


def test_every_preset_that_names_a_package_is_compared() -> None:
    named = {name for name, preset in PRESETS.items() if preset.package}
    scripts = "".join((environments.LIBRARIES / f"{name}.py").read_text() for name in NAMES)

    assert {name for name in named if f'"{name}"' not in scripts} == set()
