"""Spreads, trade-offs, example users and the probability of being the best, of values that can be checked by eye."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.pipeline.comparing.compare import compare
from concord.pipeline.params.model import BackgroundFile, Params
from tests.pipeline.comparing.compare_project import params_of, write_evaluation

POP = [0.25 * (n % 3) for n in range(40)]
ALS = [
    value + gap for value, gap in zip(POP, [0.0] * 10 + [0.25] * 20 + [-0.125] * 10, strict=True)
]


def _compared(params: Params) -> dict[str, Any]:
    compare(params)
    path = Path(params.results.comparison) / "comparison.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _project(root: Path, **models: list[float]) -> Params:
    params = params_of(root, list(models), metrics=["nDCG", "R"], ks=[2])
    for model, column in models.items():
        write_evaluation(params, model, {"nDCG@2": column, "R@2": column[::-1]})
    return params


def test_a_spread_holds_the_percentiles_of_the_differences_other_than_0(tmp_path: Path) -> None:
    (row,) = _compared(_project(tmp_path, pop=POP, als=ALS))["distributions"]

    assert (row["label"], row["a"], row["b"]) == ("nDCG@2", "als", "pop")
    assert (row["n_users"], row["n_zero"]) == (40, 10)
    assert len(row["quantiles"]) == 101
    # of 30 differences a third is -0.125: the first 33 percentiles
    assert row["quantiles"][:34] == [-0.125] * 34
    assert row["quantiles"][34:] == [0.25] * 67


def test_models_that_agree_for_everybody_have_no_percentiles(tmp_path: Path) -> None:
    (row,) = _compared(_project(tmp_path, pop=POP, als=POP))["distributions"]

    assert (row["n_zero"], row["quantiles"]) == (40, [])


def test_the_probability_of_being_the_best(tmp_path: Path) -> None:
    found = _compared(_project(tmp_path, pop=POP, als=ALS, twin=ALS))["best"]

    shares = {row["model"]: row["probability"] for row in found}
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["als"] == shares["twin"] > 0.45  # two that are equal share it
    assert shares["pop"] < 0.1


def test_examples_are_the_largest_wins_then_the_largest_losses(tmp_path: Path) -> None:
    als = [0.5] * 40
    als[7], als[3], als[9] = 0.9, 0.8, 0.1
    params = _project(tmp_path, pop=[0.5] * 40, als=als)

    found = _compared(params)["examples"]

    assert (found["label"], found["a"], found["b"], found["k"]) == ("nDCG@2", "als", "pop", 2)
    assert [user["user"] for user in found["users"]] == ["7", "3", "9"]
    assert [user["difference"] for user in found["users"]] == pytest.approx([0.4, 0.3, -0.4])
    first = found["users"][0]
    assert (first["value_a"], first["value_b"], first["n_train"]) == (0.9, 0.5, None)
    assert first["truth"] == [{"item": "i1", "title": None, "grade": 1.0}]
    assert first["list_a"] == [
        {"rank": 1, "item": "i1", "title": None, "relevant": True},
        {"rank": 2, "item": "i2", "title": None, "relevant": False},
    ]


def test_where_lower_is_better_a_win_is_a_lower_value(tmp_path: Path) -> None:
    als = [30.0] * 40
    als[7], als[3], als[9] = 2.0, 10.0, 40.0
    params = params_of(tmp_path, ["pop", "als"], metrics=["ARP"], ks=[2])
    for model, column in (("pop", [30.0] * 40), ("als", als)):
        write_evaluation(params, model, {"ARP@2": column})

    found = _compared(params)["examples"]

    assert [user["user"] for user in found["users"]] == ["7", "3", "9"]
    assert [user["difference"] for user in found["users"]] == [-28.0, -20.0, 10.0]


@pytest.mark.parametrize(
    ("metric", "overrides", "hits", "wanted"),
    [
        ("nDCG", {}, ["high", "low"], ["high", "low"]),
        ("nDCG(rel=3)", {}, ["high"], ["high"]),
        ("nDCG", {"nDCG": {"relevance_threshold": 3}}, ["high"], ["high"]),
        ("nDCG", {"nDCG": {"relevance_threshold": 9}}, [], []),
        ("RR", {"RR": {"ties": "item_desc"}}, ["low"], ["high", "low"]),
    ],
)
def test_hits_of_examples_are_those_of_the_metric(
    tmp_path: Path, metric: str, overrides: dict[str, Any], hits: list[str], wanted: list[str]
) -> None:
    params = params_of(tmp_path, ["pop", "als"], metrics=[metric], ks=[2], overrides=overrides)
    label = f"{metric}@2"
    for model, value in (("pop", 0.5), ("als", 1.0)):
        write_evaluation(params, model, {label: [value] * 20})
    shown = {0: ["high", "low"], 1: ["other", "low"]}  # by the general ranking, by that of RR
    rows = [(ranking, n, item, rank) for ranking, items in shown.items() for n in range(20) for rank, item in enumerate(items, 1)]  # fmt: skip
    lists = pl.DataFrame(rows, schema=["ranking", "user", "item", "rank"], orient="row")
    lists = lists if "RR" in overrides else lists.filter(ranking=0).drop("ranking")
    lists.write_parquet(Path(params.results.lists) / "als.parquet")
    grades = [(n, item, grade) for n in range(20) for item, grade in (("high", 3.0), ("low", 1.0))]
    truth = pl.DataFrame(grades, schema=["user", "item", "grade"], orient="row")
    truth.write_parquet(Path(params.results.data) / "truth.parquet")

    (first, *_) = _compared(params)["examples"]["users"]

    assert [item["item"] for item in first["list_a"] if item["relevant"]] == hits
    assert [item["item"] for item in first["truth"]] == wanted


def test_examples_show_titles_and_count_the_train(tmp_path: Path) -> None:
    params = _project(tmp_path, pop=POP, als=ALS)
    files = ("train", "items")
    background = {name: BackgroundFile.model_validate({"path": name}) for name in files}
    params = params.model_copy(update={"background": background})
    data = Path(params.results.data)
    pl.DataFrame({"user": [0, 10, 10], "item": ["x", "y", "z"]}).write_parquet(
        data / "train.parquet"
    )
    titles = pl.DataFrame({"item": ["i1", "i2"], "title": ["Blue lamp", None]})
    titles.write_parquet(data / "items.parquet")

    users = _compared(params)["examples"]["users"]

    assert len(users) == 10
    assert [user["difference"] > 0 for user in users] == [True] * 5 + [False] * 5
    known = {user["user"]: user for user in users}
    assert known["10"]["n_train"] == 2
    assert known["11"]["n_train"] == 0
    assert [item["title"] for item in known["10"]["list_b"]] == ["Blue lamp", None]


def test_a_leading_baseline_is_shown_against_the_runner_up(tmp_path: Path) -> None:
    found = _compared(_project(tmp_path, pop=ALS, als=POP, worse=[0.0] * 40))["examples"]

    assert (found["a"], found["b"]) == ("pop", "als")


def test_one_model_has_neither_examples_nor_spread(tmp_path: Path) -> None:
    found = _compared(_project(tmp_path, pop=POP))

    assert found["examples"] is None
    assert found["distributions"] == []


def test_the_front_holds_those_whom_no_other_beats_on_both(tmp_path: Path) -> None:
    params = params_of(
        tmp_path, ["pop", "good", "broad", "beaten"], metrics=["nDCG", "ARP", "Novelty"], ks=[2]
    )
    means = {"pop": (0.1, 9.0, 1.0), "good": (0.4, 5.0, 2.0), "broad": (0.3, 2.0, 4.0), "beaten": (0.2, 5.0, 2.0)}  # fmt: skip
    for model, columns in means.items():
        names = ("nDCG@2", "ARP@2", "Novelty@2")
        values = {name: [mean] * 20 for name, mean in zip(names, columns, strict=True)}
        write_evaluation(params, model, values)

    found = {row["x"]: row for row in _compared(params)["tradeoffs"]}

    assert found["ARP@2"]["x_higher_is_better"] is False
    for label in ("ARP@2", "Novelty@2"):
        front = {point["model"] for point in found[label]["points"] if point["pareto"]}
        assert front == {"good", "broad"}
    assert found["Novelty@2"]["points"][0] == {
        "model": "pop",
        "x": 1.0,
        "y": pytest.approx(0.1),
        "pareto": False,
    }
