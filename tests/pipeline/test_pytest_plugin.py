"""The fixture `concord_comparison`: which evaluation it reads, and what pytest shows."""

from pathlib import Path

import pytest

from tests.faults.small import small_project
from tests.in_process import run_concord
from tests.project import change_params, copied_from, made_once

pytest_plugins = ["pytester"]

TEST = """
from concord.testing import assert_passes_gate


def test_release_gate(concord_comparison):
    assert_passes_gate(concord_comparison)
"""
PLUGIN = ("-p", "no:concord", "-p", "concord.pipeline.pytest_plugin")  # also if it is installed


def evaluated_small_project(folder: Path) -> None:
    project = small_project(folder / "evaluation")
    change_params(project, {"gate": {"guardrails": {"nDCG@5": 0}}})
    run_concord(project, "run", "compare").check_returncode()


@pytest.fixture(scope="module")  # made before a pytester, which unloads what is imported after it
def folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return made_once(tmp_path_factory, worker_id, evaluated_small_project)


@pytest.fixture
def project(folder: Path, pytester: pytest.Pytester) -> Path:
    """Return an evaluation below the folder of a test that uses the fixture."""
    pytester.makepyfile(TEST)
    return copied_from(folder / "evaluation", pytester.path)


def test_failure_shows_the_words_of_concord_gate(project: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess(*PLUGIN)
    lines = [line[8:] for line in result.outlines if line.startswith("E   ")]

    result.assert_outcomes(failed=1)
    decision = run_concord(project, "gate").stdout.partition("note: ")[0]
    assert decision.startswith("undecided, against ")
    assert "\n".join([*lines, ""]) == f"AssertionError: {decision}"
    assert "def assert_passes_gate" not in result.stdout.str()


def test_the_current_gate_decides(project: Path, pytester: pytest.Pytester) -> None:
    change_params(project, {"gate": {"guardrails": {"nDCG@5": 0.99}}})

    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)


def test_option_names_one_of_several_evaluations(project: Path, pytester: pytest.Pytester) -> None:
    other = copied_from(project, pytester.mkdir("new--dir"))
    change_params(other, {"gate": {"guardrails": {"nDCG@5": 0.99}}})
    unnamed = pytester.runpytest_inprocess(*PLUGIN)

    unnamed.assert_outcomes(errors=1)
    unnamed.stdout.fnmatch_lines(["*by `--concord-dir`: evaluation, new--dir/evaluation"])
    named = pytester.runpytest_inprocess(*PLUGIN, "--concord-dir", "new--dir/evaluation")
    named.assert_outcomes(passed=1)


def test_damaged_results_are_named(project: Path, pytester: pytest.Pytester) -> None:
    change_params(project, {"gate": {"guardrails": {"nDCG@5": 0.99}}})
    for file in (project / "results/per_user").iterdir():
        file.write_bytes(b"broken")
    result = pytester.runpytest_inprocess(*PLUGIN)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["results/per_user/first.parquet: is damaged: *"])


def test_missing_results_are_an_error_and_changed_ones_a_warning(
    project: Path, pytester: pytest.Pytester
) -> None:
    change_params(project, {"gate": {"guardrails": {"nDCG@5": 0.99}}, "comparison.seed": 7})
    changed = pytester.runpytest_inprocess(*PLUGIN, "-W", "default")
    (project / "results/comparison/comparison.json").unlink()
    missing = pytester.runpytest_inprocess(*PLUGIN)

    changed.assert_outcomes(passed=1, warnings=1)
    changed.stdout.fnmatch_lines(["*params.yaml (comparison) has changed since these*"])
    missing.assert_outcomes(errors=1)
    missing.stdout.fnmatch_lines(["results/comparison/comparison.json: does not exist yet"])
