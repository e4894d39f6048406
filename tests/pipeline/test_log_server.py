"""The `log` stage against servers on this machine: a real one, dead ones and ones that refuse."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest
from mlflow import MlflowClient

from pipeline.log import experiment_id, log, log_run
from pipeline.tracking.run_content import contents
from pipeline.tracking.store import TrackingError
from tests.pipeline.log_project import free_port, params_of, start_log, write_project
from tests.pipeline.stores import client_interrupted_at, points, runs_of


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A real tracking server; yields its address."""
    address = f"127.0.0.1:{free_port()}"
    host, port = address.split(":")
    folder = tmp_path / "server"
    folder.mkdir()
    stores = ["--backend-store-uri", "sqlite:///srv.db", "--artifacts-destination", "./artifacts"]
    options = ["--workers", "1", *stores]
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", "--host", host, "--port", port, *options],
        cwd=folder,
        env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(f"http://{address}/health", seconds=90)
        yield f"http://{address}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(address: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(address, timeout=1):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def test_a_server_takes_the_same_runs_once_and_completes_what_was_interrupted(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    params = params_of(write_project(tmp_path, uri=server))
    interrupted = client_interrupted_at("log_inputs", server)
    with pytest.raises(KeyboardInterrupt):
        log_run(interrupted, experiment_id(interrupted, "demo", None), contents(params)[1], {})
    for _ in range(2):
        log(params)
    client = MlflowClient(tracking_uri=server)
    (als,) = runs_of(client)["als"]

    assert capsys.readouterr().out.endswith(f"to look: {server}\n")
    assert als.info.status == "FINISHED"
    assert points(client, als, "accuracy/ndcg_at_10") == [(0, 0.40)]
    assert points(client, als, "by_k/ndcg") == [(5, 0.36), (10, 0.40)]
    assert als.info.artifact_uri.startswith("mlflow-artifacts:")
    assert [file.path for file in client.list_artifacts(als.info.run_id, "metrics")] == [
        "metrics/als.json"
    ]


@pytest.mark.fault(8, "a dead server ends the stage within seconds; results are on disk")
def test_a_dead_server_ends_the_stage_within_seconds_with_one_line(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    project = write_project(tmp_path, uri=f"http://ann:s3cret@{address}")
    started = time.monotonic()
    stage = start_log(project)
    stdout, stderr = stage.communicate(timeout=30)

    assert stage.returncode == 1
    assert time.monotonic() - started < 10
    assert stdout == ""
    assert stderr.count("\n") == 1
    assert f"MLflow at http://{address}: [Errno 111] Connection refused" in stderr
    assert "s3cret" not in stderr
    assert not (project / "results/mlflow/receipt.json").exists()


@contextmanager
def _server_that_answers(status: int) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET  # noqa: N815  http.server names them so

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.fault(11, "a refusal names the address without its password, and what to set")
@pytest.mark.parametrize("status", [401, 403, 404, 200])
def test_a_server_that_refuses_is_named_with_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with _server_that_answers(status) as address:
        params = params_of(write_project(tmp_path, uri=f"http://ann:s3cret@{address}"))
        with pytest.raises(TrackingError) as refused:
            log(params)

    message = str(refused.value)
    assert message.startswith(f"MLflow at http://{address}: ")
    assert "MLFLOW_TRACKING_TOKEN" in message
    assert "s3cret" not in message
    assert "\n" not in message
