"""What the earlier stages left of each model: summary, quality and users' values, refused if they do not fit together."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from concord.metrics_core.checking.known_by import mark_of, told_mark
from concord.metrics_core.checking.problems import InputError, Problem
from concord.metrics_core.comparing.evidence.evaluated import Evaluated, Ground
from concord.metrics_core.comparing.evidence.replicating import in_order
from concord.metrics_core.conventions.conventions import WHERE_ASKED, Conventions
from concord.metrics_core.metrics.catalogue import Label, spelled
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.running.connections import reading
from concord.pipeline.running.per_user_file import read_carried

Json = dict[str, Any]


def read_evaluations(params: Params, labels: Sequence[Label]) -> dict[str, Evaluated]:
    """The evaluations of the models of params.yaml, in its order; the folders are never searched for others.

    Raises
    ------
    InputError : results that are missing, lack a label, or were made under other conventions or on other truth
    """
    _refuse(_missing_files(params))
    found = {model: _read(params, model) for model in params.models}
    problems = [
        problem
        for model, evaluation in found.items()
        for problem in _misfits(model, evaluation, params, labels)
    ]
    _refuse([*problems, *_other_truth(found)])
    return found


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise InputError(problems)


def _paths(params: Params, model: str) -> tuple[Path, Path, Path]:
    folders = params.results
    return (
        Path(folders.per_user) / f"{model}.parquet",
        Path(folders.summary) / f"{model}.json",
        Path(folders.quality) / f"{model}.json",
    )


def _missing_files(params: Params) -> list[Problem]:
    return [
        Problem(
            str(path), "there is no such file", f"run `dvc repro`: it loads and evaluates {model}"
        )
        for model in params.models
        for path in _paths(params, model)
        if not path.is_file()
    ]


def _read(params: Params, model: str) -> Evaluated:
    per_user, summary, quality = _paths(params, model)
    panel, lists = (
        Path(folder) / f"{model}.parquet" for folder in (params.results.panel, params.results.lists)
    )
    return Evaluated(per_user, panel, lists, read_json(summary), read_json(quality))


def ground_of(params: Params) -> Ground:
    """What all models were evaluated on, as the load stages left it."""
    data = Path(params.results.data)
    train, items, users = (
        data / f"{name}.parquet" if name in params.background else None
        for name in ("train", "items", "users")
    )
    quality = read_json(Path(params.results.quality) / "truth.json")
    truth = data / "truth.parquet"
    folds = {fold: truth / f"{fold}.parquet" for fold in in_order(params.data.truth.folds)}
    first = next(iter(folds.values()), truth)
    return Ground(first, train, items, users, quality, reading, folds)


def read_json(path: Path) -> Json:
    content: Json = json.loads(path.read_text(encoding="utf-8"))
    return content


def _misfits(
    model: str, evaluation: Evaluated, params: Params, labels: Sequence[Label]
) -> Iterator[Problem]:
    again = f"run `dvc repro evaluate@{model}`"
    per_user, *_ = _paths(params, model)
    for carried in (read_carried(per_user), evaluation.summary):
        if carried["fingerprint"] != params.pinned.fingerprint:
            what = f"{model} was evaluated under other conventions than {PARAMS} pins: "
            what += _departures(carried["conventions"], params.pinned)
            yield Problem(str(per_user), what, again)
            return
    columns = set(pq.read_schema(per_user).names)
    primary = {spelled(text) for text in params.comparison.primary}
    of_catalogue = {str(label) for label in labels if label.metric.of_catalogue}
    for label in map(str, labels):
        kept = label in columns or label in of_catalogue
        if not kept or label not in evaluation.summary["metrics"]:
            key = "comparison.primary" if label in primary else "evaluation"
            what = f"has no {label}, which {key} in {PARAMS} names"
            yield Problem(str(per_user), what, again)


def _departures(evaluated: Mapping[str, Any], conventions: Conventions) -> str:
    """Every knob that differs, with both values."""
    pinned = json.loads(json.dumps({**WHERE_ASKED, **conventions.as_dict()}))
    known = {**WHERE_ASKED, **evaluated}
    return ", ".join(
        f"{knob} was {known.get(knob)!r} and is {value!r}"
        for knob, value in pinned.items()
        if knob != "preset" and known.get(knob) != value
    )


def _other_truth(found: Mapping[str, Evaluated]) -> list[Problem]:
    """All models, or all of a fold, must have met the same truth; the first one's stands for it."""
    truth = {model: e.summary["inputs"]["truth"] for model, e in found.items()}
    firsts: dict[str | None, str] = {}
    first_of = {m: firsts.setdefault(e.quality.get("fold"), m) for m, e in found.items()}
    return [
        Problem(
            str(found[model].values),
            f"{model} was evaluated on another truth than {first} ({told_mark(truth[model], 12)}, {told_mark(truth[first], 12)})",
            "run `dvc repro`, so that all models meet the same truth",
        )
        for model, first in first_of.items()
        if mark_of(truth[model]) != mark_of(truth[first])
    ]
