"""Inputs that are damaged or change while they are read."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from concord.pipeline.running import inputs
from tests.faults.small import LOAD, parts, run_stage
from tests.project import change_params


def _as_parquet(project: Path, *, checksums: bool) -> Path:
    path = project / "data" / "lists.parquet"
    table = pl.read_csv(project / "data/first.csv").to_arrow()
    pq.write_table(
        table, path, write_page_checksum=checksums, compression="none", use_dictionary=False
    )
    change_params(project, {"models.first": {"path": "data/lists.parquet"}})
    return path


def _flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def _refused(project: Path) -> str:
    ended = run_stage(*LOAD)
    assert ended.code == 2, ended.err
    assert parts(project) == []
    return ended.err


@pytest.mark.fault(17, "an error if the file has page checksums")
def test_a_flipped_byte_is_refused_where_the_file_has_checksums(project: Path) -> None:
    path = _as_parquet(project, checksums=True)
    whole = run_stage(*LOAD)
    _flip(path, 500)
    message = _refused(project)

    assert whole.code == 0
    assert "data/lists.parquet: is damaged" in message
    assert "checksum" in message.lower()


@pytest.mark.fault(17, "otherwise it shows in the recorded hashes")
def test_a_flipped_byte_shows_in_the_recorded_hashes(project: Path) -> None:
    path = _as_parquet(project, checksums=False)
    run_stage(*LOAD)
    quality = project / "results" / "quality" / "first.json"
    before = json.loads(quality.read_text())
    _flip(path, path.read_bytes().index(b"i14") + 2)  # another item
    ended = run_stage(*LOAD)

    assert ended.code == 0, ended.err
    assert json.loads(quality.read_text())["sha256"] != before["sha256"]


def _grow(path: Path) -> None:
    with path.open("a") as file:
        file.write("u1,i1,999\n")


def _replace(path: Path) -> None:
    content = path.read_text()
    path.unlink()
    path.with_suffix(".other").touch()  # takes the number of the file before
    path.write_text(content)


@pytest.mark.fault(18, "an error; nothing is written")
@pytest.mark.parametrize("change", [_grow, _replace, Path.unlink])
def test_an_input_that_changes_while_it_is_read(
    project: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    lists = project / "results" / "lists" / "first.parquet"
    lists.unlink()
    looks: list[object] = []
    state = inputs._file_states

    def look(path: Path) -> object:
        if looks:
            change(project / "data/first.csv")
        looks.append(path)
        return state(path)

    monkeypatch.setattr(inputs, "_file_states", look)
    ended = run_stage(*LOAD)

    assert ended.code == 2, ended.err
    assert "data/first.csv: first.csv " in ended.err
    assert "while it was read" in ended.err
    assert "fix: wait until the file is written, then `concord run`" in ended.err
    assert not lists.exists()
