"""The published site: the checkout, the newest release, and addresses that lead to them."""

import json
from pathlib import Path

import pytest

from docs.site_versions import assemble, build, newest_release
from tests.pipeline.dvc.revisions import commit, git

PAGE = "docs/faq.html"
MAKEFILE = """site:
	mkdir -p $(SITE)/docs
	echo "{text} as $$CONCORD_SITE_VERSION" > $(SITE)/docs/faq.html
	echo "[FAQ](docs/faq.html)" > $(SITE)/llms.txt
"""


def _site(folder: Path, version: str) -> None:
    (folder / version / "docs").mkdir(parents=True)
    (folder / version / PAGE).write_text(f"page of {version}")
    (folder / version / "llms.txt").write_text("- [FAQ](docs/faq.html): answers\n")


@pytest.mark.parametrize(
    ("tags", "newest"),
    [
        ([], None),
        (["v0.1.0rc1"], None),
        (["v0.9.0", "v0.10.0", "v0.11.0rc1", "vNext"], "v0.10.0"),
    ],
)
def test_the_newest_release_is_the_highest_version_and_no_pre_release(
    tags: list[str], newest: str | None
) -> None:
    assert newest_release(tags) == newest


def test_an_address_without_a_version_leads_to_the_release(tmp_path: Path) -> None:
    _site(tmp_path, "dev")
    _site(tmp_path, "stable")
    assemble(tmp_path, "v0.1.0")

    assert '"../stable/docs/faq.html"' in (tmp_path / PAGE).read_text()
    assert (tmp_path / "stable" / PAGE).read_text() == "page of stable"
    assert (tmp_path / "llms.txt").read_text() == "- [FAQ](stable/docs/faq.html): answers\n"


def test_before_the_first_release_every_address_leads_to_dev(tmp_path: Path) -> None:
    _site(tmp_path, "dev")
    assemble(tmp_path, None)

    assert '"../dev/docs/faq.html"' in (tmp_path / PAGE).read_text()
    assert '"../../dev/docs/faq.html"' in (tmp_path / "stable" / PAGE).read_text()
    assert (tmp_path / "llms.txt").read_text() == "- [FAQ](dev/docs/faq.html): answers\n"


@pytest.mark.parametrize(
    ("release", "versions"),
    [
        (None, {"dev": "dev"}),
        ("v0.1.0", {"stable": "v0.1.0", "dev": "dev"}),
    ],
)
def test_the_switcher_lists_the_versions(
    tmp_path: Path, release: str | None, versions: dict[str, str]
) -> None:
    for version in versions:
        _site(tmp_path, version)
    assemble(tmp_path, release)
    switcher = json.loads((tmp_path / "switcher.json").read_text())

    assert {each["version"]: each["name"] for each in switcher} == versions
    assert [each["preferred"] for each in switcher] == [True, False][: len(versions)]
    assert switcher[-1]["url"] == "https://concord-eval.github.io/concord/dev/"


def test_schemas_have_addresses_without_a_version(tmp_path: Path) -> None:
    _site(tmp_path, "dev")
    (tmp_path / "dev" / "schemas").mkdir()
    (tmp_path / "dev" / "schemas" / "comparison.json").write_text("{}")
    assemble(tmp_path, None)

    assert (tmp_path / "schemas" / "comparison.json").read_text() == "{}"


def test_stable_is_built_from_the_tag_and_dev_from_the_checkout(tmp_path: Path) -> None:
    repository, site = tmp_path / "repository", tmp_path / "site"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / "Makefile").write_text(MAKEFILE.format(text="release"))
    commit(repository, "release")
    git(repository, "tag", "v0.1.0")
    (repository / "Makefile").write_text(MAKEFILE.format(text="checkout"))
    build(repository, site)

    assert (site / "stable" / PAGE).read_text() == "release as stable\n"
    assert (site / "dev" / PAGE).read_text() == "checkout as dev\n"
    assert git(repository, "worktree", "list").count("\n") == 1
