"""Ctrl-C, SIGTERM, and a second one who wants to run the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.breaking import broken, wait_for
from tests.faults.tiny import LOAD, STAGES, digests, leftovers, repro, stage, start
from tests.project import ROOT

pytestmark = pytest.mark.whole

RENAME = r"os\.rename \S*.*popularity\.parquet"
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
LONG_QUERY = """
import sys; sys.argv = ["-m"]
from concord.pipeline.running.stage import leave
import duckdb
query = "SELECT sum(sin(a.range * b.range)) FROM range(1000000) a, range(1000000) b"
print("begun", flush=True)
leave(lambda: duckdb.sql(query).fetchall())
"""


@pytest.mark.fault(4, "Ctrl-C ends a stage with 130, SIGTERM with 143, temporary files removed")
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_stage_that_is_told_to_stop_tidies_up(
    project: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    mark = tmp_path / "mark"
    running = start(project, "concord", "stage", *LOAD, **broken(1, RENAME, "pause", mark))
    wait_for(mark)
    during = leftovers(project)
    running.send_signal(number)
    _, said = running.communicate(timeout=30)

    assert len(during) == 1
    assert running.returncode == code
    assert said == (f"load popularity: stopped by {number.name}; nothing half-written is left\n")
    assert leftovers(project) == []


@pytest.mark.fault(4, "a signal while Python is still importing ends the stage with the same code")
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_during_the_imports_ends_it_silently(
    project: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    mark = tmp_path / "mark"
    paused = broken(1, r"^import pydantic", "pause", mark)
    running = start(project, "concord", "stage", *LOAD, **paused)
    wait_for(mark)
    running.send_signal(number)
    _, said = running.communicate(timeout=30)

    assert (running.returncode, said) == (code, "")


@pytest.mark.fault(4, "a long query is interrupted")
def test_a_long_query_is_interrupted() -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", LONG_QUERY],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "begun\n"
    time.sleep(0.5)
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=30)

    assert running.returncode == 143, said
    assert "Traceback" not in said


@pytest.mark.fault(4, "after Ctrl-C in `dvc repro` the next one mends")
def test_repro_after_ctrl_c_mends(project: Path, expected: dict[str, str], tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    paused = broken(1, RENAME, "pause", mark)
    running = start(project, "dvc", "repro", "-f", "-s", "load@popularity", **paused)
    wait_for(mark)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    repro(project, *STAGES)

    assert running.returncode != 0
    assert "stopped by SIGINT" in said
    assert digests(project) == expected


@pytest.mark.fault(5, "a second `dvc repro`, or a second stage beside it, is refused in words")
def test_a_second_one_is_refused(project: Path, expected: dict[str, str], tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    paused = broken(1, RENAME, "pause", mark)
    first = start(project, "dvc", "repro", "-f", "-s", "load@popularity", **paused)
    wait_for(mark)
    second = start(project, "dvc", "repro", *STAGES)
    beside = stage(project, *LOAD)
    _, said = second.communicate(timeout=60)
    mark.unlink()
    _, first_said = first.communicate(timeout=60)
    writer = first.pid

    assert second.returncode != 0
    assert str(writer) in said
    assert beside.returncode == 2
    assert "stage 'load popularity': is being run by process" in beside.stderr
    assert "fix: wait until it has ended" in beside.stderr
    assert first.returncode == 0, first_said
    assert digests(project) == expected
