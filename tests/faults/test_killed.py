"""Stages and `dvc repro` as real processes that are killed, stopped or run twice."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.faults.small import (
    LOAD,
    MODELS,
    demo_of_two_models,
    digests,
    parts,
    run_command,
    run_stage,
    start,
)
from tests.project import ROOT, attempt_process, run

HOOK = str(Path(__file__).parent / "hook")
WITHIN = 30  # seconds


def broken(at: int, events: str, do: str, marker: Path | None = None) -> dict[str, str]:
    """Return the environment of a process that breaks at the `at`-th matching event."""
    marked = {} if marker is None else {"FAULT_MARK": str(marker)}
    return {
        "PYTHONPATH": HOOK,
        "FAULT_AT": str(at),
        "FAULT_EVENTS": events,
        "FAULT_DO": do,
        **marked,
    }


def wait_for(path: Path) -> None:
    """Wait until a paused process has written its marker."""
    end = time.monotonic() + WITHIN
    while not path.exists():
        assert time.monotonic() < end, f"no process came to {path.name}"
        time.sleep(0.02)


def wait_until_gone(pid: int) -> bool:
    """True if a process ends within seconds; a zombie has ended."""
    end = time.monotonic() + WITHIN
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


RENAME = r"os\.rename \S*.*(lists|per_user)\S*\.parquet"
REPRO = ("dvc", "repro", "-s", "load@popularity")


def _stage(project: Path, *words: str, **environment: str) -> int:
    """Return the exit code of a stage that runs in another process."""
    return attempt_process(project, "concord", "stage", *words, **environment).returncode


@pytest.mark.fault(1, "only temporary files are left; the next run removes them")
@pytest.mark.parametrize("words", [LOAD, ("evaluate", MODELS[0])], ids=" ".join)
def test_a_killed_stage_leaves_final_names_alone(
    project: Path, expected: dict[str, str], words: tuple[str, str]
) -> None:
    output = project / f"results/{'lists' if words == LOAD else 'per_user'}/{MODELS[0]}.parquet"
    output.unlink()
    code = _stage(project, *words, **broken(1, RENAME, "die"))
    hash, remaining = digests(project), [path.name for path in parts(project)]
    again = run_stage(*words)

    assert code == -signal.SIGKILL
    assert [name.rpartition(".parquet.")[0] for name in remaining] == [f".{MODELS[0]}"]
    assert hash.items() <= expected.items()
    assert again.code == 0
    assert digests(project) == expected
    assert parts(project) == []


@pytest.mark.fault(2, "its stages end with it; the next `dvc repro` completes")
@pytest.mark.fault(5, "DVC rejects the second one for the same stage")
def test_a_killed_repro_leaves_no_orphan_and_the_next_one_completes(tmp_path: Path) -> None:
    project, path = demo_of_two_models(tmp_path), tmp_path / "mark"
    running = start(project, *REPRO, **broken(1, RENAME, "pause", path))
    wait_for(path)
    second = attempt_process(project, *REPRO)
    writer = int(parts(project)[0].name.split(".")[-2])
    os.kill(running.pid, signal.SIGKILL)
    gone = wait_until_gone(writer)
    path.unlink()
    running.communicate(timeout=60)
    run(project, *REPRO)

    assert second.returncode != 0
    assert str(running.pid) in second.stderr
    assert gone
    assert (project / "results/lists/popularity.parquet").is_file()


@pytest.mark.fault(2, "`concord validate` names truncated files of DVC and how to restore them")
def test_files_of_dvc_that_cannot_be_read_are_named(project: Path) -> None:
    lock, rwlock = project / "dvc.lock", project / ".dvc/tmp/rwlock"
    rwlock.parent.mkdir(parents=True)
    rwlock.write_text('{"/results/lists/first.parquet": {"write": 1}}')
    shutil.copy(ROOT / "dvc.lock", project)
    sound = run_command("validate")
    rwlock.write_text("")
    lock.write_text("")
    cut_off = run_command("validate")
    lock.write_text("<<<<<<< HEAD\nschema: '2.0'\n=======\n: {\n>>>>>>> other\n")
    in_conflict = run_command("validate")

    assert sound.code == 0, sound.err
    assert cut_off.code == in_conflict.code == 2
    assert cut_off.err == (
        "dvc.lock: is truncated, so `dvc repro` cannot read it\n"
        "  fix: restore it by `git checkout dvc.lock`; if git has none, delete it\n"
        ".dvc/tmp/rwlock: is truncated, so `dvc repro` cannot read it\n"
        "  fix: delete it, while no `dvc` runs\n"
    )
    assert in_conflict.err.startswith("dvc.lock: has merge conflict markers: line ")


@pytest.mark.fault(4, "a signal during imports has the same effect")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_the_imports_ends_it_silently(
    project: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    path = tmp_path / "mark"
    paused = broken(1, r"^import concord.pipeline.running.stage", "pause", path)
    running = start(project, "concord", "stage", *LOAD, **paused)
    wait_for(path)
    running.send_signal(number)
    _, err = running.communicate(timeout=30)

    assert (running.returncode, err) == (code, "")


WRITES = r"^(open .*results/\S*(writes|reads)|os\.(rename|remove|mkdir) .*results)"


@pytest.mark.nightly
@pytest.mark.parametrize("words", [LOAD, ("compare",)], ids=" ".join)
def test_dying_at_every_write_changes_nothing(
    project: Path, expected: dict[str, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = tmp_path / "mark"
    if words == LOAD:
        (project / "results/lists/first.parquet").unlink()
    else:
        shutil.rmtree(project / "results/comparison")
    for number in range(1, 999):  # `compare` has more than a hundred writes
        code = _stage(project, *words, **broken(number, WRITES, "die", path))
        assert digests(project).items() <= expected.items(), number
        if not path.exists():
            break
        assert code == -signal.SIGKILL
        path.unlink()
    assert number > 6
    assert digests(project) == expected
    assert parts(project) == []


@pytest.mark.nightly
def test_repro_after_ctrl_c_completes(tmp_path: Path) -> None:
    project, path = demo_of_two_models(tmp_path), tmp_path / "mark"
    running = start(project, *REPRO, **broken(1, RENAME, "pause", path))
    wait_for(path)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    run(project, *REPRO)

    assert running.returncode != 0
    assert "stopped by SIGINT" in err
    assert (project / "results/lists/popularity.parquet").is_file()
