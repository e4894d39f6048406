"""Runs of Concord's own in MLflow: each is found again by its fingerprint, begun with it and finished last."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from concord.metrics_core.files import address_of, is_remote
from concord.pipeline.tracking.client import single_try
from concord.pipeline.tracking.content.run_content import Artifact, RunContent

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run

FINGERPRINT = "concord.fingerprint"
PARENT = "mlflow.parentRunId"
FOLDER = "concord"  # for artifacts, among those of a training


class Place(NamedTuple):
    """Where a run belongs: its experiment, and the run above it."""

    experiment: str
    parent: str | None = None


class Runs:
    """Runs that are begun, filled and finished; the same content never twice.

    `again`: finished runs are filled once more, since somebody may have deleted what was in them.
    """

    def __init__(
        self, client: MlflowClient, circumstances: Mapping[str, str], *, again: bool = False
    ) -> None:
        self.client = client
        self.again = again
        self._circumstances = circumstances
        self._open: list[str] = []

    def begun(self, content: RunContent, place: Place) -> Run:
        """The run with this content: a finished one before one that is not, before a new one."""
        run = self._known(content, place) or self._created(content, place)
        if not is_finished(run):
            self._open.append(run.info.run_id)
        return run

    def finished(self, run: Run, content: RunContent) -> None:
        """Fills the run, again if need be, and finishes it."""
        fill(self.client, run, content)
        self.client.set_terminated(run.info.run_id)
        self._open.remove(run.info.run_id)

    @contextmanager
    def ended_if_interrupted(self) -> Iterator[None]:
        """No run is left as if it were still running; the next time completes it all the same."""
        try:
            yield
        except BaseException as error:
            status = "KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED"
            with suppress(Exception), single_try(seconds=1):  # the error itself says more
                for run_id in self._open:
                    self.client.set_terminated(run_id, status)
            raise

    def _known(self, content: RunContent, place: Place) -> Run | None:
        wanted = f"tags.`{FINGERPRINT}` = '{content.fingerprint}'"
        found = self.client.search_runs([place.experiment], wanted)
        in_place = [run for run in found if run.data.tags.get(PARENT) == place.parent]
        return min(in_place, key=lambda run: not is_finished(run), default=None)

    def _created(self, content: RunContent, place: Place) -> Run:
        """Asked for once: where the answer is lost, MLflow may have made the run all the same."""
        from mlflow import MlflowException

        above = {PARENT: place.parent} if place.parent else {}
        tags = {FINGERPRINT: content.fingerprint, **content.tags, **above, **self._circumstances}
        try:
            with single_try():
                return self.client.create_run(place.experiment, run_name=content.name, tags=tags)
        except MlflowException:
            made = self._known(content, place)
            if made is None:
                raise
            return made


def is_finished(run: Run) -> bool:
    return bool(run.info.status == "FINISHED")


def fill(client: MlflowClient, run: Run, content: RunContent) -> None:
    """MLflow drops a point whose name, value, step and time it has already, so the time of every point
    is the start of the run.
    """
    from mlflow.entities import Metric, Param, RunTag

    run_id, start = run.info.run_id, run.info.start_time
    points = [Metric(key, value, start, step) for key, value, step in content.points]
    missing = content.tags.keys() - run.data.tags.keys()  # a description may have been edited
    client.log_batch(
        run_id,
        points,
        [Param(key, value) for key, value in content.params.items()],
        [RunTag(key, content.tags[key]) for key in sorted(missing)],
    )
    client.log_inputs(run_id, datasets(content))
    upload_all(client, run_id, content.artifacts, content.texts)


def datasets(content: RunContent) -> list[DatasetInput]:
    from mlflow.entities import Dataset, DatasetInput, InputTag

    purpose = [InputTag("mlflow.data.context", "evaluation")]
    return [
        DatasetInput(Dataset(name, md5, _lies_in(path), json.dumps({"uri": path}), *known), purpose)
        for name, path, md5, *known in content.datasets
    ]


def _lies_in(path: str) -> str:
    """MLflow's word for where a data set lies."""
    return address_of(path).store if is_remote(path) else "local"


def upload_all(
    client: MlflowClient,
    run_id: str,
    artifacts: Iterable[Artifact],
    texts: Mapping[str, str] | None = None,
    *,
    folder: str = "",
) -> None:
    """Into the folder of the run: `FOLDER` among the artifacts of a training, else its root."""
    for file, below in artifacts:
        where = "/".join(filter(None, (folder, below)))
        _upload(file.name, partial(client.log_artifact, run_id, str(file), where or None))
    for name, text in (texts or {}).items():
        where = "/".join(filter(None, (folder, name)))
        _upload(name, partial(client.log_text, run_id, text, where))


def _upload(name: str, send: Callable[[], None]) -> None:
    """Where artifacts lie is the choice of a server, and so are the errors that its library raises."""
    from mlflow import MlflowException

    try:
        send()
    except Exception as error:
        raise MlflowException(f"artifact {name}: {error}") from error
