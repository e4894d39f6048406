"""Log a study to MLflow: a run, and a child run for each data set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from concord.metrics_core.results.study import Study
from concord.pipeline.mlflow.client import Tracking, experiment_id, open_client
from concord.pipeline.mlflow.run_content import (
    Artifact,
    Point,
    RunContent,
    existing_file,
    study_key,
)
from concord.pipeline.mlflow.runs import RunLocation, Runs, is_finished, source_tags
from concord.pipeline.running.messages import print_line
from concord.reports.text.study import certainty_sentence, winner_sentence

FILES = ("report.html", "study.json")


class StudyRuns(NamedTuple):
    """Content of the runs of a study and of its data sets."""

    study: RunContent
    datasets: tuple[RunContent, ...]


def study_runs(study: Study, folder: Path, run_tags: Mapping[str, Mapping[str, str]]) -> StudyRuns:
    """Return the content of all runs.

    Parameters
    ----------
    study : Study
        The study.
    folder : Path
        Folder of the study's report and results.
    run_tags : mapping
        Data set -> tags that name the run of its own comparison, if it is known.
    """
    winners = {f"concord.winner.{study_key(a.label)}": ", ".join(a.winners) for a in study.answers}
    certainty = {
        f"concord.sure.{study_key(a.label)}": str(a.is_sure).lower() for a in study.answers
    }
    note = "\n\n".join(
        f"{winner_sentence(study, a)} {certainty_sentence(study, a)}" for a in study.answers
    )
    parent = RunContent(
        name=study.title,
        points=tuple(_study_points(study)),
        params={
            "datasets": ", ".join(dataset.name for dataset in study.datasets),
            "models": ", ".join(study.models),
            "baseline": study.baseline,
            "primary": ", ".join(study.primary),
            "confidence": str(study.confidence),
            "preset": study.conventions.preset,
        },
        tags={"concord.kind": "study", **winners, **certainty, "mlflow.note.content": note},
        datasets=(),
        artifacts=tuple(Artifact(existing_file(folder / name), "") for name in FILES),
    )
    datasets = [_dataset_run(study, dataset.name, parent, run_tags) for dataset in study.datasets]
    return StudyRuns(parent, tuple(datasets))


def comparison_run_tags(file: Path) -> dict[str, str]:
    """Return tags that name the run of a project's comparison; none if `runs.json` lacks it."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return {
            "concord.comparison_run": str(content["comparison"]),
            "concord.comparison_uri": str(content["tracking_uri"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _study_points(study: Study) -> Iterator[Point]:
    for row in study.ways:
        if row.value is not None:
            yield Point(f"{row.way}/{study_key(row.label)}.{row.model}", row.value, 0)
    for answer in study.answers:
        yield Point(f"winner/ways_{study_key(answer.label)}", float(answer.ways), 0)
    for pair in study.pairs:
        if pair.vs_baseline:
            for part in ("difference", "ci_low", "ci_high", "p_adjusted", "tau"):
                if (value := getattr(pair, part)) is not None:
                    yield Point(f"{part}/{study_key(pair.label)}.{pair.a}", value, 0)
    for test in study.omnibus:
        if test.p is not None:
            yield Point(f"friedman_p/{study_key(test.label)}", test.p, 0)


def _dataset_run(
    study: Study, name: str, parent: RunContent, run_tags: Mapping[str, Mapping[str, str]]
) -> RunContent:
    cells = [cell for cell in study.cells if cell.dataset == name]
    (dataset,) = [each for each in study.datasets if each.name == name]
    points = [
        Point(f"{part}/{study_key(cell.label)}.{cell.model}", value, 0)
        for cell in cells
        for part in ("mean", "rank", "difference")
        if (value := getattr(cell, part)) is not None
    ]
    return RunContent(
        name=name,
        points=tuple(points),
        params={
            "project": dataset.source,
            "title": dataset.title,
            "n_users": str(dataset.n_users),
        },
        tags={
            "concord.kind": "study data set",
            "concord.study": parent.fingerprint,
            **run_tags.get(name, {}),
        },
        datasets=(),
        artifacts=(),
    )


def log_study(content: StudyRuns, *, uri: str, experiment: str, folder: Path) -> str:
    """Log a study and return the id of its run; the same content is logged once.

    Parameters
    ----------
    content : StudyRuns
        Content of the runs.
    uri : str
        Address of MLflow.
    experiment : str
        Name of the experiment.
    folder : Path
        Folder of the study's results; they do not make the code dirty.

    Raises
    ------
    TrackingError
        If MLflow cannot be reached or refuses a request.
    """
    tracking = Tracking(uri, retry_command="concord study", file="study.yaml")
    with tracking.lock(), open_client(tracking) as client:
        location = RunLocation(experiment_id(client, experiment, tracking.artifact_location))
        runs = Runs(client, source_tags([str(folder)]))
        with runs.end_if_interrupted():
            parent = runs.begin(content.study, location)
            is_new = not is_finished(parent)
            for dataset in content.datasets:
                child = RunLocation(location.experiment, parent.info.run_id)
                run = runs.begin(dataset, child)
                if not is_finished(run):
                    runs.finish(run, dataset)
                    is_new = True
            if not is_finished(parent):
                runs.finish(parent, content.study)
    run_id = str(parent.info.run_id)
    print_line(f"{content.study.name}: {'logged as' if is_new else 'already there,'} run {run_id}")
    hint = tracking.view_hint(f"/#/experiments/{location.experiment}/runs/{run_id}")
    print_line(f"view it: {hint}")
    return run_id
