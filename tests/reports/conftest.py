"""Turn off Altair's slow check of charts against its schema; test_charts.py turns it on."""

from collections.abc import Iterator

import pytest
from altair.utils import schemapi


@pytest.fixture(scope="session", autouse=True)
def _without_schema_check() -> Iterator[None]:
    with schemapi.debug_mode(False):
        yield
