"""Engines and partitions give the same bits as the library on the same files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.data.tables import schema_of
from concord.metrics_core.evaluation.diagnostics import KNOWN, LISTED, RELEVANT
from concord.metrics_core.evaluation.evaluate_block import (
    JUDGED_UNITS,
    Part,
    count_users,
    judged_at,
)
from concord.metrics_core.evaluation.executors import execute_by_ranges, execute_in_memory
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.sanity_counts import PERFECT_TOP, hits_at
from concord.metrics_core.evaluation.summary import summarise_catalogue
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.label import expand, parse
from concord.pipeline.params.model import BackgroundFile, Params
from concord.pipeline.running.connections import isolated_connection, read_only_connection
from concord.pipeline.stages.load import load, load_background, load_truth
from tests.pipeline.stages.load_project import loaded_background, params_of

PARAMETERS = {"RBP": "(p=0.8)", "HLU": "(halflife=5)", "Q": "(beta=1)", "O": "(beta=1)"}
LABELS = expand(
    [m.name + PARAMETERS.get(m.name, "") for m in CATALOGUE if m.family != "beyond"], [1, 5, 20]
)
MANY_USERS, DEPTH = 150, 12


@pytest.fixture(params=["integer", "text", "differing"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(3)
    lists = pl.DataFrame(
        {
            "user": np.repeat(rng.permutation(MANY_USERS + 40)[:MANY_USERS], DEPTH),
            "item": np.concatenate([rng.permutation(50)[:DEPTH] for _ in range(MANY_USERS)]),
            "rank": np.tile(np.arange(1, DEPTH + 1), MANY_USERS),
        }
    )
    truth = pl.DataFrame(
        {
            "user": rng.integers(0, MANY_USERS, 1_000),
            "item": rng.integers(0, 50, 1_000),
            "grade": rng.integers(0, 5, 1_000).astype(np.float64),
        }
    ).unique(["user", "item"])
    subtopic = pl.struct(name=(pl.col("item") % 3).cast(pl.String), grade="grade")
    truth = truth.with_columns(subtopics=pl.concat_list(subtopic))
    text = pl.col("user", "item").cast(pl.String)
    if request.param != "integer":
        lists = lists.with_columns(text)
    if request.param == "text":
        truth = truth.with_columns(text)
    lists.sort("user", "rank").write_parquet(tmp_path / "lists.parquet", row_group_size=150)
    truth.sort("user").write_parquet(tmp_path / "truth.parquet")
    return tmp_path / "lists.parquet", tmp_path / "truth.parquet"


def model_data(lists: Path, truth: Path, **side_data: Any) -> tuple[Path, EvaluationData]:
    return lists, EvaluationData(truth=truth, connect=read_only_connection, **side_data)


@pytest.mark.parametrize("policy", ["drop", "zero"])
def test_partitions_and_engines_give_the_same_bits(files: tuple[Path, Path], policy: Any) -> None:
    task = Task(LABELS, cc.preset("standard", user_recs_only=policy))

    def whole(partitions: Iterator[Part]) -> tuple[pl.DataFrame, int]:
        frames = [part.values for part in partitions]
        return pl.concat(frames), len(frames)

    in_memory, _ = whole(execute_in_memory(*model_data(*files), task))
    at_once, one = whole(execute_by_ranges(*model_data(*files), task, 10_000_000))
    in_ranges, many = whole(execute_by_ranges(*model_data(*files), task, 500))

    is_one_block = schema_of(files[0])["user"] != schema_of(files[1])["user"]
    assert (one, many > 3) == (1, not is_one_block)
    assert at_once.equals(in_memory)
    assert in_ranges.equals(in_memory)
    assert in_memory["user"].is_sorted()
    assert in_memory["nDCG@20"].is_not_nan().sum() > 100


@pytest.mark.bad_input(36, "left out of every mean, counted as `only_in_lists`")
@pytest.mark.bad_input(37, "`conventions.user_no_recs` decides, 0 by default")
def test_counts_of_partitions_add_up(files: tuple[Path, Path]) -> None:
    task = Task(LABELS, cc.preset("standard"))
    parts = [
        count_users(part.values, task) for part in execute_by_ranges(*model_data(*files), task, 500)
    ]
    (whole,) = (
        count_users(part.values, task) for part in execute_in_memory(*model_data(*files), task)
    )

    assert {name: sum(part[name] for part in parts) for name in whole} == whole
    assert whole["without_list"] > 0
    assert whole["only_in_lists"] > 0


def test_fractions_of_judged_items_add_up_over_partitions() -> None:
    """With averaged ties, a third of an item is in the top k of each of these users."""
    task = Task([parse("P@5")], cc.preset("standard", ties="average"))
    counts = {KNOWN: True, LISTED: 9, RELEVANT: 1, hits_at(5): 0, PERFECT_TOP: -1}
    values = pl.DataFrame({**counts, judged_at(5): [1 / 3] * 6})
    whole = count_users(values, task)

    assert whole["judged@5"] / JUDGED_UNITS == pytest.approx(2, rel=1e-5)
    assert whole == {n: 6 * count for n, count in count_users(values[:1], task).items()}


PER_USER = [
    "UserCoverage@3",
    "Novelty@3",
    "ARP@3",
    "LongTail@3",
    "ILD@3",
    "Serendipity@3",
    "Calibration@3",
    "PopCorr",
]
OVERALL = ["Coverage@3", "Gini@3", "Entropy@3", "Personalization@3"]
USERS = [f"u{n:02}" for n in range(30)]
ITEMS = [str(n) for n in range(20)]
LISTS = {u: [str((n * 5 + 3 * j) % 23) for j in range(1 + n % 6)] for n, u in enumerate(USERS)}
TRUTH = {u: [str((n * 5 + 3 * j) % 23) for j in range(2)] for n, u in enumerate(USERS)}
TRAIN = {u: [str((n * n + j * j) % 17) for j in range(1 + n % 4)] for n, u in enumerate(USERS)}
CATEGORIES = {i: [f"c{int(i) % 3}", f"d{int(i) % 4}"] for i in ITEMS}


def long_table(lists: dict[str, list[str]]) -> pl.DataFrame:
    rows = [(user, item) for user, items in lists.items() for item in dict.fromkeys(items)]
    return pl.DataFrame(rows, schema=["user", "item"], orient="row")


def with_background(params: Params, **files: dict[str, Any]) -> Params:
    known = {name: BackgroundFile.model_validate(file) for name, file in files.items()}
    return params.model_copy(update={"background": known})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    long_table(TRAIN).rename({"item": "sku"}).write_csv("train.csv")
    joined = {item: "|".join(items) for item, items in CATEGORIES.items()}
    pl.DataFrame({"item": list(joined), "genres": list(joined.values())}).write_csv("items.csv")
    return with_background(
        params_of("lists.csv"),
        train={"path": "train.csv", "columns": {"item": "sku"}},
        items={"path": "items.csv", "columns": {"categories": "genres"}},
    )


def library_values() -> cc.results.Evaluation:
    return cc.evaluate(
        LISTS,
        TRUTH,
        metrics=[*PER_USER, *OVERALL],
        conventions=cc.preset("standard"),
        train=TRAIN,
        items=CATEGORIES,
        input={"unknown_items": "keep"},
    )


@pytest.mark.parametrize("integers", [False, True])
def test_engines_and_ranges_equal_the_library(project: Params, integers: bool) -> None:
    for name in ("train", "items"):
        with isolated_connection() as connection:
            load_background(connection, project, name)
    ranks = pl.int_range(1, pl.len() + 1).over("user").alias("rank")
    lists = long_table(LISTS).with_columns(ranks).sort("user", "rank")
    truth = long_table(TRUTH).with_columns(grade=pl.lit(1.0)).sort("user")
    if integers:
        lists, truth = (frame.cast({"item": pl.Int64}) for frame in (lists, truth))
    lists.write_parquet("lists.parquet", row_group_size=20)
    truth.write_parquet("truth.parquet")
    data = Path(project.results.data)
    side_data = {name: data / f"{name}.parquet" for name in ("train", "items")}
    task = Task([parse(label) for label in [*PER_USER, *OVERALL]], cc.preset("standard"))
    files = Path("lists.parquet"), Path("truth.parquet")

    parts = list(execute_by_ranges(*model_data(*files, **side_data), task, 20))
    (whole,) = execute_in_memory(*model_data(*files, **side_data), task)

    expected = library_values()
    assert len(parts) > 2
    assert whole.values.select("user", *PER_USER).equals(expected.per_user)
    assert pl.concat([p.values for p in parts]).select("user", *PER_USER).equals(expected.per_user)
    for label in OVERALL:
        exposure = parts[0].exposures[label]
        for part in parts[1:]:
            exposure += part.exposures[label]
        summary = summarise_catalogue(parse(label), exposure, task.conventions)
        assert summary.mean == expected[label]


def test_error_of_an_engine_without_train_names_the_metric(project: Params) -> None:
    long_table(LISTS).with_columns(rank=1).write_parquet("lists.parquet")
    long_table(TRUTH).with_columns(grade=1.0).write_parquet("truth.parquet")
    task = Task([parse("Novelty@3")], cc.preset("standard"))

    with pytest.raises(ValueError, match=r"Novelty@3: needs train \(user, item\)"):
        list(
            execute_by_ranges(*model_data(Path("lists.parquet"), Path("truth.parquet")), task, 100)
        )


def test_times_with_a_zone_are_converted_to_utc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zoned = pl.Series([0]).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone("Asia/Tokyo")
    pl.DataFrame({"user": ["u"], "item": ["a"], "time": zoned}).write_parquet("t.parquet")
    for zone in ("UTC", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        columns = {"time": "time"}
        assert loaded_background("train", "t.parquet", columns=columns)[0][0]["time"] == 0


RANKED_LABELS = ["P@2", "AP@3", "RR", "RR@2", "nDCG@3", "Kendall"]
RANKED_USERS = [f"u{n:02}" for n in range(40)]
ROWS = [
    (user, f"i{(n * 7 + position * 3) % 11}", float(4 - position // 2))
    for n, user in enumerate(RANKED_USERS)
    for position in range(6)
]
RANKED_TRUTH = [
    (user, f"i{(n + 3 * j) % 11}", float(1 + (n + j) % 3))
    for n, user in enumerate(RANKED_USERS)
    for j in range(3)
]


@pytest.fixture
def ranked_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(ROWS, schema=["user", "item", "score"], orient="row").write_csv("lists.csv")
    pl.DataFrame(RANKED_TRUTH, schema=["user", "item", "grade"], orient="row").write_csv(
        "truth.csv"
    )


CONVENTIONS = [
    {"overrides": {"RR": {"ties": "item_desc", "rr_cutoff": "none"}}},
    {"ties": "average", "overrides": {"Kendall": {"ties": "item_asc"}}},
    {"overrides": {"P": {"ties": "average"}, "nDCG": {"ties": "item_desc"}}},
    {"overrides": {"nDCG": {"ideal": "truth_given_order_at_k"}}},
    {"overrides": {"RR@k": {"ties": "item_desc"}}},
    {"overrides": {"RR": {"ties": "item_desc", "rr_cutoff": "none"}, "RR@k": {"rr_cutoff": "k"}}},
    {"ties": "item_text_desc", "overrides": {"nDCG": {"ties": "item_text_asc"}}},
]


def assert_loaded_files_give(
    expected: pl.DataFrame, labels: list[str], conventions: cc.metrics.Conventions
) -> None:
    """Assert that both engines give these values for the files that `load` wrote."""
    task = Task([parse(label) for label in labels], conventions)
    paths = Path("results/lists/m.parquet"), Path("results/data/truth.parquet")
    in_ranges = [part.values for part in execute_by_ranges(*model_data(*paths), task, 50)]
    (at_once,) = (part.values for part in execute_in_memory(*model_data(*paths), task))

    assert at_once.select("user", *labels).equals(expected)
    assert pl.concat(in_ranges).select("user", *labels).equals(expected)


@pytest.mark.parametrize("changed", CONVENTIONS, ids=str)
@pytest.mark.usefixtures("ranked_files")
def test_pipeline_equals_the_library(changed: dict[str, Any]) -> None:
    conventions = cc.preset("standard", **changed)
    recs, truth = pl.read_csv("lists.csv"), pl.read_csv("truth.csv")
    expected = cc.evaluate(recs, truth, metrics=RANKED_LABELS, conventions=conventions).per_user

    lists_of = params_of("lists.csv", conventions=changed)
    truth_of = params_of("truth.csv", conventions=changed)
    with isolated_connection() as connection:
        load(connection, lists_of, "m")
    with isolated_connection() as connection:
        load_truth(connection, truth_of)
    assert_loaded_files_give(expected, RANKED_LABELS, conventions)


@pytest.mark.usefixtures("ranked_files")
def test_pipeline_equals_the_library_on_qrels_with_subtopics() -> None:
    labels = [
        "StRecall@3",
        "alpha_nDCG(alpha=0.3)@3",
        "ERR_IA@3",
        "NRBP(alpha=0.5,beta=0.8)",
        "AP@3",
    ]
    conventions = cc.preset("standard", overrides={"StRecall": {"ties": "item_desc"}})
    changed = {"overrides": conventions.overrides}
    rows = [(u, s, item, int(g)) for u, item, g in RANKED_TRUTH for s in (f"s{g:g}", item[-1])]
    qrels = pl.DataFrame(rows, ["user", "subtopic", "item", "grade"], orient="row")
    qrels.write_csv("truth.qrels", separator=" ", include_header=False)
    expected = cc.evaluate(
        pl.read_csv("lists.csv"),
        qrels,
        metrics=labels,
        conventions=conventions,
        columns={"truth": {"subtopic": "subtopic"}},
    ).per_user

    with isolated_connection() as connection:
        load(connection, params_of("lists.csv", conventions=changed), "m")
    with isolated_connection() as connection:
        load_truth(connection, params_of("truth.qrels", columns={"subtopic": "iteration"}))
    assert_loaded_files_give(expected, labels, conventions)


@pytest.mark.usefixtures("ranked_files")
def test_lists_of_two_rankings_are_written_by_user_ranking_and_rank() -> None:
    with isolated_connection() as connection:
        load(connection, params_of("lists.csv", conventions=CONVENTIONS[0]), "m")

    rows = pl.read_parquet("results/lists/m.parquet").select("user", "ranking", "rank").rows()
    assert rows == [
        (u, ranking, rank) for u in RANKED_USERS for ranking in (0, 1) for rank in range(1, 7)
    ]


@pytest.mark.usefixtures("ranked_files")
def test_lists_without_ties_are_kept_once_for_any_rankings() -> None:
    scores = (
        pl.read_csv("lists.csv")
        .with_row_index()
        .with_columns(score=-pl.col("index").cast(pl.Float64))
    )
    scores.select("user", pl.format("j{}", "index").alias("item"), "score").write_csv("lists.csv")
    changed = {"overrides": {"RR": {"ties": "item_desc"}}}

    with isolated_connection() as connection:
        load(connection, params_of("lists.csv", conventions=changed), "m")

    loaded = pl.read_parquet("results/lists/m.parquet")
    assert "ranking" not in loaded.columns
    assert len(loaded) == len(ROWS)


@pytest.mark.parametrize("changed", [*CONVENTIONS[:3], *CONVENTIONS[4:]], ids=str)
@pytest.mark.usefixtures("ranked_files")
def test_ranked_lists_are_explained_as_they_are_evaluated(changed: dict[str, Any]) -> None:
    conventions = cc.preset("standard", **changed)
    recs, truth = pl.read_csv("lists.csv"), pl.read_csv("truth.csv").cast({"grade": pl.Float64})
    expected = cc.evaluate(recs, truth, metrics=RANKED_LABELS, conventions=conventions).per_user

    for label in RANKED_LABELS:
        for user in RANKED_USERS[:1]:
            derived = cc.explain(recs, truth, user=user, metric=label, conventions=conventions)
            value = expected.filter(pl.col("user") == user)[label].item()
            assert repr(derived.value) == repr(value)


def test_later_copies_are_explained_as_misses() -> None:
    recs, truth = {"u": ["a", "a", "b"]}, {"u": ["a", "b"]}
    conventions = cc.preset("standard", duplicates="first")

    derived = cc.explain(recs, truth, user="u", metric="AP@3", conventions=conventions)

    assert derived.value == (1 / 1 + 2 / 3) / 2
    assert "2     (a later copy)" in derived.summary.splitlines()
