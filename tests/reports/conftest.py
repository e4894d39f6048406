"""Altair checks each part of a chart, which takes a fifth of a page's time: test_charts.py alone lets it."""

from collections.abc import Iterator

import pytest
from altair.utils import schemapi


@pytest.fixture(scope="session", autouse=True)
def _checked_once() -> Iterator[None]:
    with schemapi.debug_mode(False):
        yield
