"""By what a table is known: the hash of its content, or the etag that a store gives it."""

from collections.abc import Mapping
from typing import Any

WHOLE = ""  # in the place of a fold: one truth for all lists


def known_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """By what a table is known, of all that was found in it."""
    return {
        key: found[key]
        for key in ("path", "sha256", "md5", "etag")
        if key in found or key != "etag"
    }


def mark_of(known: Mapping[str, Any]) -> str | None:
    """The hash, or else the etag, that another content would not have; None of a table in memory."""
    return known.get("sha256") or known.get("etag")


def told_mark(known: Mapping[str, Any], characters: int) -> str:
    """`sha256 0123456789ab…`"""
    name = "sha256" if known.get("sha256") else "etag"
    return f"{name} {(mark_of(known) or '')[:characters]}…"
