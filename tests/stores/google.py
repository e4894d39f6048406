"""A server that speaks as Google's store does, as a process of its own."""

import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.stores.server import BUCKET, HOST, served


@dataclass(frozen=True)
class GoogleStore:
    """It listens on a port of this machine."""

    port: int

    @property
    def host(self) -> str:
        return f"{HOST}:{self.port}"

    def put(self, source: Path, name: str) -> str:
        """A file, or a folder with all in it, under a name; its address."""
        files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
        for file in files:
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
    """A server with a bucket."""
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--in-memory"]
    with served([*command, f"--host={HOST}", "--port"]) as (port, _):
        started = GoogleStore(port)
        started.make_bucket()
        yield started
