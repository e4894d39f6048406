"""What Concord says when it refuses."""

from collections.abc import Callable

import pytest

from concord.metrics_core.errors import InputError


def refusal_of(action: Callable[[], object]) -> str:
    """Return the message with which Concord refuses the action."""
    with pytest.raises(InputError) as refused:
        action()
    return str(refused.value)
