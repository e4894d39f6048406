"""Where `concord comment` looks: the folder of the project, and the commit that it is told."""

from pathlib import Path

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.diffing.base import at_hand, folder_in_git
from tests.project import run


def test_the_folder_is_that_in_the_git_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "shop" / "evaluation"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert folder_in_git() == ""

    run(tmp_path, "git", "init", "-q")

    assert folder_in_git() == "shop/evaluation"
    monkeypatch.chdir(tmp_path)
    assert folder_in_git() == ""


@pytest.mark.parametrize("given", ["main", "--upload-pack=touch x", "A" * 40, "a" * 39])
def test_what_is_no_commit_is_never_given_to_git(given: str) -> None:
    with pytest.raises(InputError, match="is no commit"):
        at_hand(given)
