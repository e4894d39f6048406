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
    """Return the store, set in this process's environment; the current folder is empty."""
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
    """Return a server with the API of Google's store, set in this process's environment."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://{google_server.host}")
    monkeypatch.chdir(tmp_path)
    return google_server
