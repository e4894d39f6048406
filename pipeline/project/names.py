"""What models are called: the words of their paths in which they differ."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from pathlib import Path

from concord.pipeline.params.checks import is_model_name
from concord.pipeline.project.recognised import role_said
from concord.pipeline.project.taken_for import Table

_LONGEST = 90  # characters, so that a number fits behind


def named(lists: Sequence[Table], folder: Path) -> dict[str, Table]:
    """Lists by names that params.yaml takes, no two of which differ in capitals alone."""
    words = {table.path: _words(table.path.relative_to(folder)) for table in lists}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set()
    found: dict[str, Table] = {}
    for table in sorted(lists, key=lambda table: str(table.path)):
        own, stem = _but(words[table.path], shared), _words(Path(table.path.name))
        mark = "_" if "_" in table.path.name else "-"
        short, long = mark.join(_but(stem, shared) or own or stem), mark.join(own)
        taken = {name.lower() for name in found}
        free = (name for name in _names(short, long) if name.lower() not in taken)
        found[next(filter(is_model_name, free))] = table
    return found


def _names(short: str, long: str) -> Iterator[str]:
    base = (short or long or "model")[:_LONGEST]
    yield base
    yield long
    yield from (f"{base}_{number}" for number in count(2))


def _words(path: Path) -> list[str]:
    """Of a path, without its endings and without accents."""
    parts = [*path.parts[:-1], path.name.partition(".")[0]]
    plain = [unicodedata.normalize("NFKD", p).encode("ascii", "ignore").decode() for p in parts]
    return [word for part in plain for word in re.split(r"[^A-Za-z0-9]+", part) if word]


def _but(words: Sequence[str], shared: AbstractSet[str]) -> list[str]:
    return [word for word in words if word not in shared and not role_said(word, ("lists",))]
