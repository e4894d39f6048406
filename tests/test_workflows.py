"""The workflows of the host: what they may do, what they run, and what is pinned."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.pipeline.dvc.revisions import git
from tests.project import ROOT, attempt_process

FOLDER = ROOT / ".github" / "workflows"
ACTIONS = [ROOT / "action.yml", ROOT / ".github" / "actions" / "comment" / "action.yml"]
FILES = [*sorted(FOLDER.glob("*.yml")), *ACTIONS]


def _yaml(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


WORKFLOWS = {path.stem: _yaml(path) for path in sorted(FOLDER.glob("*.yml"))}
JOBS = {
    f"{name}-{job}": definition
    for name, workflow in WORKFLOWS.items()
    for job, definition in workflow["jobs"].items()
    if definition.get("uses") != "./.github/workflows/docs.yml"  # its jobs are there
}


def _steps(path: Path) -> list[dict[str, Any]]:
    content = _yaml(path)
    jobs = [content["runs"]] if "runs" in content else content["jobs"].values()
    return [step for job in jobs for step in job.get("steps", ())]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read_and_is_not_started_by_others_with_its_rights(name: str) -> None:
    workflow = WORKFLOWS[name]

    assert workflow["permissions"] == {"contents": "read"}
    assert not {"pull_request_target", "workflow_run"} & {*workflow["on"]}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_a_time_limit_and_keeps_no_token_in_the_checkout(name: str) -> None:
    checkouts = [
        step for step in JOBS[name]["steps"] if step.get("uses", "").startswith("actions/checkout@")
    ]

    assert "timeout-minutes" in JOBS[name]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_jobs_with_more_rights_run_no_code_of_the_repository() -> None:
    rights = {name: job["permissions"] for name, job in JOBS.items() if "permissions" in job}
    uses = [step.get("uses", "") for name in rights for step in JOBS[name]["steps"]]

    assert rights == {
        "docs-publish": {"pages": "write", "id-token": "write"},
        "release-attest": {"id-token": "write", "attestations": "write"},
        "release-publish": {"id-token": "write"},
        "release-release": {"contents": "write"},
    }
    assert not [each for each in uses if each.startswith(("actions/checkout@", "./"))]


def test_a_release_publishes_what_was_checked_and_attested() -> None:
    jobs = WORKFLOWS["release"]["jobs"]

    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {
        "build": None,
        "list": "build",
        "attest": "list",
        "publish": "attest",
        "release": "publish",
        "site": "release",
    }
    assert jobs["publish"]["environment"] == "release"


def test_every_action_is_pinned_by_its_commit() -> None:
    uses = [name for file in FILES for name in re.findall(r"uses: ([^.].*)", file.read_text())]

    assert uses
    assert [each for each in uses if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", each)] == []


def test_every_action_has_one_version() -> None:
    pins = {name for file in FILES for name in re.findall(r"uses: (\S+) #", file.read_text())}

    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_command_line_contains_a_text_from_outside(path: Path) -> None:
    """A branch named `$(command)` would be run; a variable of the environment would not."""
    assert not [step for step in _steps(path) if "${{" in step.get("run", "")]


def test_a_pull_request_runs_all_that_a_change_has_to_pass_on_every_python() -> None:
    jobs = WORKFLOWS["tests"]["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    classifiers = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))

    assert "pull_request" in WORKFLOWS["tests"]["on"]
    assert jobs["all"]["steps"][-1]["run"] == ".ci/run"
    assert jobs["tests"]["strategy"]["matrix"]["python"] == classifiers
    assert "continue-on-error" not in jobs["tests"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("fix a typo\n\nSigned-off-by: Ann <ann@shop.org>", 0),
        ("fix a typo\n\nSigned-off-by: Ann", 1),
        ("fix a typo", 1),
    ],
)
def test_a_commit_has_to_be_signed_off(tmp_path: Path, message: str, code: int) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "before the range")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", message)
    checked = attempt_process(tmp_path, str(ROOT / ".ci" / "sign-off"), "HEAD^..HEAD")

    assert checked.returncode == code
    assert ("fix a typo: no Signed-off-by line" in checked.stdout) == bool(code)


def test_scripts_can_be_started() -> None:
    scripts = [*(ROOT / ".ci").iterdir(), ROOT / "packaging" / "sbom"]

    assert [path.name for path in scripts if not os.access(path, os.X_OK)] == []
