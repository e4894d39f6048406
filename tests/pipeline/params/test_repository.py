"""The evaluation that commands find from anywhere in a repository."""

from pathlib import Path

import pytest

from concord.pipeline.params.repository import find_evaluation_folder, run_hint
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
