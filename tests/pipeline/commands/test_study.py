"""`concord study`: errors of study.yaml, folders and revisions, files."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from ruamel.yaml import YAML

from concord.metrics_core.errors import InputError
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import to_json
from concord.pipeline.dvc.lock import DvcLock
from concord.pipeline.dvc.study import read_study_file, run_study
from tests.metrics_core.analyses.study.study_data import comparison_of
from tests.pipeline.refusals import refusal_of
from tests.project import run

MEANS = {"base": 0.1, "a": 0.15, "c": 0.2}
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of three evaluated projects with the files that a study reads."""
    for seed, name in enumerate(("books", "films", "shop")):
        write_project(tmp_path / name, comparison_of(MEANS, seed))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_project(folder: Path, comparison: Comparison) -> None:
    (folder / "results/comparison").mkdir(parents=True, exist_ok=True)
    params = "results: {comparison: results/comparison}\n"
    (folder / "params.yaml").write_text(params)
    (folder / "results/comparison/comparison.json").write_text(to_json(comparison))


def write_study_file(folder: Path, text: str) -> None:
    (folder / "study.yaml").write_text(text)


ALL = "datasets: {books: books, films: films, shop: {project: shop}}\n"


def test_a_study_is_written_as_page_json_and_tables(
    working_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study_file(working_folder, ALL + "title: Three shops\nreport: out\n")

    run_study("study.yaml")

    content = json.loads((working_folder / "out/study.json").read_text())
    assert [each["name"] for each in content["datasets"]] == ["books", "films", "shop"]
    assert [each["source"] for each in content["datasets"]] == ["books", "films", "shop"]
    table = pl.read_parquet(working_folder / "out/table.parquet")
    assert table.height == 3 * 3
    assert pl.read_csv(working_folder / "out/aggregations.csv").filter(winner=True)[
        "model"
    ].unique().to_list() == ["c"]
    assert "c wins under all 4 ways" in (working_folder / "out/report.html").read_text()
    assert "c wins under all 4 ways of aggregating nDCG@10." in capsys.readouterr().out


def test_paths_are_relative_to_the_study_file_and_bytes_are_the_same(
    working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_study_file(working_folder, ALL)
    run_study("study.yaml")
    first = {f.name: f.read_bytes() for f in (working_folder / "study").iterdir()}
    (working_folder / "elsewhere").mkdir()
    monkeypatch.chdir(working_folder / "elsewhere")

    run_study("../study.yaml")

    assert {f.name: f.read_bytes() for f in (working_folder / "study").iterdir()} == first
    assert not any(str(working_folder).encode() in content for content in first.values())


def test_every_invalid_key_is_named_with_its_line(working_folder: Path) -> None:
    write_study_file(
        working_folder,
        "titel: x\ndatasets:\n  a b: books\n  films: {projct: films}\nmin_effect: much\n",
    )

    message = refusal_of(lambda: read_study_file(Path("study.yaml")))
    assert (
        "study.yaml: line 1, titel: is not a key that Concord knows\n  fix: did you mean 'title'?"
        in message
    )
    assert "study.yaml: line 4, datasets.films.projct" in message
    assert "study.yaml: line 5, min_effect" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a mapping"),
        ("datasets: {}", "line 1, datasets"),
        ("datasets: [a]", "write a mapping"),
        ("datasets: {a b: books}", "'a b' is not a valid name"),
        ("datasets: {a: nowhere}", "there is no folder 'nowhere'"),
        ("datasets: {a: 's3://x/y'}", "is an address"),
        (ALL + "report: ../out", "is not below the folder of study.yaml"),
        (ALL + "report: books", "contains a project or code"),
        (ALL + "report: study.yaml", "'study.yaml' is a file, or below one"),
        (ALL + "report: books/params.yaml/study", "is a file, or below one"),
        (ALL + "title: x\ntitle: y", "occurs more than once"),
    ],
)
def test_an_unreadable_study_is_refused(working_folder: Path, text: str, words: str) -> None:
    write_study_file(working_folder, text)

    with pytest.raises(InputError, match=words):
        read_study_file(Path("study.yaml"))


def test_missing_study_file_has_a_fix(working_folder: Path) -> None:
    with pytest.raises(
        InputError, match=r"there is no such file in this folder\n  fix: write `data"
    ):
        run_study("study.yaml")


def test_all_projects_that_are_not_evaluated_are_named(working_folder: Path) -> None:
    (working_folder / "books/results/comparison/comparison.json").unlink()
    (working_folder / "films/params.yaml").unlink()
    (working_folder / "shop/results/comparison/comparison.json").write_text("{}")
    write_study_file(working_folder, ALL)

    message = refusal_of(lambda: run_study("study.yaml"))
    assert (
        "books, books/results/comparison/comparison.json: there is no such file: this project "
        "is not evaluated"
    ) in message
    assert "run `concord run` in books" in message
    assert (
        "films, films/params.yaml: there is no such file: this folder is not a project" in message
    )
    assert "shop, shop/results/comparison/comparison.json: has schema None" in message


@pytest.mark.whole
def test_a_revision_is_read_from_the_dvc_cache(working_folder: Path) -> None:
    run(working_folder, "git", "init", "-q")
    run(working_folder, "dvc", "init", "-q")
    add_to_cache(working_folder)
    run(working_folder, "git", "add", "-A", "--", ":!films", ":!shop")
    run(working_folder, *GIT, "commit", "-qm", "one")
    run(working_folder, "git", "tag", "v1")
    write_project(working_folder / "books", replace(comparison_of(MEANS, 9), title="later"))
    add_to_cache(working_folder)
    write_study_file(working_folder, "datasets: {then: {project: books, rev: v1}, now: books}\n")

    run_study("study.yaml")

    content = json.loads((working_folder / "study/study.json").read_text())
    assert [(d["source"], d["title"]) for d in content["datasets"]] == [
        ("books at v1", "Demo shop"),
        ("books", "later"),
    ]
    folder = str(DvcLock(run(working_folder, "git", "show", "v1:books/dvc.lock")).comparison)
    (listed,) = json.loads(cached_file(working_folder, folder).read_text())
    cached_file(working_folder, listed["md5"]).unlink()
    for then, words in {
        "{project: books, rev: v2}": "then, books: 'v2' is not a revision",
        "{project: films, rev: v1}": "then, films: v1 has no params.yaml",
        "{project: books, rev: v1}": "neither in DVC's cache nor on a remote",
    }.items():
        write_study_file(working_folder, f"datasets: {{then: {then}, now: books}}\n")
        assert words in refusal_of(lambda: run_study("study.yaml"))


def add_to_cache(working_folder: Path) -> None:
    """Add the comparison of `books` to DVC's cache and to dvc.lock."""
    run(working_folder, "dvc", "add", "-q", "books/results/comparison")
    (added,) = YAML(typ="safe").load(working_folder / "books/results/comparison.dvc")["outs"]
    lock = {"outs": [{"path": "results/comparison", "md5": added["md5"]}]}
    YAML().dump({"schema": "2.0", "stages": {"compare": lock}}, working_folder / "books/dvc.lock")


def cached_file(working_folder: Path, md5: str) -> Path:
    return working_folder / ".dvc/cache/files/md5" / md5[:2] / md5[2:]
