"""The evaluation that commands find from anywhere in a repository."""

import ntpath
from pathlib import Path
from types import SimpleNamespace

import pytest

from concord.metrics_core.files import is_address
from concord.pipeline.params import repository
from concord.pipeline.params.repository import (
    find_evaluation_folder,
    normalized_path,
    relative_path,
    run_hint,
)
from tests.pipeline.init.repository import write

OWN, OTHER = "values_version: 1\n", "lr: 1\n"
UNVERSIONED = "conventions:\n  preset: standard\n"


def params(folder: str, text: str = OWN) -> dict[str, str]:
    return {f"{folder}/params.yaml": text}


@pytest.mark.parametrize(
    ("files", "start", "expected"),
    [
        (params("r/ev"), "r/ev", "r/ev"),
        (params("r/ev"), "r/ev/results/report", "r/ev"),
        (params("r", UNVERSIONED), "r/data", "r"),
        (params("r/ev") | params("r", OTHER), "r", "r/ev"),
        (params("r/ev") | params("r/src", OTHER), "r/src", None),
        (params("r/ev") | params("r/ev/inner"), "r/ev", "r/ev"),
        (params("r/ml/offline/ev"), "r", "r/ml/offline/ev"),
        (params("r/a") | params("r/b"), "r", None),
        (params("r/a") | params("r/b"), "r/b/data", "r/b"),
        (params("r/.dvc/tmp") | params("r/b"), "r", "r/b"),
        (params("."), "r/ev", None),  # outside of the repository
        ({}, "r", None),
    ],
)
def test_nearest_evaluation_is_above_or_the_only_one_below(
    tmp_path: Path, files: dict[str, str], start: str, expected: str | None
) -> None:
    write(tmp_path, {"r/.git/config": "", **files})
    (tmp_path / start).mkdir(parents=True, exist_ok=True)

    found = find_evaluation_folder(tmp_path / start)

    assert found == (None if expected is None else tmp_path / expected)


def test_several_evaluations_are_listed(tmp_path: Path) -> None:
    write(tmp_path, params("an a") | params("b"))

    assert run_hint(tmp_path) == "name one of the evaluations by `--dir`: 'an a', b"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the functions of paths have those of Windows."""
    monkeypatch.setattr(repository, "os", SimpleNamespace(path=ntpath, sep="\\"))


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"C:\shop\out\als.csv", "../out/als.csv"),
        (r"c:\Shop\evaluation", "."),
        (r"D:\out\als.csv", "D:/out/als.csv"),
        (r"\\server\share\als.csv", "//server/share/als.csv"),
    ],
)
def test_paths_of_windows_are_written_with_slashes(path: str, expected: str) -> None:
    assert relative_path(path, r"C:\shop\evaluation") == expected
    assert not is_address(path)
    assert not is_address(expected)


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("path", [r".\data\als.csv", "data//als.csv", r"data/x/..\als.csv"])
def test_a_path_of_params_on_windows_is_that_of_dvc_lock(path: str) -> None:
    assert normalized_path(path) == "data/als.csv"


def test_a_backslash_is_part_of_a_name_elsewhere() -> None:
    assert normalized_path(r"./data\als.csv") == r"data\als.csv"
