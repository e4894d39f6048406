"""Segments of users and items, and the comparison within them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import false_discovery_control, ttest_rel

import concord as cc
from concord.metrics_core.comparison.compute import compare_user_values
from concord.metrics_core.comparison.segments import compute_segments
from concord.metrics_core.errors import InputError
from concord.metrics_core.results.comparison_parts import Segment, Segmentation
from concord.pipeline.params.model import BackgroundFile, Params
from tests.pipeline.stages.compare_project import comparison_input, params_of, write_evaluation

USERS = [f"u{n:03}" for n in range(90)]


def _params(root: Path, segments: dict[str, Any], **settings: Any) -> Params:
    params = params_of(root, ["pop", "als"], metrics=["nDCG", "R"], ks=[2], **settings)
    background = {
        name: BackgroundFile.model_validate({"path": f"{name}.parquet"})
        for name in ("train", "users")
    }
    content = params.model_dump() | {"segments": segments}
    return Params.model_validate(content).model_copy(update={"background": background})


def _segments(params: Params, values: dict[str, list[float]]) -> list[Segmentation]:
    for model, column in values.items():
        write_evaluation(params, model, {"nDCG@2": column, "R@2": column}, users=USERS)
    inputs = comparison_input(params)
    return list(compute_segments(inputs, compare_user_values(inputs).pairs))


def _store(params: Params, name: str, frame: pl.DataFrame) -> None:
    path = Path(params.results.data) / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)


def _values(seed: int, low: float = 0.0) -> list[float]:
    return [low + float(value) for value in np.random.default_rng(seed).random(len(USERS))]


def test_groups_by_activity_equal_scipy(tmp_path: Path) -> None:
    params = _params(tmp_path, {"activity": {"by": "activity", "edges": [0, 2]}})
    # the first 30 users are new, the next 30 have two interactions, the last 30 have three
    train = [(user, f"i{n}") for i, user in enumerate(USERS) for n in range((0, 2, 3)[i // 30])]
    _store(params, "train", pl.DataFrame(train, schema=["user", "item"], orient="row"))
    pop, als = _values(1), _values(2)
    als[:30] = [value + 0.5 + 0.1 * noise for value, noise in zip(pop[:30], als, strict=False)]
    als[30:60] = [value - 0.6 * noise for value, noise in zip(pop[30:60], _values(3), strict=False)]

    (entry,) = _segments(params, {"pop": pop, "als": als})

    assert entry.segments == tuple(Segment(name, 30) for name in ("0", "1 to 2", "over 2"))
    cells = [cell for cell in entry.cells if cell.model == "als"]
    parts = [slice(0, 30), slice(30, 60), slice(60, 90)]
    expected = [ttest_rel(als[part], pop[part]).pvalue for part in parts]
    for cell, part in zip(cells, parts, strict=True):
        difference = np.mean(als[part]) - np.mean(pop[part])
        assert cell.difference == pytest.approx(difference)
        assert cell.mean == pytest.approx(np.mean(als[part]))
    assert [c.p_adjusted for c in cells] == pytest.approx(
        list(false_discovery_control(expected)), abs=1e-12
    )
    assert [c.verdict for c in cells[:2]] == ["better", "worse"]
    assert [c.is_reversed for c in cells] == [False, True, False]


def test_the_gap_is_between_the_best_and_the_worst_group(tmp_path: Path) -> None:
    params = _params(tmp_path, {"plan": {"by": "user", "column": "plan"}})
    plans = ["free"] * 60 + ["paid"] * 30
    _store(params, "users", pl.DataFrame({"user": USERS, "plan": plans}))
    als = _values(4)[:60] + [value + 1 for value in _values(5)[60:]]

    (entry,) = _segments(params, {"pop": _values(6), "als": als})

    gap = next(gap for gap in entry.gaps if gap.model == "als")
    free, paid = np.array(als[:60]), np.array(als[60:])
    error = math.sqrt(free.var(ddof=1) / 60 + paid.var(ddof=1) / 30)
    assert (gap.low_segment, gap.high_segment) == ("free", "paid")
    assert gap.gap == pytest.approx(paid.mean() - free.mean())
    assert gap.ci_high - gap.ci_low == pytest.approx(2 * 1.96 * error, rel=0.25)


@pytest.mark.parametrize(("enough", "ends"), [(30, ("b", "c")), (29, None)])
def test_a_gap_is_between_groups_of_enough_users(
    tmp_path: Path, enough: int, ends: tuple[str, str] | None
) -> None:
    params = _params(tmp_path, {"plan": {"by": "user", "column": "plan"}})
    plans = ["a", *["b"] * enough, *["c"] * (89 - enough)]
    _store(params, "users", pl.DataFrame({"user": USERS, "plan": plans}))
    als = [-1.0, *[0.1] * enough, *[0.4] * (89 - enough)]

    (entry,) = _segments(params, {"pop": als, "als": als})

    assert entry.fewest_in_gap == 30
    results = {(gap.low_segment, gap.high_segment) for gap in entry.gaps}
    assert results == ({ends} if ends else set())


@pytest.mark.parametrize(
    ("column", "edges", "names"),
    [
        (["a", None, "b"], None, ["a", "b", "not known"]),
        ([18, 40, 65], [20, 60], ["up to 20", "over 20 to 60", "over 60"]),
        ([18.5, None, 65.0], [20], ["up to 20", "over 20", "not known"]),
        ([True, False, True], None, ["false", "true"]),
        (
            [1704067201, 1704067801, 1704068401],  # times
            [1704067200, 1704067800, 1704068400],
            [
                "up to 1704067200",
                "over 1704067200 to 1704067800",
                "over 1704067800 to 1704068400",
                "over 1704068400",
            ],
        ),
        (
            [0.1234567, 0.1234568, 1e21],
            [0.12345675, 1e20],
            [
                "up to 0.12345675",
                "over 0.12345675 to 100000000000000000000",
                "over 100000000000000000000",
            ],
        ),
    ],
)
def test_users_by_a_column(
    tmp_path: Path, column: list[Any], edges: list[float] | None, names: list[str]
) -> None:
    params = _params(tmp_path, {"x": {"by": "user", "column": "x", "edges": edges}})
    _store(params, "users", pl.DataFrame({"user": USERS, "x": column * 30}))

    (entry,) = _segments(params, {"pop": _values(1), "als": _values(2)})

    assert [segment.name for segment in entry.segments] == names
    assert sum(segment.n_users for segment in entry.segments) == 90


@pytest.mark.parametrize(
    ("segmentation", "column", "words"),
    [
        ({"column": "plan"}, ["a"], "users have no column 'plan'"),
        ({"column": "x"}, [f"v{n}" for n in range(90)], "90 different values"),
        ({"column": "x", "edges": [1]}, ["a"], "'a' is not a number"),
    ],
)
def test_a_column_that_makes_no_groups_is_refused(
    tmp_path: Path, segmentation: dict[str, Any], column: list[str], words: str
) -> None:
    params = _params(tmp_path, {"plan": {"by": "user", **segmentation}})
    _store(params, "users", pl.DataFrame({"user": USERS, "x": column * (90 // len(column))}))

    with pytest.raises(InputError, match=r"params.yaml: segments\.plan") as caught:
        _segments(params, {"pop": _values(1), "als": _values(2)})

    assert words in str(caught.value)


def _lists(params: Params, model: str, lists: Mapping[str, Sequence[str | None]]) -> None:
    rows = [(user, item, n) for user, items in lists.items() for n, item in enumerate(items, 1)]
    frame = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
    frame.write_parquet(Path(params.results.lists) / f"{model}.parquet")


@pytest.mark.parametrize("key", ["truth_item", "recommended_item"])
def test_items_by_popularity_on_both_sides(tmp_path: Path, key: str) -> None:
    params = _params(tmp_path, {"items": {"by": key, "shares": [0.5, 0.8]}})
    # 10 interactions: hit has 5 (head: 0 to 5), mid 3 (5 to 8), rare 2 (8 to 10); no user had `new`
    train = [("t", item) for item, n in (("hit", 5), ("mid", 3), ("rare", 2)) for _ in range(n)]
    _store(params, "train", pl.DataFrame(train, schema=["user", "item"], orient="row"))
    values = {"pop": _values(1), "als": _values(2)}
    _segments(params.model_copy(update={"segments": {}}), values)  # the other files
    truth = [(user, item, 1.0) for user in USERS for item in ("hit", "mid", "rare", "new")]
    _store(params, "truth", pl.DataFrame(truth, schema=["user", "item", "grade"], orient="row"))
    _lists(params, "pop", dict.fromkeys(USERS, ("hit", "mid")))
    _lists(params, "als", dict.fromkeys(USERS, ("new", "rare")))

    (entry,) = compute_segments(comparison_input(params), [])

    results = {(c.segment, c.model): c.mean for c in entry.cells}
    shares = {"truth_item": 1.0, "recommended_item": 0.5}[key]
    assert entry.labels == {"truth_item": ("R@2",), "recommended_item": ("Share@2",)}[key]
    assert [s.name for s in entry.segments] == ["head", "middle", "tail", "cold"]
    for group, model in (("head", "pop"), ("middle", "pop"), ("tail", "als"), ("cold", "als")):
        other = "als" if model == "pop" else "pop"
        assert (results[group, model], results[group, other]) == (shares, 0.0)


def test_ranks_skip_null_duplicates(tmp_path: Path) -> None:
    params = _params(tmp_path, {"items": {"by": "recommended_item", "shares": [0.5, 0.8]}})
    _store(params, "train", pl.DataFrame({"user": ["t"], "item": ["hit"]}))
    values = {"pop": _values(1), "als": _values(2)}
    _segments(params.model_copy(update={"segments": {}}), values)  # the other files
    for model in values:
        _lists(params, model, dict.fromkeys(USERS, ("hit", None, None, "new", "newer")))

    (entry,) = compute_segments(comparison_input(params), [])

    # the top 2 are `hit` and `new`
    assert {(c.segment, c.mean) for c in entry.cells} == {("head", 0.5), ("cold", 0.5)}


def test_recall_of_a_group_equals_the_library_on_its_items(tmp_path: Path) -> None:
    params = _params(tmp_path, {"items": {"by": "truth_item", "shares": [0.4, 0.7]}})
    rng = np.random.default_rng(8)
    items = [f"i{n}" for n in range(12)]
    train = [("t", item) for n, item in enumerate(items) for _ in range(12 - n)]
    _store(params, "train", pl.DataFrame(train, schema=["user", "item"], orient="row"))
    _segments(params.model_copy(update={"segments": {}}), {"pop": _values(1), "als": _values(2)})
    relevant = {user: rng.choice(items, 4, replace=False).tolist() for user in USERS}
    recommended = {user: rng.choice(items, 2, replace=False).tolist() for user in USERS}
    truth = [(user, item, 1.0) for user, items in relevant.items() for item in items]
    _store(params, "truth", pl.DataFrame(truth, schema=["user", "item", "grade"], orient="row"))
    for model in ("pop", "als"):
        _lists(params, model, recommended)

    (entry,) = compute_segments(comparison_input(params), [])

    # 78 interactions: the head ends where those before an item reach 31.2, the middle at 54.6
    before = {item: sum(range(12 - n + 1, 13)) for n, item in enumerate(items)}
    limits = {"head": (0, 31.2), "middle": (31.2, 54.6), "tail": (54.6, 100)}
    for group, (low, high) in limits.items():
        actual = {item for item in items if low <= before[item] < high}
        of_group = {u: [i for i in relevant[u] if i in actual] for u in USERS}
        requested = {u: remaining for u, remaining in of_group.items() if remaining}
        expected = cc.evaluate(
            {u: recommended[u] for u in requested},
            requested,
            metrics=["R@2"],
            conventions=params.parsed_conventions,
        )
        (mean,) = {c.mean for c in entry.cells if c.segment == group}
        assert mean == pytest.approx(expected["R@2"], abs=1e-12)
