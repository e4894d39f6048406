"""The committed demo data are what their script makes."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.project import ROOT

DEMO = ROOT / "data" / "demo"


def _data(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    data = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {
        name: content for name, content in data.items() if not name.endswith((".py", ".pyc", ".md"))
    }


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_script_makes_the_committed_files_bit_for_bit(tmp_path: Path, threads: str) -> None:
    command = [sys.executable, str(DEMO / "make_demo.py"), str(tmp_path)]
    subprocess.run(
        command, check=True, env={"OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
    )

    assert _data(tmp_path) == _data(DEMO)


def test_the_demo_is_small() -> None:
    assert sum(map(len, _data(DEMO).values())) < 3_000_000


def test_truth_and_train_do_not_overlap() -> None:
    truth, train = (pl.read_parquet(DEMO / f"{name}.parquet") for name in ("truth", "train"))

    assert len(truth.join(train, on=["user", "item"])) == 0
    assert truth["time"].min() > train["time"].max()  # type: ignore[operator]


def test_some_users_have_no_list_and_some_scores_tie() -> None:
    truth = pl.read_parquet(DEMO / "truth.parquet")
    lists = pl.read_parquet(DEMO / "item-knn.parquet")
    without = truth.join(lists, on="user", how="anti")["user"].n_unique()
    tied = lists.select(pl.struct("user", "score").is_duplicated().sum()).item()

    assert without == 61
    assert tied > 1_000
