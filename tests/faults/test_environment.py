"""No byte depends on locale, time zone, clock, umask or the location of files."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.faults.small import LOAD, STAGES, demo_of_two_models, digests, run_all, run_stage
from tests.project import change_params, run_all_stages, run_process, run_stages

MINIMAL_ENVIRONMENT = {
    "LC_ALL": "POSIX",
    "TZ": "Pacific/Chatham",
    "COLUMNS": "8",
    "TERM": "dumb",
}
DVC_STAGES = ("load-truth", "load", "evaluate", "reference", "compare", "report")  # all but MLflow
TEN_YEARS = 10 * 365.25 * 86_400


@pytest.mark.fault(19, "no byte changes")
@pytest.mark.fault(20, "no byte changes")
@pytest.mark.fault(21, "no byte changes")
def test_a_bare_environment_changes_no_byte(project: Path, expected: dict[str, str]) -> None:
    shutil.rmtree(project / "results")
    environment = {**MINIMAL_ENVIRONMENT, "PYTHONHASHSEED": "7", "CONCORD_THREADS": "1"}
    run_stages(project, *(" ".join(words) for words in STAGES), **environment)

    assert digests(project) == expected


@pytest.mark.fault(21, "text that is not ASCII is written and shown")
def test_names_that_are_not_ascii_pass_under_a_bare_locale(project: Path) -> None:
    path = project / "data" / "Läden été.csv"
    shutil.copy(project / "data/first.csv", path)
    change_params(project, {"models.first.path": "data/Läden été.csv"})
    run_process(project, "concord", "stage", *LOAD, **MINIMAL_ENVIRONMENT)
    quality = (project / "results" / "quality" / "first.json").read_text(encoding="utf-8")

    assert '"path": "data/Läden été.csv"' in quality


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *(("CONCORD_THREADS", value) for value in ("1000000", "513", "0", "-1", "2.5", "²")),
        *(("CONCORD_MEMORY", value) for value in ("lots", "99999999999TB", "4", "-4GB", "٤GB")),
    ],
)
def test_invalid_limit_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    ended = run_stage(*LOAD)

    assert ended.code == 2
    assert f"environment variable {variable}: is {value!r}" in ended.err


@pytest.mark.fault(22, "no byte changes; no output contains the date")
def test_no_output_contains_the_time(
    project: Path, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(project / "results")
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + TEN_YEARS)
    run_all()
    today = re.compile(datetime.now(UTC).strftime("%Y-%m-%d"))

    assert digests(project) == expected
    texts = [p for p in (project / "results").rglob("*") if p.suffix in (".json", ".md", ".csv")]
    assert [p.name for p in texts if today.search(p.read_text(encoding="utf-8"))] == []


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on another file system if there is one."""
    shared = Path("/dev/shm")
    folder = (shared if os.access(shared, os.W_OK) else tmp_path) / f"concord-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.mark.nightly
def test_awkward_places_change_no_byte(tmp_path: Path, elsewhere: Path) -> None:
    """No git, a cache of links on another file system, an awkward path, a strict umask."""
    plain = demo_of_two_models(tmp_path)
    awkward = tmp_path / "été 'quoted' $HOME #1"
    shutil.copytree(plain, awkward, symlinks=True)
    run_all_stages(plain, last="report")
    shutil.rmtree(awkward / ".git")
    for setting in (
        ("core.no_scm", "true"),
        ("cache.dir", str(elsewhere)),
        ("cache.type", "symlink"),
    ):
        run_process(awkward, "dvc", "config", *setting)
    run_process(awkward, "sh", "-c", f"umask 077; dvc repro {' '.join(DVC_STAGES)}")
    was_link = (awkward / "results" / "lists" / "popularity.parquet").is_symlink()
    cached = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    forced = run_process(
        awkward, "dvc", "repro", "-f", "-s", "load@popularity", "evaluate@popularity"
    )

    assert was_link
    assert "Running stage 'load@popularity'" in forced
    assert {path: path.read_bytes() for path in cached} == cached
    assert digests(awkward) == digests(plain)
