"""Choices of `concord init`: roles, unit, baseline, and the MLflow runs that trained the models."""

import json
import math
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from concord.metrics_core.comparison.replicate_config import KEY
from concord.metrics_core.conventions.registry import MAX_GRADE
from concord.metrics_core.data import load_lists as lists
from concord.metrics_core.data.input_table import InputTable, resolve_columns
from concord.metrics_core.data.load_lists import are_session_names, possible_units
from concord.metrics_core.errors import ParamsKeys
from concord.metrics_core.evaluation.warnings.data import HIGHEST_STARS, least_liked
from concord.metrics_core.results.replicates import FEWEST_TRAININGS
from concord.metrics_core.results.words import listed
from concord.pipeline.init.discovery import Found
from concord.pipeline.init.tables import (
    Table,
    holds_times,
    is_baseline,
    longest_list,
    stands_twice,
    value_range,
)
from concord.pipeline.params.repository import repository
from concord.pipeline.running.connections import workspace


def with_user_of(models: Mapping[str, Table], truth: Table) -> Table:
    """Return the truth with the user's column of the lists, if it has this one too: lists may know sessions alone."""
    named = {table.columns["user"] for table in models.values()}
    if len(named) != 1 or not named <= {*truth.peeked.columns}:
        return truth
    return replace(truth, columns={**truth.columns, "user": named.pop()})


def shared_unit(models: Mapping[str, Table], truth: Table) -> tuple[str, ...]:
    """Return the columns by which users have several lists, in the truth as well; empty if each user has one list."""
    tables = [truth, *models.values()]
    shared = [
        name
        for name in truth.peeked.columns
        if all(name in each.peeked.columns and name not in each.columns.values() for each in tables)
    ]
    if not shared:
        return ()
    with workspace() as connection:
        found = [[*possible_units(connection, _input(table), shared)] for table in models.values()]
    fitting = [unit for unit in found[0] if all(unit in each for each in found)]
    if () in fitting:  # which ranks prove, and scores do not
        ranked = any("rank" in table.columns for table in models.values())
        fitting = [] if ranked else [unit for unit in fitting if unit and are_session_names(unit)]
    return next(iter(fitting), ())


def _input(table: Table) -> InputTable:
    columns = resolve_columns(lists.LIST_COLUMNS, table.columns)
    return InputTable(str(table.path), table.peeked.form, *columns, ParamsKeys("models"))


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


CUTOFFS = (5, 10, 20, 50, 100)
METRICS = ("nDCG", "AP", "RR", "P", "R", "Hit")
# Grades that a person gives, where a low one is no recommendation; what is higher than such scales go is a count.
RATINGS = ("rating", "ratings", "stars")
NEEDS = {
    "train": "user, item [, time]: what the models learned from",
    "items": "item [, categories | vector] [, title]: the catalogue",
    "users": "user and any columns: for segments",
}
SEGMENTS = (
    ("activity", {"by": "activity", "edges": [0, 20, 50]}, "users by interactions in train: 0 (cold start), 1 to 20, 21 to 50, over 50"),
    ("wanted items", {"by": "truth_item", "shares": [0.5, 0.8]}, "recall of popular and rare items: the head holds half of the interactions in train"),
    ("shown items", {"by": "recommended_item", "shares": [0.5, 0.8]}, "what the lists are made of"),
)  # fmt: skip
Content = dict[str, Any]


@dataclass(frozen=True)
class Chosen:
    """What the templates are filled with, and the choices that somebody should look at, in words."""

    content: Content
    assumed: tuple[str, ...]


def chosen(found: Found, project: Path, title: str) -> Chosen:
    """The content of params.yaml in the folder `project`; `title`: of the report, and the MLflow experiment's name."""
    truth = found.tables["truth"]
    background = {name: table for name, table in found.tables.items() if name != "truth"}
    shared, unit = _shared(truth), shared_unit(found.models, truth)
    entries = {name: _entry(each, shared, project) for name, each in found.tables.items()}
    trained = training(found.models, found.outs, found.folders, project)
    models = {
        name: {**_entry(each, shared, project), **_run(trained.runs.get(name), project)}
        for name, each in found.models.items()
    }
    baseline = next(filter(is_baseline, models), next(iter(models)))
    ks, threshold, highest = _cutoffs(found, unit), *_scale(truth)
    k = 10 if 10 in ks else ks[-1]  # noqa: PLR2004
    tables = [*found.tables.values(), *found.models.values()]
    root = repository(project)
    files = [file for table in tables for file in (table.path, *table.path.rglob("*"))]
    content: Content = {
        "columns": shared,
        "unit": ["user", *unit] if unit else [],
        "truth": {"path": entries["truth"]["path"], "columns": entries["truth"].get("columns", {})},
        "background": {each: entries[each] for each in background},
        "models": models,
        "rank_base": 0 if _starts_at_0(found) else 1,
        "repeated_grade": "highest" if _is_repeated(truth, unit) else "error",
        "allow_outside": any(not file.resolve().is_relative_to(root) for file in files),
        "metrics": [*METRICS, *_beyond(background, k)],
        "ks": ks,
        "baseline": baseline,
        "primary": [f"nDCG@{k}"],
        "min_effect": "2%",
        "segments": SEGMENTS if "train" in background else (),
        "threshold": threshold,
        "highest": highest,
        "title": title,
        "experiment": title,
        "tracking_uri": trained.uri,
        "NEEDS": NEEDS,
    }
    assumed = [*_assumed(content, truth), *_unlinked(trained.unknown, project)]
    return Chosen(content, tuple(assumed))


def _shared(truth: Table) -> dict[str, str]:
    """What the truth calls user and item; TREC has no names of columns."""
    named = {} if truth.peeked.form == "trec" else truth.columns
    return {ours: named[ours] for ours in ("user", "item") if ours in named and named[ours] != ours}


def _entry(table: Table, shared: Mapping[str, str], project: Path) -> Content:
    """A time is read only where it is named, whatever it is called."""
    columns = {
        ours: theirs
        for ours, theirs in table.columns.items()
        if (
            holds_times(table.peeked, theirs)
            if ours == "time"
            else theirs != shared.get(ours, ours)
        )
    }
    return {
        "path": os.path.relpath(table.path, project),
        **({"columns": columns} if columns and table.peeked.form != "trec" else {}),
        **({"order": table.order} if table.order else {}),
    }


def _run(place: Place | None, project: Path) -> Content:
    if place is None:
        return {}
    key = {"key": place.key} if place.key else {}
    return {"training_run_id": {"file": os.path.relpath(place.file, project), **key}}


def _cutoffs(found: Found, unit: Sequence[str]) -> list[int]:
    """No deeper than the longest list of the model whose lists are shortest."""
    lengths = [longest_list(t.peeked, [t.columns["user"], *unit]) for t in found.models.values()]
    longest = min((n for n in lengths if n), default=20)
    return [k for k in CUTOFFS if k <= longest] or [1]


def _scale(truth: Table) -> tuple[int, int]:
    """The lowest grade that counts as relevant, and the highest of the scale."""
    name = truth.columns.get("grade", "")
    seen = value_range(truth.peeked, name) if name and truth.peeked.form != "trec" else None
    highest = max(1, min(MAX_GRADE, math.ceil(seen[1]))) if seen else 1
    lowest_scale, highest_scale = HIGHEST_STARS
    is_rating = name.casefold() in RATINGS and lowest_scale <= highest <= highest_scale
    return (least_liked(highest) if is_rating else 1), highest


def _starts_at_0(found: Found) -> bool:
    """Is 0 the first rank of every file that has ranks, as far as is seen?"""
    ranked = [table for table in found.models.values() if table.peeked.form != "trec" and "rank" in table.columns]  # fmt: skip
    seen = [value_range(table.peeked, table.columns["rank"]) for table in ranked]
    return {each[0] for each in seen if each} == {0}


def _is_repeated(truth: Table, unit: Sequence[str]) -> bool:
    """Does an item stand twice for a user or a request, as where people buy it again?"""
    columns = [truth.columns["user"], *unit, truth.columns["item"]]
    return truth.peeked.form != "trec" and stands_twice(truth.peeked, columns)


def _beyond(background: Mapping[str, Table], k: int) -> Iterator[str]:
    if "items" in background:
        yield f"Coverage@{k}"
    if "train" in background:
        yield f"Novelty@{k}"


def _unlinked(unknown: Mapping[str, Place], project: Path) -> Iterator[str]:
    for model, place in unknown.items():
        what = f"MLflow run in {os.path.relpath(place.file, project)}: no store found that holds it"
        yield f"{what}; name it by mlflow.tracking_uri and models.{model}.training_run_id"


def _numbered(models: Iterable[str]) -> dict[str, list[str]]:
    """Als -> als-1, als-2, …, where there are enough for an interval over trainings."""
    found: dict[str, list[str]] = {}
    for name in models:
        stem, _, number = name.rpartition("-")
        if stem and number.isdecimal():
            found.setdefault(stem, []).append(name)
    return {stem: names for stem, names in found.items() if len(names) >= FEWEST_TRAININGS}


def _assumed(content: Content, truth: Table) -> Iterator[str]:
    yield f"{content['baseline']} is the baseline (comparison.baseline)"
    yield f"{content['primary'][0]} decides, from a difference of {content['min_effect']} on (comparison.primary, min_effect)"
    if content["unit"]:
        columns = listed(content["unit"])
        yield f"{columns} name a request with a list of its own, and means are over requests (data.unit, conventions.unit_mean)"
    grade = {name: truth.columns[name] for name in ("grade",) if name in truth.columns}
    which = f"with {grade['grade']} from {content['threshold']} on counts" if grade else "counts"
    yield f"every row of the truth {which} as relevant (conventions.relevance_threshold)"
    for stem, names in _numbered(content["models"]).items():
        what = f"{', '.join(names)} are {len(names)} models; if they are trainings of one"
        yield f"{what}, write `{KEY}: {{{stem}: {stem}-*}}` (comparison.{KEY})"
    if content["repeated_grade"] != "error":
        yield "of rows of the truth with the same user and item, the highest grade counts (input.repeated_grade)"
    if content["rank_base"] == 0:
        yield "the first rank is 0 (input.rank_base)"
    if content["allow_outside"]:
        yield "links of outs may lead out of the repository, as those into a shared cache do (input.allow_outside)"
