"""Check params.yaml, then every input file, without evaluating; report all problems at once."""

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

from concord.metrics_core.comparison.behaviour import condition_problems
from concord.metrics_core.comparison.behaviour_rules import parse_checks
from concord.metrics_core.comparison.segment_groups import refuse_unknown_column
from concord.metrics_core.comparison.segmentation import ByColumn
from concord.metrics_core.errors import (
    InputError,
    Problem,
    format_count,
    params_keys,
    problems_of,
    raise_problems,
)
from concord.metrics_core.evaluation.side_data import (
    build_catalogue,
    refuse_missing,
    with_item_columns,
)
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.files import is_remote
from concord.pipeline.dvc.lock import DvcLock
from concord.pipeline.init.discovery import list_outs, stage_of
from concord.pipeline.init.list_checks import list_warnings
from concord.pipeline.init.render import NamedFiles, dvc_yaml
from concord.pipeline.mlflow.training_runs import training_run_ids
from concord.pipeline.params.model import PARAMS, Params, Results, RunIdFile
from concord.pipeline.params.paths import (
    display_words,
    dvc_problems,
    input_paths,
    side_data_file,
    truth_file,
)
from concord.pipeline.params.read import check_params
from concord.pipeline.params.repository import relative_path, repository, rerun_command
from concord.pipeline.params.values import kind_of_models
from concord.pipeline.params.yaml_files import load_yaml
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.running.messages import print_text
from concord.pipeline.running.outputs import spill_folder
from concord.pipeline.stages.evaluate import check_grades, check_model_ids, model_data
from concord.pipeline.stages.load import load, load_background, load_truth
from concord.reports.text.display_words import DisplayWords

Load = Callable[[DuckDBPyConnection], str]


def validate() -> None:
    """Load every file into a temporary folder, and print one line for each.

    Raises
    ------
    InputError
        If params.yaml or a file is invalid: all problems of params.yaml, else those of all files.
    """
    params, error = check_params()
    if params is None or error is not None:
        print_text("the files are not read until params.yaml is valid")
        raise error or InputError([])
    problems = [*_dvc_file_problems()]
    problems += _dvc_yaml_problems(params)
    problems += dvc_problems(params) if Path("dvc.yaml").is_file() else ()
    missing = _missing_inputs(params)
    problems += _unfetched_problems(missing)
    with spill_folder() as folder:  # the next run removes it even after a kill
        results = Results(**{name: f"{folder}/{name}" for name in Results.model_fields})
        copy = params.model_copy(update={"results": results})
        names = {name for name, *_ in missing}
        names |= {"truth", *copy.models} if "exclude" in names else set()  # all of these read it
        files = [(name, load_file) for name, load_file in _files(copy) if name not in names]
        file_problems = [p for name, load_file in files for p in _load(copy, name, load_file)]
        problems += dict.fromkeys(file_problems) or _joint_problems(
            copy, names, is_valid=not problems
        )
        if not problems and not missing and not copy.has_values:
            _print_list_warnings(copy)
    raise_problems(problems)
    condition = " once the missing files exist" if missing else ""
    print_text(f"no problem found: `{rerun_command()}` evaluates{condition}")


def _missing_inputs(params: Params) -> list[tuple[str, str, str]]:
    """Return name, path and stage of missing inputs that DVC tracks; no stage for `dvc add`.

    Raises
    ------
    InputError
        If DVC cannot read one of its own files.
    """
    missing = [(name, path) for name, path in _inputs(params) if not os.path.lexists(path)]
    outs = list_outs(repository(), Path.cwd().resolve()) if missing else {}
    stages = [stage_of(Path(os.path.abspath(path)), outs) for _, path in missing]  # noqa: PTH100
    return [
        (name, path, stage)
        for (name, path), stage in zip(missing, stages, strict=True)
        if stage is not None
    ]


def _inputs(params: Params) -> Iterator[tuple[str, str]]:
    """Yield the files of each input: lists may have a second one with a run id."""
    for keys, path in input_paths(params):
        if not is_remote(path):
            yield keys[1], path
    for model, entry in params.models.items():
        if isinstance(entry.training_run_id, RunIdFile):
            yield model, entry.training_run_id.file


def _unfetched_problems(missing: Sequence[tuple[str, str, str]]) -> Iterator[Problem]:
    """Yield a problem for missing files that DVC tracks; print those that a stage will make."""
    for name, path, stage in missing:
        if stage:
            message = f"{path} does not exist yet; stage {stage} of `dvc repro` makes it"
            print_text(f"{name}: {message}")
        else:
            fix = "`dvc pull`, or `dvc checkout` if it is in the cache"
            yield Problem(path, "is missing here; DVC tracks it", fix)


def _dvc_file_problems() -> Iterator[Problem]:
    """Yield files of DVC that are truncated by a kill, or have merge conflicts."""
    lock = Path("dvc.lock")
    text = lock.read_text(encoding="utf-8", errors="replace") if lock.is_file() else None
    problem = "is truncated, so `dvc repro` cannot read it"
    if text is not None and (conflict := DvcLock(text).conflict):
        fix = "resolve it: `git checkout --ours dvc.lock`, then `dvc repro`"
        yield Problem(str(lock), conflict, fix)
    elif text is not None and not _is_dvc_lock(text):
        fix = "restore it by `git checkout dvc.lock`; if git has none, delete it"
        yield Problem(str(lock), problem, fix)
    rwlock = Path(relative_path(repository())) / ".dvc" / "tmp" / "rwlock"
    try:
        json.loads(rwlock.read_text(encoding="utf-8") if rwlock.is_file() else "{}")
    except ValueError:
        yield Problem(str(rwlock), problem, "delete it, while no `dvc` runs")


def _is_dvc_lock(text: str) -> bool:
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    try:
        COMPILED_LOCKFILE_SCHEMA(YAML(typ="safe").load(text))
    except (YAMLError, Invalid):
        return False
    return True


def _dvc_yaml_problems(params: Params) -> Iterator[Problem]:
    """Yield parts of dvc.yaml that do not fit params.yaml: named files, and optional keys."""
    path = Path("dvc.yaml")
    if not path.is_file() or Path("metrics_core").is_dir():  # the checkout has stages of its own
        return
    content = load_yaml(path.read_text(encoding="utf-8"), str(path))
    files = NamedFiles.of_params(params.model_dump(include={"models", "data"}))
    optional = params.model_fields_set - ({"checks"} if params.has_values else set())
    kind = kind_of_models(params.content)
    rendered = load_yaml(dvc_yaml(files, optional=optional, models=kind), "")
    for stage, key, section in (
        ("log", "deps", "`models`"),
        ("load-truth", "deps", "`data`"),
        ("load", "deps", "`models` and `data.exclude`"),
        ("reference", "deps", "`data.exclude`"),
        ("compare", "params", "`checks` and `acknowledge`"),
    ):
        actual, expected = ({*_items(parsed, stage, key)} for parsed in (content, rendered))
        if actual and actual != expected:
            sides = {"lacks": expected - actual, "names": actual - expected}
            parts = [f"{verb} {', '.join(sorted(deps))}" for verb, deps in sides.items() if deps]
            problem = f"{' and '.join(parts)}, unlike {section} of {PARAMS}"
            fix = "run `concord init --upgrade`, which writes dvc.yaml again"
            yield Problem(f"{path}: stages.{stage}.{key}", problem, fix)


def _items(content: Any, stage: str, key: str) -> list[str]:
    """Return the items of a list of a stage; empty if there is none."""
    try:
        definition = content["stages"][stage]
        return [str(item) for item in definition.get("do", definition)[key]]
    except (AttributeError, KeyError, TypeError):
        return []


def _joint_problems(params: Params, missing: Set[str], *, is_valid: bool) -> Iterator[Problem]:
    """Yield problems of valid files with each other, and with metrics and segments."""
    models = [
        model for model in params.models if truth_file(params, params.models[model].fold).is_file()
    ]
    models = [model for model in models if not {model, "items"} & missing]
    for model in models:
        yield from problems_of(_check_ids, params, model)
    if is_valid:
        yield from () if {"train", "items"} & missing else _missing_background(params)
        yield from dict.fromkeys(
            problem
            for model in models
            for problem in problems_of(check_grades, params, model_data(params, model))
        )
    yield from () if "users" in missing else _unknown_segments(params)
    yield from () if {"items", "users"} & missing else _unmet_conditions(params)
    yield from () if missing else problems_of(training_run_ids, params)


def _files(params: Params) -> Iterator[tuple[str, Load]]:
    """Yield every input and the function that loads it."""
    if not params.has_values:
        yield "truth", partial(load_truth, params=params)
    for name in params.background:
        yield name, partial(load_background, params=params, name=name)
    for model in params.models:
        yield model, partial(load, params=params, model=model)


def _load(params: Params, name: str, load_file: Load) -> Sequence[Problem]:
    """Load a file and print a line at once: a large one takes time; return its problems."""
    try:
        with isolated_connection() as connection:
            summary = load_file(connection)
    except InputError as error:
        print_text(f"{name}: {format_count(len(error.problems), 'problem')}")
        return error.problems
    folder = params.results.data if name in params.background else params.results.quality
    quality = json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))
    show = DisplayWords(display_words(params)).show
    print_text(f"{name}: {show(summary)}")
    for note in quality.get("notes", []):
        print_text(f"  {show(note)}")
    return ()


def _print_list_warnings(params: Params) -> None:
    """Print what valid lists show before they are evaluated."""
    show = DisplayWords(display_words(params)).show
    for each in list_warnings(params):
        fix = f" What to do: {each.fix}." if each.fix else ""
        print_text(f"{each.model_names}: warning: {show(each.sentence + fix)}")


def _missing_background(params: Params) -> Iterator[Problem]:
    """Yield a problem if a metric needs a table that `background` does not name."""
    items = side_data_file(params, "items")
    catalogue = None if items is None else build_catalogue(pl.read_parquet(items, glob=False))
    task = Task(params.list_labels, params.resolved_conventions)
    try:
        refuse_missing(task, has_train="train" in params.background, catalogue=catalogue)
        with_item_columns(task, lambda: catalogue, lambda: side_data_file(params, "train"))
    except ValueError as error:
        problem, _, hint = str(error).rpartition("; ")
        fix = f"name it under `background:`: {hint}"
        yield Problem(f"{PARAMS}: evaluation.metrics", problem, fix)


def _unknown_segments(params: Params) -> Iterator[Problem]:
    """Yield a problem for each segmentation by a column that the users table lacks."""
    users = Path(params.results.data) / "users.parquet"
    for name, segmentation in params.segmentations.items():
        if isinstance(segmentation, ByColumn):
            keys = params_keys("segments")
            yield from problems_of(refuse_unknown_column, keys, users, name, segmentation)


def _unmet_conditions(params: Params) -> Iterator[Problem]:
    """Yield conditions of checks on columns or values that the tables lack."""
    tables = {name: side_data_file(params, name) for name in ("items", "users")}
    return condition_problems(parse_checks(params.checks), tables, params_keys("checks"))


def _check_ids(params: Params, model: str) -> None:
    """Raise InputError for ids that do not match; warn about ids that nearly match."""
    matches = check_model_ids(params, model, model_data(params, model))
    show = DisplayWords(display_words(params)).show
    for kind in ("users", "items"):
        listed, known, similar = (matches[kind][name] for name in ("listed", "known", "alike"))
        if similar:
            ids = format_count(similar, kind.removesuffix("s"))
            message = f"{ids} differ from the ground truth only in capitals or leading zeros"
            print_text(f"{model}: warning: {show(message)}")
        if listed and not known:
            message = show(f"none of its {kind} occurs in the ground truth")
            print_text(f"{model}: warning: {message}")
