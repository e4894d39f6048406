"""Which cases the report shows: of which models, of which users, and where none are shown."""

import math
from pathlib import Path
from typing import Any

import pytest

from concord.metrics_core.comparison.cases import Cases
from concord.metrics_core.comparison.stored import read_cases
from concord.pipeline.comparing.compare import compare
from concord.pipeline.params.model import Comparison, Params
from tests.pipeline.comparing.compare_project import params_of, write_evaluation

POP = [0.5] * 40
ALS = [0.5] * 28 + [0.5 + n / 15 for n in range(1, 7)] + [0.5 - n / 20 for n in range(1, 7)]


def _reported(root: Path, metric: str = "nDCG", **models: list[float]) -> Cases | None:
    return _compared(_project(root, metric, **models))


def _project(root: Path, metric: str = "nDCG", **models: list[float]) -> Params:
    params = params_of(root, list(models), metrics=[metric], ks=[2])
    for model, column in models.items():
        write_evaluation(params, model, {f"{metric}@2": column})
    return params


def _compared(params: Params, **comparison: Any) -> Cases | None:
    """The cases that `compare` leaves, with these settings of `comparison`."""
    settings = {**params.comparison.model_dump(exclude_unset=True), **comparison}
    changed = {"comparison": Comparison.model_validate(settings)}
    compare(params.model_copy(update=changed))
    path = Path(params.results.comparison) / "cases.json"
    return read_cases(path) if path.exists() else None


def test_five_users_on_each_side_of_leader_and_baseline(tmp_path: Path) -> None:
    found = _reported(tmp_path, pop=POP, als=ALS, worst=[0.0] * 40)

    assert found is not None
    assert (found.a, found.b, found.n_behind, found.n_ahead) == ("als", "pop", 6, 6)
    assert [case.user for case in found.cases] == [
        *("39", "38", "37", "36", "35"),  # -0.3, -0.25, …
        *("33", "32", "31", "30", "29"),  # +0.4, +0.33, …
    ]
    assert [each.item for each in found.cases[0].list_a] == ["i1", "i2"]
    assert found.cases[0].jaccard == 2 / 2
    assert found.both_sides
    assert (found.item_cases, found.jaccard, found.rbo) == ((), None, None)


def test_where_lower_is_better_a_lower_value_is_ahead(tmp_path: Path) -> None:
    found = _reported(tmp_path, "ARP", pop=[30.0] * 40, als=[2.0, *[30.0] * 38, 40.0])

    assert found is not None
    assert [(case.user, case.difference) for case in found.cases] == [("39", 10.0), ("0", -28.0)]


def test_a_leading_baseline_is_shown_against_the_runner_up(tmp_path: Path) -> None:
    found = _reported(tmp_path, pop=ALS, als=[0.4] * 40, worst=[0.0] * 40)

    assert found is not None
    assert (found.a, found.b) == ("pop", "als")


@pytest.mark.parametrize("models", [{"pop": POP}, {"pop": POP, "twin": POP}])
def test_nothing_is_shown_without_users_on_whom_two_models_differ(
    tmp_path: Path, models: dict[str, list[float]]
) -> None:
    assert _reported(tmp_path, "nDCG", **models) is None


@pytest.mark.parametrize("cases", [[], None])
def test_an_empty_choice_shows_none_and_removes_those_of_before(
    tmp_path: Path, cases: list[str] | None
) -> None:
    params = _project(tmp_path, pop=POP, als=ALS)

    assert _compared(params) is not None
    assert _compared(params, cases=cases) is None


def test_models_that_are_named_are_shown_with_their_items(tmp_path: Path) -> None:
    found = _compared(_project(tmp_path, pop=POP, als=ALS), cases=["pop", "als"])

    assert found is not None
    assert (found.a, found.b, len(found.cases)) == ("pop", "als", 6)  # where pop is behind
    assert (found.both_sides, found.jaccard) == (False, 2 / 2)


def test_models_without_a_shared_user_are_reported_without_cases(tmp_path: Path) -> None:
    missing = math.nan

    assert _reported(tmp_path, pop=[0.5, 0.5, missing], als=[missing, missing, 1.0]) is None
