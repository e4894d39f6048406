"""Narrow an optional value to the value that a test needs."""

from typing import TypeVar

T = TypeVar("T")


def defined(value: T | None) -> T:
    """Return the value, which must not be None."""
    assert value is not None
    return value
