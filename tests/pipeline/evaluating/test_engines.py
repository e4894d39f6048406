"""Both engines and every partition give the same bits, with integer, text and differing ids."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.metrics.catalogue import CATALOGUE, expand
from concord.metrics_core.scoring.partition import Part, Task, count_users
from concord.pipeline.evaluating.engines import duckdb, polars

GIVEN = {"RBP": "(p=0.8)", "HLU": "(halflife=5)"}
LABELS = expand(
    [m.name + GIVEN.get(m.name, "") for m in CATALOGUE if m.family != "beyond"], [1, 5, 20]
)
USERS, DEPTH = 150, 12


@pytest.fixture(params=["integer", "text", "differing"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(3)
    lists = pl.DataFrame(
        {
            "user": np.repeat(rng.permutation(USERS + 40)[:USERS], DEPTH),
            "item": np.concatenate([rng.permutation(50)[:DEPTH] for _ in range(USERS)]),
            "rank": np.tile(np.arange(1, DEPTH + 1), USERS),
        }
    )
    truth = pl.DataFrame(
        {
            "user": rng.integers(0, USERS, 1_000),
            "item": rng.integers(0, 50, 1_000),
            "grade": rng.integers(0, 5, 1_000).astype(np.float64),
        }
    ).unique(["user", "item"])
    text = pl.col("user", "item").cast(pl.String)
    if request.param != "integer":
        lists = lists.with_columns(text)
    if request.param == "text":
        truth = truth.with_columns(text)
    lists.sort("user", "rank").write_parquet(tmp_path / "lists.parquet", row_group_size=150)
    truth.write_parquet(tmp_path / "truth.parquet")
    return tmp_path / "lists.parquet", tmp_path / "truth.parquet"


@pytest.mark.parametrize("policy", ["drop", "zero"])
def test_partitions_and_engines_give_the_same_bits(files: tuple[Path, Path], policy: str) -> None:
    task = Task(LABELS, cc.preset("standard", user_recs_only=policy))

    def whole(partitions: Iterator[Part]) -> tuple[pl.DataFrame, int]:
        frames = [part.values for part in partitions]
        return pl.concat(frames), len(frames)

    in_memory, _ = whole(polars.partitions(*files, task))
    at_once, one = whole(duckdb.partitions(*files, task, 10_000_000))
    in_ranges, many = whole(duckdb.partitions(*files, task, 500))

    assert (one, many > 3) == (1, True)
    assert at_once.equals(in_memory)
    assert in_ranges.equals(in_memory)
    assert in_memory["user"].is_sorted()
    assert in_memory["nDCG@20"].is_not_nan().sum() > 100


@pytest.mark.bad_input(36, "left out of every mean; counted as `only_in_lists`")
@pytest.mark.bad_input(37, "`conventions.user_no_recs` decides: 0 by default; counted")
def test_counts_of_partitions_add_up(files: tuple[Path, Path]) -> None:
    task = Task(LABELS, cc.preset("standard"))
    parts = [count_users(part.values, task) for part in duckdb.partitions(*files, task, 500)]
    (whole,) = (count_users(part.values, task) for part in polars.partitions(*files, task))

    assert {name: sum(part[name] for part in parts) for name in whole} == whole
    assert whole["without_list"] > 0
    assert whole["only_in_lists"] > 0
