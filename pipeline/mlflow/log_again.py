"""Whether the last results were logged to MLflow, and how to log what is missing there."""

import json
import subprocess
import sys
from pathlib import Path

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.pipeline.mlflow.comparison_content import contents
from concord.pipeline.mlflow.log import read_receipt, send, write_logged
from concord.pipeline.mlflow.store import AGAIN, Tracking
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params

STAGE = "log"


def log_again() -> None:
    """Log the results on disk, whatever `mlflow.required` says, and commit the new receipt to DVC.

    Raises
    ------
    InputError
        The results on disk are not those of params.yaml.
    TrackingError
        MLflow still cannot be reached, or refuses; the old receipt stays.
    """
    params = read_params()
    _refuse_stale_results()
    what = contents(params)
    write_logged(params, what, send(params, what, again=True))
    if Path("dvc.yaml").is_file():
        _dvc("commit", "--quiet", "--force", STAGE)


def log_status(params: Params) -> str:
    """Return one line on what the receipt says was logged."""
    receipt = read_receipt(params)
    if receipt is None:
        return f"not logged: run `dvc repro`, or `{AGAIN}` if it failed there"
    where = f"MLflow at {receipt['tracking_uri']}"
    if not receipt.get("logged"):
        return f"not logged: {where} {receipt.get('reason', '')}; run `{AGAIN}`"
    if receipt["comparison"] != contents(params).comparison.fingerprint:
        return "not logged: the results here are not those that were logged last; run `dvc repro`"
    database = Tracking(params.mlflow.tracking_uri).database
    if database is not None and not database.exists():
        return f"not logged: {database.name} is gone since; run `{AGAIN}`, which makes it anew and tells DVC"
    models = len(receipt["fingerprints"])
    return f"logged: {models} models, experiment {receipt['experiment']}, {where}"


def _refuse_stale_results() -> None:
    """Refuse results that are out of date; the stage `log` itself may be."""
    if not Path("dvc.yaml").is_file():
        return
    stale = set(json.loads(_dvc("status", "--with-deps", "--json", STAGE))) - {STAGE}
    if stale:
        names = ", ".join(sorted(stale))
        problem = f"params.yaml, data or code have changed since the results were made: {names}"
        raise InputError([Problem("results", problem, "run `dvc repro`, which also logs them")])


def _dvc(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = " ".join(done.stderr.split())
        raise refuse(f"dvc {arguments[0]}", f"failed: {message}", f"fix that, then run `{AGAIN}`")
    return done.stdout
