"""Train and catalogue: from the files as they are to the metrics beyond accuracy."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.metrics.catalogue import parse
from concord.metrics_core.scoring.background import Background
from concord.metrics_core.scoring.partition import Task
from concord.metrics_core.scoring.summary import summarise_catalogue
from concord.pipeline.evaluating.engines import duckdb as duckdb_engine
from concord.pipeline.evaluating.engines import polars as polars_engine
from concord.pipeline.loading.load_background import load_background
from concord.pipeline.params.model import BackgroundFile, Params
from concord.pipeline.running.connections import workspace
from tests.pipeline.loading.load_project import loaded_background, params_of

PER_USER = ["UserCoverage@3", "Novelty@3", "ARP@3", "LongTail@3", "ILD@3", "Serendipity@3", "Calibration@3", "PopCorr"]  # fmt: skip
OVERALL = ["Coverage@3", "Gini@3", "Entropy@3", "Personalization@3"]
USERS = [f"u{n:02}" for n in range(30)]
ITEMS = [str(n) for n in range(20)]
LISTS = {u: [str((n * 5 + 3 * j) % 23) for j in range(1 + n % 6)] for n, u in enumerate(USERS)}
TRUTH = {u: [str((n * 5 + 3 * j) % 23) for j in range(2)] for n, u in enumerate(USERS)}
TRAIN = {u: [str((n * n + j * j) % 17) for j in range(1 + n % 4)] for n, u in enumerate(USERS)}
CATEGORIES = {i: [f"c{int(i) % 3}", f"d{int(i) % 4}"] for i in ITEMS}


def _long(lists: dict[str, list[str]]) -> pl.DataFrame:
    rows = [(user, item) for user, items in lists.items() for item in dict.fromkeys(items)]
    return pl.DataFrame(rows, schema=["user", "item"], orient="row")


def _with_background(params: Params, **files: dict[str, Any]) -> Params:
    known = {name: BackgroundFile.model_validate(file) for name, file in files.items()}
    return params.model_copy(update={"background": known})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    _long(TRAIN).rename({"item": "sku"}).write_csv("train.csv")
    joined = {item: "|".join(held) for item, held in CATEGORIES.items()}
    pl.DataFrame({"item": list(joined), "genres": list(joined.values())}).write_csv("items.csv")
    return _with_background(
        params_of("lists.csv"),
        train={"path": "train.csv", "columns": {"item": "sku"}},
        items={"path": "items.csv", "columns": {"categories": "genres"}},
    )


def _expected() -> cc.Result:
    return cc.evaluate(
        LISTS, TRUTH, metrics=[*PER_USER, *OVERALL], conventions=cc.preset("standard"),
        train=TRAIN, items=CATEGORIES, input={"unknown_items": "keep"},
    )  # fmt: skip


@pytest.mark.parametrize("integers", [False, True])
def test_engines_and_ranges_give_what_the_library_gives(project: Params, integers: bool) -> None:
    for name in ("train", "items"):
        with workspace() as connection:
            load_background(connection, project, name)
    ranks = pl.int_range(1, pl.len() + 1).over("user").alias("rank")
    lists = _long(LISTS).with_columns(ranks).sort("user", "rank")
    truth = _long(TRUTH).with_columns(grade=pl.lit(1.0)).sort("user")
    if integers:
        lists, truth = (frame.cast({"item": pl.Int64}) for frame in (lists, truth))
    lists.write_parquet("lists.parquet", row_group_size=20)
    truth.write_parquet("truth.parquet")
    data = Path(project.results.data)
    background = Background(data / "train.parquet", data / "items.parquet")
    task = Task([parse(label) for label in [*PER_USER, *OVERALL]], cc.preset("standard"))
    files = Path("lists.parquet"), Path("truth.parquet")

    parts = list(duckdb_engine.partitions(*files, task, 20, background))
    (whole,) = polars_engine.partitions(*files, task, background)

    expected = _expected()
    assert len(parts) > 2
    assert whole.values.select("user", *PER_USER).equals(expected.per_user)
    assert pl.concat([p.values for p in parts]).select("user", *PER_USER).equals(expected.per_user)
    for label in OVERALL:
        exposure = parts[0].exposures[label]
        for part in parts[1:]:
            exposure += part.exposures[label]
        found = summarise_catalogue(parse(label), exposure, task.conventions)
        assert found.mean == expected[label]


def test_an_engine_without_train_refuses_by_name(project: Params) -> None:
    _long(LISTS).with_columns(rank=1).write_parquet("lists.parquet")
    _long(TRUTH).with_columns(grade=1.0).write_parquet("truth.parquet")
    task = Task([parse("Novelty@3")], cc.preset("standard"))

    with pytest.raises(ValueError, match=r"Novelty@3: needs train \(user, item\)"):
        list(duckdb_engine.partitions(Path("lists.parquet"), Path("truth.parquet"), task, 100))


def test_times_with_a_zone_are_those_of_utc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    zoned = pl.Series([0]).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone("Asia/Tokyo")
    pl.DataFrame({"user": ["u"], "item": ["a"], "time": zoned}).write_parquet("t.parquet")
    for zone in ("UTC", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        columns = {"time": "time"}
        assert loaded_background("train", "t.parquet", columns=columns)[0][0]["time"] == 0
