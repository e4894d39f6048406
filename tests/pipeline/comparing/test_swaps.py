"""List-swap tests in the stages: the difference that is tested is the one that `evaluate` found."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from concord.pipeline.evaluating.evaluate import evaluate
from concord.pipeline.loading.load import load
from concord.pipeline.loading.load_background import load_background
from concord.pipeline.loading.load_truth import load_truth
from concord.pipeline.params.model import BackgroundFile, Params
from concord.pipeline.running.connections import workspace
from tests.pipeline.comparing.compare_project import compared, params_of

LABELS = ["Coverage@3", "Gini@3", "Entropy@3", "Personalization@3"]
MODELS = ("pop", "als", "knn")


def _lists(seed: int, popular: float) -> pl.DataFrame:
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


def _compared(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    text: bool = False,
    models: Sequence[str] = MODELS,
) -> dict[str, Any]:
    """The comparison after all stages; `text`: the ids of the lists are text, those of train and items integers."""
    monkeypatch.chdir(root)
    ids = pl.col("user", "item").cast(pl.String if text else pl.Int64)
    for seed, (model, popular) in enumerate(zip(models, (2.0, 0.3, 2.0), strict=True)):
        _lists(seed, popular).with_columns(ids).write_parquet(f"{model}.parquet")
    truth = pl.DataFrame({"user": range(60), "item": [n % 40 for n in range(60)]})
    truth.write_parquet("truth.parquet")
    pl.DataFrame({"user": [0, 0], "item": [0, 39]}).write_parquet("train.parquet")
    pl.DataFrame({"item": range(40)}).write_parquet("items.parquet")
    params = params_of(root, models, metrics=["nDCG", *LABELS], ks=[3], resamples=499)
    known = {
        name: BackgroundFile.model_validate({"path": f"{name}.parquet"})
        for name in ("train", "items")
    }
    content = params.model_dump() | {
        "models": {model: {"path": f"{model}.parquet"} for model in models}
    }
    params = Params.model_validate(content).model_copy(update={"background": known})
    with workspace() as connection:
        load_truth(connection, params)
    for name in params.background:
        with workspace() as connection:
            load_background(connection, params, name)
    for model in params.models:
        with workspace() as connection:
            load(connection, params, model)
        evaluate(params, model)
    return compared(params)


def test_differences_are_those_of_the_evaluations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _compared(tmp_path, monkeypatch, text=False)
    rows = {(d["label"], d["a"]): d for d in found["differences"] if d["test"] == "swap"}
    means = {(row["label"], row["model"]): row["mean"] for row in found["leaderboard"]}

    assert set(rows) == {(label, model) for label in LABELS for model in ("als", "knn")}
    for (label, model), row in rows.items():
        assert row["difference"] == pytest.approx(means[label, model] - means[label, "pop"])
        assert (row["ci_low"], row["ci_high"], row["better"]) == (None, None, None)
        assert (row["n_users"], row["adjustment"]) == (60, "bh")
    assert rows["Coverage@3", "als"]["verdict"] == "better_without_interval"
    assert rows["Gini@3", "als"]["difference"] < 0
    assert rows["Gini@3", "als"]["verdict"] == "better_without_interval"  # lower is better
    assert rows["Coverage@3", "knn"]["verdict"] == "undecided"
    assert rows["Coverage@3", "als"]["p"] == 1 / 500


def test_ids_of_different_types_give_the_same_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for text in (False, True):
        folder = tmp_path / str(text)
        folder.mkdir()
        rows = _compared(folder, monkeypatch, text=text)["differences"]
        found.append({(d["label"], d["a"]): d["difference"] for d in rows if d["test"] == "swap"})

    assert found[0] == found[1]


def test_names_that_sql_confuses_are_models_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB does not tell `ALS` from `als`; `lists` is the name of a view."""
    plain, confusing = tmp_path / "plain", tmp_path / "confusing"
    plain.mkdir()
    confusing.mkdir()
    of = {
        folder: _compared(folder, monkeypatch, models=models)
        for folder, models in ((plain, MODELS), (confusing, ("lists", "als", "ALS")))
    }
    numbers = [
        [(row["label"], row["difference"], row["p"]) for row in of[folder]["differences"]]
        for folder in (plain, confusing)
    ]
    assert numbers[0] == numbers[1]
