"""The file in which a training stage leaves the id of its MLflow run, beside the lists that it makes."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from concord.pipeline.project.taken_for import Table

_ID = re.compile(r"[0-9a-f]{32}")
_KEYS = {"runid", "mlflowrunid", "runuuid"}  # without anything but letters
_MOST_BYTES, _MOST_FILES = 100_000, 100
Place = tuple[Path, str | None]  # the file, and the key of its JSON


def training_run(table: Table, outs: Mapping[Path, str]) -> Place | None:
    """Where the run's id stands, if it is in exactly one of the outs of the stage that makes the lists."""
    made = [path for path, stage in outs.items() if stage and stage == table.made_by]
    files = [file for path in made for file in _files(path) if file != table.path]
    found = [place for file in sorted(files) for place in _places(file)]
    return found[0] if len(found) == 1 else None


def _files(path: Path) -> list[Path]:
    """An out, or what lies in it; of many files none is one of its kind."""
    files = [path] if path.is_file() else list(islice(path.glob("*"), _MOST_FILES + 1))
    return files if len(files) <= _MOST_FILES else []


def _places(file: Path) -> Iterator[Place]:
    if not file.is_file() or file.stat().st_size > _MOST_BYTES:
        return
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text) if file.suffix == ".json" else text.strip()
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(content, str) and file.suffix != ".json" and _ID.fullmatch(content):
        yield file, None
    yield from ((file, key) for key in _keys(content) if file.suffix == ".json")


def _keys(content: Any, above: str = "") -> Iterator[str]:
    """Keys that hold an id, those of inner mappings with dots."""
    for key, value in content.items() if isinstance(content, dict) else ():
        plain = re.sub(r"[^a-z]", "", str(key).casefold())
        if plain in _KEYS and isinstance(value, str) and _ID.fullmatch(value):
            yield f"{above}{key}"
        elif not above:
            yield from _keys(value, f"{key}.")
