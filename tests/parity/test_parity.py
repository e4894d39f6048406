"""Each preset gives the values of the library of its name: per user and in the mean.

The values of the libraries are stored (`measure.py`); the nightly test measures them again.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.presets import preset as conventions_of_preset
from concord.metrics_core.evaluation import dataset
from concord.metrics_core.evaluation.accumulator import summarise_column
from concord.metrics_core.evaluation.dataset import ValueFrames
from concord.metrics_core.evaluation.task import Task
from tests.parity import measure
from tests.parity.cases import (
    Case,
    further_cases,
    movielens,
    pooled,
    propensities,
    ranking_cases,
)
from tests.project import movielens as data

PAIRS = [
    (library, preset) for library in measure.RECOMMENDERS for preset in measure.presets(library)
]
IN_FLOAT32 = {"torchmetrics", "ignite"}


@pytest.mark.parametrize(("library", "preset"), PAIRS)
def test_concord_gives_every_value_of_the_library(library: str, preset: str) -> None:
    expected = _values(library, preset)
    rows = _compare(expected, _concord_values(expected, preset))
    wrong = rows.filter(~_is_close(1e-6 if library in IN_FLOAT32 else 1e-9))
    residue = [_covers(row) for row in measure.residue(preset)]
    unexplained = wrong.filter(~pl.any_horizontal(pl.lit(value=False), *residue))

    assert unexplained.is_empty(), _summary(unexplained)
    refused = measure.stored(library).filter(pl.col("error").is_not_null(), preset=preset)
    found = pl.concat([wrong, refused], how="diagonal")
    assert [covers for covers in residue if found.filter(covers).is_empty()] == []


@pytest.mark.parametrize(("library", "preset"), PAIRS)
def test_reconcile_finds_the_preset_of_a_mean(library: str, preset: str) -> None:
    """The preset is identified from a printed mean with five digits."""
    means = _values(library, preset).filter(
        pl.col("user").is_null(), pl.col("label").str.ends_with("@10"), case="clean"
    )
    for label, value in means.select("label", "value").tail(1).iter_rows():
        assert preset in _reconciled(label, f"{value:.5f}")


def test_weighted_sums_and_ratios_are_those_of_napkinxc_and_the_open_bandit_pipeline() -> None:
    rows = measure.stored("propensities").select("preset", "label", "value").iter_rows()
    values = {(preset, label): value for preset, label, value in rows}
    (case,) = propensities()
    k, n_users, n_rows = case["k"], len(case["truth"]), sum(map(len, case["truth"]))
    sums = _weighted(case, ["P", "CG", "DCG"])
    ratios = _weighted(case, ["R", "DCG"], normalised="over_all")

    assert sums[f"P@{k}"] == pytest.approx(values["napkinxc", "P"], rel=1e-12)
    assert sums[f"DCG@{k}"] / k == pytest.approx(values["napkinxc", "DCG"], rel=1e-12)
    for actual, expected in (("CG", "R"), ("DCG", "DCG")):
        per_row = sums[f"{actual}@{k}"] * n_users / n_rows
        assert per_row == pytest.approx(values["obp_ips", expected], rel=1e-12)
        ratio = ratios[f"{expected}@{k}"]
        assert ratio == pytest.approx(values["obp_snips", expected], rel=1e-12)


def test_every_preset_that_names_a_package_is_compared() -> None:
    assert {name for name, preset in PRESETS.items() if preset.package} == {p for _, p in PAIRS}


def test_values_on_movielens_are_among_those_compared() -> None:
    """Without the data, the other tests compare less, and say nothing."""
    data()

    assert [case["name"] for case in movielens()] == ["movielens"]


def test_values_of_other_cases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "key", lambda _: {"cases": "other"})

    with pytest.raises(AssertionError, match=r"other cases; run `python -m tests\.parity"):
        measure.stored.__wrapped__("rbo")


@pytest.mark.nightly
@pytest.mark.parametrize("library", measure.LIBRARIES)
def test_the_library_still_gives_the_stored_values(library: str) -> None:
    """Except for equal scores that the library leaves in no fixed order."""
    stored, measured = measure.stored(library), measure.measure(library)
    rows = _compare(stored, measured.filter(pl.col("case").is_in(stored["case"].implode())))
    unordered = [
        (pl.col("preset") == preset) & _covers(row)
        for preset in measure.presets(library)
        for row in measure.residue(preset)
        if "no fixed order" in row["reason"]
    ]
    changed = rows.filter(
        ~_is_close(1e-6 if library in IN_FLOAT32 else 1e-12),
        ~pl.any_horizontal(pl.lit(value=False), *unordered),
    )

    assert changed.is_empty(), _summary(changed)


@cache
def _reconciled(label: str, value: str) -> set[str]:
    result = cc.reconcile(
        _lists("clean"), _truth("clean"), value=value, metric=label, conventions="standard"
    )
    return {preset for match in result.matches for preset in match.presets}


def _values(library: str, preset: str) -> pl.DataFrame:
    return measure.stored(library).filter(pl.col("error").is_null(), preset=preset)


def _concord_values(expected: pl.DataFrame, preset: str) -> pl.DataFrame:
    """Return Concord's values where the library gives values per user, or a mean."""
    by_case = expected.group_by("case", maintain_order=True).agg(
        pl.col("label").unique(maintain_order=True)
    )
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for name, labels in by_case.iter_rows():
        case = _cases()[name]
        groups["integers" in case, name if "train" in case else "", tuple(labels)].append(name)
    results = [
        _long(result, store, name)
        for (*_, labels), names in groups.items()
        for result, store in [_evaluate(names, preset, labels)]
        for name in names
    ]
    values = pl.concat(results).with_columns(pl.col("user").is_null().alias("is_mean"))
    kinds = expected.select("case", "label", pl.col("user").is_null().alias("is_mean")).unique()
    values = values.join(kinds, on=["case", "label", "is_mean"], how="semi")
    return values.with_columns(preset=pl.lit(preset))


def _evaluate(
    names: Sequence[str], preset: str, labels: Sequence[str]
) -> tuple[cc.results.Evaluation, ValueFrames]:
    """Evaluate the users of several cases at once, which takes a fraction of the time."""
    case = _cases()[names[0]] if len(names) == 1 else {}
    stores: list[ValueFrames] = []

    def store(task: Task) -> ValueFrames:
        stores.append(ValueFrames(task))
        return stores[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "ValueFrames", store)
        result = cc.evaluate(
            pl.concat([_lists(name) for name in names]),
            {user: grades for name in names for user, grades in _truth(name).items()},
            metrics=labels,
            conventions=conventions_of_preset(preset),
            train=case.get("train"),
            items=case.get("categories"),
            input={"negative_grade": "pooled"},
        )
    return result, stores[0]


def _long(result: cc.results.Evaluation, store: ValueFrames, name: str) -> pl.DataFrame:
    """Return case, label, user (null: the mean) and value of the users of one case."""
    of_case = pl.col("user").is_in(list(_ids(name).values()))
    values = store.values.filter(of_case)
    conventions = result.conventions
    users = {user_id: user for user, user_id in _ids(name).items()}
    per_user = result.per_user.filter(of_case).unpivot(index="user", variable_name="label")
    per_user = per_user.with_columns(pl.col("user").replace_strict(users, return_dtype=pl.String))
    labels = store.task.labels
    results = [
        result[str(label)]
        if label.metric.is_aggregate
        else summarise_column(values, str(label), label, conventions, confidence=0.95).mean
        for label in labels
    ]
    means = {"user": None, "label": [str(label) for label in labels], "value": results}
    rows = pl.concat([pl.DataFrame(means, per_user.schema), per_user]).drop_nulls("value")
    return rows.with_columns(case=pl.lit(name))


def _weighted(case: Case, metrics: list[str], **options: str) -> cc.results.Evaluation:
    """Evaluate with relevant items weighted by their inverse propensities."""
    lists, truth = (
        {str(user): [str(item) for item in items] for user, items in enumerate(case[name])}
        for name in ("lists", "truth")
    )
    p = case["propensities"]
    propensity: Any = {"column": "items", "clip": 0.01, "fewest": 1, **options}
    return cc.evaluate(
        lists,
        truth,
        metrics=[f"{metric}@{case['k']}" for metric in metrics],
        items=pl.DataFrame({"item": [str(item) for item in range(len(p))], "p": p}),
        columns={"items": {"propensity": "p"}},
        conventions=cc.preset("standard", propensity=propensity),
    )


@cache
def _cases() -> dict[str, Case]:
    cases = [*ranking_cases(), *further_cases().values(), pooled(), *movielens()]
    return {case["name"]: case for case in cases}


@cache
def _ids(name: str) -> dict[str, Any]:
    """Return an id for each user of a case that no other case has."""
    case = _cases()[name]
    users = sorted({*case["lists"], *case["truth"]})
    if "integers" in case:
        first = 1000 * list(_cases()).index(name)
        return {user: first + int(user) for user in users}
    return {user: f"{name}/{user}" for user in users}


@cache
def _lists(name: str) -> pl.DataFrame:
    case, id_type = _cases()[name], int if "integers" in _cases()[name] else str
    rows = [
        (_ids(name)[user], id_type(item), score)
        for user, items in case["lists"].items()
        for item, score in items
    ]
    return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")


@cache
def _truth(name: str) -> dict[Any, dict[Any, float]]:
    case, id_type = _cases()[name], int if "integers" in _cases()[name] else str
    return {
        _ids(name)[user]: {id_type(item): grade for item, grade in grades.items()}
        for user, grades in case["truth"].items()
    }


def _compare(expected: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """Return one row per value of either side; null for a user whom one side does not evaluate."""
    keys = measure.KEYS
    return expected.select(*keys, expected="value").join(
        values.select(*keys, "value"), on=keys, how="full", coalesce=True, nulls_equal=True
    )


def _is_close(tolerance: float) -> pl.Expr:
    """True if both are NaN or missing, or differ by less than the tolerance, relative above 1."""
    a, b = pl.col("expected"), pl.col("value")
    near = (a - b).abs() <= tolerance * pl.max_horizontal(1.0, a.abs(), b.abs())
    return a.eq_missing(b) | near.fill_null(value=False) | (a.is_null() & b.is_nan())


def _covers(residue: dict[str, str]) -> pl.Expr:
    patterns = {"case": residue["cases"], "label": residue["labels"]}
    return pl.all_horizontal(pl.col(c).str.contains(f"^(?:{x})$") for c, x in patterns.items())


def _summary(rows: pl.DataFrame) -> str:
    """Return how many rows of each preset, case and label differ, and the first of them."""
    groups = rows.group_by("preset", "case", "label", maintain_order=True)
    counts = groups.agg(pl.len(), pl.col("user", "expected", "value").first())
    return "\n".join(map(str, counts.iter_rows()))
