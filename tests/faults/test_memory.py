"""Out of memory: one message, and outputs are whole or absent."""

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from concord.pipeline.running.stage import run_and_exit
from tests.faults.small import LOAD, digests, parts, run_in_process, run_stage
from tests.project import attempt


def _too_much_for_duckdb() -> object:
    with duckdb.connect(config={"memory_limit": "1MB", "temp_directory": ""}) as connection:
        return connection.execute("SELECT list(range) FROM range(10000000)").fetchall()


WAYS: dict[str, Callable[[], object]] = {
    "python": lambda: bytearray(1 << 60),
    "numpy": lambda: np.empty(1 << 50),
    "arrow": lambda: pa.allocate_buffer(1 << 60),
    "duckdb": _too_much_for_duckdb,
}


@pytest.mark.fault(15, "one line with the setting to lower")
@pytest.mark.parametrize("way", WAYS)
def test_memory_that_runs_out_is_one_line(way: str) -> None:
    ended = run_in_process(lambda: run_and_exit(WAYS[way]), "load")

    assert ended.code == 1
    assert ended.err.startswith("out of memory: ")
    assert "evaluation.rows_per_partition" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.nightly
@pytest.mark.fault(15, "outputs are complete or absent under any limit; the next run completes")
@pytest.mark.parametrize("megabytes", [1500, 2000, 2500])
def test_any_limit_of_memory_leaves_whole_outputs(
    project: Path, expected: dict[str, str], megabytes: int
) -> None:
    limit = f"--as={megabytes}000000"
    attempt(project, "prlimit", limit, "concord", "stage", *LOAD, TMPDIR=os.fspath(project.parent))
    hashes = digests(project)
    again = run_stage(*LOAD)

    assert hashes.items() <= expected.items()
    assert again.code == 0
    assert digests(project) == expected
    assert parts(project) == []
