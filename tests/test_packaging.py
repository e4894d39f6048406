"""What is published beside the code: metadata, recipe, hook and templates."""

import json
import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

from tests.project import ROOT, attempt, change_params, copied

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"duckdb": "python-duckdb"}


def _yaml(path: str | Path) -> Any:
    return YAML(typ="safe").load((ROOT / path).read_text(encoding="utf-8"))


CITATION = _yaml("CITATION.cff")
RECIPE = _yaml("packaging/conda/recipe.yaml")
TEMPLATES = sorted(path.name for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def test_versions_agree() -> None:
    assert CITATION["version"] == RECIPE["context"]["version"] == PROJECT["version"]


def test_metadata_agree() -> None:
    source, about = PROJECT["urls"]["Source"], RECIPE["about"]

    assert set(PROJECT["urls"]) == {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
    assert all(url.startswith("https://") for url in PROJECT["urls"].values())
    assert CITATION["repository-code"] == about["repository"] == about["homepage"] == source
    assert about["documentation"] == PROJECT["urls"]["Documentation"]
    assert PROJECT["authors"] == CITATION["authors"] == [{"name": "The Concord authors"}]
    assert CITATION["license"] == about["license"] == PROJECT["license"]
    assert CITATION["abstract"] == about["summary"] == PROJECT["description"]


def test_the_preferred_citation_is_that_of_the_software() -> None:
    """Until the paper is published."""
    preferred = CITATION["preferred-citation"]

    assert preferred == {key: CITATION[key] for key in preferred}
    assert {"title", "authors", "version", "repository-code"} <= set(preferred)


def test_requirements_have_no_upper_limit_without_a_known_break() -> None:
    """A limit would keep others from a fix; constraints.txt has the versions that were tested."""
    needs = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    operators = {each.operator for need in needs for each in Requirement(need).specifier}

    assert operators == {">="}


def test_constraints_of_a_release_are_versions_of_the_lock() -> None:
    """`make lock` writes both; tests/installed install the wheel with these constraints."""
    text = (ROOT / "packaging/constraints.txt").read_text(encoding="utf-8")
    locks = [ROOT / "requirements.lock", ROOT / "tests/spark/requirements.lock"]
    locked = "".join(path.read_text(encoding="utf-8") for path in locks)
    pinned = re.findall(r"^([a-z0-9._-]+==[^ ;\n]+)", text, re.MULTILINE)
    extras = PROJECT["optional-dependencies"].values()
    needed = {Requirement(need).name for need in [*PROJECT["dependencies"], *chain(*extras)]}

    assert [each for each in pinned if f"{each} " not in locked] == []
    names = {pin.partition("==")[0] for pin in pinned}
    assert {canonicalize_name(name) for name in needed} - names == {"concord-eval"}


def test_the_recipe_needs_what_the_package_with_the_command_needs() -> None:
    extras = PROJECT["optional-dependencies"]
    required = [*PROJECT["dependencies"], *extras.pop("report")]
    optional = [need for needs in extras.values() for need in needs if "concord-eval" not in need]
    needs = RECIPE["requirements"]

    assert _conda(required) == {*map(_spec, needs["run"])} - {_spec("python >=3.11")}
    assert _conda(optional) == {*map(_spec, needs["run_constraints"])}
    assert _spec("python >=3.11") == ("python", frozenset({PROJECT["requires-python"]}))


def _conda(requirements: list[str]) -> set[tuple[str, frozenset[str]]]:
    parsed = map(Requirement, requirements)
    return {
        (CONDA_NAMES.get(need.name, need.name), frozenset(map(str, need.specifier)))
        for need in parsed
        if need.marker is None  # one recipe for all systems
    }


def _spec(line: str) -> tuple[str, frozenset[str]]:
    name, _, specifier = line.partition(" ")
    return name, frozenset(specifier.split(","))


def test_the_hook_of_pre_commit_checks_an_evaluation(tmp_path: Path) -> None:
    (hook,) = _yaml(".pre-commit-hooks.yaml")
    project = copied(tmp_path)
    command = hook["entry"].split()

    assert attempt(project, *command).returncode == 0
    change_params(project, {"models.als.path": "data/demo/other.run.gz"})
    assert attempt(project, *command).returncode == 2


@pytest.mark.parametrize(
    ("changed", "starts"),
    [
        ("params.yaml", True),
        ("evaluation/params.yaml", True),
        ("evaluation/dvc.lock", True),
        ("other_params.yaml", False),
        ("src/train.py", False),
    ],
)
def test_the_hook_of_pre_commit_runs_if_an_evaluation_changes(changed: str, starts: bool) -> None:
    (hook,) = _yaml(".pre-commit-hooks.yaml")

    assert bool(re.search(hook["files"], changed)) == starts
    assert hook["pass_filenames"] is False


def test_every_uv_trusts_the_certificates_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy may have a certificate of its own, which pip accepts and uv alone does not."""
    monkeypatch.delenv("UV_SYSTEM_CERTS", raising=False)
    show = ("make", "--silent", '--eval=show: ; @echo "[$$UV_SYSTEM_CERTS]"', "show")
    assert attempt(ROOT, *show).stdout == "[1]\n"
    assert attempt(ROOT, *show, UV_SYSTEM_CERTS="0").stdout == "[0]\n"
    assert "UV_SYSTEM_CERTS" in attempt(ROOT, "uv", "pip", "install", "--help").stdout
    scripts = [*(ROOT / ".ci").iterdir(), *(ROOT / ".github/workflows").iterdir()]
    assert not [path for path in scripts if re.search(r"\buv\b", path.read_text())]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_of_issues_has_questions(name: str) -> None:
    template = _yaml(f".github/ISSUE_TEMPLATE/{name}")

    if name != "config.yml":
        assert {"name", "description", "labels", "body"} == set(template)
        ids = [question["id"] for question in template["body"]]
        assert len({*ids}) == len(ids)


def test_every_file_with_an_owner_exists() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
    patterns = [line.split()[0].lstrip("/") for line in lines if line and line[0] != "#"]

    assert [pattern for pattern in patterns if not [*ROOT.glob(pattern)]] == []


def test_reports_of_vulnerabilities_have_one_address() -> None:
    address = f"{PROJECT['urls']['Source']}/security/advisories/new"
    links = {
        link["name"]: link["url"]
        for link in _yaml(".github/ISSUE_TEMPLATE/config.yml")["contact_links"]
    }

    assert links["Vulnerability"] == address
    assert f"]({address})" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_the_development_container_installs_what_make_installs() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    makefile = (ROOT / "Makefile").read_text()

    assert container["postCreateCommand"] == ".ci/install && make .venv/installed"
    assert "VENV := .venv\n" in makefile
    assert "INSTALLED := $(VENV)/installed\n" in makefile
