"""Processes that are killed: a stage, `dvc repro`, and each at every write."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.faults.breaking import broken, wait_for, wait_until_gone
from tests.faults.tiny import LOAD, STAGES, digests, leftovers, repro, stage, start
from tests.project import attempt

pytestmark = pytest.mark.whole

WRITES = r"^(open .*results/\S*(writes|reads)|os\.(rename|remove|mkdir) .*results)"
RENAME = r"os\.rename \S*.*popularity\.parquet"


def _forget_lists(project: Path) -> None:
    (project / "results/lists/popularity.parquet").unlink()
    (project / "results/quality/popularity.json").unlink()


@pytest.mark.fault(1, "a killed stage leaves temporary files only, and the next run removes them")
def test_a_killed_stage_leaves_final_names_alone(project: Path, expected: dict[str, str]) -> None:
    _forget_lists(project)
    killed = stage(project, *LOAD, **broken(1, RENAME, "die"))
    found = digests(project)
    half_written = [path.name for path in leftovers(project)]
    again = stage(project, *LOAD)

    assert killed.returncode == -signal.SIGKILL
    assert [name.rpartition(".parquet")[0] for name in half_written] == [".popularity"]
    assert found.items() <= expected.items()
    assert "was killed before it ended" in again.stderr
    assert digests(project) == expected
    assert leftovers(project) == []


@pytest.mark.fault(2, "the stages of a killed `dvc repro` die with it, and the next repro mends")
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_a_killed_repro_leaves_no_orphan_and_the_next_one_mends(
    project: Path, expected: dict[str, str], tmp_path: Path, shell: str
) -> None:
    mark = tmp_path / "mark"
    paused = broken(1, RENAME, "pause", mark)
    running = start(project, "dvc", "repro", "-f", "-s", "load@popularity", SHELL=shell, **paused)
    wait_for(mark)
    writer = int(leftovers(project)[0].name.split(".")[-2])
    os.kill(running.pid, signal.SIGKILL)
    gone = wait_until_gone(writer)
    mark.unlink()
    running.communicate(timeout=60)

    assert gone
    repro(project, *STAGES)  # from DVC's cache: no stage has to run
    assert digests(project) == expected
    stage(project, "compare")  # whichever runs next sweeps
    assert leftovers(project) == []


@pytest.mark.fault(3, "a process that dies at its n-th write, for every n, changes no later result")
@pytest.mark.parametrize("do", ["die", "fail"])
def test_dying_or_failing_at_every_write_changes_nothing(
    project: Path, expected: dict[str, str], tmp_path: Path, do: str
) -> None:
    _forget_lists(project)
    mark = tmp_path / "mark"
    events = WRITES if do == "die" else WRITES.replace("|remove", "")
    for number in range(1, 60):
        done = stage(project, *LOAD, **broken(number, events, do, mark))
        assert done.returncode in (0, -signal.SIGKILL if do == "die" else 1), done.stderr
        found = digests(project)
        assert found.items() <= expected.items(), number
        if not mark.exists():
            break
        mark.unlink()
        assert do == "die" or leftovers(project) == []
        assert "Traceback" not in done.stderr
    assert number > 6
    assert digests(project) == expected
    assert leftovers(project) == []


@pytest.mark.fault(3, "a comparison that dies between its files is made again whole")
@pytest.mark.parametrize("number", [4, 17, 33])
def test_a_comparison_that_dies_half_way_is_made_again(
    project: Path, expected: dict[str, str], number: int
) -> None:
    shutil.rmtree(project / "results" / "comparison")
    killed = stage(project, "compare", **broken(number, WRITES, "die"))
    stage(project, "compare")

    assert killed.returncode == -signal.SIGKILL
    assert digests(project) == expected
    assert leftovers(project) == []


@pytest.mark.fault(2, "a dvc.lock that DVC was killed over is put aside by `concord mend`")
@pytest.mark.parametrize("last", ["", "    deps:\n", "      md5:", "      size: 1", "  path: d"])
def test_a_lock_that_was_cut_off_is_put_aside(project: Path, last: str) -> None:
    path = project / "dvc.lock"
    path.write_text(path.read_text()[: path.read_text().find(last, 9000 if last else 0)] + last)
    first, second = attempt(project, "concord", "mend"), attempt(project, "concord", "mend")
    status = attempt(project, "dvc", "status", "load-truth")

    assert (first.returncode, second.stdout) == (0, "")
    assert status.returncode == 0, status.stderr


@pytest.mark.fault(2, "after that, `dvc repro` gives the same bytes from DVC's cache")
def test_after_mending_the_lock_is_written_again(project: Path, expected: dict[str, str]) -> None:
    path = project / "dvc.lock"
    path.write_bytes(b"")
    (project / ".dvc" / "tmp" / "rwlock").write_bytes(b"")
    refused = attempt(project, "dvc", "repro", *STAGES)
    mended = attempt(project, "concord", "mend")
    said = repro(project)

    assert refused.returncode != 0
    assert mended.stdout.count("was cut off while DVC wrote it") == 2
    assert "is cached - skipping run" in said
    assert digests(project) == expected


def test_a_merge_conflict_is_left_to_people(project: Path) -> None:
    path = project / "dvc.lock"
    conflict = "<<<<<<< HEAD\nschema: '2.0'\n=======\n: {\n>>>>>>> other\n"
    path.write_text(conflict)
    refused = attempt(project, "concord", "mend")

    assert refused.returncode == 2
    assert "holds a merge conflict" in refused.stderr
    assert path.read_text() == conflict
