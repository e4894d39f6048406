"""`concord log`: were the last results logged to MLflow? With `--again`, what is missing there is logged."""

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
    """Logs the results on disk, whatever `mlflow.required` says, and tells DVC of the new receipt.

    Raises
    ------
    InputError : the results on disk are not those of params.yaml
    TrackingError : MLflow still cannot be reached, or refuses; the old receipt stays
    """
    params = read_params()
    _refuse_stale_results()
    what = contents(params)
    write_logged(params, what, send(params, what, again=True))
    if Path("dvc.yaml").is_file():
        _dvc("commit", "--quiet", "--force", STAGE)


def tell_what_is_logged() -> None:
    """Prints one line from the receipt."""
    print(_told(read_params()))


def _told(params: Params) -> str:
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
    """The stage itself may well be out of date: that is what is being mended."""
    if not Path("dvc.yaml").is_file():
        return
    stale = set(json.loads(_dvc("status", "--with-deps", "--json", STAGE))) - {STAGE}
    if stale:
        names = ", ".join(sorted(stale))
        what = f"params.yaml, data or code have changed since the results were made: {names}"
        raise InputError([Problem("results", what, "run `dvc repro`, which also logs them")])


def _dvc(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise refuse(f"dvc {arguments[0]}", f"failed: {said}", f"mend that, then `{AGAIN}`")
    return done.stdout
