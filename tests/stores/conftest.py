from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.server import Store, environment, store


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
