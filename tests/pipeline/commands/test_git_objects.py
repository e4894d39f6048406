"""`gate`, `diff` and `comment` against a revision with damaged objects or a merge conflict."""

import shutil
import time
from pathlib import Path

import pytest

from tests.pipeline.dvc.revisions import SECOND, cached_file, commit, git
from tests.project import attempt, change_params, copied_from, run

pytestmark = pytest.mark.whole

COMMANDS = ("gate", "diff", "comment")
GATE = {"guardrails": {"nDCG@10": "2%"}}
SECONDS = 20  # of a refusal


@pytest.fixture
def project(revisions: Path, tmp_path: Path) -> Path:
    """Two commits; ease is worse than at the tag v1."""
    copy = copied_from(revisions / SECOND / "a project", tmp_path)
    change_params(copy, {"gate": GATE})
    return copy


def make_partial_clone(project: Path) -> Path:
    """Return a clone without old files of git, with the results and the cache of the project."""
    clone = project.parent / "clone"
    git(project, "config", "uploadpack.allowFilter", "true")
    commit(project, "a gate")
    run(project.parent, "git", "clone", "-q", "--filter=blob:none", f"file://{project}", str(clone))
    shutil.copytree(project / ".dvc/cache", clone / ".dvc/cache")
    shutil.copytree(project / "results", clone / "results", dirs_exist_ok=True)
    assert "?" in git(clone, "rev-list", "--objects", "--missing=print", "v1")
    return clone


def run_refused(project: Path, command: str) -> str:
    start = time.monotonic()
    done = attempt(project, "concord", command, "v1")
    assert time.monotonic() - start < SECONDS
    assert done.returncode == 2, done.stdout + done.stderr
    return (done.stdout + done.stderr).replace("\\", "")  # Markdown escapes


@pytest.mark.fault(41, "`gate`, `diff`, `comment`: a partial clone fetches missing objects")
def test_partial_clone_fetches_missing_objects(project: Path) -> None:
    clone = make_partial_clone(project)
    for command in COMMANDS:
        expected, results = (attempt(each, "concord", command, "v1") for each in (project, clone))
        assert (results.returncode, results.stdout) == (expected.returncode, expected.stdout)


@pytest.mark.fault(41, "`gate`, `diff`, `comment`: an error that names the file")
@pytest.mark.parametrize("command", COMMANDS)
def test_partial_clone_without_remote_is_refused(project: Path, command: str) -> None:
    clone = make_partial_clone(project)
    project.rename(project.parent / "elsewhere")

    assert "params.yaml of v1: git cannot read it" in run_refused(clone, command)


@pytest.mark.fault(41, "`gate`, `diff`, `comment`: an error that names the file")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["params.yaml", "dvc.lock"])
def test_a_missing_or_damaged_git_object_is_named(project: Path, command: str, name: str) -> None:
    blob = git(project, "rev-parse", f"v1:{name}").strip()
    file = project / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o600)
    for spoil in (file.unlink, lambda: file.write_bytes(b"damaged")):
        spoil()
        message = run_refused(project, command)
        assert f"{name} of v1: git cannot read it: an object is missing or damaged" in message
        assert "`git fsck`" in message


@pytest.mark.fault(42, "`gate`, `diff`, `comment`: an error with the line of the first marker")
@pytest.mark.parametrize("command", COMMANDS)
def test_conflict_markers_of_a_revision_are_named(project: Path, command: str) -> None:
    head = git(project, "rev-parse", "HEAD").strip()
    lock = project / "dvc.lock"
    sound = lock.read_text()
    lock.write_text(sound + "<<<<<<< HEAD\n=======\n>>>>>>> main\n")
    commit(project, "a merge")
    git(project, "tag", "-f", "v1")
    lock.write_text(sound)
    git(project, "reset", "-q", "--soft", head)

    line = sound.count("\n") + 1
    message = run_refused(project, command)
    assert f"dvc.lock of v1: has merge conflict markers: line {line} starts with" in message


@pytest.mark.fault(42, "`gate`, `comment`: a warning if they are in the working tree")
def test_conflict_markers_of_the_working_tree_are_a_warning(project: Path) -> None:
    lock = project / "dvc.lock"
    lock.write_text("<<<<<<< HEAD\n" + lock.read_text())

    for command in ("gate", "comment"):
        message = attempt(project, "concord", command, "v1").stderr
        assert (
            "warning: dvc.lock has merge conflict markers: line 1 starts with '<<<<<<<'" in message
        )


def test_results_outside_the_cache_come_from_the_remote_or_git(project: Path) -> None:
    expected = run(project, "concord", "diff", "v1")
    path = "results/per_user/ease.parquet"
    run(project, "dvc", "remote", "add", "-q", "-d", "store", str(project.parent / "store"))
    shutil.copytree(project / ".dvc/cache/files", project.parent / "store/files")
    file = cached_file(project, "v1", path)
    content = file.read_bytes()

    file.unlink()
    assert run(project, "concord", "diff", "v1") == expected
    assert file.read_bytes() == content

    file.unlink()
    shutil.rmtree(project.parent / "store")
    message = attempt(project, "concord", "diff", "v1").stderr
    assert f"results of v1: {path} is neither in DVC's cache nor on a remote" in message

    file.write_bytes(content)
    git(project, "add", "-f", path)
    git(project, "commit", "-q", "-m", "results in git", path)
    cached_file(project, "HEAD", path).unlink()
    assert "same values for every user: ease, knn, recent" in run(
        project, "concord", "diff", "HEAD"
    )
