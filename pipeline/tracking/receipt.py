"""What the stage leaves for DVC: a receipt that is the same on every machine; ids of runs lie beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.errors import InputError
from concord.metrics_core.files import load_json
from concord.pipeline.params.model import Params
from concord.pipeline.running.outputs import write_json
from concord.pipeline.tracking.content.comparison_content import Contents
from concord.pipeline.tracking.store import AGAIN, Tracking, TrackingError

Json = dict[str, Any]


class RunIds(NamedTuple):
    """The runs that hold the results: that of the comparison, and one a model."""

    comparison: str
    models: Mapping[str, str]


def write_logged(params: Params, what: Contents, run_ids: RunIds) -> None:
    """The ids differ by machine, so DVC does not track them."""
    folder = Path(params.results.mlflow)
    ids = {"comparison": run_ids.comparison, "runs": dict(run_ids.models)}
    write_json(folder / "runs.json", {**_where(params), **ids})
    write_json(folder / "receipt.json", {**_where(params), "logged": True, **_fingerprints(what)})


def write_not_logged(params: Params, what: Contents, error: TrackingError) -> None:
    """With the reason in words; which runs hold earlier results says nothing of these."""
    folder = Path(params.results.mlflow)
    (folder / "runs.json").unlink(missing_ok=True)
    why = {"logged": False, "reason": error.reason, "fix": f"run `{AGAIN}`"}
    write_json(folder / "receipt.json", {**_where(params), **why, **_fingerprints(what)})


def read_receipt(params: Params) -> Json | None:
    """None where nothing was logged yet, the stage failed, or the file is no receipt."""
    file = Path(params.results.mlflow) / "receipt.json"
    if not file.is_file():
        return None
    try:
        content = load_json(file, AGAIN)
    except InputError:  # cut off, or a merge conflict
        return None
    return content if {"logged", "tracking_uri", "comparison"} <= set(content) else None


def _where(params: Params) -> Json:
    shown = Tracking(params.mlflow.tracking_uri).shown
    return {"tracking_uri": shown, "experiment": params.mlflow.experiment}


def _fingerprints(what: Contents) -> Json:
    return {"comparison": what.comparison.fingerprint, "fingerprints": what.fingerprints}
