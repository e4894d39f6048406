"""What lies in Google's store is read as what lies on this machine, from a server that speaks as that store does."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import concord
from concord.metrics_core.reading.hashes import hashes
from concord.metrics_core.reading.stores.places import place_of
from tests.pipeline.loading.load_project import loaded, refusal
from tests.stores.google import GoogleStore, google_store
from tests.stores.server import BUCKET

LISTS = pl.DataFrame(
    {
        "user": [user for user in range(300) for _ in range(10)],
        "item": [(7 * user + rank * rank) % 101 for user in range(300) for rank in range(10)],
        "rank": [rank + 1 for _ in range(300) for rank in range(10)],
    }
).unique(["user", "item"], maintain_order=True)
TRUTH = LISTS.select("user", "item").filter(pl.int_range(pl.len()) % 7 == 3)


@pytest.fixture(scope="module")
def server() -> Iterator[GoogleStore]:
    pytest.importorskip("gcp_storage_emulator")
    with google_store() as started:
        yield started


@pytest.fixture
def gs(server: GoogleStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> GoogleStore:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://{server.host}")
    monkeypatch.chdir(tmp_path)
    return server


def _lists(form: str) -> Path:
    path = Path(f"a [1].{form}") if form != "folder" else Path("lists")
    if form == "folder":
        for number in range(3):
            part = path / f"k={number}" / "part-0.parquet"
            part.parent.mkdir(parents=True)
            LISTS.filter(pl.col("user") % 3 == number).write_parquet(part)
    elif form == "parquet":
        LISTS.write_parquet(path, row_group_size=700)
    else:
        LISTS.write_csv(path)
    return path


@pytest.mark.parametrize("form", ["parquet", "csv", "folder"])
def test_the_same_values_and_the_same_bytes(gs: GoogleStore, form: str) -> None:
    local = _lists(form)
    address = gs.put(local, f"same/{local.name}")

    here, there = (
        concord.evaluate(lists, TRUTH, metrics=["nDCG@10", "AP@10"], conventions="standard")
        for lists in (local, address)
    )
    loaded(str(local))
    rows = Path("results/lists/m.parquet").read_bytes()
    _, quality = loaded(address, allow_outside=True)

    assert 0 < here["nDCG@10"] < 1
    assert there.per_user.equals(here.per_user, null_equal=True)
    assert Path("results/lists/m.parquet").read_bytes() == rows
    assert quality["etag"] == hashes(place_of(address)).etag
    assert quality["bytes"] == sum(p.stat().st_size for p in [local, *local.rglob("*")] if p.is_file())  # fmt: skip


def test_another_content_has_another_etag(gs: GoogleStore) -> None:
    address = gs.put(_lists("csv"), "etag.csv")
    before = hashes(place_of(address)).etag
    Path("a [1].csv").write_text("user,item,rank\n1,2,1\n", encoding="utf-8")
    gs.put(Path("a [1].csv"), "etag.csv")

    assert before
    assert before != hashes(place_of(address)).etag


def test_what_is_not_there_is_told(gs: GoogleStore) -> None:
    lists = refusal(f"gs://{BUCKET}/none.csv", allow_outside=True)
    bucket = refusal("gs://no-such-bucket/lists.csv", allow_outside=True)

    assert f"gs://{BUCKET}/none.csv: there is no such object" in lists
    assert "the bucket 'no-such-bucket' does not exist" in bucket
    assert "check its name and GOOGLE_APPLICATION_CREDENTIALS, STORAGE_EMULATOR_HOST" in bucket
