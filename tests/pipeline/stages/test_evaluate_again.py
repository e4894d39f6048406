"""The advice of the gate if results are of another code than the current one."""

import re
from pathlib import Path

import pytest

from tests.pipeline.commands.test_run_faults import OWN_METRIC, write_metric, write_module
from tests.pipeline.init.repository import USUAL, repository
from tests.project import attempt_process, change_params, run_process

pytestmark = pytest.mark.nightly


def test_in_a_dvc_repository_the_advice_leads_to_a_decision(tmp_path: Path) -> None:
    """DVC sees `my_metrics.py`, but no module that it imports."""
    root = repository(tmp_path / "shop", USUAL)
    run_process(root, "concord", "init")
    project = root / "evaluation"
    write_metric(project, 2)
    write_module(project, 2)
    change_params(project, OWN_METRIC)
    modules = {"PYTHONPATH": str(project / "modules")}
    run_process(project, "dvc", "repro", "report", **modules)
    assert attempt_process(project, "concord", "gate", **modules).returncode in {0, 3}

    write_module(project, 3)
    refused = attempt_process(project, "concord", "gate", **modules)
    commands = re.findall(r"`(dvc repro [^`]*)`", refused.stderr)

    assert refused.returncode == 2
    assert commands[:2] == [
        "dvc repro evaluate@als",
        "dvc repro --force --single-item evaluate@als",
    ]
    for command in commands:
        run_process(project, *command.split(), **modules)
    run_process(project, "dvc", "repro", "report", **modules)
    assert attempt_process(project, "concord", "gate", **modules).returncode in {0, 3}
