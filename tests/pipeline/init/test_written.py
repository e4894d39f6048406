"""dvc.yaml and params.yaml of `concord init` and `concord init --upgrade`, which keeps edits."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dvc.parsing.context import Context
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.errors import InputError
from concord.pipeline.init.choices import TABLE_HELP
from concord.pipeline.init.project import init, upgrade
from concord.pipeline.init.render import (
    DVCIGNORE,
    GITIGNORE,
    NamedFiles,
    dvc_yaml,
    flow,
    params_yaml,
    plot_template,
)
from concord.pipeline.init.validation import validate
from concord.pipeline.params.model import ListsFile
from concord.pipeline.params.read import read_params
from concord.pipeline.params.yaml_files import load_yaml
from tests.pipeline.init.repository import USUAL, commit, repository, tree, write
from tests.pipeline.refusals import refusal_of
from tests.project import ROOT

ID = "0123456789abcdef0123456789abcdef"
EDITS = {  # of params.yaml after `init`
    "values_version: 1": "values_version: 0",
    "min_effect: 2%": 'min_effect: {default: "2%", nDCG@1: 0.01} # asked for by Ana',
    "discount: {log: 2}": "discount: {jk: 2}",
    "preset: standard": "preset: custom",
    "models:\n": "# the nightly ones\nmodels:\n",
}
LATER = (  # keys that the older file lacks
    "gate: {} # rules of `concord gate`, such as {guardrails: {nDCG@10: 2%}}\n\n",
    "  wilcoxon: false # p-value of a test of symmetry; no verdict uses it\n",
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a committed, edited evaluation of an older version."""
    root = repository(tmp_path / "a repository", USUAL)
    monkeypatch.chdir(root)
    init("evaluation", None, (), dry_run=False, force=False)
    path = root / "evaluation/params.yaml"
    text = path.read_text()
    for before, after in EDITS.items():
        assert before in text
        text = text.replace(before, after)
    for line in LATER:
        assert line in text
        text = text.replace(line, "")
    path.write_text(text)
    commit(root)
    return root


def content(root: Path) -> dict[str, Any]:
    content = load_yaml((root / "evaluation/params.yaml").read_text("utf-8-sig"), "")
    assert isinstance(content, dict)
    return content


def whole(text: str) -> str:
    """Return the older text with its missing lines."""
    gate, wilcoxon = LATER
    text = text.replace("segments: {}", gate + "segments: {}")
    return text.replace("  resamples:", wilcoxon + "  resamples:")


def test_upgrade_keeps_values_and_comments_and_adds_missing_keys(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, text = content(root), (root / "evaluation/params.yaml").read_text()
    upgrade("evaluation", dry_run=False)
    after, lines = content(root), (root / "evaluation/params.yaml").read_text().splitlines()

    assert after["values_version"] == VALUES_VERSION
    assert (after["gate"], after["comparison"].pop("wilcoxon")) == ({}, False)
    assert {k: v for k, v in after.items() if k not in {"values_version", "gate"}} == {
        k: v for k, v in before.items() if k != "values_version"
    }
    assert [line for line in text.splitlines() if line not in lines] == [
        "values_version: 0 # of all numbers; a Concord that computes other numbers rejects this "
        "file"
    ]
    assert "\n".join(lines).replace("version: 1 #", "version: 0 #") + "\n" == whole(text)
    monkeypatch.chdir(root / "evaluation")
    assert read_params().comparison.min_effect == {"default": "2%", "nDCG@1": 0.01}


def test_upgrade_inside_the_project_changes_nothing_twice(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root / "evaluation")
    upgrade(None, dry_run=False)
    assert (
        "written\n  params.yaml\nnext: concord validate && dvc repro\n" in capsys.readouterr().out
    )
    commit(root)
    before = tree(root)

    upgrade(None, dry_run=False)
    assert capsys.readouterr().out == "nothing to change\n"
    monkeypatch.chdir(root)
    upgrade(None, dry_run=False)
    assert capsys.readouterr().out == "nothing to change\n"
    assert tree(root) == before


def test_dvc_yaml_names_acknowledge_only_if_params_yaml_has_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade("evaluation", dry_run=False)
    commit(root)
    path, dvc_file = root / "evaluation/params.yaml", root / "evaluation/dvc.yaml"
    assert "acknowledge" not in path.read_text() + dvc_file.read_text()
    path.write_text(path.read_text() + "\nacknowledge: {short_lists: {reason: known}}\n")
    monkeypatch.chdir(root / "evaluation")
    lacks = r"stages\.compare\.params: lacks acknowledge, unlike"
    with pytest.raises(InputError, match=lacks):
        validate()

    upgrade(None, dry_run=False)

    stages = load_yaml(dvc_file.read_text(), "")["stages"]
    assert [name for name, each in stages.items() if "acknowledge" in each.get("params", ())] == [
        "compare"
    ]
    assert read_params().comparison_config.acknowledge["short_lists"].reason == "known"
    path.write_text(path.read_text().replace("acknowledge:", "# acknowledge:"))
    with pytest.raises(InputError, match="names acknowledge, unlike"):
        validate()


@pytest.mark.parametrize("key", ["checks", "acknowledge"])
def test_dvc_yaml_names_an_optional_key_only_if_params_yaml_has_it(key: str) -> None:
    with_key, without = (
        load_yaml(dvc_yaml(optional=optional), "")["stages"]["compare"]["params"]
        for optional in ((key, "data"), ())
    )

    assert {*with_key} - {*without} == {key}


def test_dry_run_shows_changes_and_writes_no_file(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, {"evaluation/dvc.yaml": "stages: {}\n"})
    before = tree(root)
    capsys.readouterr()
    upgrade("evaluation", dry_run=True)
    output = capsys.readouterr().out

    assert tree(root) == before
    assert "-values_version: 0 #" in output
    assert "-stages: {}\n+# Stages of the pipeline." in output


def test_an_edited_dvc_yaml_is_shown_before_it_is_replaced_and_git_has_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = root / "evaluation/dvc.yaml"
    path.write_text(edited := path.read_text() + "# mine\n")
    with pytest.raises(InputError, match=r"evaluation/dvc.yaml: is not committed"):
        upgrade("evaluation", dry_run=False)
    assert path.read_text() == edited

    commit(root)
    upgrade("evaluation", dry_run=False)
    show = ["git", "show", "HEAD:evaluation/dvc.yaml"]
    assert "-# mine\n" in capsys.readouterr().out
    assert "# mine" not in path.read_text()
    assert subprocess.run(show, capture_output=True, text=True, check=True).stdout == edited


@pytest.mark.parametrize("state", ["committed", "changed", "missing"])
def test_plot_template_is_replaced_unless_it_was_edited(root: Path, state: str) -> None:
    path = root / ".dvc/plots/model_lines.json"
    original = path.read_text()
    path.write_text("{}\n")
    commit(root) if state == "committed" else None
    path.unlink() if state == "missing" else None
    upgrade("evaluation", dry_run=False)

    assert path.read_text() == ("{}\n" if state == "changed" else original)


def test_files_that_git_ignores_or_does_not_know_are_not_committed(root: Path) -> None:
    remove = ["git", "rm", "-q", "--cached", "evaluation/params.yaml"]
    subprocess.run(remove, check=True)
    with pytest.raises(InputError, match="is not committed"):
        upgrade("evaluation", dry_run=False)
    write(root, {".gitignore": "params.yaml\n"})
    with pytest.raises(InputError, match="is not committed"):
        upgrade("evaluation", dry_run=False)


def test_without_git_previous_files_are_kept_as_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository(tmp_path, USUAL, git=False))
    init("evaluation", None, (), dry_run=False, force=False)
    path = tmp_path / "evaluation/params.yaml"
    path.write_text(old := path.read_text().replace("values_version: ", "values_version: 0 # "))
    upgrade("evaluation", dry_run=False)

    assert path.with_name("params.yaml.before").read_text() == old


@pytest.mark.parametrize(
    "text", ["lr: 1\n", "models: {als: {}}\n", "values_version: 1\n", "[]\n", "a: [\n", ""]
)
def test_a_params_yaml_of_others_is_refused(root: Path, text: str) -> None:
    write(root, {"mine/params.yaml": text, "params.yaml": text})
    commit(root)
    before = tree(root)
    for folder in ("mine", "."):
        with pytest.raises(InputError):
            upgrade(folder, dry_run=False)
    assert tree(root) == before


def test_upgrade_says_that_numbers_change(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    upgrade("evaluation", dry_run=True)
    expected = (
        "numbers change with values_version 0 → 1; 'Values changed' in the changelog lists them\n"
    )
    assert capsys.readouterr().out.endswith(expected)


@pytest.mark.parametrize("version", ["values_version: 1.0", "values_version: true", "# none"])
def test_upgrade_writes_a_version_that_no_command_reads(root: Path, version: str) -> None:
    path = root / "evaluation/params.yaml"
    path.write_text(path.read_text().replace("values_version: 0", version))
    commit(root)
    upgrade("evaluation", dry_run=False)

    assert type(content(root)["values_version"]) is int
    assert content(root)["values_version"] == VALUES_VERSION


def test_upgrade_does_not_go_back_to_older_values(root: Path) -> None:
    path = root / "evaluation/params.yaml"
    path.write_text(path.read_text().replace("values_version: 0", "values_version: 2"))
    commit(root)

    assert refusal_of(lambda: upgrade("evaluation", dry_run=False)) == (
        "evaluation/params.yaml: values_version: is 2, and this Concord computes values of "
        "version 1\n  fix: install a newer Concord"
    )


def test_a_file_without_a_version_and_with_other_problems_has_all_of_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "evaluation/params.yaml"
    path.write_text(path.read_text().replace("values_version: 0", "concord: 0.1.0"))
    monkeypatch.chdir(root / "evaluation")

    message = refusal_of(read_params)
    assert "values_version: is missing\n" in message
    assert "fix: add `values_version: 1`" in message
    assert "concord: is not a key that Concord knows\n" in message


def test_missing_file_names_the_command_that_writes_it(root: Path) -> None:
    fix = "run where Concord's params.yaml is; `concord init` writes it"
    with pytest.raises(InputError, match=f"nowhere/params.yaml: there is no .*\n  fix: {fix}$"):
        upgrade("nowhere", dry_run=False)


def test_another_version_is_refused_in_these_words(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "evaluation")

    assert refusal_of(read_params) == (
        "params.yaml: line 5, values_version: has values of version 0, and this Concord computes "
        "version 1\n"
        "  fix: read 'Values changed' in the changelog, then write `values_version: 1` and run "
        "`dvc repro`"
    )


CONTENT: dict[str, Any] = {
    "columns": {"user": "userId"},
    "unit": [],
    "truth": {"path": "../data/test.csv", "columns": {"grade": "rating"}},
    "background": {"train": {"path": "../data/train.csv"}},
    "models": {"pop": {"path": "../pop.csv"}, "als": {"path": "../a b.csv", "order": "file"}},
    "rank_base": 1,
    "repeated_grade": "error",
    "allow_outside": False,
    "metrics": ["nDCG", "Novelty@10"],
    "ks": [5, 10],
    "baseline": "pop",
    "primary": ["nDCG@10"],
    "min_effect": "2%",
    "segments": True,
    "threshold": 4,
    "highest": 5,
    "title": "a: shop",
    "experiment": "a: shop",
    "tracking_uri": "sqlite:///mlflow.db",
    "table_help": TABLE_HELP,
    "comments": {},
}
CHOICES = {"data", "background", "models", "segments", "report"}  # of the project
EDITED = {
    ("evaluation", "metrics"),
    ("evaluation", "ks"),
    ("comparison", "baseline"),
    ("comparison", "primary"),
    ("comparison", "min_effect"),
    ("conventions", "relevance_threshold"),
    ("conventions", "err_max_grade"),
    ("mlflow", "experiment"),
}


def test_dvc_yaml_of_the_checkout_is_the_template_with_code() -> None:
    lines = (ROOT / "dvc.yaml").read_text().splitlines()
    code = re.compile(r" +- (metrics_core|pipeline|reports)\b")

    assert [line for line in lines if not code.match(line)] == dvc_yaml().splitlines()


def test_params_of_the_checkout_have_the_keys_of_the_template() -> None:
    actual = load_yaml(params_yaml(CONTENT), "")
    expected = load_yaml((ROOT / "params.yaml").read_text(), "")

    assert list(actual) == list(expected)
    for section in set(actual) - CHOICES - {"values_version"}:
        assert list(actual[section]) == list(expected[section])
        for key, value in actual[section].items():
            assert expected[section][key] == value or (section, key) in EDITED


def test_comments_of_the_checkouts_params_are_in_the_template() -> None:
    actual, expected = params_yaml(CONTENT), (ROOT / "params.yaml").read_text()
    section = "conventions:\n"
    remarks = [line.partition(" # ")[2] for line in expected.partition(section)[2].splitlines()]

    assert len(remarks) > 40
    assert [remark for remark in remarks if remark not in actual] == []


def test_plot_and_ignore_files_are_those_of_the_checkout() -> None:
    ignored = (ROOT / ".gitignore").read_text()

    assert (ROOT / ".dvc/plots/model_lines.json").read_text() == plot_template()
    assert (ROOT / ".dvcignore").read_text() == DVCIGNORE
    assert [line for line in GITIGNORE.splitlines() if line not in ignored] == []


def test_written_file_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(params_yaml(CONTENT))
    params = read_params()

    expected = cc.preset("standard", relevance_threshold=4, err_max_grade=5)
    assert params.parsed_conventions == expected
    als = params.models["als"]
    assert isinstance(als, ListsFile)
    assert als.order == "file"
    assert params.report.title == "a: shop"


def test_stages_depend_on_the_version_of_values() -> None:
    stages = load_yaml(dvc_yaml(), "")["stages"]
    bodies = [stage.get("do", stage) for stage in stages.values()]
    code = [dep for body in bodies for dep in body["deps"] if "$" not in dep]

    assert code == []
    assert all("values_version" in body["params"] for body in bodies)
    assert "log" not in load_yaml(dvc_yaml(mlflow=False), "")["stages"]


def test_files_of_training_runs_are_deps_by_their_paths_each_once() -> None:
    selected = ["../als.json", "../als.json", "a: b/${x} #.txt"]
    models = {
        str(position): {"training_run_id": {"file": file}} for position, file in enumerate(selected)
    }
    content = {"models": {**models, "ease": {"training_run_id": "1f"}, "bpr": {}}}
    files = NamedFiles.of_params(content)
    deps = load_yaml(dvc_yaml(files), "")["stages"]["log"]["deps"]

    assert files.run_id_files == ["../als.json", "a: b/${x} #.txt"]
    assert [Context({}).resolve(dep) for dep in deps if "results" not in dep] == files.run_id_files


def test_files_with_more_judgements_are_deps_of_the_ground_truth() -> None:
    content = {"models": {}, "data": {"truth": {"additional": ["../judged.csv"]}}}
    stages = load_yaml(dvc_yaml(NamedFiles.of_params(content)), "")["stages"]
    deps = stages["load-truth"]["deps"]

    assert deps == ["${data.truth.path}", "../judged.csv"]


def test_a_file_with_excluded_pairs_is_a_dep_of_all_that_load() -> None:
    content = {"models": {}, "data": {"exclude": {"path": "../pairs.csv"}, "truth": None}}
    stages = load_yaml(dvc_yaml(NamedFiles.of_params(content)), "")["stages"]

    assert stages["load-truth"]["deps"] == ["${data.truth.path}", "../pairs.csv"]
    assert stages["load"]["do"]["deps"] == ["${item.path}", "../pairs.csv"]


@given(
    st.recursive(
        st.text()
        | st.integers()
        | st.sampled_from(["no", "1e3", "~", "a: b", "- a", "", "{", "2%"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
)
def test_inline_comment_is_read_back(value: Any) -> None:
    assert load_yaml(f"key: {flow(value)}\n", "")["key"] == value
