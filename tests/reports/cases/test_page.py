"""The page of an error analysis in a browser: its filter, its width, hostile names."""

import json
from pathlib import Path

import pytest

import concord as cc
from tests.reports.samples.axe import axe_script
from tests.reports.samples.browser import Page
from tests.reports.samples.sample_error_analysis import cases

LONG = "A_very_long_name_that_no_column_was_ever_made_for_and_that_has_no_space_in_it"
VISIBLE_CASES = (
    "[...document.querySelectorAll('.case')].filter(c => c.offsetParent).map(c => "
    "c.querySelector('h3').firstChild.data.trim())"
)
SET_FILTER = """(text, group) => {
  const form = document.getElementById('filter');
  form.elements.text.value = text;
  form.elements.group.value = group;
  form.dispatchEvent(new Event('input'));
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("cases"), cases())


def _write(folder: Path, cases: cc.results.Cases) -> Path:
    path = folder / "cases.html"
    cases.to_html(path)
    return path


@pytest.mark.whole
@pytest.mark.parametrize(
    ("text", "group", "expected"),
    [
        ("t39", "", ["u5"]),
        ("CAFE", "", ["u1"]),
        ("blue lamp u2", "", ["u2"]),
        ("no such thing", "", []),
        ("", 'channel=a "b"&c', ["u5"]),
    ],
)
def test_words_and_segments_filter_users(
    browser: Page, page: Path, text: str, group: str, expected: list[str]
) -> None:
    browser.show(page, width=1200)
    browser.run(f"({SET_FILTER})({json.dumps(text)}, {json.dumps(group)})")

    assert browser.run(VISIBLE_CASES) == expected
    assert browser.run("document.querySelectorAll('.more[open]').length") == (text == "t39")
    output = browser.run("document.querySelector('output').textContent")
    assert output.startswith(f"{len(expected)} of 5 users")
    assert browser.errors == []


@pytest.mark.whole
@pytest.mark.parametrize(("width", "scheme"), [(420, "dark"), (1400, "light")])
def test_nothing_overflows_and_axe_finds_no_violation(
    browser: Page, tmp_path: Path, width: int, scheme: str
) -> None:
    browser.show(_write(tmp_path, cases(name=LONG, title=LONG)), width=width, scheme=scheme)
    assert browser.run("document.documentElement.scrollWidth") <= width

    browser.call("Runtime.evaluate", expression=axe_script())
    content = json.loads(browser.run("axe.run().then(r => JSON.stringify(r.violations))"))
    assert [(each["id"], each["nodes"][0]["html"]) for each in content] == []
