"""A real tracking server on this machine, and a real proxy in front of it that can make trouble."""

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
def mlflow_server(folder: Path, *options: str, **variables: str) -> Iterator[str]:
    """Yields host and port."""
    address = f"127.0.0.1:{free_port()}"
    host, port = address.split(":")
    folder.mkdir(parents=True, exist_ok=True)
    stores = ["--backend-store-uri", "sqlite:///srv.db", "--artifacts-destination", "./artifacts"]
    where = ["--host", host, "--port", port, "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", *where, *stores, *options],
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
    """What becomes of requests whose path holds `on`; the first `passing` go through, and all after `times` more.

    `status` is answered with `body`; `cut` closes the connection without an answer, after the server has done what
    it was asked if `after_the_deed`; `hold` waits so many seconds first.
    """

    on: str = "/"
    passing: int = 0
    times: int = 1_000_000
    status: int | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    after_the_deed: bool = False
    hold: float = 0


@dataclass
class FaultyProxy:
    """Stands before the server at `upstream` while the block runs."""

    upstream: str
    fault: Fault | None = None
    address: str = ""
    seen: int = 0  # requests that the fault concerns
    holding: Event = field(default_factory=Event)
    let_go: Event = field(default_factory=Event)

    def breaks(self, fault: Fault | None) -> None:
        """From now on; None mends it."""
        self.fault, self.seen = fault, 0
        self.holding.clear()
        self.let_go.clear()

    @contextmanager
    def running(self) -> Iterator["FaultyProxy"]:
        with ThreadingHTTPServer(("127.0.0.1", 0), _handler(self)) as server:
            server.daemon_threads = True
            self.address = f"127.0.0.1:{server.server_port}"
            Thread(target=server.serve_forever, daemon=True).start()
            yield self
            self.let_go.set()
            server.shutdown()

    def fault_for(self, path: str) -> Fault | None:
        fault = self.fault
        if fault is None or fault.on not in path:
            return None
        self.seen += 1
        return fault if 0 < self.seen - fault.passing <= fault.times else None


def _handler(proxy: FaultyProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            requested = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = proxy.fault_for(self.path)
            if fault and fault.hold:
                proxy.holding.set()
                proxy.let_go.wait(fault.hold)
            if fault and fault.cut:
                if fault.after_the_deed:
                    self._upstream(requested)
                self.close_connection = True
            elif fault and fault.status:
                self._answer(fault.status, fault.headers, fault.body)
            else:
                self._answer(*self._upstream(requested))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815  http.server names them so

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
            except OSError:  # the client has had enough
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
