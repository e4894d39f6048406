"""Results that differ from dvc.lock or cannot be read: commands name the file, revision and fix."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.files import load_json
from concord.pipeline.dvc import revision
from concord.pipeline.dvc.lock import DvcLock
from tests.pipeline.dvc.revisions import SECOND, cached_file
from tests.project import attempt, change_params, copied_from, run

pytestmark = pytest.mark.whole

RESULTS = {
    "values": "results/per_user/ease.parquet",
    "summary": "results/summary/ease.json",
}
GATE = {"guardrails": {"nDCG@10": "2%"}}


@pytest.fixture(scope="module")
def project(revisions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits; ease is worse than at the tag v1."""
    copy = copied_from(revisions / SECOND / "a project", tmp_path_factory.mktemp("damaged"))
    change_params(copy, {"gate": GATE})
    return copy


@pytest.fixture
def _restore_files(project: Path) -> Iterator[None]:
    files = [*(project / ".dvc/cache").rglob("*"), *(project / "results").rglob("*")]
    before = {file: file.read_bytes() for file in files if file.is_file()}
    yield
    for file, content in before.items():
        if not file.is_file() or file.read_bytes() != content:
            file.unlink(missing_ok=True)
            file.write_bytes(content)


def replace_cached_result(project: Path, path: str) -> Path:
    """Replace a result's content at v1 in DVC's cache with the current content."""
    cached = cached_file(project, "v1", path)
    cached.write_bytes((project / path).read_bytes())
    return cached


@pytest.mark.fault(45, "an error that names file and revision")
@pytest.mark.usefixtures("_restore_files")
@pytest.mark.parametrize("command", ["gate", "diff", "comment"])
@pytest.mark.parametrize("kind", ["values", "summary"])
def test_replaced_result_of_a_revision_is_refused(project: Path, command: str, kind: str) -> None:
    assert attempt(project, "concord", "gate", "v1").returncode == 1
    cached = replace_cached_result(project, RESULTS[kind])
    done = attempt(project, "concord", command, "v1")

    assert done.returncode == 2
    output = (done.stdout + done.stderr).replace("\\", "")  # Markdown escapes
    assert f"{RESULTS[kind]} of v1: is damaged" in output
    assert f"delete {cached.relative_to(project)}" in output


@pytest.mark.fault(45, "`history`: a row that names the file to delete")
@pytest.mark.parametrize("command", ["gate", "diff", "comment"])
def test_a_revision_with_values_of_another_version_is_refused(
    project: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_a_later_version(path: Path, fix: str) -> dict[str, Any]:
        return {**load_json(path, fix), "values_version": VALUES_VERSION + 1}

    monkeypatch.setattr(revision, "load_json", of_a_later_version)
    done = attempt(project, "concord", command, "v1")

    assert done.returncode == 2
    output = (done.stdout + done.stderr).replace("\\", "")  # Markdown escapes
    assert "results/summary/ease.json of v1: has values of version 2" in output
    assert "or name another revision" in output


@pytest.mark.usefixtures("_restore_files")
def test_history_row_of_a_damaged_cache_file_has_no_difference(
    project: Path,
) -> None:
    cached = replace_cached_result(project, RESULTS["values"])
    output = run(project, "concord", "history", COLUMNS="400")

    assert f"does not match its hash; delete {cached.relative_to(project)}; then" in output


@pytest.mark.usefixtures("_restore_files")
@pytest.mark.parametrize("kind", ["comparison.json", "the list of files"])
def test_a_replaced_comparison_of_a_revision_is_not_read(project: Path, kind: str) -> None:
    lock = DvcLock(run(project, "git", "show", "v1:dvc.lock"))
    now = DvcLock((project / "dvc.lock").read_text())
    folders = [cached_object(project, str(each.comparison)) for each in (lock, now)]
    if kind == "comparison.json":
        name = {each["relpath"]: each["md5"] for each in json.loads(folders[0].read_bytes())}[kind]
        damaged = cached_object(project, name)
        damaged.write_bytes((project / "results/comparison/comparison.json").read_bytes())
    else:
        damaged = folders[0]
        damaged.write_bytes(folders[1].read_bytes())
    (project / "study.yaml").write_text(
        "datasets: {then: {project: ., rev: v1}, now: .}\nreport: study\n"
    )
    fresh = {"DVC_SITE_CACHE_DIR": f"{project}/.dvc/tmp/{kind}"}

    done = attempt(project, "concord", "study", **fresh)
    assert done.returncode == 2, done.stdout + done.stderr
    assert " of v1: is damaged" in done.stderr
    assert f"delete {damaged.relative_to(project)}; then" in done.stderr
    assert f"its hash; delete {damaged.relative_to(project)}; then" in run(
        project, "concord", "history", COLUMNS="400"
    )


@pytest.mark.fault(44, "another structure is found by the hash in dvc.lock")
@pytest.mark.usefixtures("_restore_files")
@pytest.mark.parametrize("command", ["gate", "diff v1", "comment", "cases ease --versus knn"])
def test_result_with_another_structure_is_named(project: Path, command: str) -> None:
    summary = project / RESULTS["summary"]
    summary.unlink()
    summary.write_text("{}")
    done = attempt(project, "concord", *command.split())

    assert done.returncode == 2
    assert f"{RESULTS['summary']}: is damaged: its content does not match its hash" in done.stderr


@pytest.mark.fault(44, "a changed but valid result: a warning")
@pytest.mark.usefixtures("_restore_files")
@pytest.mark.parametrize("command", ["gate", "diff v1", "comment", "cases ease --versus knn"])
def test_a_result_that_has_changed_is_a_warning(project: Path, command: str) -> None:
    values = project / RESULTS["values"]
    table = pq.read_table(values)
    at = table.column_names.index("nDCG@10")
    values.unlink()
    pq.write_table(table.set_column(at, table.field(at), pc.multiply(table[at], 0.5)), values)
    done = attempt(project, "concord", *command.split())

    assert f"warning: {RESULTS['values']} has changed since these results were made" in done.stderr


def cached_object(project: Path, md5: str) -> Path:
    """Return a file of DVC's cache."""
    return project / ".dvc/cache/files/md5" / md5[:2] / md5[2:]
