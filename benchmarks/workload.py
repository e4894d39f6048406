"""The workload: 138,000 users with lists of 100 and 2.1 million rows of truth, from a seed.

Files are sorted like those of the load stages: lists by user and rank, truth by user and grade.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

METRICS = ("P", "R", "AP", "nDCG", "RR")
KS = (1, 5, 10, 20, 50, 100)
ITEMS = 20_000
DEPTH = 100
DRAWS = 3 * DEPTH  # enough that each user draws DEPTH different items
SKEW = 0.8  # exponent of the items' popularity
ROWS_PER_GROUP = 131_072


@dataclass(frozen=True)
class Size:
    """Name and size of a workload."""

    name: str
    users: int
    truth_rows: int


FULL = Size("full", 138_000, 2_100_000)
TENTH = Size("tenth", 13_800, 210_000)
FEW = Size("few", 1_000, 15_000)
SMALL = Size("small", 500, 7_500)  # starting Python takes longer than evaluating


@dataclass(frozen=True)
class Files:
    """The two parquet files of a workload."""

    lists: Path
    truth: Path


def make(folder: Path, size: Size, ids: str) -> Files:
    """Return the files of a workload with integer or text ids; write them if they are missing."""
    files = Files(
        folder / f"{size.name}-{ids}-lists.parquet", folder / f"{size.name}-{ids}-truth.parquet"
    )
    if not (files.lists.exists() and files.truth.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(20_26)
        _write(_lists(rng, size.users), files.lists, ids)
        _write(_truth(rng, size), files.truth, ids)
    return files


def shuffled(files: Files) -> Files:
    """Return parquet files with the same rows in random order."""
    return Files(*(_shuffled(path) for path in (files.lists, files.truth)))


def as_csv(files: Files) -> Files:
    """Return CSV files with the same rows."""
    return Files(*(_as_csv(path) for path in (files.lists, files.truth)))


def _shuffled(path: Path) -> Path:
    copy = path.with_stem(f"{path.stem}-shuffled")
    if not copy.exists():
        rows = pl.read_parquet(path).sample(fraction=1, shuffle=True, seed=7)
        rows.write_parquet(copy, row_group_size=ROWS_PER_GROUP)
    return copy


def _as_csv(path: Path) -> Path:
    copy = path.with_suffix(".csv")
    if not copy.exists():
        pl.read_parquet(path).write_csv(copy)
    return copy


def _write(frame: pl.DataFrame, path: Path, ids: str) -> None:
    if ids == "text":
        frame = frame.with_columns(
            user=pl.lit("user-") + pl.col("user").cast(pl.String).str.zfill(7),
            item=pl.lit("item-") + pl.col("item").cast(pl.String).str.zfill(6),
        )
    order = ["user", "rank"] if "rank" in frame.columns else ["user", "grade", "item"]
    frame = frame.sort(order, descending=[name == "grade" for name in order])
    frame.write_parquet(path, row_group_size=ROWS_PER_GROUP)


def popular_items(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n items drawn by popularity, with replacement."""
    share = np.arange(1, ITEMS + 1) ** -SKEW
    return np.searchsorted(np.cumsum(share / share.sum()), rng.random(n)).clip(max=ITEMS - 1)


def _lists(rng: np.random.Generator, users: int) -> pl.DataFrame:
    drawn = pl.DataFrame(
        {"user": np.repeat(np.arange(users), DRAWS), "item": popular_items(rng, users * DRAWS)}
    )
    return (
        drawn.unique(maintain_order=True)
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("user"))
        .filter(pl.col("rank") <= DEPTH)
    )


def _truth(rng: np.random.Generator, size: Size) -> pl.DataFrame:
    n = size.truth_rows * 5 // 4
    drawn = pl.DataFrame(
        {
            "user": rng.integers(0, size.users, n),
            "item": popular_items(rng, n),
            "grade": rng.integers(1, 6, n).astype(np.float64),
        }
    )
    rows = drawn.unique(["user", "item"], keep="first", maintain_order=True)
    return rows.head(size.truth_rows)
