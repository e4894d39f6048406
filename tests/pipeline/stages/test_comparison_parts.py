"""Parts of a comparison: spreads, trade-offs, example users, the panel, list-swap tests."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from concord.metrics_core.analyses.cases.result import Cases
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.evaluation.panel import Definition, panel
from concord.metrics_core.evaluation.summary import summarise
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.stored import read_cases
from concord.pipeline.params.model import BackgroundFile, Comparison, Params
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.running.outputs import per_user_writer, write_json
from concord.pipeline.stages.compare import main as compare
from concord.pipeline.stages.evaluate import evaluate
from concord.pipeline.stages.load import load, load_background, load_truth
from concord.pipeline.stages.reference import main as reference
from tests.pipeline.stages.compare_project import (
    params_of,
    run_compare,
    write_evaluation,
    write_results,
)

POP = [0.25 * (n % 3) for n in range(40)]
ALS = [
    value + gap for value, gap in zip(POP, [0.0] * 10 + [0.25] * 20 + [-0.125] * 10, strict=True)
]


def _project(root: Path, **models: list[float]) -> Params:
    values = {m: {"nDCG@2": column, "R@2": column[::-1]} for m, column in models.items()}
    return write_results(root, values)


def test_distribution_has_the_percentiles_of_nonzero_differences(tmp_path: Path) -> None:
    (row,) = run_compare(_project(tmp_path, pop=POP, als=ALS))["distributions"]

    assert (row["label"], row["a"], row["b"]) == ("nDCG@2", "als", "pop")
    assert (row["n_users"], row["n_zero"]) == (40, 10)
    assert len(row["quantiles"]) == 101
    # of 30 differences a third is -0.125: the first 33 percentiles
    assert row["quantiles"][:34] == [-0.125] * 34
    assert row["quantiles"][34:] == [0.25] * 67


def test_models_with_equal_values_have_no_percentiles(tmp_path: Path) -> None:
    (row,) = run_compare(_project(tmp_path, pop=POP, als=POP))["distributions"]

    assert (row["n_zero"], row["quantiles"]) == (40, [])


BASE = [0.5] * 40
OTHER = [0.5] * 28 + [0.5 + n / 15 for n in range(1, 7)] + [0.5 - n / 20 for n in range(1, 7)]


def _reported(root: Path, metric: str = "nDCG", **models: list[float]) -> Cases | None:
    return _shown_cases(_with_metric(root, metric, **models))


def _with_metric(root: Path, metric: str = "nDCG", **models: list[float]) -> Params:
    return write_results(root, {model: {f"{metric}@2": column} for model, column in models.items()})


def _shown_cases(params: Params, **comparison: Any) -> Cases | None:
    """Return the cases of `compare` with these settings of `comparison`."""
    settings = {**params.comparison.model_dump(exclude_unset=True), **comparison}
    changed = {"comparison": Comparison.model_validate(settings)}
    compare(params.model_copy(update=changed))
    path = Path(params.results.comparison) / "cases.json"
    return read_cases(path) if path.exists() else None


def test_five_users_on_each_side_of_leader_and_baseline(tmp_path: Path) -> None:
    cases = _reported(tmp_path, pop=BASE, als=OTHER, worst=[0.0] * 40)

    assert cases is not None
    assert (cases.a, cases.b, cases.n_behind, cases.n_ahead) == ("als", "pop", 6, 6)
    assert [case.user for case in cases.cases] == [
        *("39", "38", "37", "36", "35"),  # -0.3, -0.25, …
        *("33", "32", "31", "30", "29"),  # +0.4, +0.33, …
    ]
    assert [each.item for each in cases.cases[0].list_a] == ["i1", "i2"]
    assert cases.cases[0].jaccard == 2 / 2
    assert cases.both_sides
    assert (cases.item_cases, cases.jaccard, cases.rbo) == ((), None, None)


def test_where_lower_is_better_a_lower_value_is_ahead(tmp_path: Path) -> None:
    cases = _reported(tmp_path, "ARP", pop=[30.0] * 40, als=[2.0, *[30.0] * 38, 40.0])

    assert cases is not None
    assert [(case.user, case.difference) for case in cases.cases] == [("39", 10.0), ("0", -28.0)]


def test_a_leading_baseline_is_shown_against_the_runner_up(tmp_path: Path) -> None:
    cases = _reported(tmp_path, pop=OTHER, als=[0.4] * 40, worst=[0.0] * 40)

    assert cases is not None
    assert (cases.a, cases.b) == ("pop", "als")


APART = {"pop": [0.5, math.nan], "als": [math.nan, 1.0]}  # no user has values of both


@pytest.mark.parametrize("models", [{"pop": BASE}, {"pop": BASE, "twin": BASE}, APART])
def test_no_examples_without_users_on_whom_models_differ(
    tmp_path: Path, models: dict[str, list[float]]
) -> None:
    assert _reported(tmp_path, "nDCG", **models) is None


@pytest.mark.parametrize("cases", [[], None])
def test_empty_cases_remove_earlier_examples(tmp_path: Path, cases: list[str] | None) -> None:
    params = _with_metric(tmp_path, pop=BASE, als=OTHER)

    assert _shown_cases(params) is not None
    assert _shown_cases(params, cases=cases) is None


def test_named_models_are_shown_with_their_items(tmp_path: Path) -> None:
    cases = _shown_cases(_with_metric(tmp_path, pop=BASE, als=OTHER), cases=["pop", "als"])

    assert cases is not None
    assert (cases.a, cases.b, len(cases.cases)) == ("pop", "als", 6)  # where pop is behind
    assert (cases.both_sides, cases.jaccard) == (False, 2 / 2)


LABEL = "nDCG@10"
SMALL = [0.02, 0.05, -0.01, -0.03, 0.02, 0.01, 0.01, 0.07, 0.08, 0.08, 0.07, -0.04]
ValuesOf = Callable[[str, Definition], list[float]]


def _entry(root: Path, models: list[str], selected: ValuesOf, **settings: Any) -> dict[str, Any]:
    plain = params_of(root, models, metrics=["nDCG"], ks=[10], **settings)
    switched = plain.evaluation.model_copy(update={"panel": True})
    params = plain.model_copy(update={"evaluation": switched})
    definitions = panel(parse(LABEL), params.parsed_conventions).definitions
    for model in models:
        values = {each.column: selected(model, each) for each in definitions}
        write_evaluation(params, model, {LABEL: values[definitions[0].column]})
        _write_panel(params, model, values)
    (entry,) = run_compare(params)["panel"]
    assert isinstance(entry, dict)
    return entry


def _write_panel(params: Params, model: str, values: Mapping[str, list[float]]) -> None:
    frame = pl.DataFrame({"user": range(len(next(iter(values.values())))), **values})
    path = Path(params.results.panel) / f"{model}.parquet"
    content = {"values_version": VALUES_VERSION, "fingerprint": ""}
    with per_user_writer(path, pa.int64(), list(values), content) as writer:
        writer.write(frame)
    path = Path(params.results.summary) / f"{model}.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    means = [{"column": name, "mean": _mean(params, column)} for name, column in values.items()]
    write_json(path, summary | {"panel": {LABEL: {"definitions": means}}})


def _mean(params: Params, values: list[float]) -> float:
    confidence = params.comparison.confidence
    summary = summarise(
        parse(LABEL), np.array(values), params.parsed_conventions, confidence=confidence
    )
    return summary.mean


def test_definitions_with_equal_values_change_no_verdict(tmp_path: Path) -> None:
    def values_of(model: str, _: Definition) -> list[float]:
        return SMALL if model == "als" else [0.0] * len(SMALL)  # p by flips 0.055

    entry = _entry(tmp_path, ["pop", "als"], values_of, min_effect=0)

    (definition,) = entry["definitions"]  # equal definitions are one row
    assert definition["verdicts"] == {"als": "undecided"}
    assert len(definition["presets"]) > 5


@pytest.mark.parametrize("first", ["a", "z"])
def test_a_tie_changes_no_order_for_any_names(tmp_path: Path, first: str) -> None:
    means = {first: 0.5, "m": 0.4, "pop": 0.1}

    def values_of(model: str, definition: Definition) -> list[float]:
        tied = definition.number == 1 and model != "pop"
        return [0.45 if tied else means[model]] * 20

    entry = _entry(tmp_path, ["pop", first, "m"], values_of)

    assert [each["top_two_hold"] for each in entry["definitions"]] == [True, True]
    assert entry["definitions"][1]["ranks"] == {"pop": 3, first: 1, "m": 1}


def test_new_leader_changes_the_pair_of_examples(tmp_path: Path) -> None:
    means = {"ease": 0.5, "als": 0.4, "pop": 0.1}

    def values_of(model: str, definition: Definition) -> list[float]:
        above = definition.number == 1 and model == "pop"
        return [0.45 if above else means[model]] * 20

    entry = _entry(tmp_path, ["pop", "ease", "als"], values_of)

    assert [each["top_two_hold"] for each in entry["definitions"]] == [True, False]
    assert entry["definitions"][1]["flips"] == [["als", "pop"]]


OVER_ALL = ["Coverage@3", "Gini@3", "Entropy@3", "Personalization@3"]
THREE = ("pop", "als", "knn")


def _random_lists(seed: int, popular: float) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    weights = np.arange(1, 41) ** -popular
    rows = [
        (user, int(item), rank)
        for user in range(60)
        for rank, item in enumerate(
            rng.choice(40, 5, replace=False, p=weights / weights.sum()), start=1
        )
    ]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def _compare_random_lists(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    text: bool = False,
    models: Sequence[str] = THREE,
) -> dict[str, Any]:
    """Return the comparison after all stages; `text`: ids are text in lists, integers elsewhere."""
    monkeypatch.chdir(root)
    ids = pl.col("user", "item").cast(pl.String if text else pl.Int64)
    for seed, (model, popular) in enumerate(zip(models, (2.0, 0.3, 2.0), strict=True)):
        _random_lists(seed, popular).with_columns(ids).write_parquet(f"{model}.parquet")
    truth = pl.DataFrame({"user": range(60), "item": [n % 40 for n in range(60)]})
    truth.write_parquet("truth.parquet")
    pl.DataFrame({"user": [0, 0], "item": [0, 39]}).write_parquet("train.parquet")
    pl.DataFrame({"item": range(40)}).write_parquet("items.parquet")
    params = params_of(root, models, metrics=["nDCG", *OVER_ALL], ks=[3], resamples=499)
    known = {
        name: BackgroundFile.model_validate({"path": f"{name}.parquet"})
        for name in ("train", "items")
    }
    content = params.model_dump() | {
        "models": {model: {"path": f"{model}.parquet"} for model in models}
    }
    params = Params.model_validate(content).model_copy(update={"background": known})
    with isolated_connection() as connection:
        load_truth(connection, params)
    for name in params.background:
        with isolated_connection() as connection:
            load_background(connection, params, name)
    for model in params.models:
        with isolated_connection() as connection:
            load(connection, params, model)
        evaluate(params, model)
    reference(params)
    return run_compare(params)


def test_differences_are_those_of_the_evaluations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = _compare_random_lists(tmp_path, monkeypatch, text=False)
    rows = {(d["label"], d["a"]): d for d in content["pairs"] if d["test"] == "swap"}
    means = {(row["label"], row["model"]): row["mean"] for row in content["scores"]}

    assert set(rows) == {(label, model) for label in OVER_ALL for model in ("als", "knn")}
    for (label, model), row in rows.items():
        assert row["difference"] == pytest.approx(means[label, model] - means[label, "pop"])
        assert (row["ci_low"], row["ci_high"], row["better"]) == (None, None, None)
        assert row["n_users"] == 60
    assert rows["Coverage@3", "als"]["verdict"] == "better_without_interval"
    assert rows["Gini@3", "als"]["difference"] < 0
    assert rows["Gini@3", "als"]["verdict"] == "better_without_interval"  # lower is better
    assert rows["Coverage@3", "knn"]["verdict"] == "undecided"
    assert rows["Coverage@3", "als"]["p"] == 1 / 500


def test_ids_of_different_types_give_the_same_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for text in (False, True):
        folder = tmp_path / str(text)
        folder.mkdir()
        rows = _compare_random_lists(folder, monkeypatch, text=text)["pairs"]
        results.append({(d["label"], d["a"]): d["difference"] for d in rows if d["test"] == "swap"})

    assert results[0] == results[1]


def test_names_that_sql_confuses_are_valid_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB ignores the case of `ALS` and `als`; `lists` is the name of a view."""
    plain, confusing = tmp_path / "plain", tmp_path / "confusing"
    plain.mkdir()
    confusing.mkdir()
    contents = {
        folder: _compare_random_lists(folder, monkeypatch, models=models)
        for folder, models in ((plain, THREE), (confusing, ("lists", "als", "ALS")))
    }
    numbers = [
        [(row["label"], row["difference"], row["p"]) for row in contents[folder]["pairs"]]
        for folder in (plain, confusing)
    ]
    assert numbers[0] == numbers[1]
