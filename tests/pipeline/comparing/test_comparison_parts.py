"""Spreads, trade-offs and the probability of being the best, of values that can be checked by eye."""

from pathlib import Path

import pytest

from concord.pipeline.params.model import Params
from tests.pipeline.comparing.compare_project import compared, params_of, write_evaluation

POP = [0.25 * (n % 3) for n in range(40)]
ALS = [
    value + gap for value, gap in zip(POP, [0.0] * 10 + [0.25] * 20 + [-0.125] * 10, strict=True)
]


def _project(root: Path, **models: list[float]) -> Params:
    params = params_of(root, list(models), metrics=["nDCG", "R"], ks=[2])
    for model, column in models.items():
        write_evaluation(params, model, {"nDCG@2": column, "R@2": column[::-1]})
    return params


def test_a_spread_holds_the_percentiles_of_the_differences_other_than_0(tmp_path: Path) -> None:
    (row,) = compared(_project(tmp_path, pop=POP, als=ALS))["distributions"]

    assert (row["label"], row["a"], row["b"]) == ("nDCG@2", "als", "pop")
    assert (row["n_users"], row["n_zero"]) == (40, 10)
    assert len(row["quantiles"]) == 101
    # of 30 differences a third is -0.125: the first 33 percentiles
    assert row["quantiles"][:34] == [-0.125] * 34
    assert row["quantiles"][34:] == [0.25] * 67


def test_models_that_agree_for_everybody_have_no_percentiles(tmp_path: Path) -> None:
    (row,) = compared(_project(tmp_path, pop=POP, als=POP))["distributions"]

    assert (row["n_zero"], row["quantiles"]) == (40, [])


def test_the_front_holds_those_whom_no_other_beats_on_both(tmp_path: Path) -> None:
    params = params_of(
        tmp_path, ["pop", "good", "broad", "beaten"], metrics=["nDCG", "ARP", "Novelty"], ks=[2]
    )
    means = {"pop": (0.1, 9.0, 1.0), "good": (0.4, 5.0, 2.0), "broad": (0.3, 2.0, 4.0), "beaten": (0.2, 5.0, 2.0)}  # fmt: skip
    for model, columns in means.items():
        names = ("nDCG@2", "ARP@2", "Novelty@2")
        values = {name: [mean] * 20 for name, mean in zip(names, columns, strict=True)}
        write_evaluation(params, model, values)

    found = {row["x"]: row for row in compared(params)["tradeoffs"]}

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
