"""Recognise JSON by query, {query: {document: number}} or {query: [document, …]}, by its start."""

import json
import re
from pathlib import Path

from concord.metrics_core.data.paths import parse_path
from concord.metrics_core.errors import InputError

_BYTES = 1 << 16
_TEXT = r'"(?:[^"\\]|\\.)*"'
# A query, and the start of its documents.
_QUERY = re.compile(rf'({_TEXT})\s*:\s*(?:\{{\s*(?:\}}|{_TEXT}\s*:\s*-?[0-9])|\[\s*(?:\]|"))')
_START = re.compile(rf'\s*\{{\s*(?:"mteb_model_meta"|{_QUERY.pattern})')


def first_queries(path: Path) -> set[str]:
    """Return the first queries of JSON by query, as in predictions of MTEB; none of other JSON."""
    from concord.metrics_core.data.text_files import open_unpacked

    try:
        with open_unpacked(parse_path(str(path))) as file:
            start = file.read(_BYTES).decode("utf-8-sig", errors="replace")
        return {*map(json.loads, _QUERY.findall(start))} if _START.match(start) else set()
    except (OSError, ValueError, InputError):
        return set()
