"""What a new params.yaml says of the tables that were found, and what was assumed on the way."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from concord.metrics_core.comparison.replicate_config import KEY
from concord.metrics_core.comparison.warnings.data import HIGHEST_STARS, least_liked
from concord.metrics_core.conventions.conventions import HIGHEST_GRADE
from concord.metrics_core.results.replicates import FEWEST_TRAININGS
from concord.metrics_core.results.words import listed
from concord.pipeline.params.repository import repository
from concord.pipeline.project.found import Found
from concord.pipeline.project.recognised import is_baseline
from concord.pipeline.project.scanned import (
    holds_times,
    longest_list,
    stands_twice,
    value_range,
)
from concord.pipeline.project.taken_for import Table
from concord.pipeline.project.training_run import Place, training
from concord.pipeline.project.units import shared_unit

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
    highest = max(1, min(HIGHEST_GRADE, math.ceil(seen[1]))) if seen else 1
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
