"""What a reader or a program meets first: the home page, the search, the page for programs."""

import re
from pathlib import Path
from typing import Any

import pytest

from docs.conf import NOT_SEARCHED, read_keywords
from tests.project import ROOT, run
from tests.test_docs import CODE_LINES, PAGES, README

HOME = ROOT / "docs" / "index.md"
FOR_PROGRAMS = ROOT / "docs" / "how-to" / "agents.md"
LINKS_FOR_PROGRAMS = ROOT / "docs" / "_extra" / "llms.txt"


def _example(page: Path, language: str = "python") -> str:
    """Return the only block of a language on a page."""
    text = page.read_text(encoding="utf-8")
    (example,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(example)


def test_every_page_that_is_searched_has_keywords() -> None:
    """docs/keywords.csv has a row for each: terms of the field that a reader would type."""
    pages = {page.relative_to(ROOT).with_suffix("").as_posix() for page in PAGES}

    assert {page for page in pages if not NOT_SEARCHED.match(page)} == set(read_keywords())
    assert "" not in read_keywords().values()


def test_every_page_that_programs_are_pointed_to_exists() -> None:
    links = re.findall(r"\]\((.+?)\)", LINKS_FOR_PROGRAMS.read_text(encoding="utf-8"))

    assert [link for link in links if not (ROOT / link).with_suffix(".md").is_file()] == []
    assert "docs/how-to/agents.html" in links


def test_the_example_for_programs_prints_what_its_page_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (command,) = re.findall(r"^concord (.*) > decision.json$", _example(FOR_PROGRAMS, "sh"), re.M)
    answer = run(ROOT / "data" / "demo", "concord", *command.split())
    (tmp_path / "decision.json").write_text(answer, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    exec(_example(FOR_PROGRAMS), {})

    assert capsys.readouterr().out == _example(FOR_PROGRAMS, "text")


def test_the_home_page_compares_as_the_readme_does_in_six_lines() -> None:
    *setup, call = [line for line in _example(HOME).splitlines() if line]
    names: dict[str, Any] = {}
    exec("\n".join(setup), names)
    exec(_example(README), names)

    assert len([*setup, call]) <= CODE_LINES
    assert str(eval(call, names)) == str(names["comparison"])
