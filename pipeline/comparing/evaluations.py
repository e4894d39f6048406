"""What the earlier stages left of each model: summary, quality and users' values, refused if they do not fit together."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from metrics_core.checking.problems import InputError, Problem
from metrics_core.conventions.conventions import Conventions
from pipeline.comparing.choices import Choices
from pipeline.params.model import PARAMS, Params
from pipeline.running.per_user_file import read_carried

Json = dict[str, Any]


@dataclass(frozen=True)
class Evaluation:
    """One model's results; `summary` and `quality` as their files say."""

    per_user: Path
    panel: Path
    summary: Json
    quality: Json

    def mean(self, label: str) -> float | None:
        mean: float | None = self.summary["metrics"][label]["mean"]
        return mean

    @property
    def full_lists(self) -> Json:
        """The counts of `validity` over whole lists; empty where nothing was counted."""
        found: Json = self.summary.get("validity", {}).get("full_lists", {})
        return found

    def at_cutoff(self, k: int | None) -> Json:
        """The counts of `validity` at a cutoff; empty where nothing was counted."""
        found: Json = self.summary.get("validity", {}).get("by_cutoff", {}).get(str(k), {})
        return found


def read_evaluations(params: Params, choices: Choices) -> dict[str, Evaluation]:
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
        for problem in _misfits(model, evaluation, params, choices)
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


def _read(params: Params, model: str) -> Evaluation:
    per_user, summary, quality = _paths(params, model)
    panel = Path(params.results.panel) / f"{model}.parquet"
    return Evaluation(per_user, panel, read_json(summary), read_json(quality))


def read_json(path: Path) -> Json:
    content: Json = json.loads(path.read_text(encoding="utf-8"))
    return content


def _misfits(
    model: str, evaluation: Evaluation, params: Params, choices: Choices
) -> Iterator[Problem]:
    again = f"run `dvc repro evaluate@{model}`"
    for carried in (read_carried(evaluation.per_user), evaluation.summary):
        if carried["fingerprint"] != params.pinned.fingerprint:
            what = f"{model} was evaluated under other conventions than {PARAMS} pins: "
            what += _departures(carried["conventions"], params.pinned)
            yield Problem(str(evaluation.per_user), what, again)
            return
    columns = set(pq.read_schema(evaluation.per_user).names)
    of_catalogue = {str(label) for label in choices.labels if label.metric.of_catalogue}
    for label in map(str, choices.labels):
        kept = label in columns or label in of_catalogue
        if not kept or label not in evaluation.summary["metrics"]:
            key = "comparison.primary" if label in choices.primary else "evaluation"
            what = f"has no {label}, which {key} in {PARAMS} names"
            yield Problem(str(evaluation.per_user), what, again)


def _departures(evaluated: Mapping[str, Any], conventions: Conventions) -> str:
    """Every knob that differs, with both values."""
    pinned = json.loads(json.dumps(conventions.as_dict()))
    return ", ".join(
        f"{knob} was {evaluated.get(knob)!r} and is {value!r}"
        for knob, value in pinned.items()
        if knob != "preset" and evaluated.get(knob) != value
    )


def _other_truth(found: Mapping[str, Evaluation]) -> list[Problem]:
    """All models must have met the same truth; the first one's stands for it."""
    first, *others = found
    truth = {model: e.summary["inputs"]["truth"]["sha256"] for model, e in found.items()}
    return [
        Problem(
            str(found[model].per_user),
            f"{model} was evaluated on another truth than {first} (sha256 {truth[model][:12]}…, {truth[first][:12]}…)",
            "run `dvc repro`, so that all models meet the same truth",
        )
        for model in others
        if truth[model] != truth[first]
    ]
