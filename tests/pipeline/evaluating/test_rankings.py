"""Metrics that rank otherwise than the rest: from load to values, the pipeline gives what the library gives."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.explain import Derivation, explain_ranked
from concord.metrics_core.metrics.catalogue import parse
from concord.metrics_core.scoring.partition import Task
from concord.pipeline.evaluating.engines import duckdb as duckdb_engine
from concord.pipeline.evaluating.engines import polars as polars_engine
from concord.pipeline.loading.load import load
from concord.pipeline.loading.load_truth import load_truth
from concord.pipeline.running.connections import workspace
from tests.pipeline.loading.load_project import params_of

LABELS = ["P@2", "AP@3", "RR", "RR@2", "nDCG@3", "Kendall"]
USERS = [f"u{n:02}" for n in range(40)]
ROWS = [
    (user, f"i{(n * 7 + place * 3) % 11}", float(4 - place // 2))
    for n, user in enumerate(USERS)
    for place in range(6)
]
TRUTH = [(user, f"i{(n + 3 * j) % 11}", float(1 + (n + j) % 3)) for n, user in enumerate(USERS) for j in range(3)]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(ROWS, schema=["user", "item", "score"], orient="row").write_csv("lists.csv")
    pl.DataFrame(TRUTH, schema=["user", "item", "grade"], orient="row").write_csv("truth.csv")


CONVENTIONS = [
    {"overrides": {"RR": {"ties": "item_desc", "rr_cutoff": "none"}}},
    {"ties": "average", "overrides": {"Kendall": {"ties": "item_asc"}}},
    {"overrides": {"P": {"ties": "average"}, "nDCG": {"ties": "item_desc"}}},
    {"overrides": {"nDCG": {"ideal": "truth_given_order_at_k"}}},
    {"overrides": {"RR@k": {"ties": "item_desc"}}},
    {"overrides": {"RR": {"ties": "item_desc", "rr_cutoff": "none"}, "RR@k": {"rr_cutoff": "k"}}},
    {"ties": "item_text_desc", "overrides": {"nDCG": {"ties": "item_text_asc"}}},
]


@pytest.mark.parametrize("changed", CONVENTIONS, ids=str)
@pytest.mark.usefixtures("files")
def test_the_pipeline_gives_what_the_library_gives(changed: dict[str, Any]) -> None:
    own = cc.preset("standard", **changed)
    recs, truth = pl.read_csv("lists.csv"), pl.read_csv("truth.csv")
    expected = cc.evaluate(recs, truth, metrics=LABELS, conventions=own).per_user

    lists_of = params_of("lists.csv", conventions=changed)
    truth_of = params_of("truth.csv", conventions=changed)
    with workspace() as connection:
        load(connection, lists_of, "m")
    with workspace() as connection:
        load_truth(connection, truth_of)
    task = Task([parse(label) for label in LABELS], own)
    paths = Path("results/lists/m.parquet"), Path("results/data/truth.parquet")
    in_ranges = [part.values for part in duckdb_engine.partitions(*paths, task, 50)]
    (at_once,) = (part.values for part in polars_engine.partitions(*paths, task))

    assert at_once.select("user", *LABELS).equals(expected)
    assert pl.concat(in_ranges).select("user", *LABELS).equals(expected)


@pytest.mark.usefixtures("files")
def test_lists_of_two_rankings_are_written_by_user_ranking_and_rank() -> None:
    with workspace() as connection:
        load(connection, params_of("lists.csv", conventions=CONVENTIONS[0]), "m")

    rows = pl.read_parquet("results/lists/m.parquet").select("user", "ranking", "rank").rows()
    assert rows == [(user, ranking, rank) for user in USERS for ranking in (0, 1) for rank in range(1, 7)]  # fmt: skip


@pytest.mark.usefixtures("files")
def test_lists_without_ties_are_kept_once_whatever_the_rankings() -> None:
    scores = (
        pl.read_csv("lists.csv")
        .with_row_index()
        .with_columns(score=-pl.col("index").cast(pl.Float64))
    )
    scores.select("user", pl.format("j{}", "index").alias("item"), "score").write_csv("lists.csv")
    changed = {"overrides": {"RR": {"ties": "item_desc"}}}

    with workspace() as connection:
        load(connection, params_of("lists.csv", conventions=changed), "m")

    loaded = pl.read_parquet("results/lists/m.parquet")
    assert "ranking" not in loaded.columns
    assert len(loaded) == len(ROWS)


@pytest.mark.parametrize("changed", [*CONVENTIONS[:3], *CONVENTIONS[4:]], ids=str)
@pytest.mark.usefixtures("files")
def test_ranked_lists_are_explained_as_they_are_evaluated(changed: dict[str, Any]) -> None:
    own = cc.preset("standard", **changed)
    recs, truth = pl.read_csv("lists.csv"), pl.read_csv("truth.csv").cast({"grade": pl.Float64})
    expected = cc.evaluate(recs, truth, metrics=LABELS, conventions=own).per_user
    with workspace() as connection:
        load(connection, params_of("lists.csv", conventions=changed), "m")
    lists = pl.read_parquet("results/lists/m.parquet")

    for label in LABELS:
        for user in USERS[:1]:
            derived = explain_ranked(lists, truth, user=user, metric=label, conventions=own)
            assert isinstance(derived, Derivation)
            value = expected.filter(pl.col("user") == user)[label].item()
            assert repr(derived.value) == repr(value)


@pytest.mark.usefixtures("files")
def test_later_copies_are_explained_as_misses() -> None:
    pl.DataFrame({"user": "u", "item": ["a", "a", "b"], "rank": [1, 2, 3]}).write_csv("lists.csv")
    changed = {"duplicates": "first"}
    with workspace() as connection:
        load(connection, params_of("lists.csv", conventions=changed), "m")
    lists = pl.read_parquet("results/lists/m.parquet")
    truth = pl.DataFrame({"user": "u", "item": ["a", "b"], "grade": [1.0, 1.0]})

    derived = explain_ranked(
        lists, truth, user="u", metric="AP@3", conventions=cc.preset("standard", **changed)
    )

    assert isinstance(derived, Derivation)
    assert derived.value == (1 / 1 + 2 / 3) / 2
    assert "  rank 2: (a later copy)" in derived.lines
