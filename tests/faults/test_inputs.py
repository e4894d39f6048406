"""Inputs that are damaged, or change while they are read."""

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.faults.breaking import broken, wait_for
from tests.faults.tiny import LOAD, leftovers, stage, start
from tests.project import attempt, change_params

pytestmark = pytest.mark.whole

HASHING = r"open .*data/demo/popularity\.csv rb?\b"


def _as_parquet(project: Path, *, checksums: bool) -> Path:
    path = project / "data" / "lists.parquet"
    table = pl.read_csv(project / "data/demo/popularity.csv").to_arrow()
    pq.write_table(table, path, write_page_checksum=checksums, compression="none", use_dictionary=False)  # fmt: skip
    columns = {"user": "customer", "item": "product", "rank": "position"}
    entry = {"path": "data/lists.parquet", "columns": columns}
    change_params(project, {"models.popularity": entry})
    return path


def _flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def _refused(project: Path) -> str:
    done = stage(project, *LOAD)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert leftovers(project) == []
    return done.stderr


@pytest.mark.fault(17, "a truncated file is refused by name")
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_a_truncated_file_is_refused(project: Path, share: float) -> None:
    path = _as_parquet(project, checksums=False)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    assert "data/lists.parquet: is damaged or not complete" in _refused(project)


@pytest.mark.fault(17, "a flipped byte is refused where the file has page checksums")
def test_a_flipped_byte_is_refused_where_the_file_has_checksums(project: Path) -> None:
    path = _as_parquet(project, checksums=True)
    whole = stage(project, *LOAD)
    _flip(path, 2000)

    assert whole.returncode == 0
    said = _refused(project)
    assert "data/lists.parquet: is damaged" in said
    assert "checksum" in said.lower()


@pytest.mark.fault(
    17, "without checksums a flipped byte shows in the recorded hashes, and DVC runs again"
)
def test_a_flipped_byte_shows_in_the_recorded_hashes(project: Path) -> None:
    path = _as_parquet(project, checksums=False)
    stage(project, *LOAD)
    quality = project / "results" / "quality" / "popularity.json"
    before = json.loads(quality.read_text())
    _flip(path, 2000)
    done = stage(project, *LOAD)
    if done.returncode == 0:  # the number is another, yet a number
        assert json.loads(quality.read_text())["sha256"] != before["sha256"]
    else:
        assert done.returncode == 2
    status = attempt(project, "dvc", "status", "load@popularity").stdout
    assert "load@popularity" in status


@pytest.mark.fault(17, "a damaged catalogue or users file is refused by name, too")
@pytest.mark.parametrize("name", ["items", "users"])
def test_a_damaged_background_file_is_refused(project: Path, name: str) -> None:
    path = project / "data" / "demo" / f"{name}.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    change_params(project, {"background": {name: {"path": f"data/demo/{name}.parquet"}}})
    done = stage(project, "load-background", name)

    assert done.returncode == 2, done.stderr
    assert f"data/demo/{name}.parquet: is damaged" in done.stderr


@pytest.mark.fault(18, "an input that changes while it is read is refused, and nothing is written")
@pytest.mark.parametrize("change", ["grows", "is replaced", "is removed"])
def test_an_input_that_changes_while_it_is_read(project: Path, tmp_path: Path, change: str) -> None:
    lists = project / "results" / "lists" / "popularity.parquet"
    lists.unlink()
    mark, path = tmp_path / "mark", project / "data" / "demo" / "popularity.csv"
    running = start(project, "concord", "stage", *LOAD, **broken(2, HASHING, "pause", mark))
    wait_for(mark)
    if change == "grows":
        with path.open("a") as file:
            file.write("u1,i1,999\n")
    else:
        content = path.read_text()
        path.unlink()
        if change == "is replaced":
            path.write_text(content)
    mark.unlink()
    _, said = running.communicate(timeout=60)

    assert running.returncode == 2, said
    assert "data/demo/popularity.csv: popularity.csv " in said
    assert "while it was read" in said
    assert "fix: let what writes it finish, then `dvc repro`" in said
    assert not lists.exists()
