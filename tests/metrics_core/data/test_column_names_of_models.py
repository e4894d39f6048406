"""Column names that hold for several models, of which some lack a column."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc

USERS = [f"u{n}" for n in range(8)]
IDS = {"user": "uid", "item": "iid"}
TRUTH = pl.DataFrame({"uid": USERS, "iid": "b", "when": range(8)})
ALS = pl.DataFrame(
    {"uid": USERS * 2, "iid": ["a"] * 8 + ["b"] * 8, "pred": [1.0] * 8 + [2.0] * 8}
)  # b, a
POP = pl.DataFrame({"uid": USERS * 2, "iid": ["a"] * 8 + ["b"] * 8, "rank": [1] * 8 + [2] * 8})
NESTED = POP.group_by("uid", maintain_order=True).agg("iid")


def _rr(recs: Any, columns: dict[str, Any]) -> dict[str, float]:
    comparison = cc.compare(
        {"als": ALS, "pop": recs},
        TRUTH,
        metrics=["RR"],
        baseline="pop",
        columns={**IDS, **columns},
        resamples=99,
        panel=False,
    )
    return dict(comparison.leaderboard.select("model", "mean").rows())


@pytest.mark.parametrize(
    ("pop", "columns"),
    [
        (POP, {"score": "pred"}),
        (POP.rename({"rank": "place"}), {"score": "pred", "rank": "place"}),
        (POP, {"score": "pred", "pop": {"score": None}}),
        (POP.with_columns(pred=3 - pl.col("rank")), {"score": "pred", "pop": {"score": None}}),
        (NESTED, {"score": "pred", "pop": {"score": None}}),
    ],
)
def test_common_score_is_skipped_for_a_model_of_ranks(pop: Any, columns: Any) -> None:
    assert _rr(pop, columns) == {"als": 1.0, "pop": 0.5}


def test_common_score_is_skipped_in_files_of_ranks(tmp_path: Path) -> None:
    POP.write_csv(tmp_path / "pop.csv")
    POP.write_ndjson(tmp_path / "pop.jsonl")

    for name in ("pop.csv", "pop.jsonl"):
        assert _rr(tmp_path / name, {"score": "pred"}) == {"als": 1.0, "pop": 0.5}


@pytest.mark.parametrize(
    ("pop", "columns", "fix"),
    [
        (POP, {"pop": {"score": "prd"}}, "; if it has none: `columns={'pop': {'score': None}}`"),
        (NESTED, {"score": "pred"}, "; if it has none: `columns={'pop': {'score': None}}`"),
        (
            POP.drop("rank"),
            {"score": "pred"},
            "name its own column: `columns={'pop': {'score': …}}`",
        ),
    ],
)
def test_missing_score_may_be_none_if_there_is_another_order(
    pop: Any, columns: Any, fix: str
) -> None:
    with pytest.raises(cc.InputError) as refused:
        _rr(pop, {"als": {"score": "pred"}, **columns})

    assert str(refused.value).endswith(fix)


@pytest.mark.parametrize("name", ["score", "rank"])
def test_a_misspelt_common_name_is_not_skipped(name: str) -> None:
    lists = ALS.rename({"pred": "score"}).with_columns(rank=pl.int_range(pl.len()) + 1)
    names: Any = {**IDS, name: f"{name}s"}
    with pytest.raises(cc.InputError, match=f"did you mean '{name}'"):
        cc.evaluate(lists, TRUTH, metrics=["RR"], columns=names)


def test_time_is_a_common_name() -> None:
    train = TRUTH.with_columns(iid=pl.lit("z"), when=9)  # after the ground truth
    names: Any = {**IDS, "score": "pred", "time": "when"}

    result = cc.evaluate(ALS, TRUTH, metrics=["RR"], train=train, columns=names)

    assert [warning.code for warning in result.warnings] == ["split_not_by_time"]


def test_missing_common_time_may_be_none() -> None:
    arguments: Any = {"metrics": ["RR"], "train": TRUTH.drop("when")}
    names: Any = {**IDS, "score": "pred", "time": "when"}

    with pytest.raises(cc.InputError) as refused:
        cc.evaluate(ALS, TRUTH, columns=names, **arguments)

    assert str(refused.value).endswith("; if it has none: `columns={'train': {'time': None}}`")
    names["train"] = {"time": None}
    cc.evaluate(ALS, TRUTH, columns=names, **arguments)


def test_names_of_models_that_are_not_compared_are_surplus() -> None:
    names = {"score": "pred", "als": {"score": "pred"}, "knn": {"score": "similarity"}}

    assert _rr(POP, names) == {"als": 1.0, "pop": 0.5}


@pytest.mark.parametrize(
    ("surplus", "fix"),
    [
        ({"trth": {"user": "uid"}}, "did you mean 'truth'? Else choose als, pop, truth"),
        ({"knn": {"score": 1}}, "choose als, pop, truth"),
        ({"labels": {"grade": "rating"}}, "choose als, pop, truth"),
        ({"ALS": {"score": "logit"}}, "did you mean 'als'? Else choose als, pop, truth"),
        ({"test": {"item": "asin"}}, "choose als, pop, truth"),
    ],
)
def test_misspelt_table_is_not_surplus(surplus: Any, fix: str) -> None:
    with pytest.raises(cc.InputError, match="is not a table of this call") as refused:
        _rr(POP, {"score": "pred", **surplus})

    assert f"fix: {fix}, train" in str(refused.value)
