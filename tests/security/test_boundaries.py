"""Inputs stay inside the project unless params.yaml opens it; results always do."""

from pathlib import Path

import polars as pl
import pytest

from concord.metrics_core.errors import InputError
from concord.pipeline.params.model import BackgroundFile
from concord.pipeline.params.paths import check_inside
from concord.pipeline.params.read import read_params
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.stages.load import load_background
from tests.pipeline.stages.load_project import loaded, params_of, refusal, truth_refusal
from tests.project import ROOT

LISTS = "user,item,rank\nu,a,1\n"
WAYS_OUT = ("../lists.csv", "inside/../../lists.csv", "link.csv", "folder/lists.csv", "absolute")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with links to a file outside of it."""
    (tmp_path / "lists.csv").write_text(LISTS, encoding="utf-8")
    root = tmp_path / "project"
    (root / "inside").mkdir(parents=True)
    (root / "link.csv").symlink_to("../lists.csv")
    (root / "folder").symlink_to("..")
    monkeypatch.chdir(root)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    return root


def _way(way: str, project: Path) -> str:
    return str(project.parent / "lists.csv") if way == "absolute" else way


@pytest.mark.parametrize("way", WAYS_OUT)
def test_lists_and_truth_outside_the_project_are_refused_with_the_key(
    project: Path, way: str
) -> None:
    path = _way(way, project)
    for message, key in ((refusal(path), "models.m"), (truth_refusal(path), "data.truth")):
        assert message.startswith(f"{path}: is outside the repository")
        assert f"`{key}.path`, or set `input.allow_outside: true`" in message
        if way in {"link.csv", "folder/lists.csv"}:
            assert "(a link leads out of it)" in message


@pytest.mark.parametrize("way", WAYS_OUT)
@pytest.mark.parametrize("name", ["train", "items", "users"])
def test_background_outside_the_project_is_refused(project: Path, name: str, way: str) -> None:
    entry = BackgroundFile.model_validate({"path": _way(way, project)})
    params = params_of("lists.csv").model_copy(update={"background": {name: entry}})
    with (
        isolated_connection() as connection,
        pytest.raises(InputError, match=rf"`background\.{name}\.path`"),
    ):
        load_background(connection, params, name)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_params_can_open_the_project(project: Path, way: str) -> None:
    rows, _ = loaded(_way(way, project), allow_outside=True)
    assert rows[0][:2] == ("u", "a")


def test_a_part_of_a_folder_that_leads_out_is_refused(project: Path) -> None:
    pl.DataFrame({"user": ["u"], "item": ["a"], "rank": [1]}).write_parquet(
        project.parent / "part.parquet"
    )
    (project / "inside" / "part-0.parquet").symlink_to(project.parent / "part.parquet")
    assert refusal("inside").startswith("inside/part-0.parquet: is outside the repository")


def test_a_missing_file_outside_is_refused_before_its_folder_is_listed() -> None:
    message = refusal("../list.csv")
    assert "is outside the repository" in message
    assert "similar names" not in message


def test_links_and_absolute_paths_that_stay_inside_are_read(project: Path) -> None:
    (project / "inside" / "lists.csv").write_text(LISTS, encoding="utf-8")
    (project / "near.csv").symlink_to("inside/lists.csv")
    for path in ("near.csv", str(project / "inside" / "lists.csv"), "inside/../near.csv"):
        assert loaded(path)[0][0][:2] == ("u", "a")


def test_links_in_a_circle_are_refused(project: Path) -> None:
    (project / "a.csv").symlink_to("b.csv")
    (project / "b.csv").symlink_to("a.csv")
    refusal("a.csv")


def test_an_experiment_reads_the_cache_of_the_project_that_it_copies(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_ROOT", str(project.parent))
    check_inside("models.m", Path("link.csv"), allow_outside=False)


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("../results", "is outside the project"),
        ("/var/tmp/results", "is outside the project"),
        ("folder/results", "is outside the project (a link leads out of it)"),
        (".", "is the project itself"),
        ("results/a[1]", "contains '[' and ']', which are wildcards"),
        ("results/*", "contains '*', which are wildcards"),
    ],
)
@pytest.mark.parametrize("connection", ["true", "false"])
def test_results_are_always_inside(folder: str, kind: str, connection: str) -> None:
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    text = text.replace("  lists: results/lists", f"  lists: '{folder}'")
    text = text.replace("allow_outside: false", f"allow_outside: {connection}")
    Path("params.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_params()
    assert f"results.lists: {folder!r} {kind}" in str(refused.value)
