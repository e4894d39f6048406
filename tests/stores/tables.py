"""Lists in every supported format, as files of the working directory."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

USERS, LENGTH = 400, 20
SEED = np.random.default_rng(20261122)
LISTS = pl.DataFrame(
    {
        "user": [f"u{user:03}" for user in range(USERS) for _ in range(LENGTH)],
        "item": np.concatenate([SEED.permutation(90)[:LENGTH] for _ in range(USERS)]).astype(str),
        "score": np.tile(np.arange(LENGTH, 0, -1.0), USERS),
        "unused": ["x" * 40] * (USERS * LENGTH),
    }
)
TRUTH = LISTS.select("user", "item").filter(pl.int_range(pl.len()) % 7 == 3)


def _write_parts(lists: pl.DataFrame, path: Path) -> None:
    third = len(lists) // 3 + 1
    for number, day in enumerate(("2026-01", "2026%2F02", "2026-03")):
        part = path / f"day={day}" / f"k={number}" / "part-0.parquet"
        part.parent.mkdir(parents=True)
        lists[number * third : (number + 1) * third].write_parquet(part)
    (path / "_SUCCESS").touch()


def _write_run(lists: pl.DataFrame, path: Path) -> None:
    rows = lists.select("user", "item", "score").iter_rows()
    text = "".join(f"{u} Q0 {i} {n % LENGTH + 1} {s} x\n" for n, (u, i, s) in enumerate(rows))
    path.write_text(text, encoding="utf-8")


def _write_gzip(lists: pl.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(lists.write_csv().encode(), mtime=0))


_WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "parquet": lambda lists, path: lists.write_parquet(path, row_group_size=700),
    "parts": _write_parts,
    "csv": lambda lists, path: lists.write_csv(path),
    "csv.gz": _write_gzip,
    "jsonl": lambda lists, path: lists.write_ndjson(path),
    "arrow": lambda lists, path: lists.write_ipc(path),
    "arrow stream": lambda lists, path: lists.write_ipc_stream(path),
    "run": _write_run,
}
FORMS = tuple(_WRITERS)


def written(form: str, lists: pl.DataFrame = LISTS) -> Path:
    """Write the lists in a form; return the file, or the folder of parts."""
    path = Path("lists" if form == "parts" else f"a [1].{form.removesuffix(' stream')}")
    _WRITERS[form](lists, path)
    return path
