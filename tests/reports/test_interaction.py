"""The live page in a real browser: tooltips, lighting up, hiding models; and axe-core on all of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reports.samples import sample
from tests.reports.samples.axe import axe_script
from tests.reports.samples.browser import Page
from tests.reports.samples.rendered import html

pytestmark = pytest.mark.whole

SETTLED = "new Promise(done => setTimeout(done, 100))"
PHONE, DESK = 390, 1400
TIP = "document.querySelector('.tip').textContent"
CHART = "document.querySelector('#differences .wide .chart')"
SHOWN = "[...document.querySelectorAll('.board tbody tr')].filter(r => r.offsetHeight).map(r => r.dataset.model)"
MARKS = """
[...document.querySelectorAll('.chart [data-model=ease], .chart [data-other=ease]')]
  .filter(m => m.getClientRects().length).length
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    samples = {
        "five": sample.five_models(),
        "gated": sample.gated(),
        "two": sample.two_models(),
        "many": sample.many_models(13),
        "hostile": sample.hostile_names(),
        "one": sample.one_model(),
    }
    for name, content in samples.items():
        (folder / f"{name}.html").write_text(html(content), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in samples}


def _point_at(browser: Page, mark: str) -> None:
    """Move the mouse to the middle of a mark."""
    browser.run(f"{mark}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    browser.run(SETTLED)  # the event of that scrolling hides a tooltip
    x, y = browser.run(
        f"(() => {{ const b = {mark}.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] }})()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def _press(browser: Page, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)


def _mark_of(model: str) -> str:
    return f"{CHART}.querySelector('path[data-model={model}][data-tip]')"


def test_pointing_at_a_mark_tells_its_numbers(browser: Page, pages: dict[str, Path]) -> None:
    browser.show(pages["five"], width=DESK)
    assert browser.run(TIP) == ""

    _point_at(browser, _mark_of("ease"))

    assert browser.run(TIP).startswith("ease: +0.0")
    assert browser.run("document.querySelectorAll('.chart title').length") == 0  # no second tooltip
    box = browser.run(
        "(() => { const b = document.querySelector('.tip').getBoundingClientRect(); return [b.left, b.right, b.height] })()"
    )
    assert 0 <= box[0] < box[1] <= DESK
    assert box[2] > 0
    _press(browser, "Escape")
    assert browser.run(TIP) == ""


def test_arrow_keys_walk_through_the_marks(browser: Page, pages: dict[str, Path]) -> None:
    browser.show(pages["five"], width=DESK)
    browser.run(f"{CHART}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    browser.run(SETTLED)
    browser.run(f"{CHART}.focus({{preventScroll: true}})")
    told = []
    for _ in range(3):
        _press(browser, "ArrowRight")
        told.append(browser.run(TIP))
    _press(browser, "ArrowLeft")

    assert len(set(told)) == 3
    assert browser.run(TIP) == told[1]
    assert browser.run("document.querySelectorAll('.at-mark').length") == 1
    browser.run("document.activeElement.blur()")
    assert browser.run(TIP) == ""


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_tooltips_stay_inside_the_window(browser: Page, pages: dict[str, Path], width: int) -> None:
    browser.show(pages["five"], width=width)
    outside = browser.run("""
        [...document.querySelectorAll('.chart')].filter(c => c.getClientRects().length).flatMap(chart => {
          chart.scrollIntoView({block: 'center', behavior: 'instant'});
          return [...chart.querySelectorAll('[data-tip]')].filter(mark => {
            const box = mark.getBoundingClientRect();
            const at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
            chart.dispatchEvent(new PointerEvent('pointermove', at));
            const tip = document.querySelector('.tip').getBoundingClientRect();
            return tip.width && (tip.left < 0 || tip.right > innerWidth);
          })
        }).length""")

    assert outside == 0


def test_a_row_of_the_leaderboard_lights_its_model_up(
    browser: Page, pages: dict[str, Path]
) -> None:
    browser.show(pages["five"], width=DESK)
    _point_at(browser, "document.querySelector('.board tr[data-model=ease] th')")
    dimmed = "getComputedStyle(document.querySelector('#curves .chart [data-model=als]')).opacity"
    lit = "getComputedStyle(document.querySelector('#curves .chart [data-model=ease]')).opacity"
    browser.run("new Promise(done => setTimeout(done, 300))")

    assert float(browser.run(dimmed)) < 0.5 <= float(browser.run(lit))


def test_a_model_can_be_hidden_and_comes_back(browser: Page, pages: dict[str, Path]) -> None:
    browser.show(pages["five"], width=DESK)
    models, marks = browser.run(SHOWN), browser.run(MARKS)
    button = "document.querySelector('#models button[value=ease]')"
    browser.run(f"{button}.click()")

    assert browser.run(SHOWN) == [model for model in models if model != "ease"]
    assert browser.run(MARKS) == 0
    assert browser.run(f"{button}.getAttribute('aria-pressed')") == "false"
    assert browser.run("document.querySelector('.matrix').rows[0].cells[2].offsetWidth") > 0

    browser.run("[...document.querySelectorAll('#models button')].at(-1).click()")
    assert browser.run(SHOWN) == models
    assert browser.run(MARKS) == marks > 10
    assert browser.errors == []


def test_many_models_fold_their_buttons_away(browser: Page, pages: dict[str, Path]) -> None:
    browser.show(pages["many"], width=DESK)

    assert browser.run("document.querySelector('#models details').open") is False
    assert browser.run("document.querySelectorAll('#models button[value]').length") == 13


@pytest.mark.parametrize("name", ["one", "five"])
def test_without_scripts_there_are_titles_and_no_buttons(
    browser: Page, pages: dict[str, Path], name: str
) -> None:
    browser.show(pages[name], width=DESK, scripts=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)

    assert browser.run("document.querySelectorAll('#models button').length") == 0
    assert browser.run("document.getElementById('models').offsetHeight") == 0
    titles = browser.run("document.querySelectorAll('.chart path > title').length")
    assert titles > 10 if name == "five" else titles >= 0


def test_hostile_names_stay_text_in_tooltips_and_buttons(
    browser: Page, pages: dict[str, Path]
) -> None:
    browser.show(pages["hostile"], width=DESK)
    told = browser.run("""
        [...document.querySelectorAll('#differences .wide [data-tip]')].map(mark => {
          const box = mark.getBoundingClientRect();
          const at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
          mark.closest('.chart').dispatchEvent(new PointerEvent('pointermove', at));
          return document.querySelector('.tip').textContent;
        })""")
    buttons = browser.run(
        "[...document.querySelectorAll('#models button')].map(b => b.textContent)"
    )
    browser.run("document.querySelectorAll('#models button').forEach(b => b.click())")

    assert any(text.startswith(sample.HOSTILE[0]) for text in told)
    assert set(sample.HOSTILE) < set(buttons)
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.images.length") == 0
    assert browser.errors == []
    assert all(url.startswith(("file:", "data:")) for url in browser.requests)


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        ("five", "light", PHONE),
        ("five", "dark", DESK),
        ("two", "light", DESK),
        ("two", "dark", PHONE),
        ("gated", "light", PHONE),
        ("gated", "dark", DESK),
        ("many", "dark", PHONE),
    ],
)
def test_axe_finds_no_violation(
    browser: Page, pages: dict[str, Path], name: str, scheme: str, width: int
) -> None:
    browser.show(pages[name], width=width, scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    browser.call("Runtime.evaluate", expression=axe_script())

    found = json.loads(browser.run("axe.run().then(r => JSON.stringify(r.violations))"))

    assert [_told(violation) for violation in found] == []


def _told(violation: dict[str, Any]) -> str:
    nodes = [node["html"][:200] for node in violation["nodes"][:3]]
    why = violation["nodes"][0].get("failureSummary", "")[:300]
    return f"{violation['id']} ({len(violation['nodes'])}): {violation['help']}: {nodes} {why}"
