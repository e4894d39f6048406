"""Which commits are rows: in small repositories of git, without DVC."""

from contextlib import chdir
from pathlib import Path

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.history.commits import commits, contents, is_shallow, since
from tests.pipeline.revisions import commit, git
from tests.project import run


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """main: one, (words, tag), [side: two], merge of side, three; the evaluation lies in a folder."""
    root = tmp_path_factory.mktemp("git")
    (root / "evaluation").mkdir()
    git(root, "init", "-q", "-b", "main")
    _locked(root, "one")
    (root / "words").write_text("words")
    commit(root, "words")
    git(root, "tag", "after-one")
    git(root, "checkout", "-q", "-b", "side")
    _locked(root, "two")
    git(root, "tag", "on-side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "side", "-m", "merge of side")
    git(root, "tag", "-a", "merged", "-m", "annotated")
    _locked(root, "three")
    return root / "evaluation"


def _locked(root: Path, content: str) -> None:
    (root / "evaluation/dvc.lock").write_text(f"{content}\nsecond line\n")
    commit(root, content)


def test_commits_of_the_branch_that_changed_the_lock_oldest_first(repository: Path) -> None:
    with chdir(repository):
        found = commits()

    assert [each.subject for each in found] == ["one", "merge of side", "three"]
    assert [each.tags for each in found] == [("after-one",), ("merged",), ()]


def test_what_a_file_held_at_each_commit_and_where_there_was_none(repository: Path) -> None:
    with chdir(repository):
        names = [each.name for each in commits()]

        assert contents(names, "dvc.lock") == [f"{x}\nsecond line\n" for x in ("one", "two", "three")]  # fmt: skip
        assert contents(names, "no such/file") == [None] * 3
        assert contents(names, ".") == [None] * 3  # a folder
        assert contents([], "dvc.lock") == []


def test_after_a_tag_and_after_a_range(repository: Path) -> None:
    with chdir(repository):
        after = [each.subject for each in commits() if each.name in since("after-one")]

        assert after == ["merge of side", "three"]
        assert since("after-one..") == since("after-one")


@pytest.mark.parametrize("revision", ["nope", "--all", ""])
def test_no_revision_is_refused(repository: Path, revision: str) -> None:
    with chdir(repository), pytest.raises(InputError, match="is no revision"):
        since(revision)


def test_a_shallow_checkout_is_known(repository: Path, tmp_path: Path) -> None:
    run(tmp_path, "git", "clone", "-q", "--depth=1", f"file://{repository.parent}", "copy")

    with chdir(tmp_path / "copy"):
        assert is_shallow()
    with chdir(repository):
        assert not is_shallow()


def test_without_a_commit_there_is_no_history(tmp_path: Path) -> None:
    with chdir(tmp_path), pytest.raises(InputError, match="no commit here"):
        commits()
