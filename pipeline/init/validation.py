"""`concord validate`: params.yaml and every input file, checked without evaluating; all problems of all files."""

import json
import os
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from duckdb import DuckDBPyConnection
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from concord.metrics_core.comparison.segment_groups import refuse_unknown_column
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.conventions.validation import ConventionError
from concord.metrics_core.errors import InputError, ParamsKeys, Problem, in_words
from concord.metrics_core.evaluation.partition import Task
from concord.metrics_core.evaluation.side_data import (
    catalogue_of,
    refuse_missing,
    with_item_columns,
)
from concord.pipeline.dvc.lock import DvcLock
from concord.pipeline.init.render import Awaited, awaited, dvc_yaml, run_files
from concord.pipeline.mlflow.training_ids import training_ids
from concord.pipeline.params.checks import is_model_name
from concord.pipeline.params.config import labels_of
from concord.pipeline.params.model import PARAMS, ByColumn, Params, Results
from concord.pipeline.params.paths import unwatched_by_dvc
from concord.pipeline.params.read import examined
from concord.pipeline.params.repository import repository
from concord.pipeline.params.yaml_files import load_yaml
from concord.pipeline.running.connections import workspace
from concord.pipeline.running.outputs import spill_folder
from concord.pipeline.stages.evaluate import check_grades, check_model_ids
from concord.pipeline.stages.load import load, load_background, load_truth

Load = Callable[[DuckDBPyConnection], str]


def validate() -> None:
    """Load every file into a folder that goes away, and print a line a file.

    Raises
    ------
    InputError : what is wrong with params.yaml and with any of the files
    """
    params, refusal = examined()
    if params is None:
        print("the files are read once params.yaml is right", flush=True)
        raise refusal or InputError([])
    problems = [*(refusal.problems if refusal else ()), *_damaged_dvc_files()]
    problems += _unlike_dvc_yaml(params)
    problems += unwatched_by_dvc(params)
    missing = awaited(params)
    problems += _unfetched(missing)
    with spill_folder() as folder:  # removed by the next one even after a kill
        elsewhere = Results(**{name: f"{folder}/{name}" for name in Results.model_fields})
        there = _readable(params.model_copy(update={"results": elsewhere}))
        absent = {each.name for each in missing}
        files = [each for each in _files(there) if each[0] not in absent]
        found = [each for name, load_it in files for each in _tried(there, name, load_it)]
        problems += found or list(_together(there, absent, sound=not problems))
    if problems:
        raise InputError(problems)
    print(f"no problem found: `dvc repro` evaluates{' once the rest is there' if missing else ''}")


def _unfetched(missing: Sequence[Awaited]) -> Iterator[Problem]:
    """Print which files stages will make; yield those that DVC keeps and that are not here."""
    for name, path, stage in missing:
        if stage:
            print(f"{name}: not there yet; `dvc repro` makes {path} by {stage}", flush=True)
        else:
            fix = "`dvc pull`, or `dvc checkout` if it is in the cache"
            yield Problem(path, "is not there, and DVC keeps it", fix)


def _damaged_dvc_files() -> Iterator[Problem]:
    """DVC writes these files in place; `kill -9` cuts them off, and then `dvc repro` does not start."""
    lock = Path("dvc.lock")
    text = lock.read_text(encoding="utf-8", errors="replace") if lock.is_file() else None
    if text is not None and (conflict := DvcLock(text).conflict):
        fix = "resolve it: `git checkout --ours dvc.lock`, then `dvc repro`"
        yield Problem(str(lock), conflict, fix)
    elif text is not None and not _is_dvc_lock(text):
        fix = "restore it by `git checkout dvc.lock`; if git has none, delete it"
        yield Problem(str(lock), "is cut off, so `dvc repro` cannot read it", fix)
    rwlock = Path(os.path.relpath(repository())) / ".dvc" / "tmp" / "rwlock"
    try:
        json.loads(rwlock.read_text(encoding="utf-8") if rwlock.is_file() else "{}")
    except ValueError:
        what = "is cut off, so `dvc repro` cannot read it"
        yield Problem(str(rwlock), what, "delete it, while no `dvc` runs")


def _is_dvc_lock(text: str) -> bool:
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    try:
        COMPILED_LOCKFILE_SCHEMA(YAML(typ="safe").load(text))
    except (YAMLError, Invalid):
        return False
    return True


def _unlike_dvc_yaml(params: Params) -> Iterator[Problem]:
    """Does the dvc.yaml of `concord init` know the files with ids of training runs that params.yaml names?"""
    path = Path("dvc.yaml")
    if params.concord is None or not path.is_file():
        return
    content = load_yaml(path.read_text(encoding="utf-8"), str(path))
    made = load_yaml(dvc_yaml(trained=run_files(params.model_dump()["models"])), "")
    there, wanted = ({*_deps_of_log(each)} for each in (content, made))
    if there and there != wanted:
        differing = {"lacks": wanted - there, "names": there - wanted}
        what = " and ".join(f"{how} {', '.join(sorted(deps))}" for how, deps in differing.items() if deps)  # fmt: skip
        fix = "`concord init --upgrade` writes dvc.yaml as params.yaml asks for"
        yield Problem(f"{path}: stages.log.deps", f"{what}, unlike `models` of {PARAMS}", fix)


def _deps_of_log(content: Any) -> list[str]:
    """Nothing where there is no such stage."""
    try:
        return [str(dep) for dep in content["stages"]["log"]["deps"]]
    except (KeyError, TypeError):
        return []


def _readable(params: Params) -> Params:
    """With the conventions of `standard` where the pinned ones are none, so that the files can be read."""
    try:
        _ = params.pinned
    except ConventionError:
        usual = preset("standard", duplicates="first", ties="input").as_dict()
        return params.model_copy(update={"conventions": usual})
    return params


def _together(params: Params, absent: Set[str], *, sound: bool) -> Iterator[Problem]:
    """What files that are right each say of one another, and what params.yaml, where it is sound, asks of them."""
    judged = [m for m in params.models if is_model_name(m) and params.truth_of(m).is_file()]
    judged = [model for model in judged if not {model, "items"} & absent]
    for model in judged:  # others are told already
        yield from _of(_tell_fit, params, model)
    if sound:
        yield from () if {"train", "items"} & absent else _what_metrics_lack(params)
        yield from dict.fromkeys(
            each for model in judged for each in _of(check_grades, params, model)
        )
    yield from () if "users" in absent else _unknown_segments(params)
    yield from () if absent else _of(training_ids, params)


def _files(params: Params) -> Iterator[tuple[str, Load]]:
    yield "truth", partial(load_truth, params=params)
    for name in params.background:
        yield name, partial(load_background, params=params, name=name)
    for model in filter(is_model_name, params.models):  # others are told already
        yield model, partial(load, params=params, model=model)


def _tried(params: Params, name: str, load_it: Load) -> tuple[Problem, ...]:
    """What is wrong with a file; said at once, as a large one takes its time."""
    try:
        with workspace() as connection:
            said = load_it(connection)
    except InputError as error:
        print(f"{name}: {in_words(len(error.problems), 'problem')}", flush=True)
        return error.problems
    folder = params.results.data if name in params.background else params.results.quality
    quality = json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))
    print(f"{name}: {said}", flush=True)
    for note in quality.get("notes", []):
        print(f"  {note}", flush=True)
    return ()


def _what_metrics_lack(params: Params) -> Iterator[Problem]:
    items = Path(params.results.data) / "items.parquet"
    catalogue = (
        catalogue_of(pl.read_parquet(items, glob=False)) if "items" in params.background else None
    )
    task = Task(labels_of(params), params.pinned)
    try:
        refuse_missing(task, has_train="train" in params.background, catalogue=catalogue)
        with_item_columns(task, lambda: catalogue, lambda: _train(params))
    except ValueError as error:
        what, _, fix = str(error).rpartition("; ")
        yield Problem(f"{PARAMS}: evaluation.metrics", what, f"name it under `background:`: {fix}")


def _train(params: Params) -> Path | None:
    return Path(params.results.data) / "train.parquet" if "train" in params.background else None


def _unknown_segments(params: Params) -> Iterator[Problem]:
    for name, segmentation in params.segments.items():
        if isinstance(segmentation, ByColumn):
            known = Path(params.results.data) / "users.parquet"
            yield from _of(
                refuse_unknown_column, ParamsKeys("segments"), known, name, segmentation.cut
            )


def _tell_fit(params: Params, model: str) -> None:
    """Refuses what does not fit; what may be meant, and hardly is, is printed."""
    fit = check_model_ids(params, model)
    for kind in ("users", "items"):
        listed, known, alike = (fit[kind][name] for name in ("listed", "known", "alike"))
        if alike:
            what = f"{in_words(alike, kind.removesuffix('s'))} would match the truth but for capitals or leading zeros"
            print(f"{model}: beware, {what}", flush=True)
        if listed and not known:
            print(f"{model}: beware, none of its {kind} stands in the truth", flush=True)


def _of(refuse: Callable[..., object], *arguments: object) -> tuple[Problem, ...]:
    """The problems that a check refuses."""
    try:
        refuse(*arguments)
    except InputError as error:
        return error.problems
    return ()
