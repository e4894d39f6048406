"""Addresses as they may be shown: without user, password and query, whatever message they stand in."""

import re

# A password may hold `/` (SQLAlchemy takes it as it is); digits after the colon are a port.
_USER = re.compile(r"//(?:[^/\s'\"<>]*|[^/@\s'\"<>]*:(?!\d+/)[^\s'\"<>]*)@")
_QUERY = re.compile(r"(//[^\s'\"<>?#]*)[?#][^\s'\"<>]*")


def without_credentials(text: str) -> str:
    """The text with `user:password@`, `?query` and `#fragment` taken out of every address."""
    return _QUERY.sub(r"\1", _USER.sub("//", text))
