"""Runs in MLflow: each is found again by its fingerprint; how models compare is written onto them."""

from __future__ import annotations

import getpass
import json
import math
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from concord.metrics_core.files import is_remote, parse_address
from concord.pipeline.mlflow.client import single_try
from concord.pipeline.mlflow.model_content import Standing
from concord.pipeline.mlflow.run_content import Artifact, RunContent

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run


def circumstances(generated: Iterable[str]) -> dict[str, str]:
    """Tags for the user, the code's version and DVC's experiment, as far as each is known.

    Parameters
    ----------
    generated : paths that the pipeline itself writes; they do not make the code dirty
    """
    tags = {
        "mlflow.source.name": "concord",
        "mlflow.source.type": "LOCAL",
        **_user(),
        **_git(generated),
    }
    experiment = os.environ.get("DVC_EXP_NAME")
    return tags if not experiment else {**tags, "dvc.exp_name": experiment}


def _user() -> dict[str, str]:
    try:
        return {"mlflow.user": getpass.getuser()}
    except (KeyError, OSError):  # a container's user may have no name
        return {}


def _git(generated: Iterable[str]) -> dict[str, str]:
    commit = _ask_git("rev-parse", "HEAD")
    if commit is None:
        return {}
    others = ["--untracked-files=no", "--", ".", *(f":(exclude){path}" for path in generated)]
    changed = _ask_git("status", "--porcelain", *others)
    dirty = {} if changed is None else {"concord.git_dirty": "true" if changed else "false"}
    return {"mlflow.source.git.commit": commit, **dirty}


def _ask_git(*arguments: str) -> str | None:
    """Git's answer, or None without git, without a repository or without a commit."""
    git = shutil.which("git")
    if git is None:
        return None
    answer = subprocess.run([git, *arguments], capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


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
    return parse_address(path).store if is_remote(path) else "local"


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


COMPARISON = "concord.comparison"  # the id of the run of the comparison that the standing is of
STANDING = "concord.standing"  # its fingerprint, and the time of its points


def stand(
    client: MlflowClient,
    run_id: str,
    content: RunContent,
    standing: Standing,
    comparison_id: str,
    *,
    again: bool = False,
) -> None:
    """Brings the run up to the standing, unless it is and not asked for `again`.

    A number that the run shows already is not written anew, so that a standing that was interrupted leaves one point
    a comparison. A point that no longer holds is followed by NaN, since MLflow deletes none.
    """
    from mlflow.entities import Metric, RunTag

    data = client.get_run(run_id).data
    known, _, last = data.tags.get(STANDING, "").partition(" ")
    if (known, data.tags.get(COMPARISON)) == (standing.fingerprint, comparison_id) and not again:
        return
    last_time = int(last) if last.isdecimal() else 0
    is_same = known == standing.fingerprint and last_time
    when = last_time if is_same else max(int(time.time() * 1000), last_time + 1)
    shown = _history(client, run_id, standing) if again else data.metrics
    changed = {
        key: value
        for key, value in standing.points.items()
        if not _same(shown.get(key, math.nan), value)
    }
    on_training = content.training is not None and content.training.run_id == run_id
    upload_all(client, run_id, standing.artifacts, folder=FOLDER if on_training else "")
    mark = {COMPARISON: comparison_id, STANDING: f"{standing.fingerprint} {when}"}
    client.log_batch(
        run_id,
        metrics=[Metric(key, value, when, 0) for key, value in changed.items()],
        tags=[RunTag(name, value) for name, value in {**standing.tags, **mark}.items()],
    )


def _history(client: MlflowClient, run_id: str, standing: Standing) -> dict[str, float]:
    """The last value of each point; what MLflow shows may outlive points that somebody deleted."""
    found = {key: client.get_metric_history(run_id, key) for key in standing.points}
    return {
        key: max(points, key=lambda point: point.timestamp).value
        for key, points in found.items()
        if points
    }


def _same(shown: float, value: float) -> bool:
    return shown == value or (math.isnan(shown) and math.isnan(value))
