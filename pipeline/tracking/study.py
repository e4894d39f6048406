"""A study -> MLflow, once: a run for it, and one below it for each data set."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from concord.pipeline.running.announce import say
from concord.pipeline.tracking.client import experiment_id, opened
from concord.pipeline.tracking.content.run_content import RunContent
from concord.pipeline.tracking.content.study_content import StudyContents
from concord.pipeline.tracking.environment_tags import circumstances
from concord.pipeline.tracking.runs import Place, Runs, is_finished
from concord.pipeline.tracking.store import Tracking


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
    say(f"{what.study.name}: {'logged as' if any(is_new) else 'already there,'} run {run_id}")
    say(f"to look: {tracking.to_look}")
    return run_id


def _logged(runs: Runs, content: RunContent, place: Place) -> bool:
    """Is it new?"""
    run = runs.begun(content, place)
    if is_finished(run):
        return False
    runs.finished(run, content)
    return True
