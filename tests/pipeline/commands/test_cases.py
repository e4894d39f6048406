"""`concord cases` on two models of the demo: what is printed, the page that the library writes too, and refusals."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import concord as cc
from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.comparison.stored import read_cases, read_comparison
from concord.pipeline.params.read import read_params
from tests.project import attempt, change_params, copied, run, run_stages

MODELS = ("als", "ease")
BACKGROUND = ("train", "items", "users")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = copied(tmp_path_factory.mktemp("cases"))
    kept = {name: _params(made)["models"][name] for name in MODELS}
    metrics = {"evaluation.metrics": ["nDCG@10", "R@20", "Coverage@10"], "evaluation.ks": [10, 20]}
    change_params(made, {"models": kept, "comparison.baseline": "ease", "conventions.preset": "custom", "conventions.relevance_threshold": 2, "conventions.overrides": {"nDCG": {"relevance_threshold": 1}}, **metrics})  # fmt: skip
    stages = ["load-truth", *(f"load-background {name}" for name in BACKGROUND)]
    stages += [f"{stage} {name}" for stage in ("load", "evaluate") for name in MODELS]
    run_stages(made, *stages)
    return made


def test_the_report_shows_the_cases_that_params_ask_for(project: Path, tmp_path: Path) -> None:
    copy = tmp_path / "asked"
    shutil.copytree(project, copy, symlinks=True)
    change_params(copy, {"comparison.cases": ["als", "ease"]})
    run_stages(copy, "compare", "report")
    page = (copy / "results/report/report.html").read_text(encoding="utf-8")
    comparison = read_comparison(copy / "results/comparison/comparison.json")

    assert read_cases(copy / "results/comparison/cases.json") == _library(project)
    assert page == comparison.to_html(cases=_library(project))
    assert '<section id="cases">' in page
    change_params(copy, {"comparison.cases": None})
    run_stages(copy, "compare", "report")
    assert not (copy / "results/comparison/cases.json").exists()
    plain = (copy / "results/report/report.html").read_text(encoding="utf-8")
    assert plain == comparison.to_html()
    assert "data-case" not in plain


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["als", "eas"], "'eas' is not among the models\n  fix: did you mean 'ease'?"),
        (["als", "als"], "'als' is named twice"),
        (["als"], "names 1 model\n  fix: name two models, such as [als, ease]"),
    ],
)
def test_cases_of_no_pair_are_refused(
    project: Path, tmp_path: Path, asked: list[str], message: str
) -> None:
    shutil.copy(project / "params.yaml", tmp_path)
    change_params(tmp_path, {"comparison.cases": asked})

    with pytest.raises(InputError) as refused:
        read_params(tmp_path / "params.yaml")

    assert ", comparison.cases: " in str(refused.value)
    assert message in str(refused.value)


def _params(project: Path) -> Any:
    return YAML(typ="safe").load(project / "params.yaml")


def _library(project: Path, **how: Any) -> cc.Cases:
    params = _params(project)
    files = {**params["models"], **params["background"], "truth": params["data"]["truth"]}
    asked = {"model": "als", "versus": "ease", "metrics": params["comparison"]["primary"], **how}
    here = Path.cwd()
    os.chdir(project)
    try:
        return cc.cases(
            {name: entry["path"] for name, entry in params["models"].items()},
            params["data"]["truth"]["path"],
            conventions=params["conventions"],
            segments=params["segments"],
            columns={name: entry["columns"] for name, entry in files.items() if "columns" in entry},
            title=params["report"]["title"],
            **{name: entry["path"] for name, entry in params["background"].items()},
            **asked,
        )
    finally:
        os.chdir(here)


def _cases(project: Path, *arguments: str, columns: int = 140) -> str:
    return run(project, "concord", "cases", *arguments, COLUMNS=str(columns))


def test_terminal_page_and_library_tell_the_same(project: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    expected = _library(project, worst=3)

    lines = _cases(project, "als", "--versus", "ease", "--worst", "3", "--html", str(page)).splitlines()  # fmt: skip

    assert page.read_text(encoding="utf-8") == expected.to_html()
    assert lines[-1] == f"wrote {page}"
    told = " ".join(" ".join(lines).split())
    assert f"{expected.n_behind:,} of {expected.n_users:,} users have less nDCG@10 with als than with ease" in told  # fmt: skip
    for number, case in enumerate(expected.cases, 1):
        assert f"{number}. user {case.user}: nDCG@10 \N{MINUS SIGN}{-case.difference:.4f}" in told
        for seen in case.seen:
            assert f"als {seen.value_a:.4f} {' '.join(seen.reason_a.split())}" in told
            assert f"ease {seen.value_b:.4f} {' '.join(seen.reason_b.split())}" in told
        assert all(f"{item.title} ({item.item})" in told for item in (*case.list_a, *case.list_b))
    assert all(f"{each.title} ({each.item})" in told for each in expected.item_cases)


def test_what_is_wanted_below_a_threshold_says_so(project: Path) -> None:
    told = _cases(project, "als", "--versus", "ease", "--worst", "5")

    assert "grade 1, below the threshold of R@20 (2)" in told
    assert "relevant (from grade 1 on for nDCG@10; grade 2 on for R@20)" in told


def test_segment_item_and_metric_are_those_of_the_library(project: Path, tmp_path: Path) -> None:
    item = _library(project, worst=1).item_cases[0].item
    page = tmp_path / "page.html"
    asked = {"segment": "channel=search", "item": item, "worst": 4}
    expected = _library(project, metrics=["R@20", "nDCG@10"], **asked)

    told = _cases(project, "als", "--versus", "ease", "--segment", "channel=search", "--item", item, "--worst", "4", "--metric", "R@20", "--html", str(page))  # fmt: skip

    assert page.read_text(encoding="utf-8") == expected.to_html()
    assert f"segment channel=search; users where item {item} was wanted or shown" in told


def test_it_changes_nothing_and_fits_a_narrow_terminal(project: Path) -> None:
    before = {file: file.read_bytes() for file in project.rglob("*") if file.is_file()}

    told = _cases(project, "ease", "--versus", "als", "--worst", "2", columns=60)

    assert max(map(len, told.splitlines())) <= 60
    assert {file: file.read_bytes() for file in project.rglob("*") if file.is_file()} == before


def test_of_a_model_with_replicates_the_training_is_named(project: Path, tmp_path: Path) -> None:
    made = tmp_path / "trained"
    shutil.copytree(project, made, symlinks=True)
    models = _params(project)["models"]
    change_params(made, {"models": {**models, "als-2": models["als"]}, "comparison.replicates": {"mf": {"1": "als", "2": "als-2"}}})  # fmt: skip
    run_stages(made, "load als-2", "evaluate als-2")

    told = _cases(made, "mf", "--versus", "ease", "--worst", "1")

    assert "users have less nDCG@10 with als than with ease" in told
    assert "als is the first training of mf" in told
    assert "with als-2 than" in _cases(made, "als-2", "--versus", "ease", "--worst", "1")


@pytest.mark.parametrize(
    ("arguments", "where", "what"),
    [
        (("alz", "--versus", "ease"), "MODEL", "did you mean 'als'?"),
        (("als", "--versus", "eas"), "--versus", "did you mean 'ease'?"),
        (("als", "--versus", "als"), "--versus", "is the model itself"),
        (("als", "--versus", "ease", "--worst", "0"), "--worst", "write a whole number from 1 on"),
        (("als", "--versus", "ease", "--segment", "chanel=app"), "--segment", "channel=search"),
        (("als", "--versus", "ease", "--item", "nothing"), "--item", "nobody wanted 'nothing'"),
        (("als", "--versus", "ease", "--metric", "Coverage@10"), "--metric", "one number over all"),
        (("als", "--versus", "ease", "--html", "results"), "--html", "is a folder"),
    ],
)
def test_what_is_not_there_is_refused(
    project: Path, arguments: tuple[str, ...], where: str, what: str
) -> None:
    done = attempt(project, "concord", "cases", *arguments)

    assert done.returncode == 2
    assert done.stderr.startswith(f"command line: {where}: ")
    assert what in done.stderr


def test_results_that_are_missing_are_refused(tmp_path: Path) -> None:
    done = attempt(copied(tmp_path), "concord", "cases", "als", "--versus", "ease")

    assert done.returncode == 2
    assert "run `dvc repro`" in done.stderr
