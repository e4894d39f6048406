"""The MLflow runs that trained the models: files with their ids beside the lists, and the store that holds them."""

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from concord.pipeline.params.repository import repository
from concord.pipeline.project.taken_for import Table

_ID = re.compile(r"[0-9a-f]{32}")
_KEYS = {"runid", "mlflowrunid", "runuuid"}  # without anything but letters
_MOST_BYTES, _MOST_FILES = 100_000, 100
_USUAL = ("sqlite:///mlflow.db", "file:mlruns")  # where MLflow keeps runs if nothing is said


class Place(NamedTuple):
    """Where the id of a run stands: the file, and the key of its JSON."""

    file: Path
    key: str | None
    run_id: str

    @property
    def says_run(self) -> bool:
        """Is it called so? Other texts look like an id too: an MD5 sum does."""
        return "run" in f"{self.file.name} {self.key}".casefold()


class Store(NamedTuple):
    """An address, as params.yaml names it, and the database or folder; none for a server, which is believed."""

    uri: str
    path: Path | None

    def holds(self, place: Place) -> bool:
        if self.path is None:
            return place.says_run
        if self.path.is_dir():
            return _in_files(self.path, place.run_id)
        return self.path.is_file() and _in_database(self.path, place.run_id)


class Training(NamedTuple):
    """The store, the run of each model that it holds, and files of models whose runs it does not hold."""

    uri: str
    runs: dict[str, Place]
    unknown: dict[str, Place]


def training(
    models: Mapping[str, Table], outs: Mapping[Path, str], folders: Sequence[Path], project: Path
) -> Training:
    """Of the stores in `folders`, that which holds the runs of most models; else the first that is there."""
    places = {name: _places_of(table, outs) for name, table in models.items()}
    stores = [*_stores(folders, project), Store(_USUAL[0], project / "mlflow.db")]
    by_store = [(store.uri, _held(places, store)) for store in stores]
    uri, held = max(by_store, key=lambda pair: sum(len(some) == 1 for some in pair[1].values()))
    runs = {name: some[0] for name, some in held.items() if len(some) == 1}
    called = {name: [each for each in some if each.says_run] for name, some in places.items()}
    unknown = {name: some[0] for name, some in called.items() if some and not held[name]}
    return Training(uri, runs, unknown)


def _held(places: Mapping[str, Sequence[Place]], store: Store) -> dict[str, list[Place]]:
    """By model, the places beside its lists with ids of runs in the store, one for each run."""
    held = {name: filter(store.holds, reversed(some)) for name, some in places.items()}
    return {name: [*{each.run_id: each for each in some}.values()] for name, some in held.items()}


def _stores(folders: Sequence[Path], project: Path) -> Iterator[Store]:
    """That of the environment, then the usual ones of each folder from which training may run."""
    named = os.environ.get("MLFLOW_TRACKING_URI", "")
    if named.startswith(("http://", "https://")) and "@" not in named:
        yield Store(named, None)
    for address in (named, *_USUAL):
        scheme, _, path = address.partition(":")
        if scheme in ("sqlite", "file"):
            below = unquote(re.sub("^///" if scheme == "sqlite" else "^//(?=/)", "", path))
            there = (Path(os.path.normpath(folder / below)) for folder in folders)
            yield from (Store(_address(scheme, at, project), at) for at in there if at.exists())


def _address(scheme: str, path: Path, project: Path) -> str:
    """As seen from params.yaml; what lies outside the repository has the same address everywhere in it."""
    inside = path.is_relative_to(repository(project))
    shown = os.path.relpath(path, project) if inside else str(path)
    quoted = shown.replace("%", "%25").replace("?", "%3F")
    return f"{scheme}:{'///' if scheme == 'sqlite' else ''}{quoted}"


def _in_database(database: Path, run_id: str) -> bool:
    asked = "SELECT 1 FROM runs WHERE run_uuid = ? AND lifecycle_stage = 'active'"
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(asked, (run_id,)).fetchone() is not None
    except sqlite3.Error:
        return False


def _in_files(folder: Path, run_id: str) -> bool:
    return any(folder.glob(f"[!.]*/{run_id}/meta.yaml"))


def _places_of(table: Table, outs: Mapping[Path, str]) -> list[Place]:
    """All that looks like the id of a run in the outs of the stage that makes the lists."""
    made = [path for path, stage in outs.items() if stage and stage == table.made_by]
    files = [file for path in made for file in _files(path) if file != table.path]
    return [place for file in sorted(files) for place in _places(file)]


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
        yield Place(file, None, content)
    yield from (Place(file, *each) for each in _keys(content) if file.suffix == ".json")


def _keys(content: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Keys that hold an id, those of inner mappings with dots, and the ids."""
    for key, value in content.items() if isinstance(content, dict) else ():
        plain = re.sub(r"[^a-z]", "", str(key).casefold())
        if plain in _KEYS and isinstance(value, str) and _ID.fullmatch(value):
            yield f"{above}{key}", value
        elif not above:
            yield from _keys(value, f"{key}.")
