"""Text from servers, libraries and files never controls the terminal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from concord.pipeline.running.messages import LOG, print_line, set_up_logging
from tests.faults.small import run_in_process
from tests.pipeline.mlflow.log_project import write_project
from tests.pipeline.mlflow.mlflow_server import Fault, FaultyProxy
from tests.project import ROOT, attempt

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b2J\r\u202e"
MESSAGE = json.dumps({"error_code": "INTERNAL_ERROR", "message": f"sorry{EVIL}"})
FAULTS = {
    "an error": Fault(path="/api/", status=400, body=MESSAGE.encode()),
    "a header": Fault(path="/api/", status=200, headers=(("X-A", "\x1b[2J"), ("\x1b[2J", "x"))),
}
SCRIPT = """
import logging, sys, warnings
from concord.pipeline.running.stage import run_and_exit
from concord.pipeline.running.messages import print_line, print_text
evil = sys.argv.pop()
def work():
    print_text(evil)
    print_line(evil)
    logging.getLogger("urllib3").warning("%s", evil)
    warnings.warn(evil)
    {ending}
run_and_exit(work)
"""
ENDINGS = {
    "an error of another package": "raise __import__('sqlite3').OperationalError(evil)",
    "an error of the operating system": "open(evil)",
    "good": "pass",
}


def _obeyed(message: str) -> list[str]:
    return [sign for sign in message if not (sign.isprintable() or sign == "\n")]


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_of_a_servers_answer_is_obeyed(tmp_path: Path, name: str) -> None:
    with FaultyProxy("127.0.0.1:1").running() as proxy:
        proxy.set_fault(FAULTS[name])
        project = write_project(tmp_path, uri=f"http://{proxy.address}")
        done = attempt(project, "concord", "stage", "log")

    assert done.returncode == 1
    assert done.stderr
    assert _obeyed(done.stdout + done.stderr) == []


@pytest.mark.parametrize(
    ("name", "flags"), list(zip(ENDINGS, ([], ["--debug"], ["--log-json"]), strict=True))
)
def test_nothing_that_anybody_says_is_obeyed(name: str, flags: list[str]) -> None:
    script = SCRIPT.format(ending=ENDINGS[name])
    done = subprocess.run(
        [sys.executable, "-c", script, *flags, EVIL],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )

    assert done.returncode == (0 if name == "good" else 1)
    assert done.stdout.count(b"]0;owned") == 2
    assert done.stderr.count(b"]0;owned") >= 2
    assert _obeyed(done.stdout.decode() + done.stderr.decode()) == []


def test_the_space_between_a_number_and_its_unit_is_a_space() -> None:
    text = "95\N{NO-BREAK SPACE}% of 1\N{NARROW NO-BREAK SPACE}000 users"

    def work() -> None:
        set_up_logging([])
        print_line(text)
        LOG.info("%s", text)

    ended = run_in_process(work, "concord")

    assert ended.out == ended.err == f"{text}\n"
