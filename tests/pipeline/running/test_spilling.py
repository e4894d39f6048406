"""Temporary files of DuckDB and half-written outputs: bounded, and removed."""

import os
import subprocess
import tempfile
from pathlib import Path

import duckdb
import pytest

from concord.metrics_core.checking.locked import connect
from concord.metrics_core.checking.problems import InputError
from concord.pipeline.running.connections import SPILL, spilling_to, workspace
from concord.pipeline.running.failures import in_words
from concord.pipeline.running.temporary_files import remove_stale_parts, spill_folder

MANY = "CREATE TABLE sorted AS SELECT md5(range::VARCHAR) AS text FROM range(3000000) ORDER BY text"


def test_what_killed_processes_left_is_removed_and_what_others_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    with spill_folder() as mine:
        own = Path(mine)
        stale = own.with_name(own.name.replace(str(os.getpid()), str(gone.pid)))
        elsewhere = own.with_name("concord-duckdb-another-host-999999999-x")
        for folder in (stale, elsewhere):
            folder.mkdir()
            (folder / "spilled").touch()
        parts = [tmp_path / f".a.parquet.{pid}.part" for pid in (os.getpid(), gone.pid)]
        for part in (*parts, tmp_path / ".theirs.part"):
            part.touch()
        with spill_folder():
            pass
        remove_stale_parts(tmp_path)
        left = {path.name for path in tmp_path.iterdir()}

    assert left == {own.name, elsewhere.name, parts[0].name, ".theirs.part"}
    assert not own.exists()


@pytest.mark.fault(14, "a full disk for spilling is named with its folder, limit and what to raise")
def test_a_spill_beyond_its_bound_names_the_bound_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SPILL, "2MB")
    monkeypatch.setenv("CONCORD_MEMORY", "40MB")
    monkeypatch.setenv("CONCORD_THREADS", "1")
    with (
        connect(config=spilling_to(str(tmp_path))) as connection,
        pytest.raises(duckdb.OutOfMemoryException) as error,
    ):
        connection.execute(MANY)

    said = in_words(error.value)
    place = f"{tempfile.gettempdir()}: DuckDB's temporary files would take more than CONCORD_SPILL"
    assert said.startswith(f"{place} allows (2MB)")
    assert said.endswith("fix: raise it, or raise CONCORD_MEMORY (it is 40MB)")


def test_a_bound_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPILL, "much")

    with pytest.raises(InputError, match="CONCORD_SPILL: is 'much'"), workspace():
        pass
