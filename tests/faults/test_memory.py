"""Memory that runs out: an exception in words, or a process that is gone and explained later."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.breaking import broken
from tests.faults.tiny import LOAD, digests, leftovers, stage
from tests.project import ROOT, attempt

pytestmark = pytest.mark.whole

TOO_MUCH = """
import sys; sys.argv = ["-m"]
from concord.pipeline.running.stage import leave
leave(lambda: {})
"""
WAYS = {
    "python": "bytearray(1 << 60)",
    "numpy": "__import__('numpy').empty(1 << 50)",
    "arrow": "__import__('pyarrow').allocate_buffer(1 << 60)",
    "duckdb": "__import__('duckdb').connect(config={'memory_limit': '1MB', 'temp_directory': ''})"
    ".execute('SELECT list(range) FROM range(10000000)').fetchall()",
}


@pytest.mark.fault(15, "memory that runs out is one line with what to lower")
@pytest.mark.parametrize("way", WAYS)
def test_memory_that_runs_out_is_one_line(way: str) -> None:
    script = TOO_MUCH.format(WAYS[way])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.startswith("out of memory: ")
    assert "evaluation.rows_per_partition" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.fault(
    15, "under any limit of memory outputs are whole or absent, and the next run mends"
)
@pytest.mark.parametrize("megabytes", [1500, 2000, 2500])
def test_any_limit_of_memory_leaves_whole_outputs(
    project: Path, expected: dict[str, str], megabytes: int
) -> None:
    limit = f"--as={megabytes}000000"
    attempt(project, "prlimit", limit, "concord", "stage", *LOAD)
    found = digests(project)
    stage(project, *LOAD)

    assert found.items() <= expected.items()
    assert digests(project) == expected
    assert leftovers(project) == []


@pytest.mark.fault(15, "a process that was killed is explained at the next start, once")
def test_a_killed_process_is_explained_once(project: Path) -> None:
    killed = stage(project, *LOAD, **broken(1, r"os\.rename .*popularity\.parquet", "die"))
    second, third = stage(project, *LOAD), stage(project, *LOAD)

    assert killed.returncode == -signal.SIGKILL
    assert "was killed before it ended, by somebody or by Linux" in second.stderr
    assert "memory runs out (see `dmesg`)" in second.stderr
    assert third.stderr.count("\n") == 1


@pytest.mark.fault(15, "a limit of addresses that no library starts in is refused in words")
@pytest.mark.parametrize("megabytes", [150, 400, 1000, 1999])
@pytest.mark.parametrize("command", ["concord stage load nobody", "concord validate"])
def test_a_small_limit_of_addresses_is_refused_in_words(megabytes: int, command: str) -> None:
    done = attempt(ROOT, "prlimit", f"--as={megabytes}000000", *command.split())

    assert done.returncode == 1
    assert done.stderr.startswith(f"limit of addresses (ulimit -v): is {megabytes * 10**6:,} bytes")
    assert done.stderr.count("\n") == 2
    assert "fix: raise it to 2,000,000,000 at least" in done.stderr
