"""How models stand in the comparison that was logged last, written onto their runs."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from concord.pipeline.tracking.content.run_content import RunContent
from concord.pipeline.tracking.content.standing import Standing
from concord.pipeline.tracking.runs import FOLDER, upload_all

if TYPE_CHECKING:
    from mlflow import MlflowClient

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
