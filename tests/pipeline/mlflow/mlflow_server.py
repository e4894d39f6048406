"""A tracking server on this machine, and a faulty proxy in front of it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.request import urlopen

from tests.pipeline.mlflow.log_project import free_port

LOGIN_PAGE = b"<!doctype html><title>Log in</title><form>user, password</form>"
BATCH = "/runs/log-batch"


@contextmanager
def mlflow_server(
    folder: Path, *options: str, python: str = sys.executable, **variables: str
) -> Iterator[str]:
    """Yield host and port of the MLflow that a Python has."""
    address = f"127.0.0.1:{free_port()}"
    host, port = address.split(":")
    folder.mkdir(parents=True, exist_ok=True)
    stores = ["--backend-store-uri", "sqlite:///srv.db", "--artifacts-destination", "./artifacts"]
    where = ["--host", host, "--port", port, "--workers", "1"]
    process = subprocess.Popen(
        [python, "-m", "mlflow", "server", *where, *stores, *options],
        cwd=folder,
        env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(f"http://{address}/health", seconds=120)
        yield address
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


@dataclass(frozen=True)
class Fault:
    """Fault of requests whose path contains `path`, after `n_before` of them, for `n_requests`.

    `status` is answered with `body`; `cut` closes the connection without an answer, if
    `after_processing` once the server has processed the request; `delay` is in seconds.
    """

    path: str = "/"
    n_before: int = 0
    n_requests: int = 1_000_000
    status: int | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    after_processing: bool = False
    delay: float = 0


@dataclass
class FaultyProxy:
    """Proxy of the server at `upstream`."""

    upstream: str
    fault: Fault | None = None
    address: str = ""
    n_requests: int = 0  # whose path the fault names
    holding: Event = field(default_factory=Event)
    released: Event = field(default_factory=Event)

    def set_fault(self, fault: Fault | None) -> None:
        """Set the fault of further requests; None for no fault."""
        self.fault, self.n_requests = fault, 0
        self.holding.clear()
        self.released.clear()

    @contextmanager
    def running(self) -> Iterator["FaultyProxy"]:
        with ThreadingHTTPServer(("127.0.0.1", 0), _handler(self)) as server:
            server.daemon_threads = True
            self.address = f"127.0.0.1:{server.server_port}"
            Thread(target=server.serve_forever, daemon=True).start()
            yield self
            self.released.set()
            server.shutdown()

    def fault_for(self, path: str) -> Fault | None:
        fault = self.fault
        if fault is None or fault.path not in path:
            return None
        self.n_requests += 1
        return fault if 0 < self.n_requests - fault.n_before <= fault.n_requests else None


def _handler(proxy: FaultyProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _forward(self) -> None:
            requested = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = proxy.fault_for(self.path)
            if fault and fault.delay:
                proxy.holding.set()
                proxy.released.wait(fault.delay)
            if fault and fault.cut:
                if fault.after_processing:
                    self._upstream(requested)
                self.close_connection = True
            elif fault and fault.status:
                self._answer(fault.status, fault.headers, fault.body)
            else:
                self._answer(*self._upstream(requested))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _forward  # noqa: N815 - names of http.server

        def _upstream(self, requested: bytes) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
            connection = HTTPConnection(proxy.upstream, timeout=60)
            headers = {k: v for k, v in self.headers.items() if k.lower() != "host"}
            connection.request(self.command, self.path, requested or None, headers)
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            kind = answer.getheader("Content-Type") or "text/plain"
            return answer.status, (("Content-Type", kind),), body

        def _answer(self, status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> None:
            try:
                self.send_response(status)
                for name, value in (*headers, ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the client has closed the connection
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
