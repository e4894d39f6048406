"""Standard streams that are closed, full, or whose reader has gone: no result depends on them."""

import shutil
from pathlib import Path

import pytest

from tests.faults.tiny import digests
from tests.project import ROOT, attempt

pytestmark = pytest.mark.whole

CLOSED = [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"]


@pytest.mark.parametrize("closed", CLOSED)
def test_a_stage_works_without_its_streams(
    project: Path, expected: dict[str, str], closed: str
) -> None:
    shutil.rmtree(project / "results" / "comparison")
    done = attempt(project, "sh", "-c", f"concord stage compare {closed}")

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert digests(project) == expected


@pytest.mark.parametrize("closed", CLOSED)
def test_commands_end_as_they_would_with_their_streams(closed: str) -> None:
    codes = attempt(
        ROOT, "sh", "-c", f"concord presets {closed}; a=$?; concord presets nope {closed}; exit $a$?"
    )  # fmt: skip

    assert codes.returncode == 2
    assert "Traceback" not in codes.stderr
    assert "bug in Concord" not in codes.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [("concord metrics", 141), ("concord presets", 141), ("concord --help", 0)],
)
def test_a_reader_who_has_gone_is_told_nothing(command: str, code: int) -> None:
    done = attempt(ROOT, "sh", "-c", f"({command}; echo code $? >&2) | true")

    assert done.stderr == f"code {code}\n"


def test_a_full_disk_behind_stdout_of_a_command_is_one_line() -> None:
    done = attempt(ROOT, "sh", "-c", "concord metrics > /dev/full")

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


def test_what_cannot_be_said_on_stderr_changes_no_code() -> None:
    done = attempt(ROOT, "sh", "-c", "concord presets nope 2> /dev/full")

    assert done.returncode == 2
