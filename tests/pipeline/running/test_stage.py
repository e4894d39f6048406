"""How a stage ends when it is stopped: its own code, one line, nothing left behind."""

import os
import signal
from pathlib import Path
from threading import Timer

import duckdb
import pytest

from concord.pipeline.running.outputs import whole
from concord.pipeline.running.stage import run
from tests.faults.small import run_in_process

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.fault(4, "Ctrl-C ends a stage with 130, SIGTERM with 143, temporary files removed")
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_stage_that_is_stopped_leaves_no_half_written_file(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    def main() -> str:
        with whole(tmp_path / "out.txt") as part:
            part.write_text("half")
            os.kill(os.getpid(), number)
        return "not reached"

    ended = run_in_process(lambda: run(main), "load", "a")

    message = f"load a: stopped by {number.name}; nothing half-written is left\n"
    assert ended == (code, "", message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(4, "a long query is interrupted")
def test_a_long_query_is_interrupted() -> None:
    """DuckDB turns the signal into an error of its own."""
    query = "SELECT sum(sin(a.range * b.range)) FROM range(1000000) a, range(1000000) b"

    def main() -> str:
        Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with duckdb.connect(config={"threads": 1}) as connection:
            return str(connection.execute(query).fetchall())

    assert run_in_process(lambda: run(main), "load", "a").code == 143
