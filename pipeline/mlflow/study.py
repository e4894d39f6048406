"""A study -> MLflow, once: a run for it, and one below it for each data set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from concord.metrics_core.results.study import Study
from concord.pipeline.mlflow.client import experiment_id, opened
from concord.pipeline.mlflow.run_content import Artifact, Point, RunContent, existing, study_key
from concord.pipeline.mlflow.runs import Place, Runs, circumstances, is_finished
from concord.pipeline.mlflow.store import Tracking
from concord.pipeline.running.messages import print_line
from concord.reports.text.study import certainty_sentence, winner_sentence

FILES = ("report.html", "study.json")


class StudyContents(NamedTuple):
    """What is to be logged: the study, and its data sets in their order."""

    study: RunContent
    datasets: tuple[RunContent, ...]


def study_contents(
    study: Study, folder: Path, logged: Mapping[str, Mapping[str, str]]
) -> StudyContents:
    """From the study and the files that it was written to.

    Parameters
    ----------
    logged : data set -> tags that name the runs of its own evaluation, where they are known
    """
    winners = {f"concord.winner.{study_key(a.label)}": ", ".join(a.winners) for a in study.answers}
    sure = {f"concord.sure.{study_key(a.label)}": str(a.is_sure).lower() for a in study.answers}
    note = "\n\n".join(
        f"{winner_sentence(study, a)} {certainty_sentence(study, a)}" for a in study.answers
    )
    parent = RunContent(
        name=study.title,
        points=tuple(_over_datasets(study)),
        params={
            "datasets": ", ".join(each.name for each in study.datasets),
            "models": ", ".join(study.models),
            "baseline": study.baseline,
            "primary": ", ".join(study.primary),
            "confidence": str(study.confidence),
            "preset": study.conventions.preset,
        },
        tags={"concord.kind": "study", **winners, **sure, "mlflow.note.content": note},
        datasets=(),
        artifacts=tuple(Artifact(existing(folder / name), "") for name in FILES),
    )  # fmt: skip
    own = [_of_dataset(study, each.name, parent, logged) for each in study.datasets]
    return StudyContents(parent, tuple(own))


def tags_of_runs(receipt: Path) -> dict[str, str]:
    """The run of a project's comparison, where its `runs.json` names it."""
    try:
        content = json.loads(receipt.read_text(encoding="utf-8"))
        return {
            "concord.comparison_run": str(content["comparison"]),
            "concord.comparison_uri": str(content["tracking_uri"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _over_datasets(study: Study) -> Iterator[Point]:
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


def _of_dataset(
    study: Study, name: str, parent: RunContent, logged: Mapping[str, Mapping[str, str]]
) -> RunContent:
    cells = [cell for cell in study.cells if cell.dataset == name]
    (about,) = [each for each in study.datasets if each.name == name]
    points = [
        Point(f"{part}/{study_key(cell.label)}.{cell.model}", value, 0)
        for cell in cells
        for part, value in (("mean", cell.mean), ("rank", cell.rank), ("difference", cell.difference))
        if value is not None
    ]  # fmt: skip
    return RunContent(
        name=name,
        points=tuple(points),
        params={"project": about.source, "title": about.title, "n_users": str(about.n_users)},
        tags={
            "concord.kind": "study data set",
            "concord.study": parent.fingerprint,
            **logged.get(name, {}),
        },
        datasets=(),
        artifacts=(),
    )


class Where(NamedTuple):
    """A server or database of MLflow, and an experiment there."""

    tracking_uri: str
    experiment: str


def log_study(what: StudyContents, where: Where, written: Path) -> str:
    """The id of the study's run; runs that hold the same already are found again by their fingerprint.

    Raises
    ------
    TrackingError : MLflow cannot be reached, or refuses
    """
    tracking = Tracking(where.tracking_uri, again="concord study", file="study.yaml")
    with tracking.ready(), opened(tracking) as client:
        place = Place(experiment_id(client, where.experiment, tracking.artifacts))
        runs = Runs(client, circumstances([str(written)]))
        with runs.ended_if_interrupted():
            parent = runs.begun(what.study, place)
            below = Place(place.experiment, parent.info.run_id)
            is_new = [_logged(runs, content, below) for content in what.datasets]
            if not is_finished(parent):
                runs.finished(parent, what.study)
                is_new.append(True)
    run_id = str(parent.info.run_id)
    print_line(
        f"{what.study.name}: {'logged as' if any(is_new) else 'already there,'} run {run_id}"
    )
    print_line(f"to look: {tracking.to_look}")
    return run_id


def _logged(runs: Runs, content: RunContent, place: Place) -> bool:
    """Is it new?"""
    run = runs.begun(content, place)
    if is_finished(run):
        return False
    runs.finished(run, content)
    return True
