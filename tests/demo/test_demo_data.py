"""The committed demo data are what their script makes."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import concord
from tests.project import ROOT

DEMO = ROOT / "data" / "demo"
SEARCH = ROOT / "data" / "demo-search"
SOURCES = (".py", ".pyc", ".md", ".toml")


def _data(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    data = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: content for name, content in data.items() if not name.endswith(SOURCES)}


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("demo", [DEMO, SEARCH], ids=lambda demo: demo.name)
def test_the_script_makes_the_committed_files_bit_for_bit(
    tmp_path: Path, demo: Path, threads: str
) -> None:
    command = [sys.executable, str(demo / "make_demo.py"), str(tmp_path)]
    subprocess.run(
        command, check=True, env={"OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
    )

    assert _data(tmp_path) == _data(demo)


@pytest.mark.parametrize(("demo", "most"), [(DEMO, 3_000_000), (SEARCH, 700_000)])
def test_the_demo_is_small(demo: Path, most: int) -> None:
    assert sum(map(len, _data(demo).values())) < most


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


def test_unjudged_documents_reverse_the_order_of_two_engines() -> None:
    """The search demo shows why unjudged documents matter."""
    bm25 = json.loads((SEARCH / "bm25.run.json").read_text(encoding="utf-8"))
    columns = ["user", "Q0", "item", "rank", "score", "tag"]
    runs = {
        "bm25": pl.concat(
            pl.DataFrame({"user": query, "item": list(found), "score": list(found.values())})
            for query, found in bm25.items()
        ),
        "dense": pl.read_csv(
            SEARCH / "dense.run.gz", separator=" ", has_header=False, new_columns=columns
        ),
    }
    names = ["user", "item", "grade"]
    pooled = pl.read_csv(SEARCH / "qrels" / "test.tsv", separator="\t", new_columns=names)
    judge = [sys.executable, str(SEARCH / "judge.py")]
    judged = subprocess.run(judge, check=True, capture_output=True).stdout
    every = pl.read_csv(judged, separator="\t", new_columns=names)

    verdicts = [
        concord.compare(runs, qrels, metrics=["nDCG@10"], baseline="bm25", min_effect=0.02)
        .differences["verdict"]
        .to_list()
        for qrels in (pooled, every)
    ]
    assert verdicts == [["worse"], ["better"]]
    assert len(pooled.join(every, on=["user", "item", "grade"])) == (pooled["grade"] > 0).sum()
