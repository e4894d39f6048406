"""Where and when Concord runs changes no byte: locale, time zone, clock, umask, terminal, places of files."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.faults.breaking import HOOK
from tests.faults.tiny import LOAD, MODELS, STAGES, digests, forget, repro, stage
from tests.project import ROOT, attempt, change_params, run, run_stages

pytestmark = pytest.mark.whole

BARE = {
    "LC_ALL": "POSIX",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "TZ": "Pacific/Chatham",
    "COLUMNS": "8",
    "TERM": "dumb",
}
TEN_YEARS = str(10 * 365.25 * 86_400)
RUNS = [
    ("load-truth",),
    *(("load", model) for model in MODELS),
    *(("evaluate", model) for model in MODELS),
    ("compare",),
    ("report",),
]


def _again(project: Path, **environment: str) -> None:
    """Every stage up to the report, from nothing."""
    shutil.rmtree(project / "results")
    for name in RUNS:
        done = stage(project, *name, **environment)
        assert done.returncode == 0, done.stderr


def _without_mlflow(found: dict[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in found.items() if "mlflow" not in name}


@pytest.mark.fault(19, "hash seeds change no byte")
@pytest.mark.fault(20, "one thread gives the bytes of all")
@pytest.mark.fault(21, "a bare locale, another encoding and time zone change no byte")
def test_a_bare_environment_changes_no_byte(project: Path, expected: dict[str, str]) -> None:
    _again(project, **BARE, PYTHONHASHSEED="7", CONCORD_THREADS="1")

    assert digests(project) == _without_mlflow(expected)


def test_without_docstrings_and_asserts_no_byte_changes(
    project: Path, expected: dict[str, str]
) -> None:
    _again(project, PYTHONOPTIMIZE="2")
    told, formulas = (
        attempt(ROOT, "concord", "metrics", COLUMNS="200", PYTHONOPTIMIZE=level).stdout
        for level in ("0", "2")
    )

    assert digests(project) == _without_mlflow(expected)
    assert formulas == told


@pytest.mark.parametrize("given", ["1000000", "513", "9" * 5000, "0", "-1", "2.5", "two", "²"])
def test_a_number_of_threads_that_no_machine_has_is_refused(project: Path, given: str) -> None:
    done = stage(project, *LOAD, CONCORD_THREADS=given)

    assert done.returncode == 2
    assert "environment variable CONCORD_THREADS: is " in done.stderr
    assert "set it to a whole number from 1 to 512" in done.stderr


@pytest.mark.parametrize("given", ["99999999999TB", "9" * 400 + "KB", "4", "-4GB", "٤GB"])
def test_a_limit_of_memory_that_is_none_is_refused(project: Path, given: str) -> None:
    done = stage(project, *LOAD, CONCORD_MEMORY=given)

    assert done.returncode == 2
    assert "environment variable CONCORD_MEMORY: is " in done.stderr


@pytest.mark.fault(21, "what is not ASCII is written and said under any locale")
def test_names_that_are_not_ascii_pass_under_a_bare_locale(project: Path) -> None:
    path = project / "data" / "Läden été.csv"
    shutil.copy(project / "data" / "demo" / "popularity.csv", path)
    change_params(project, {"models.popularity.path": "data/Läden été.csv"})
    done = stage(project, *LOAD, **BARE)
    quality = (project / "results" / "quality" / "popularity.json").read_text(encoding="utf-8")
    path.write_text(path.read_text().replace("\n", "\nü", 1) + "wrong\n")
    refused = stage(project, *LOAD, **BARE)

    assert done.returncode == 0, done.stderr
    assert '"path": "data/Läden été.csv"' in quality
    assert refused.returncode == 2
    assert "has 1 values" in refused.stderr


@pytest.mark.fault(22, "a clock that is ten years wrong changes no byte, and no output holds today")
def test_the_clock_stands_in_no_output(project: Path, expected: dict[str, str]) -> None:
    shutil.rmtree(project / "results")
    run_stages(project, *(" ".join(name) for name in RUNS), PYTHONPATH=HOOK, FAULT_CLOCK=TEN_YEARS)
    today = re.compile(datetime.now(UTC).strftime("%Y-%m-%d"))

    assert digests(project) == _without_mlflow(expected)
    texts = [p for p in (project / "results").rglob("*") if p.suffix in (".json", ".md", ".csv")]
    assert [p.name for p in texts if today.search(p.read_text(encoding="utf-8"))] == []


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system, where there is one."""
    shared = Path("/dev/shm")
    folder = (shared if os.access(shared, os.W_OK) else tmp_path) / f"concord-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_awkward_places_change_no_byte(
    project: Path, expected: dict[str, str], tmp_path: Path, elsewhere: Path
) -> None:
    """No git, a cache of links on another file system, an awkward path, files for nobody else."""
    awkward = tmp_path / "été 'quoted' $HOME #1"
    project.rename(awkward)
    forget(awkward)
    shutil.rmtree(awkward / ".git")
    for setting in (
        ("core.no_scm", "true"),
        ("cache.dir", str(elsewhere)),
        ("cache.type", "symlink"),
    ):
        run(awkward, "dvc", "config", *setting)
    run(awkward, "sh", "-c", "umask 077; dvc repro " + " ".join(STAGES))
    lists = awkward / "results" / "lists" / "popularity.parquet"
    was_link = lists.is_symlink()
    cached = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    forced = repro(awkward, "-f", "-s", "load@popularity", "evaluate@popularity")

    assert was_link
    assert "Running stage 'load@popularity'" in forced
    assert {path: path.read_bytes() for path in cached} == cached
    assert digests(awkward) == _without_mlflow(expected) | {
        "dvc.lock": digests(awkward)["dvc.lock"]
    }


def _on_a_terminal(project: Path, columns: int) -> str:
    """What the load stage writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    running = subprocess.Popen(
        [sys.executable, "-m", "concord", "stage", *LOAD],
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            said += os.read(ours, 1024)
        except OSError:  # the other end has gone
            break
    os.close(ours)
    assert running.wait() == 0
    return said.decode()


@pytest.mark.parametrize("columns", [8, 80])
def test_progress_fits_the_terminal_and_is_gone_at_the_end(project: Path, columns: int) -> None:
    said = _on_a_terminal(project, columns)
    *drawn, last = said.split("\r\x1b[K")
    pictures = [picture for picture in "".join(drawn).replace("\x1b[K", "").split("\r") if picture]

    assert pictures
    assert all(len(picture) < columns for picture in pictures)
    assert last.startswith("load popularity: 36,000 rows, 1,200 users; ")


def test_without_a_terminal_there_is_no_progress(project: Path) -> None:
    said = stage(project, *LOAD).stderr

    assert "\r" not in said
    assert said.count("\n") == 1


def test_a_reader_who_leaves_early_stops_no_work(project: Path, expected: dict[str, str]) -> None:
    shutil.rmtree(project / "results" / "comparison")
    done = attempt(project, "sh", "-c", "(concord stage compare; echo code $? >&2) | true")
    listed = attempt(ROOT, "sh", "-c", "concord metrics | head -1")

    assert done.stderr.endswith("code 0\n")
    assert "Traceback" not in done.stderr
    assert digests(project) == expected
    assert listed.stderr == ""
