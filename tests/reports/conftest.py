"""Charts are checked once, whole: Altair checks each part as it is made, too, which takes a fifth of a page's time."""

from collections.abc import Iterator

import pytest
from altair.utils import schemapi


@pytest.fixture(scope="session", autouse=True)
def _checked_once() -> Iterator[None]:
    with schemapi.debug_mode(False):
        yield
