"""States from git and a cache: rows of commits, content of dvc.lock, reuse of the truth."""

import json
import re
import subprocess
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
import yaml

from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.results.history import History, InputChange, Setting
from concord.metrics_core.results.stored import SCHEMA, from_content
from concord.pipeline.dvc.git import (
    FileAtCommit,
    find_commit,
    is_shallow,
    read_blobs,
    read_files,
)
from concord.pipeline.dvc.history import compare_states, history, input_changes
from concord.pipeline.dvc.history_states import (
    State,
    commits_since,
    count_reuse,
    list_commits,
    read_states,
)
from concord.pipeline.dvc.lock import ComparisonParams, DvcLock
from concord.pipeline.dvc.revision import RevisionFiles
from concord.reports.text.history import decimals
from tests.metrics_core.defined import defined
from tests.pipeline.dvc.revisions import commit, git
from tests.project import ROOT, run
from tests.reports.samples import sample

PARAMS = "params.yaml"


def stage(name: str, md5: str = "00", **parts: Any) -> dict[str, Any]:
    """Return a stage of dvc.lock with an output."""
    return {"outs": [{"path": f"results/{name}", "md5": md5}], **parts}


def lock_text(
    marker: str,
    lists: str = "l1",
    *,
    truth: str = "t1",
    train: str = "r1",
    preset: str = "standard",
    gain: str = "linear",
    values_version: str = "1",
) -> str:
    """Return the text of a dvc.lock of a comparison of `als` with a baseline."""
    truth_path = {"path": "truth.csv"}
    params = {
        "values_version": int(values_version),
        "comparison": {"baseline": "base", "primary": ["R@1"]},
        "conventions": {"preset": preset, "gain": gain},
        "models": {name: {"path": f"{name}.csv"} for name in ("als", "base")},
    }
    return to_text(
        {
            "load-truth": stage(
                "data/truth.parquet",
                deps=[truth_path | {"md5": truth}],
                params={PARAMS: {"data.truth": truth_path}},
            ),
            "load-background@train": stage("data/train.parquet", train),
            "load@als": stage("lists/als.parquet", lists),
            "load@base": stage("lists/base.parquet", "b1"),
            "compare": stage("comparison", f"{marker}.dir", params={PARAMS: params}),
            "report": {"params": {PARAMS: {"results": {"report": "results/report"}}}},
        }
    )


def to_text(stages: dict[str, Any]) -> str:
    return yaml.safe_dump({"schema": "2.0", "stages": stages}, sort_keys=False)


class Project:
    """A git repository with a dvc.lock, and a folder of files by their hash."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder / "project", folder / "cache"
        for each in (self.folder, self.files):
            each.mkdir()
        run(self.folder, "git", "init", "-q")

    def commit(self, marker: str, lists: str, *, truth: str = "t1") -> None:
        """Commit a comparison of `als` with a baseline; `lists`: the hash of its lists."""
        self.put(marker, json.dumps(sample.two_models()))
        self.lock(marker, lists, truth=truth)

    def put(self, marker: str, comparison: str) -> None:
        (self.files / f"json-{marker}").write_text(comparison)
        listing = [{"md5": f"json-{marker}", "relpath": "comparison.json"}]
        (self.files / f"{marker}.dir").write_text(json.dumps(listing))

    def lock(self, marker: str, lists: str, **other: str) -> None:
        (self.folder / "dvc.lock").write_text(lock_text(marker, lists, **other))
        commit(self.folder, marker)

    def states(self) -> list[State]:
        with chdir(self.folder):
            return read_states(self._cached)

    def history(self) -> History:
        with chdir(self.folder), patch("concord.pipeline.dvc.history.DvcCache") as cache:
            cache.return_value.find = self._cached
            return history()

    def _cached(self, marker: str) -> Path | None:
        path = self.files / marker
        return path if path.is_file() else None


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_commit_with_the_same_comparison_is_no_row(project: Project) -> None:
    project.commit("c1", "l1")
    project.lock("c1", "l2")
    project.commit("c2", "l2")
    project.lock("c1", "l1")

    assert [each.content_id for each in project.states()] == ["c1.dir", "c2.dir", "c1.dir"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (json.dumps({"schema": 3}), "has schema 3"),
        (json.dumps({"schema": SCHEMA}), "cannot be read"),
        ('{"schema": 4', "is damaged: it is not valid JSON"),
        (None, "its results are not in DVC's cache"),
    ],
)
def test_an_unreadable_comparison_is_a_row_with_a_reason(
    project: Project, content: str | None, why: str
) -> None:
    if content is not None:
        project.put("c1", content)
    report = project.folder / "results/report"
    report.mkdir(parents=True)
    primary = {"R@1": {"als": 0.5, "base": 0.0}, "R@1 verdict": {"als": "too few differ"}}
    (report / "primary.json").write_text(json.dumps(primary))
    project.lock("c1", "l1")

    (result,) = project.states()

    assert result.comparison is None
    assert why in result.read_error
    assert result.primary == primary


def test_values_of_another_version_are_not_shown(project: Project) -> None:
    report = project.folder / "results/report"
    report.mkdir(parents=True)
    primary = {"R@1": {"als": 0.5, "base": 0.4}, "R@1 verdict": {"als": "better"}}
    (report / "primary.json").write_text(json.dumps(primary))
    project.put("c1", json.dumps(sample.two_models()))
    project.lock("c1", "l1", values_version="2")

    (result,) = project.states()

    assert (result.comparison, result.primary) == (None, {})
    assert result.read_error == "its values have version 2, not 1"


@pytest.mark.parametrize("word", ["better, perhaps by less", "slightly better"])
def test_verdicts_of_primary_json_are_read_also_in_the_words_of_older_revisions(
    project: Project, word: str
) -> None:
    report = project.folder / "results/report"
    report.mkdir(parents=True)
    primary = {"R@1": {"als": 0.5, "base": 0.4}, "R@1 verdict": {"als": word}}
    (report / "primary.json").write_text(json.dumps(primary))
    project.lock("c1", "l1")

    result = project.history()

    verdicts = [each.verdict for each in result.revisions[0].standings]
    assert verdicts == ["better_below_threshold", None]


def test_damage_in_the_cache_is_a_row(project: Project) -> None:
    project.commit("c1", "l1")
    (project.files / "c1.dir").write_text("[{}]")

    assert [each.read_error for each in project.states()] == [
        "its results in DVC's cache are damaged"
    ]


CONFLICT = "<<<<<<< HEAD\n  a:\n=======\n  b:\n>>>>>>> main\n"
MARKER = "has merge conflict markers: line 14 starts with '<<<<<<<'"


def find_blob(project: Project, revision: str) -> Path:
    """Return the file of git that holds dvc.lock of a revision."""
    name = git(project.folder, "rev-parse", f"{revision}:dvc.lock").strip()
    return project.folder / ".git/objects" / name[:2] / name[2:]


def _add_conflict(project: Project) -> str:
    path = project.folder / "dvc.lock"
    path.write_text(path.read_text().replace("  load-background@train:\n", CONFLICT))
    commit(project.folder, "merge")
    return MARKER


def _write_bytes(project: Project) -> str:
    (project.folder / "dvc.lock").write_bytes(b"\x00\xff")
    commit(project.folder, "bytes")
    return "is not a valid dvc.lock"


WAYS: dict[str, Callable[[bytes, bytes], bytes | None]] = {
    "missing": lambda content, earlier: None,
    "damaged": lambda content, earlier: b"damaged",
    "cut": lambda content, earlier: content[: len(content) // 2],
    "that of the commit before": lambda content, earlier: earlier,
}


def _spoil_blob(way: str, project: Project) -> str:
    """Spoil a long dvc.lock in git, which states its size before it reads to the end."""
    project.lock("c2", "l2")
    path = project.folder / "dvc.lock"
    path.write_text(path.read_text() + "".join(f"# {n * n * n}\n" for n in range(100_000)))
    git(project.folder, "commit", "-q", "--amend", "-a", "-m", "c2")
    file, earlier = (find_blob(project, revision) for revision in ("HEAD", "HEAD~1"))
    spoilt = WAYS[way](file.read_bytes(), earlier.read_bytes())
    file.unlink()
    file.write_bytes(spoilt) if spoilt is not None else None
    return "git cannot read it"


@pytest.mark.fault(41, "`history`: a row with the problem")
@pytest.mark.fault(42, "`history`: a row that names the first marker")
@pytest.mark.parametrize(
    "spoil", [_add_conflict, _write_bytes, *(partial(_spoil_blob, way) for way in WAYS)]
)
def test_an_unreadable_lock_file_is_a_row_without_effect_on_the_next(
    project: Project, spoil: Callable[[Project], str]
) -> None:
    project.lock("c1", "l1")
    why = spoil(project)
    project.lock("c3", "l3")

    first, unreadable, last = project.states()

    assert [each.lock.comparison for each in (first, last)] == ["c1.dir", "c3.dir"]
    assert unreadable.read_error.startswith("dvc.lock cannot be read: ")
    assert why in unreadable.read_error
    rows = project.history().to_frame()
    assert rows["note"][1] == unreadable.read_error
    assert rows["changed"].to_list() == ["", "", "other lists: als"]
    assert rows["subject"][1] == git(project.folder, "show", "-s", "--format=%s", "HEAD~1").strip()


def test_an_unreadable_last_lock_file_does_not_end_the_count(project: Project) -> None:
    project.lock("c1", "l1")
    _add_conflict(project)
    (project.folder / "dvc.lock").write_text("x")

    result = project.history()

    assert [each.name == "working tree" for each in result.revisions] == [False, False, True]
    assert result.reuse is not None
    assert result.reuse.comparisons == 1


def test_decimals_are_those_of_the_last_report(project: Project) -> None:
    comparison = from_content(sample.two_models())
    project.commit("c1", "l1")
    project.lock("gone", "l2")
    result = project.history()
    (label, n), *_ = result.decimals.items()

    assert result.decimals == comparison.decimals
    assert decimals(replace(result, decimals={label: n + 2}), label) == n + 2


def test_training_parameters_are_compared_with_the_last_readable_revision(
    project: Project,
) -> None:
    train = project.folder / "train" / "dvc.lock"
    train.parent.mkdir()
    for number, alpha in enumerate([10, 10, 2], start=1):
        params = {"params": {PARAMS: {"alpha": alpha}}, "outs": [{"path": "../als.csv"}]}
        train.write_text(to_text({"train": params}))
        project.lock(f"c{number}", "l1")
    train.write_text("")  # not trained by DVC any more
    (project.folder / "dvc.lock").write_text(
        (project.folder / "dvc.lock").read_text().replace("c3.dir", "c4.dir")
    )

    result = project.history()

    setting = Setting("train/params.yaml:alpha", "10", "2", ("als",))
    assert [each.training_params for each in result.revisions] == [(), (), (setting,), ()]
    assert result.to_frame()["training_params"].to_list()[2] == (
        "als: train/params.yaml:alpha 10 → 2"
    )


def test_removed_lock_file_is_no_row(project: Project) -> None:
    project.lock("c1", "l1")
    (project.folder / "dvc.lock").unlink()
    commit(project.folder, "no results")

    assert [each.commit.subject for each in project.states()] == ["c1"]


def test_line_ends_of_windows_are_read(project: Project) -> None:
    project.lock("c1", "l1")
    path = project.folder / "dvc.lock"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n").replace(b"c1", b"c2"))
    commit(project.folder, "c2")

    assert [each.content_id for each in project.states()] == ["c1.dir", "c2.dir"]


def test_input_changes_without_results_come_from_the_lock(
    project: Project,
) -> None:
    project.lock("c1", "l1")
    project.lock("c2", "l2", truth="t2", train="r2")
    then, now = project.states()

    assert input_changes(then, then) == ()
    assert input_changes(then, now) == (
        InputChange("lists", "other lists: als"),
        InputChange("truth", "another ground truth"),
        InputChange("background", "other train"),
    )


def test_conventions_of_another_version_are_a_reason(project: Project) -> None:
    project.commit("c1", "l1")
    project.commit("c2", "l2")
    then, now = project.states()
    summary = {"conventions": {"preset": "standard", "convention_of_tomorrow": 1}}
    result = ModelResult(pl.DataFrame(), pl.DataFrame(), pl.DataFrame(), summary, {})

    with patch("concord.pipeline.dvc.history._model_result", return_value=result):
        reason, _, compared = compare_states(then, now, lambda _: None)

    assert reason == "its conventions are those of another version of Concord"
    assert compared == ()


@pytest.mark.parametrize("entry", ["{path: slim.csv, was: als}", "{path: als.csv}"])
def test_a_renamed_model_is_neither_removed_nor_new(project: Project, entry: str) -> None:
    project.lock("c1", "l1")
    path = project.folder / "dvc.lock"
    text = re.sub(r" als:\n +path: als.csv", f" slim: {entry}", path.read_text())
    path.write_text(text.replace("load@als", "load@slim").replace("c1.dir", "c2.dir"))
    commit(project.folder, "c2")
    then, now = project.states()

    assert input_changes(then, now) == (InputChange("models", "renamed: slim was als"),)


def test_new_lists_labels_or_conventions_count_as_decisions(project: Project) -> None:
    project.lock("c1", "l1")  # 1
    project.lock("c2", "l2")  # 2: other lists
    project.lock("c3", "l2", preset="custom")  # the preset's name alone
    project.lock("c4", "l1")  # those of the first again
    project.lock("c5", "l1", gain="exp2")  # 3: other conventions

    result = count_reuse(project.states(), 0.95)

    assert result is not None
    assert (result.comparisons, result.decisions, result.severity) == (3, 3, None)
    assert result.chance == pytest.approx(1 - 0.975**3)


def test_reuse_note_grows_with_the_count_and_ends_with_another_truth(project: Project) -> None:
    project.lock("c0", "l0", truth="t0")
    for i in range(1, 29):
        project.lock(f"c{i}", f"l{i}")
    states = project.states()
    results = [defined(count_reuse(states[:n], 0.95)) for n in (1, 2, 5, 6, 28, 29)]

    assert [each.comparisons for each in results] == [1, 1, 4, 5, 27, 28]
    severities = [None, None, None, "notice", "notice", "serious"]
    assert [each.severity for each in results] == severities
    assert "used in 1 comparison to decide once whether a model" in results[1].sentence
    assert "up to 50.8" in results[-1].sentence
    assert "use a new ground truth" in results[-1].sentence


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project in a folder; main: one, (words, tag), [side: two], merge of side, three."""
    root = tmp_path_factory.mktemp("git")
    (root / "evaluation").mkdir()
    git(root, "init", "-q", "-b", "main")
    commit_text(root, "one")
    (root / "words").write_text("words")
    commit(root, "words")
    git(root, "tag", "after-one")
    git(root, "checkout", "-q", "-b", "side")
    commit_text(root, "two")
    git(root, "tag", "on-side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "side", "-m", "merge of side")
    git(root, "tag", "-a", "merged", "-m", "annotated")
    commit_text(root, "three")
    return root / "evaluation"


def commit_text(root: Path, content: str) -> None:
    (root / "evaluation/dvc.lock").write_text(f"{content}\nsecond line\n")
    commit(root, content)


def test_commits_that_changed_the_lock_are_oldest_first(repository: Path) -> None:
    with chdir(repository):
        result = list_commits()

    assert [each.subject for each in result] == ["one", "merge of side", "three"]
    assert [each.tags for each in result] == [("after-one",), ("merged",), ()]


LINE_BREAKS = "a\u2028b\u2029c\x85d\fe\vf\x1cg\rh\x1fi"


@pytest.fixture
def unusual_history(tmp_path: Path) -> Path:
    """Three commits with words that break lines, and tags of all kinds."""
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("one", LINE_BREAKS, "three"):
        (tmp_path / "dvc.lock").write_text(name)
        commit(tmp_path, name)
    git(tmp_path, "tag", "v\u2028\u00a0\x85v", "HEAD~1")
    git(tmp_path, "tag", "-a", "-m", LINE_BREAKS, "annotated", "HEAD~1")
    git(tmp_path, "-c", "advice.nestedTag=false", "tag", "-a", "-m", "x", "nested", "annotated")
    git(tmp_path, "tag", "of-a-file", "HEAD:dvc.lock")
    git(tmp_path, "branch", "annotated")
    (tmp_path / "HEAD").touch()
    return tmp_path


@pytest.mark.fault(40, "`history` reads subjects and tags unchanged")
def test_odd_characters_and_settings_of_git_change_no_history(
    unusual_history: Path,
) -> None:
    with chdir(unusual_history):
        expected = list_commits()
        settings = {
            "log.showSignature": "true",
            "log.follow": "true",
            "log.date": "raw",
            "i18n.logOutputEncoding": "UTF-16",
            "color.ui": "always",
            "core.abbrev": "4",
            "log.decorate": "full",
            "format.pretty": "fuller",
            "core.quotePath": "true",
        }
        for key, value in settings.items():
            git(unusual_history, "config", key, value)
        result = list_commits()

    assert [each.subject for each in result] == ["one", LINE_BREAKS, "three"]
    assert [each.tags for each in result] == [(), ("annotated", "nested", "v\u2028\u00a0\x85v"), ()]
    assert [replace(each, short="") for each in result] == [
        replace(each, short="") for each in expected
    ]


@pytest.mark.fault(40, "`history` reads subjects and tags unchanged")
def test_signatures_do_not_change_the_history(unusual_history: Path) -> None:
    signed = git(unusual_history, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    (unusual_history / "signed").write_text(signed, newline="")
    name = git(unusual_history, "hash-object", "-t", "commit", "-w", "signed").strip()
    git(unusual_history, "update-ref", "refs/heads/main", name)
    git(unusual_history, "config", "log.showSignature", "true")

    with chdir(unusual_history):
        assert [each.name for each in list_commits()][-1] == name
        assert [each.subject for each in list_commits()] == ["one", LINE_BREAKS, "three"]


@pytest.mark.fault(41, "`history`: git's error for a missing tree or commit")
def test_missing_objects_are_reported_with_the_error_of_git(unusual_history: Path) -> None:
    name = git(unusual_history, "rev-parse", "HEAD~1^{tree}").strip()
    (unusual_history / ".git/objects" / name[:2] / name[2:]).unlink()

    with (
        chdir(unusual_history),
        pytest.raises(InputError, match=f"(?s)unable to read tree.*{name}.*git fsck"),
    ):
        list_commits()


def test_files_are_read_at_each_commit_or_none(repository: Path) -> None:
    with chdir(repository):
        names = [each.name for each in list_commits()]

        texts = [f"{x}\nsecond line\n" for x in ("one", "two", "three")]
        assert read_files(names, "dvc.lock") == [FileAtCommit(text) for text in texts]
        for path in ("no such/file", "no\nsuch file"):
            assert read_files(names, path) == [FileAtCommit(None)] * 3
        assert read_files([], "dvc.lock") == []


def test_git_does_not_fetch_each_missing_file(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "-q")
    git(origin, "config", "uploadpack.allowFilter", "true")
    for content in "abcdef":
        (origin / "dvc.lock").write_text(content)
        commit(origin, content)
    run(tmp_path, "git", "clone", "-q", "--filter=blob:none", f"file://{origin}", str(clone))
    names = git(clone, "rev-list", "--reverse", "HEAD").split()
    origin.rename(tmp_path / "gone")
    with patch("concord.pipeline.dvc.git.subprocess.run", wraps=subprocess.run) as processes:
        result = read_blobs(names, "dvc.lock", clone)

    assert [blob is None for blob in result] == [True] * 5 + [False]
    assert len(processes.call_args_list) == 2


def test_commits_since_a_tag_or_a_range(repository: Path) -> None:
    with chdir(repository):
        after = [each.subject for each in list_commits() if each.name in commits_since("after-one")]

        assert after == ["merge of side", "three"]
        assert commits_since("after-one..") == commits_since("after-one")


@pytest.mark.parametrize("revision", ["nope", "--all", ""])
def test_an_unknown_revision_is_refused(repository: Path, revision: str) -> None:
    with chdir(repository), pytest.raises(InputError, match="is not a revision"):
        commits_since(revision)


def test_a_shallow_checkout_is_detected(repository: Path, tmp_path: Path) -> None:
    run(tmp_path, "git", "clone", "-q", "--depth=1", f"file://{repository.parent}", "copy")

    with chdir(tmp_path / "copy"):
        assert is_shallow()
    with chdir(repository):
        assert not is_shallow()


@pytest.mark.parametrize(
    ("revision", "fetch", "then"),
    [
        ("other", "git fetch --depth=1 origin other", "FETCH_HEAD"),
        ("origin/other", "git fetch --depth=1 origin other", "FETCH_HEAD"),
        ("after-one", "git fetch --depth=1 origin after-one", "FETCH_HEAD"),
        ("HEAD~1", "git fetch --unshallow --tags", "HEAD~1"),
    ],
)
def test_a_revision_that_a_shallow_checkout_lacks_has_the_fetch_that_brings_it(
    repository: Path, tmp_path: Path, revision: str, fetch: str, then: str
) -> None:
    source = repository.parent
    git(source, "branch", "-f", "other", "after-one")
    run(tmp_path, "git", "clone", "-q", "--depth=1", f"file://{source}", "copy")
    with chdir(tmp_path / "copy"):
        for look_up in (commits_since, lambda name: RevisionFiles(name, tmp_path)):
            with pytest.raises(InputError) as refused:
                look_up(revision)
            (problem,) = refused.value.problems
            assert problem.message == (
                f"{revision!r} is not in this checkout, which is shallow: older commits are missing"
            )
            assert f"`{fetch}`" in problem.fix
            assert (then in problem.fix) == (then != revision)
        run(Path(), *fetch.split())
        assert find_commit(then)


def test_a_checkout_of_another_user_is_refused_with_the_reason_of_git(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with chdir(repository):
        for look_up in (list_commits, partial(commits_since, "after-one")):
            with pytest.raises(InputError) as refused:
                look_up()
            (problem,) = refused.value.problems
            top = repository.parent
            assert problem.message == f"detected dubious ownership in repository at '{top}'"
            assert problem.fix == f"run `git config --global --add safe.directory {top}`"


def test_without_a_commit_there_is_no_history(tmp_path: Path) -> None:
    with chdir(tmp_path), pytest.raises(InputError, match="no commit here"):
        list_commits()


TEXT = (ROOT / "dvc.lock").read_text(encoding="utf-8")
STAGES: dict[str, Any] = yaml.safe_load(TEXT)["stages"]


def test_results_and_truth_are_found_in_their_former_folders() -> None:
    lock = DvcLock(TEXT)
    evaluated = {output["path"]: output["md5"] for output in STAGES["evaluate@ease"]["outs"]}

    assert lock.result_hash("ease", "per_user") == evaluated["results/per_user/ease.parquet"]
    assert lock.result_hash("ease", "summary") == evaluated["results/summary/ease.json"]
    assert lock.truth == _dependency_hash("load-truth", "data/demo/truth.parquet")
    assert lock.background == {
        name: _dependency_hash(f"load-background@{name}", f"data/demo/{name}.parquet")
        for name in ("train", "items", "users")
    }
    assert lock.folder("report", "report") == "results/report"
    assert lock.comparison == STAGES["compare"]["outs"][0]["md5"]
    assert lock.lists("ease") == _dependency_hash("load@ease", "data/demo/ease.jsonl.gz")
    assert lock.lists("ease-recent") == _dependency_hash(
        "load@ease-recent", "data/demo/ease-recent"
    )


def _dependency_hash(stage: str, path: str) -> str:
    (result,) = (dep["md5"] for dep in STAGES[stage]["deps"] if dep["path"] == path)
    return str(result)


def test_locked_params_equal_params_yaml() -> None:
    params = STAGES["compare"]["params"]["params.yaml"]
    requested = DvcLock(TEXT).comparison_params

    assert requested.models == tuple(params["models"])
    assert requested.baseline == params["comparison"]["baseline"]
    assert requested.primary == tuple(params["comparison"]["primary"])
    known = json.loads(requested.conventions)
    assert list(known) == [key for key in params["conventions"] if key != "preset"]
    assert known["ideal"] == params["conventions"]["ideal"]


def test_quoted_names_and_etags_are_read() -> None:
    path = {"path": "s3://shop/my: truth.parquet"}
    deps = [path | {"hash": "etag", "etag": "0123", "size": 4}]
    text = to_text(
        {"load-truth": stage("truth.parquet", deps=deps, params={PARAMS: {"data.truth": path}})}
    )

    assert DvcLock(text).truth == "0123"
    assert DvcLock(text).comparison is None
    assert DvcLock("").truth is None
    assert DvcLock("").comparison_params == ComparisonParams((), None, {}, (), "{}")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("als-*", {"als": {"1": "als-1", "2": "als-2"}}),
        ({2: "als-2", 1: "als-1"}, {"als": {"1": "als-1", "2": "als-2"}}),
        ({1: "als-1", 9: "als-9"}, {}),
    ],
)
def test_replicates_are_matched_to_their_model(
    written: object, read: dict[str, dict[str, str]]
) -> None:
    rules = {"baseline": "knn", "replicates": {"als": written}}
    models = {name: {"path": f"{name}.csv"} for name in ("knn", "als-1", "als-2")}
    params = {"params": {PARAMS: {"comparison": rules, "models": models}}}

    assert DvcLock(to_text({"compare": params})).comparison_params.replicates == read


def test_scalars_stay_text_and_aliases_are_followed() -> None:
    text = """stages:
  load-truth:
    deps: [{path: truth.csv, md5: 1e10}]
    params: {params.yaml: {data: &id001 {truth: {path: truth.csv}}, also: *id001}}
  compare:
    params: {params.yaml: {models: {no: {}}, comparison: {baseline: no, primary: [1.0]}}}
"""
    lock = DvcLock(text)

    assert lock.truth == "1e10"
    params = lock.comparison_params
    assert (params.models, params.baseline, params.primary) == (("no",), "no", ("1.0",))
