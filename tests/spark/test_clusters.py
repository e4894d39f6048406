"""Real processes: Spark Connect, and clusters that lose a worker or an executor half-way."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.evaluation.executors import execute_by_ranges
from tests.project import ROOT
from tests.spark import engine_on_a_cluster
from tests.spark.on_a_cluster import METRICS
from tests.spark.tables import Tables, tables

pytestmark = pytest.mark.nightly

LIGHT = [
    "spark.ui.enabled=false",
    "spark.ui.showConsoleProgress=false",
    "spark.sql.shuffle.partitions=4",
]
WAIT = 120  # seconds


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    actual = tables()
    (tmp_path / "recs").mkdir()
    for number in range(8):
        part = actual.recs.filter(actual.recs["user"] % 8 == number)
        part.write_parquet(tmp_path / "recs" / f"part-{number}.parquet")
    actual.truth.write_parquet(tmp_path / "truth.parquet")
    actual.items.write_parquet(tmp_path / "items.parquet")
    return tmp_path


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}


def _script(folder: Path, how: str, target: str, *options: str) -> list[str]:
    script = str(ROOT / "tests" / "spark" / "on_a_cluster.py")
    return [sys.executable, script, str(folder), how, target, *LIGHT, *options]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a script that has to succeed."""
    done = subprocess.run(
        command, env=_environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def _assert_as_on_one_machine(folder: Path, inputs: Tables) -> None:
    content: dict[str, Any] = json.loads((folder / "found.json").read_text())
    how: dict[str, Any] = {"metrics": METRICS, "conventions": "standard", "items": inputs.items}
    expected = cc.evaluate(inputs.recs, inputs.truth, **how)
    rows = [
        [v.hex() if isinstance(v, float) else v for v in row] for row in expected.per_user.rows()
    ]
    assert content["per_user"] == sorted(rows)
    assert content["summary"] == repr(expected.to_frame().rows())


def test_spark_connect(folder: Path) -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("grpc")
    _run(_script(folder, "remote", "local[2]"))

    _assert_as_on_one_machine(folder, tables())


@contextmanager
def _daemon(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    pyspark = pytest.importorskip("pyspark")
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(spark_class), *command],
            stdout=file,
            stderr=file,
            env=_environment(),
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _wait_for(log: Path, pattern: str) -> re.Match[str]:
    """Wait for a pattern in a log and return the match."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        if result := re.search(pattern, log.read_text(errors="replace")):
            return result
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


def test_a_worker_is_killed_half_way(folder: Path) -> None:
    deploy = "org.apache.spark.deploy"
    logs = [folder / f"{name}.log" for name in ("master", "one", "two")]
    host = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    with _daemon(logs[0], f"{deploy}.master.Master", *host):
        url = _wait_for(logs[0], r"spark://127\.0\.0\.1:\d+")[0]
        worker = [
            f"{deploy}.worker.Worker",
            *host,
            "-c",
            "1",
            "-m",
            "1g",
            "-d",
            str(folder / "work"),
            url,
        ]
        with _daemon(logs[1], *worker), _daemon(logs[2], *worker) as second:
            for log in logs[1:]:
                _wait_for(log, "Successfully registered with master")
            options = ["spark.executor.memory=600m", "spark.driver.host=127.0.0.1"]
            message = folder / "driver.log"
            with message.open("wb") as output:
                driver = subprocess.Popen(
                    _script(folder, "master", url, *options),
                    env=_environment(),
                    stdout=output,
                    stderr=output,
                )
                try:
                    executor = _busy_executor(logs[2])
                    second.kill()
                    os.kill(executor, signal.SIGKILL)
                    code = driver.wait(300)
                finally:
                    driver.kill()
    assert code == 0, message.read_text(errors="replace")[-3000:]
    assert re.search("Lost executor|Lost worker|Worker .*lost", message.read_text(errors="replace"))
    _assert_as_on_one_machine(folder, tables())


def test_an_executor_of_the_engine_is_killed_half_way(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    actual = tables()
    ranks = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("user")
    ranked = actual.recs.sort("user", "score", "item").with_columns(rank=ranks)
    ranked.write_parquet(tmp_path / "lists.parquet", row_group_size=25)
    actual.truth.sort("user", "item").write_parquet(tmp_path / "truth.parquet")
    script = str(ROOT / "tests/spark/engine_on_a_cluster.py")
    done = _run([sys.executable, script, str(tmp_path), *LIGHT])

    assert "killed" in done.stdout
    assert re.search("Lost executor|ExecutorLostFailure|killed by", done.stderr), done.stderr[
        -3000:
    ]
    parts = execute_by_ranges(
        *engine_on_a_cluster.inputs(tmp_path), engine_on_a_cluster.task(), 10**6
    )
    expected = pl.concat([part.values for part in parts])
    assert pl.read_parquet(tmp_path / "found.parquet").equals(expected, null_equal=True)


def _busy_executor(log: Path) -> int:
    """Return the process id of a worker's executor once it runs tasks."""
    message = _wait_for(log, r"Asked to launch executor (app-\S+?)/(\d+)")
    stderr = log.parent / "work" / message[1] / message[2] / "stderr"
    until = time.monotonic() + WAIT
    while not stderr.exists() and time.monotonic() < until:
        time.sleep(0.2)
    _wait_for(stderr, r"Running task \d+\.\d+ in stage [4-9]")  # rows were counted before
    return int(
        _wait_for(stderr, r"pid: (\d+)|Started daemon with process name: (\d+)@")[0]
        .split("@")[0]
        .split()[-1]
    )
