"""How a stage ends when it is stopped: its own code, one line, nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

from tests.pipeline.tracking.log_project import ROOT


def test_a_stage_that_is_stopped_leaves_no_half_written_file(tmp_path: Path) -> None:
    script = """
import os, signal
from pathlib import Path
from concord.pipeline.running.outputs import whole
from concord.pipeline.running.stage import run
def main():
    with whole(Path("out.txt")) as beside:
        beside.write_text("half")
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            pass
run(main)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (
        143,
        "-c: stopped by SIGTERM; nothing half-written is left\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_a_library_makes_of_a_signal_is_still_the_signal(tmp_path: Path) -> None:
    script = """
import os, signal
from concord.pipeline.running.stage import run
def main():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted")
run(main)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (
        130,
        "-c: stopped by SIGINT; nothing half-written is left\n",
    )
