"""Log of a stage: level, format and streams."""

import io
import json
import re
from pathlib import Path
from typing import TextIO

import pytest

from concord.pipeline.running import messages
from concord.pipeline.running.stage import run_and_exit
from tests.faults.small import LOAD, digests, run_command, run_in_process, run_stage
from tests.project import ROOT, attempt

ENDED = r"load first: 150 rows, 30 users; \d+\.\d s, \d+ MB\n"


def test_a_stage_ends_with_what_it_did_how_long_and_how_much_memory(project: Path) -> None:
    assert re.fullmatch(ENDED, run_stage(*LOAD).err)


@pytest.mark.parametrize("variable", ["quiet", ""])
def test_quiet_says_nothing(project: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(messages.VARIABLE, variable)

    assert run_stage(*LOAD, *([] if variable else ["-q"])) == (0, "", "")


def test_verbose_names_what_is_read_and_written(project: Path) -> None:
    err = run_stage(*LOAD, "--verbose").err

    assert "read data/first.csv in " in err
    assert "wrote results/lists/first.parquet\n" in err
    assert re.search(ENDED, err)


def test_json_is_an_object_a_line(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(messages.VARIABLE, "json,verbose")
    lines = [json.loads(line) for line in run_stage(*LOAD).err.splitlines()]

    assert [line["level"] for line in lines] == ["debug", "debug", "debug", "info"]
    assert lines[-1]["stage"] == "load first"
    assert lines[-1]["seconds"] > 0
    assert lines[-1]["megabytes"] > 50


def test_errors_are_json_too_where_it_is_chosen(project: Path) -> None:
    refused = run_stage("load", "nobody", "--log-json")
    command = run_command("--log-json", "presets", "no-such-preset")

    assert (refused.code, command.code) == (2, 2)
    assert json.loads(refused.err)["level"] == json.loads(command.err)["level"] == "error"
    assert "is not a model" in json.loads(refused.err)["message"]


@pytest.mark.fault(13, "lost terminal output fails no stage")
def test_a_full_disk_behind_stdout_harms_no_result(project: Path, expected: dict[str, str]) -> None:
    run_stage("compare")
    Path("dvc.yaml").write_text("stages: {report: {}}\n")  # the last stage prints the answer
    with Path("/dev/full").open("w") as full:
        ended = run_stage("report", stdout=full)

    assert ended.code == 0
    assert "stdout: No space left on device" in ended.err
    assert digests(project) == expected


def test_a_full_disk_behind_stdout_of_a_command_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        ended = run_command("metrics", stdout=full)

    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert "No space left on device" in ended.err


def test_failure_of_optional_mlflow_changes_no_exit_code() -> None:
    with Path("/dev/full").open("w") as full:
        assert run_command("presets", "nope", stderr=full).code == 2


def test_a_stage_works_without_its_streams(project: Path, expected: dict[str, str]) -> None:
    done = attempt(project, "sh", "-c", "concord stage compare <&- >&- 2>&-")

    assert done.returncode == 0
    assert digests(project) == expected


def test_a_command_refuses_as_it_would_with_its_streams() -> None:
    done = attempt(ROOT, "sh", "-c", "concord presets nope >&- 2>&-")

    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.parametrize(("command", "code"), [("concord presets", 141), ("concord --help", 0)])
def test_a_reader_who_has_gone_gets_no_message(command: str, code: int) -> None:
    done = attempt(ROOT, "sh", "-c", f"({command}; echo code $? >&2) | true")

    assert done.stderr == f"code {code}\n"


def test_a_reader_who_leaves_stops_no_stage() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    discarded: list[TextIO] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "discard_output", discarded.append)
        ended = run_in_process(
            lambda: run_and_exit(lambda: messages.print_line("hello")), "x", stdout=Gone()
        )

    assert (ended.code, ended.err, len(discarded)) == (0, "", 1)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [8, 80])
def test_progress_fits_the_terminal_and_is_gone_at_the_end(
    project: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("concord.pipeline.running.messages._columns", lambda: columns)
    *drawn, last = run_stage(*LOAD, stderr=_Terminal()).err.split("\r\x1b[K")
    pictures = [picture for picture in "".join(drawn).replace("\x1b[K", "").split("\r") if picture]

    assert pictures
    assert all(len(picture) < columns for picture in pictures)
    assert re.fullmatch(ENDED, last)
