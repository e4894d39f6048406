"""Stopped stages, and the limit and removal of temporary files."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Timer

import duckdb
import pytest

from concord.metrics_core.data.relations import connect
from concord.metrics_core.errors import InputError
from concord.pipeline.running.connections import (
    SPILL_VARIABLE,
    duckdb_settings,
    isolated_connection,
)
from concord.pipeline.running.failures import error_message
from concord.pipeline.running.messages import Progress
from concord.pipeline.running.outputs import atomic_write, remove_stale_files, spill_folder
from concord.pipeline.running.stage import run_stage
from tests.faults.small import run_in_process

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.fault(4, "exit code 130 or 143; temporary files are removed")
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_stopped_stage_leaves_no_partial_file(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    def main() -> str:
        with atomic_write(tmp_path / "out.txt") as part:
            part.write_text("half")
            os.kill(os.getpid(), number)
        return "not reached"

    ended = run_in_process(lambda: run_stage(main), "load", "a")

    message = f"load a: stopped by {number.name}; nothing half-written is left\n"
    assert ended == (code, "", message)
    assert list(tmp_path.iterdir()) == []


ENDINGS = {
    "a thread that writes": (
        "threading.Thread(target=lambda: (time.sleep(0.2), print('written'))).start()",
        (0, "written\n"),
    ),
    "a signal": ("atexit.register(os.kill, os.getpid(), signal.SIGTERM)", (143, "")),
}


@pytest.mark.parametrize(("start", "expected"), ENDINGS.values(), ids=ENDINGS)
def test_end_waits_for_threads_and_stops_on_a_signal(start: str, expected: tuple[int, str]) -> None:
    code = (
        "import atexit, os, signal, threading, time\n"
        "from concord.pipeline.running.stage import run_stage\n"
        f"{start}\n"
        "run_stage(lambda: None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == expected
    assert "Traceback" not in done.stderr


@pytest.mark.fault(4, "a long query is interrupted")
def test_a_long_query_is_interrupted() -> None:
    """DuckDB turns the signal into its own error."""
    query = "SELECT sum(sin(a.range * b.range)) FROM range(1000000) a, range(1000000) b"

    def main() -> str:
        Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with duckdb.connect(config={"threads": 1}) as connection:
            return str(connection.execute(query).fetchall())

    assert run_in_process(lambda: run_stage(main), "load", "a").code == 143


MANY = "CREATE TABLE sorted AS SELECT md5(range::VARCHAR) AS text FROM range(3000000) ORDER BY text"


def test_files_of_killed_processes_are_removed_and_files_in_use_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    with spill_folder() as mine:
        own_folder = Path(mine)
        stale = own_folder.with_name(own_folder.name.replace(str(os.getpid()), str(gone.pid)))
        elsewhere = own_folder.with_name("concord-duckdb-another-host-999999999-x")
        for folder in (stale, elsewhere):
            folder.mkdir()
            (folder / "spilled").touch()
        pids = (os.getpid(), gone.pid)
        parts = [tmp_path / f".a.parquet.{pid}.part" for pid in pids]
        for part in (*parts, tmp_path / ".theirs.part"):
            part.touch()
        with spill_folder():
            pass
        remove_stale_files(tmp_path)
        remaining = {path.name for path in tmp_path.iterdir()}

    assert remaining == {own_folder.name, elsewhere.name, parts[0].name, ".theirs.part"}
    assert not own_folder.exists()


@pytest.mark.fault(14, "the message names folder, limit and the setting to raise")
def test_error_of_a_full_spill_names_the_limit_and_the_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SPILL_VARIABLE, "2MB")
    monkeypatch.setenv("CONCORD_MEMORY", "40MB")
    monkeypatch.setenv("CONCORD_THREADS", "1")
    with (
        connect(config=duckdb_settings(str(tmp_path))) as connection,
        pytest.raises(duckdb.OutOfMemoryException) as error,
    ):
        connection.execute(MANY)

    message = error_message(error.value)
    limit = f"{tempfile.gettempdir()}: DuckDB's temporary files would take more than CONCORD_SPILL"
    assert message.startswith(f"{limit} allows (2MB)")
    assert message.endswith("fix: raise it, or raise CONCORD_MEMORY (it is 40MB)")


def test_invalid_size_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPILL_VARIABLE, "much")

    with pytest.raises(InputError, match="CONCORD_SPILL: is 'much'"), isolated_connection():
        pass


def test_progress_never_counts_more_than_there_is() -> None:
    progress = Progress("evaluate als", "users", 1192)
    progress.advance(1200)  # eight users are in lists only

    assert progress.line() == "evaluate als: 1,192 of 1,192 users, 0 s left"
