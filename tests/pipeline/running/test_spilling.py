"""What DuckDB puts on disk is bounded and told."""

import tempfile
import time
from pathlib import Path

import duckdb
import pytest

from concord.metrics_core.checking.locked import connect
from concord.metrics_core.checking.problems import InputError
from concord.pipeline.running import leftovers
from concord.pipeline.running.connections import SPILL, spilling_to, workspace
from concord.pipeline.running.failures import in_words
from concord.pipeline.running.leftovers import spill_folder, spilled

MANY = "CREATE TABLE sorted AS SELECT md5(range::VARCHAR) AS text FROM range(3000000) ORDER BY text"


def test_what_was_spilled_is_known_when_the_folder_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_AT_MOST", [0])
    with spill_folder() as folder:
        Path(folder, "a").write_bytes(bytes(3000))
        Path(folder, "b").write_bytes(bytes(2000))
        deadline = time.monotonic() + 20
        while not spilled() and time.monotonic() < deadline:
            time.sleep(0.05)
        Path(folder, "b").unlink()

    assert not Path(folder).exists()
    assert spilled() == 5000


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
