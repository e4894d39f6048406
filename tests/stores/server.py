"""Real object stores as processes, and a connection to one that can be cut."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3

KEY, SECRET = "AKIAOFTHETEST", "ASecretThatNobodyMayRead"
BUCKET = "lists-of-models"
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Store:
    """An S3 server that listens on a port of this machine."""

    port: int
    process: subprocess.Popen[bytes]
    bucket: str = BUCKET

    @property
    def client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=f"http://{HOST}:{self.port}",
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )

    def put(self, source: Path, name: str) -> str:
        """Upload a file or folder under a name and return its address."""
        files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
        for file in files:
            inside = "" if file == source else f"/{file.relative_to(source).as_posix()}"
            self.client.put_object(
                Bucket=self.bucket, Key=f"{name}{inside}", Body=file.read_bytes()
            )
        return f"s3://{self.bucket}/{name}"


def environment(port: int) -> dict[str, str]:
    """Return the environment of a user of the store at a port."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": f"http://{HOST}:{port}",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def store(**changes: str) -> Iterator[Store]:
    """Start a server with a bucket; `changes` are environment variables."""
    with served([sys.executable, "-m", "moto.server", "-H", HOST, "-p"], **changes) as file:
        started = Store(*file)
        started.client.create_bucket(Bucket=BUCKET)
        yield started


@contextmanager
def served(command: list[str], **changes: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Start a server with a free port as its last argument; `changes` are environment variables."""
    port = _free_port()
    process = subprocess.Popen(
        [*command, str(port)],
        env={**os.environ, **changes},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _free_port() -> int:
    with socket.socket() as file:
        file.bind((HOST, 0))
        return int(file.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection((HOST, port), 1):
            return
        time.sleep(0.05)
    msg = "the object store did not start"
    raise AssertionError(msg)


@dataclass
class Line:
    """A connection to a store that passes a number of bytes, then is cut or silent.

    cuts : how many connections it cuts before it holds again
    """

    to: int
    lets: int
    silent: bool = False
    cuts: int = sys.maxsize
    passed: int = 0
    was_cut: int = 0
    _listening: socket.socket = field(default_factory=socket.socket)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: list[socket.socket] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def __enter__(self) -> "Line":
        self._listening.bind((HOST, 0))
        self._listening.listen()
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listening, *self._open):
            _shut(each)
        for thread in self._threads:
            thread.join()
        for each in (self._listening, *self._open):
            each.close()

    def repair(self) -> None:
        self.cuts = 0

    def _start(self, run: Callable[..., None], *arguments: Any) -> None:
        self._threads.append(threading.Thread(target=run, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                reader, _ = self._listening.accept()
                remote = socket.create_connection((HOST, self.to))
                self._open += [reader, remote]
                self._start(self._carry, reader, remote, False)
                self._start(self._carry, remote, reader, True)

    def _carry(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with suppress(OSError):
            while block := source.recv(1 << 14):
                if counts and self._is_cut(len(block)):
                    if self.silent:
                        return
                    break
                target.sendall(block)
        _shut(source)
        _shut(target)

    def _is_cut(self, size: int) -> bool:
        with self._lock:
            self.passed += size
            if self.passed <= self.lets or self.was_cut >= self.cuts:
                return False
            self.was_cut += 1
            return True


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class GoogleStore:
    """A server that listens on a port of this machine."""

    port: int

    @property
    def host(self) -> str:
        return f"{HOST}:{self.port}"

    def put(self, source: Path, name: str) -> str:
        """Upload a file or folder under a name and return its address."""
        files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
        for file in (each for each in files if each.stat().st_size):  # it cannot take empty ones
            inside = "" if file == source else f"/{file.relative_to(source).as_posix()}"
            query = urllib.parse.urlencode({"uploadType": "media", "name": f"{name}{inside}"})
            where = f"upload/storage/v1/b/{BUCKET}/o?{query}"
            self._post(where, file.read_bytes(), "application/octet-stream")
        return f"gs://{BUCKET}/{name}"

    def make_bucket(self) -> None:
        content = json.dumps({"name": BUCKET}).encode()
        self._post("storage/v1/b?project=test", content, "application/json")

    def _post(self, path: str, content: bytes, form: str) -> None:
        request = urllib.request.Request(
            f"http://{self.host}/{path}", content, {"Content-Type": form}
        )
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200


@contextmanager
def google_store() -> Iterator[GoogleStore]:
    """Start a server with a bucket."""
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory"]
    with served([*command, f"--host={HOST}", "--port"]) as (port, _):
        started = GoogleStore(port)
        started.make_bucket()
        yield started
