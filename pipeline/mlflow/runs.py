"""Runs in MLflow, found by their fingerprints, and the standing of their models."""

from __future__ import annotations

import getpass
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from concord.metrics_core.files import is_remote, parse_address
from concord.pipeline.dvc.git import run_git
from concord.pipeline.mlflow.client import ArtifactStoreError, disable_retries
from concord.pipeline.mlflow.run_content import Artifact, Point, RunContent, Standing

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


def source_tags(generated: Iterable[str]) -> dict[str, str]:
    """Return tags for the user, the version of the code and DVC's experiment, if known.

    Parameters
    ----------
    generated : iterable of str
        Paths that the pipeline writes; they do not make the code dirty.
    """
    tags = {
        "mlflow.source.name": "concord",
        "mlflow.source.type": "LOCAL",
    }
    with suppress(KeyError, OSError, ImportError):  # no name: in a container; a service of Windows
        tags["mlflow.user"] = getpass.getuser()
    if commit := _git_output("rev-parse", "HEAD"):
        tags["mlflow.source.git.commit"] = commit
        paths = [".", *(f":(exclude){path}" for path in generated)]
        changes = _git_output("status", "--porcelain", "--untracked-files=no", "--", *paths)
        if changes is not None:
            tags["concord.git_dirty"] = "true" if changes else "false"
    if experiment := os.environ.get("DVC_EXP_NAME"):
        tags["dvc.exp_name"] = experiment
    return tags


def _git_output(*arguments: str) -> str | None:
    """Return git's output; None without git, a repository or a commit."""
    process = run_git(*arguments)
    return process.stdout.strip() if process.returncode == 0 else None


FINGERPRINT = "concord.fingerprint"
PARENT = "mlflow.parentRunId"
FOLDER = "concord"  # of artifacts, in a training run
COMPARISON = "concord.comparison"  # tag: id of the comparison's run
STANDING = "concord.standing"  # tag: fingerprint of the standing, and time of its points


class RunLocation(NamedTuple):
    """Ids of a run's experiment and of its parent run."""

    experiment: str
    parent: str | None = None


class Runs:
    """Runs that are begun, filled and finished; the same content is never logged twice.

    With `refill`, finished runs are filled again: their content may have been deleted.
    """

    def __init__(
        self, client: MlflowClient, tags: Mapping[str, str], *, refill: bool = False
    ) -> None:
        self.client = client
        self.refill = refill
        self._tags = tags
        self.n_new = 0
        self._open: list[str] = []

    def begin(self, content: RunContent, location: RunLocation) -> Run:
        """Return the run with this content: a finished, else an unfinished, else a new one."""
        run = self.find(content, location) or self._create(content, location)
        if not is_finished(run):
            self._open.append(run.info.run_id)
        return run

    def finish(self, run: Run, content: RunContent) -> None:
        """Fill and finish a run; content from an interrupted attempt is not logged twice."""
        fill(self.client, run, content)
        self.client.set_terminated(run.info.run_id)
        self._open.remove(run.info.run_id)
        self.n_new += 1

    @contextmanager
    def end_if_interrupted(self) -> Iterator[None]:
        """End open runs if the block is interrupted; the next attempt completes them."""
        try:
            yield
        except BaseException as error:
            status = "KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED"
            with suppress(Exception), disable_retries(seconds=1):  # the error itself says more
                for run_id in self._open:
                    self.client.set_terminated(run_id, status)
            raise

    def log_standing(
        self, run_id: str, content: RunContent, standing: Standing, comparison_id: str
    ) -> None:
        """Log how a model compares; nothing if the run has it and `refill` is false.

        A value that the run shows already is not logged again, so that one comparison has one point
        even after an interrupted attempt. An invalid point is followed by NaN: MLflow deletes none.
        """
        run = self.client.get_run(run_id)
        data = run.data
        tag = data.tags.get(STANDING, "")
        logged = (tag.partition(" ")[0], data.tags.get(COMPARISON))
        if logged == (standing.fingerprint, comparison_id) and not self.refill:
            return
        timestamp = next_timestamp(tag, standing.fingerprint)
        changed = [
            Point(key, value, 0)
            for key, value in standing.points.items()
            if not np.array_equal(data.metrics.get(key, math.nan), value, equal_nan=True)
        ]
        is_training = content.training is not None and content.training.run_id == run_id
        log_artifacts(self.client, run, standing.artifacts, folder=FOLDER if is_training else "")
        state = {COMPARISON: comparison_id, STANDING: f"{standing.fingerprint} {timestamp}"}
        log_batch(self.client, run_id, changed, timestamp, {**standing.tags, **state})

    def find(self, content: RunContent, location: RunLocation) -> Run | None:
        """Return the run with this content, a finished one if there is any; None without one."""
        query = f"tags.`{FINGERPRINT}` = '{content.fingerprint}'"
        runs = [
            run
            for run in self.client.search_runs([location.experiment], query)
            if run.data.tags.get(PARENT) == location.parent
        ]
        return next(filter(is_finished, runs), runs[0] if runs else None)

    def _create(self, content: RunContent, location: RunLocation) -> Run:
        """Create a run by one request; find it if MLflow created it and the answer was lost."""
        from mlflow import MlflowException

        parent = {PARENT: location.parent} if location.parent else {}
        tags = {FINGERPRINT: content.fingerprint, **content.tags, **parent, **self._tags}
        try:
            with disable_retries():
                return self.client.create_run(location.experiment, run_name=content.name, tags=tags)
        except MlflowException:
            run = self.find(content, location)
            if run is None:
                raise
            return run


def is_finished(run: Run) -> bool:
    """True if the run has ended and was not interrupted."""
    return bool(run.info.status == "FINISHED")


def fill(client: MlflowClient, run: Run, content: RunContent) -> None:
    """Log the content of a run.

    The time of every point is the start of the run: MLflow ignores a point if it has the same key,
    value, step and time already.
    """
    from mlflow.entities import Metric, Param, RunTag

    run_id, start = run.info.run_id, run.info.start_time
    points = [Metric(key, value, start, step) for key, value, step in content.points]
    missing = content.tags.keys() - run.data.tags.keys()  # keeps an edited description
    client.log_batch(
        run_id,
        points,
        [Param(key, value) for key, value in content.params.items()],
        [RunTag(key, content.tags[key]) for key in sorted(missing)],
    )
    log_datasets(client, run_id, content)
    log_artifacts(client, run, content.artifacts, content.texts)


def log_batch(
    client: MlflowClient,
    run_id: str,
    points: Iterable[Point],
    timestamp: int,
    tags: Mapping[str, str],
) -> None:
    """Log points of this time, and tags, by one request."""
    from mlflow.entities import Metric, RunTag

    metrics = [Metric(key, value, timestamp, step) for key, value, step in points]
    client.log_batch(run_id, metrics, tags=[RunTag(*tag) for tag in tags.items()])


def log_datasets(client: MlflowClient, run_id: str, content: RunContent) -> None:
    """Log the data sets of a run, if it has any: servers before MLflow 3 reject an empty list."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    context = [InputTag("mlflow.data.context", "evaluation")]
    inputs = []
    for name, path, md5, *schema_and_profile in content.datasets:
        source = json.dumps({"uri": path})
        store = parse_address(path).store if is_remote(path) else "local"
        dataset = Dataset(name, md5, store, source, *schema_and_profile)
        inputs.append(DatasetInput(dataset, context))
    if inputs:
        client.log_inputs(run_id, inputs)


def log_artifacts(
    client: MlflowClient,
    run: Run,
    artifacts: Iterable[Artifact],
    texts: Mapping[str, str] | None = None,
    *,
    folder: str = "",
) -> None:
    """Log files and texts below a folder of the run; "" is its root.

    Raises
    ------
    ArtifactStoreError
        If one is not stored.
    """
    try:
        for file, subfolder in artifacts:
            path = "/".join(filter(None, (folder, subfolder)))
            client.log_artifact(run.info.run_id, str(file), path or None)
        for name, text in (texts or {}).items():
            client.log_text(run.info.run_id, text, "/".join(filter(None, (folder, name))))
    except MemoryError:
        raise
    except Exception as error:
        raise ArtifactStoreError(f"{run.info.artifact_uri}: {error}") from error


def next_timestamp(tag: str, fingerprint: str) -> int:
    """Return the time for the points of a content, in milliseconds.

    Parameters
    ----------
    tag : str
        Fingerprint and time of the last content. The time is kept if the content is the same:
        its logging was interrupted. Otherwise a later one is returned, so that MLflow shows the
        new values.
    fingerprint : str
        Fingerprint of the new content.
    """
    last_fingerprint, _, last = tag.partition(" ")
    last_time = int(last) if last.isdecimal() else 0
    if last_fingerprint == fingerprint and last_time:
        return last_time
    return max(int(time.time() * 1000), last_time + 1)
