"""What a stage says, and how much of it."""

import json
import re
from pathlib import Path

import pytest

from tests.faults.tiny import LOAD, stage
from tests.project import ROOT, attempt

pytestmark = pytest.mark.whole

ENDED = r"load popularity: 36,000 rows, 1,200 users; \d+\.\d s, \d+ MB\n"


def test_a_stage_ends_with_what_it_did_how_long_and_how_much_memory(project: Path) -> None:
    assert re.fullmatch(ENDED, stage(project, *LOAD).stderr)


@pytest.mark.parametrize("how", [{"CONCORD_LOG": "quiet"}, {}])
def test_quiet_says_nothing(project: Path, how: dict[str, str]) -> None:
    done = stage(project, *LOAD, *([] if how else ["-q"]), **how)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_verbose_names_what_is_read_and_written(project: Path) -> None:
    said = stage(project, *LOAD, "--verbose").stderr

    assert "read data/demo/popularity.csv in " in said
    assert "wrote results/lists/popularity.parquet\n" in said
    assert re.search(ENDED, said)


def test_json_is_an_object_a_line(project: Path) -> None:
    lines = [json.loads(line) for line in stage(project, *LOAD, CONCORD_LOG="json,verbose").stderr.splitlines()]  # fmt: skip

    assert [line["level"] for line in lines] == ["debug", "debug", "debug", "info"]
    assert lines[-1]["stage"] == "load popularity"
    assert lines[-1]["seconds"] > 0
    assert lines[-1]["megabytes"] > 50


def test_errors_are_json_too_where_it_is_asked_for(project: Path) -> None:
    done = stage(project, "load", "nobody", "--log-json")
    (line,) = done.stderr.splitlines()

    assert done.returncode == 2
    assert json.loads(line)["level"] == "error"
    assert "is not a model" in json.loads(line)["message"]


def test_the_command_takes_the_same_flags() -> None:
    done = attempt(ROOT, "concord", "--log-json", "presets", "no-such-preset")

    assert done.returncode == 2
    assert json.loads(done.stderr)["level"] == "error"
