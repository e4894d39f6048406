"""The page of cases: what stands on it with and without scripts, the filter, and that nothing in it is obeyed."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import concord as cc
from tests.reports.samples.axe import axe_script
from tests.reports.samples.browser import Page

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
    body = cases.to_html().split("<main>")[1].split("<script>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_without_scripts_all_of_it_is_there() -> None:
    text = _text(_cases())

    assert "5 of 5 users have less nDCG@4 with als than with ease" in text
    assert "hit at 4; nDCG =" in text
    assert "Café chair iu1 grade 5; rank by als 4, by ease 1" in text
    assert "Blue lamp low grade 2, below the threshold (4); rank by als 3, by ease 2" in text
    assert "30 more" in text  # of the 42 items that u5 wanted
    assert "channel: app; Jaccard@4 0.75; RBO(p=0.9)@4 0." in text
    assert "relevant (from grade 4 on for nDCG@4 and R@2)" in text


def test_it_asks_nothing_of_a_network_and_has_the_same_bytes_each_time() -> None:
    html = _cases().to_html()

    assert html == _cases().to_html()
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=\"(?!#|data:)", html)


def test_nobody_behind_and_one_item() -> None:
    asked = _text(_cases(segment="channel=app", item="iu1"))
    reverse = cc.cases({"a": {"u": ["x"]}, "b": {"u": ["y"]}}, {"u": ["x"]}, model="a", versus="b", metrics=["R@1"], conventions="standard")  # fmt: skip

    assert "segment channel=app; users where item iu1 was wanted or shown" in asked
    assert "0 of 1 users have less R@1 with a than with b" in _text(reverse)
    assert "a finds no item less often than b" in _text(reverse)
    assert 'id="users"' not in reverse.to_html()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("iu3", ["u3"]),
        ("t39", ["u5"]),
        ("CAFE", ["u1"]),
        ("blue lamp u2", ["u2"]),
        ("no such thing", []),
    ],
)
def test_words_filter_users_and_items(
    browser: Page, page: Path, typed: str, expected: list[str]
) -> None:
    browser.show(page, width=1200)
    browser.run(f"(f => {{ f.elements.text.value = {json.dumps(typed)}; f.dispatchEvent(new Event('input')) }})(document.getElementById('filter'))")  # fmt: skip

    assert browser.run(SHOWN) == expected
    assert browser.run("document.querySelectorAll('.more[open]').length") == (typed == "t39")
    assert browser.run(ROWS.format("#users")) == len(expected)
    told = browser.run("document.querySelector('output').textContent")
    assert told.startswith(f"{len(expected)} of 5 users")
    assert bool(browser.run("document.querySelectorAll('li[data-found]').length")) == bool(expected)
    assert browser.errors == []


@pytest.mark.whole
@pytest.mark.parametrize(
    ("group", "expected"), [("app", ["u1", "u3"]), ('a "b"&c', ["u5"]), ("", ["u1", "u2", "u3", "u4", "u5"])]
)  # fmt: skip
def test_a_segment_can_be_chosen(
    browser: Page, page: Path, group: str, expected: list[str]
) -> None:
    browser.show(page, width=1200)
    value = f"channel={group}" if group else ""
    browser.run(f"(s => {{ s.value = {json.dumps(value)}; s.dispatchEvent(new Event('input', {{bubbles: true}})) }})(document.querySelector('select'))")  # fmt: skip

    assert sorted(browser.run(SHOWN)) == expected
    assert browser.errors == []


@pytest.mark.whole
@pytest.mark.parametrize("width", [420, 768, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
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
