"""Commands from other folders than that of the evaluation."""

from argparse import Namespace
from pathlib import Path

import pytest

from concord.pipeline.commands.parser import FilePath
from concord.pipeline.terminal import in_evaluation
from tests.pipeline.init.repository import write
from tests.project import attempt

CUSTOM = "values_version: 0\n"


def test_paths_of_the_command_line_name_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"ev/params.yaml": CUSTOM, "here/x.csv": "a"})
    monkeypatch.chdir(tmp_path / "here")
    absolute = FilePath(tmp_path / "here/x.csv")
    arguments = Namespace(dir="../ev", csv=FilePath("x.csv"), html=absolute, model="x.csv")
    with in_evaluation(arguments):
        content = Path(arguments.csv).read_text()
        folder = Path.cwd()

    assert (content, folder) == ("a", tmp_path / "ev")
    assert (arguments.html, arguments.model) == (absolute, "x.csv")
    assert Path.cwd() == tmp_path / "here"


@pytest.mark.parametrize("arguments", [(), ("--dir", "ev")])
def test_command_reads_the_evaluation_below_and_names_it(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    write(tmp_path, {"ev/params.yaml": CUSTOM})
    done = attempt(tmp_path, "concord", "leaderboard", *arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("evaluation: ev\nparams.yaml: line 1, values_version: has values")


def test_unknown_folder_is_refused(tmp_path: Path) -> None:
    done = attempt(tmp_path, "concord", "gate", "--dir", "ev")

    assert (done.returncode, done.stderr) == (
        2,
        "command line: --dir: there is no folder 'ev'\n  fix: name the folder of an evaluation\n",
    )
