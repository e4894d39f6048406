"""The page of cases: what stands on it with and without scripts, the filter, and that nothing in it is obeyed."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from tests.reports.samples import sample
from tests.reports.samples.axe import axe_script
from tests.reports.samples.browser import Page
from tests.reports.samples.typed import typed

HOSTILE = '<script>alert("x")</script>'
LONG = "A_very_long_name_that_no_column_was_ever_made_for_and_that_has_no_space_in_it"
SHOWN = "[...document.querySelectorAll('.case')].filter(c => c.offsetParent).map(c => c.querySelector('h3').firstChild.data.trim())"
ROWS = "[...document.querySelectorAll('{} tbody tr')].filter(r => r.offsetParent).length"


def _cases(name: str = "als", title: str = "Blue lamp", **how: Any) -> cc.Cases:
    users = [f"u{n}" for n in range(1, 6)]
    lists = {
        name: {user: ["x", "y", "low", f"i{user}"] for user in users},
        "ease": {user: [f"i{user}", "low", "x"] for user in users},
    }
    truth: dict[str, dict[str, int]] = {user: {f"i{user}": 5, "low": 2} for user in users}
    truth["u5"] |= {f"t{n}": 4 for n in range(40)}
    items = pl.DataFrame({"item": ["iu1", "low", "x"], "title": ["Café chair", title, None]})
    known = pl.DataFrame({"user": users, "channel": ["app", "web", "app", "web", 'a "b"&c']})
    segments = {"channel": {"by": "user", "column": "channel"}}
    conventions = cc.preset("standard", relevance_threshold=4, err_max_grade=5)
    return cc.cases(lists, truth, model=name, versus="ease", metrics=["nDCG@4", "R@2"], conventions=conventions, items=items, users=known, segments=segments, title="Demo shop", input={"unknown_items": "keep"}, **how)  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("cases"), _cases())


def _written(folder: Path, cases: cc.Cases) -> Path:
    path = folder / "cases.html"
    cases.to_html(path)
    return path


def _text(cases: cc.Cases) -> str:
    return _plain(cases.to_html().split("<main>")[1].split("<script>")[0])


def _plain(markup: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", markup))


def test_without_scripts_all_of_it_is_there() -> None:
    text = _text(_cases())

    assert "5 of 5 users have less nDCG@4 with als than with ease" in text
    assert "hit at 4; nDCG =" in text
    assert "Café chair iu1 grade 5; rank by als 4, by ease 1" in text
    assert "Blue lamp low grade 2, below the threshold (4); rank by als 3, by ease 2" in text
    assert "30 more" in text  # of the 42 items that u5 wanted
    assert "channel: app; Jaccard@4 0.75; RBO(p=0.9)@4 0." in text
    assert "relevant (from grade 4 on for nDCG@4 and R@2)" in text


def test_the_report_shows_both_sides_without_items() -> None:
    one_side = replace(_cases(worst=2), model_a="mf")
    both = replace(
        one_side, item_cases=(), both_sides=True, jaccard=None, rbo=None, n_behind=2, n_ahead=1
    )
    page = typed(sample.two_models()).to_html(cases=both)
    section = _plain(page.split('<section id="cases">')[1].split('<section id="definitions">')[0])

    assert '<a href="#cases">Cases</a>' in page
    assert (
        "2 of 5 users have less nDCG@4 with als than with ease. "
        "1 the other way round, 2 the same. als is the first training of mf."
    ) in section
    assert "Those where als is furthest behind ease on nDCG@4" in section
    assert "higher is better , then those where it is furthest ahead." in section
    assert "Recall" not in section
    assert "furthest ahead" not in _text(one_side)
    assert "where als is furthest ahead of ease on" in _text(replace(both, n_behind=0))


def test_nobody_behind_and_one_item() -> None:
    asked = _text(_cases(segment="channel=app", item="iu1"))
    reverse = cc.cases({"a": {"u": ["x"]}, "b": {"u": ["y"]}}, {"u": ["x"]}, model="a", versus="b", metrics=["R@1"], conventions="standard")  # fmt: skip

    assert "segment channel=app; users where item iu1 was wanted or shown" in asked
    assert "0 of 1 users have less R@1 with a than with b" in _text(reverse)
    assert "a finds no item less often than b" in _text(reverse)
    assert 'id="users"' not in reverse.to_html()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("typed", "group", "expected"),
    [
        ("t39", "", ["u5"]),
        ("CAFE", "", ["u1"]),
        ("blue lamp u2", "", ["u2"]),
        ("no such thing", "", []),
        ("", 'channel=a "b"&c', ["u5"]),
    ],
)
def test_words_and_segments_filter_users(
    browser: Page, page: Path, typed: str, group: str, expected: list[str]
) -> None:
    browser.show(page, width=1200)
    chosen = json.dumps([typed, group])
    browser.run(f"(([text, group]) => {{ const f = document.getElementById('filter'); f.elements.text.value = text; f.elements.group.value = group; f.dispatchEvent(new Event('input')) }})({chosen})")  # fmt: skip

    assert browser.run(SHOWN) == expected
    assert browser.run("document.querySelectorAll('.more[open]').length") == (typed == "t39")
    assert browser.run(ROWS.format("#users")) == len(expected)
    told = browser.run("document.querySelector('output').textContent")
    assert told.startswith(f"{len(expected)} of 5 users")
    assert browser.errors == []


@pytest.mark.whole
@pytest.mark.parametrize(("width", "scheme"), [(420, "dark"), (1400, "light")])
def test_nothing_overflows_and_axe_finds_no_violation(
    browser: Page, tmp_path: Path, width: int, scheme: str
) -> None:
    browser.show(_written(tmp_path, _cases(name=LONG, title=LONG)), width=width, scheme=scheme)
    assert browser.run("document.documentElement.scrollWidth") <= width

    browser.call("Runtime.evaluate", expression=axe_script())
    found = json.loads(browser.run("axe.run().then(r => JSON.stringify(r.violations))"))
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.whole
def test_nothing_that_files_say_is_obeyed(browser: Page, tmp_path: Path) -> None:
    path = _written(tmp_path, _cases(name=HOSTILE, title=HOSTILE))

    assert HOSTILE not in path.read_text(encoding="utf-8")
    browser.show(path, width=1200)
    assert browser.errors == []
    assert browser.requests == [path.resolve().as_uri(), "data:,"][: len(browser.requests)]
