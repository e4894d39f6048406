"""Many processes that sweep what others left never take what another is about to use."""

import subprocess
import sys

import pytest

from tests.project import ROOT

pytestmark = pytest.mark.whole

MANY_FOLDERS = """
from pathlib import Path
from concord.pipeline.running.leftovers import claimed, spill_folder
part = Path(__import__("sys").argv[1])
for n in range(150):
    with spill_folder() as folder:
        assert Path(folder).is_dir()
        (Path(folder) / "spilled").touch()
    with claimed(part):
        assert part.exists()
        part.unlink()
"""


def test_processes_that_sweep_at_once_leave_each_other_alone(tmp_path: object) -> None:
    command = [sys.executable, "-c", MANY_FOLDERS]
    started = [
        subprocess.Popen([*command, f"{tmp_path}/{n}.part"], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for n in range(4)
    ]  # fmt: skip
    said = [process.communicate(timeout=120)[1] for process in started]

    assert [process.returncode for process in started] == [0] * 4, said
