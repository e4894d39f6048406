"""dvc.yaml and params.yaml as `concord init` writes them, and those of the checkout: one way, not two."""

from pathlib import Path
from typing import Any

import pytest
from dvc.parsing.context import Context
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.pipeline.params.read import read_params
from concord.pipeline.params.safe_yaml import load_yaml
from concord.pipeline.project.chosen import NEEDS, SEGMENTS
from concord.pipeline.project.written import (
    IGNORED,
    UNSEEN,
    dvc_yaml,
    flow,
    params_yaml,
    plot_template,
    run_files,
)
from tests.project import ROOT

CONTENT: dict[str, Any] = {
    "columns": {"user": "userId"},
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
    "segments": SEGMENTS,
    "threshold": 4,
    "highest": 5,
    "title": "a: shop",
    "experiment": "a: shop",
    "tracking_uri": "sqlite:///mlflow.db",
    "NEEDS": NEEDS,
}
CHOICES = {"data", "background", "models", "segments", "report"}  # all of it is the project's own
OWN = {
    ("evaluation", "metrics"), ("evaluation", "ks"), ("comparison", "baseline"), ("comparison", "primary"),
    ("comparison", "min_effect"), ("conventions", "relevance_threshold"), ("conventions", "err_max_grade"),
    ("mlflow", "experiment"),
}  # fmt: skip


def test_dvc_yaml_of_the_checkout_is_what_init_would_write_with_code_for_the_version() -> None:
    assert (ROOT / "dvc.yaml").read_text() == dvc_yaml(code=True)


def test_params_of_the_checkout_are_what_init_would_write_with_other_choices() -> None:
    ours = load_yaml(params_yaml(CONTENT, None), "")
    theirs = load_yaml((ROOT / "params.yaml").read_text(), "")

    assert list(ours) == list(theirs)
    for section in set(ours) - CHOICES:
        assert list(ours[section]) == list(theirs[section])
        for key, value in ours[section].items():
            assert theirs[section][key] == value or (section, key) in OWN


def test_every_remark_of_the_checkouts_params_stands_in_a_new_one() -> None:
    ours, theirs = params_yaml(CONTENT, None), (ROOT / "params.yaml").read_text()
    section = "conventions:\n"
    remarks = [line.partition(" # ")[2] for line in theirs.partition(section)[2].splitlines()]

    assert len(remarks) > 40
    assert [remark for remark in remarks if remark not in ours] == []


def test_the_plot_and_what_git_and_dvc_pass_by_are_those_of_the_checkout() -> None:
    ignored = (ROOT / ".gitignore").read_text()

    assert (ROOT / ".dvc/plots/model_lines.json").read_text() == plot_template()
    assert (ROOT / ".dvcignore").read_text() == UNSEEN
    assert [line for line in IGNORED.splitlines() if line not in ignored] == []


def test_what_is_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(params_yaml(CONTENT, cc.__version__))
    params = read_params()

    expected = cc.preset("standard", relevance_threshold=4, err_max_grade=5)
    assert params.pinned == expected
    assert params.models["als"].order == "file"
    assert params.report.title == "a: shop"


def test_a_version_that_looks_like_a_number_is_a_text() -> None:
    assert load_yaml(params_yaml(CONTENT, "1.0"), "")["concord"] == "1.0"
    assert "\nconcord: 0.1.0 #" in params_yaml(CONTENT, "0.1.0")


def test_stages_depend_on_the_version_or_on_the_code() -> None:
    stages = load_yaml(dvc_yaml(), "")["stages"]
    bodies = [stage.get("do", stage) for stage in stages.values()]
    code = [dep for body in bodies for dep in body["deps"] if "$" not in dep]

    assert code == []
    assert all("concord" in body["params"] for body in bodies)
    assert "log" not in load_yaml(dvc_yaml(mlflow=False), "")["stages"]


def test_files_of_training_runs_are_deps_by_their_paths_each_once() -> None:
    named = ["../als.json", "../als.json", "a: b/${x} #.txt"]
    models = {str(place): {"training_run_id": {"file": file}} for place, file in enumerate(named)}
    files = run_files({**models, "ease": {"training_run_id": "1f"}, "bpr": {}})
    deps = load_yaml(dvc_yaml(trained=files), "")["stages"]["log"]["deps"]

    assert files == ["../als.json", "a: b/${x} #.txt"]
    assert [Context({}).resolve(dep) for dep in deps if "results" not in dep] == files


@given(
    st.recursive(
        st.text() | st.integers() | st.sampled_from(["no", "1e3", "~", "a: b", "- a", "", "{", "2%"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
)  # fmt: skip
def test_what_stands_in_a_line_is_read_back(value: Any) -> None:
    assert load_yaml(f"key: {flow(value)}\n", "")["key"] == value
