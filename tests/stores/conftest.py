from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.server import GoogleStore, Store, environment, google_store, store


@pytest.fixture(scope="session")
def server() -> Iterator[Store]:
    with store() as started:
        yield started


@pytest.fixture
def s3(server: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """The store, in the environment of this process, which is in an empty folder."""
    for name, value in environment(server.port).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return server


@pytest.fixture(scope="session")
def google_server() -> Iterator[GoogleStore]:
    pytest.importorskip("gcp_storage_emulator")
    with google_store() as started:
        yield started


@pytest.fixture
def gs(google_server: GoogleStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> GoogleStore:
    """A server that speaks as Google's store does, in the environment of this process."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://{google_server.host}")
    monkeypatch.chdir(tmp_path)
    return google_server
