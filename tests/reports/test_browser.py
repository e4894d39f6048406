"""The page in a browser without a network: one test always, the others nightly."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from concord.metrics_core.results.stored import from_content
from concord.reports.page import render_history, render_html
from tests.reports.samples import sample
from tests.reports.samples.axe import axe_script
from tests.reports.samples.browser import Page
from tests.reports.samples.rendered import html
from tests.reports.samples.sample_error_analysis import cases
from tests.reports.samples.sample_history import HISTORY
from tests.reports.samples.sample_references import with_references
from tests.reports.samples.sample_study import study

SETTLED = "new Promise(done => setTimeout(done, 100))"
PHONE, DESK = 390, 1440
PAPER = 720  # A4 without margins, at 96 pixels an inch
TIP = "document.querySelector('.tip').textContent"
CHART = "document.querySelector('#answer .wide .chart')"
BODY = ".board tbody:first-of-type"  # references are below
MODELS = f"[...document.querySelectorAll('{BODY} th')].map(h => h.firstChild.data.trim())"
VISIBLE_MODELS = (
    f"[...document.querySelectorAll('{BODY} tr')].filter(r => r.offsetHeight).map(r => "
    "r.dataset.model)"
)
CHART_MARKS = """
[...document.querySelectorAll('.chart [data-model=ease], .chart [data-other=ease]')]
  .filter(m => m.getClientRects().length).length
"""
OPEN_DETAILS = "document.querySelectorAll('details').forEach(d => { d.open = true })"
SMALL_TARGETS = """
[...document.querySelectorAll('button, summary, input, select, nav a')]
  .filter(e => e.getClientRects().length)
  .map(e => [e.outerHTML.slice(0, 99), e.getBoundingClientRect()])
  .filter(([_, box]) => box.width < 24 || box.height < 24).map(([name]) => name)
"""
WIDTH = "document.documentElement.scrollWidth"
SHAPES: dict[str, Callable[[], str]] = {
    "gated": lambda: html(sample.gated()),
    "two": lambda: html(sample.two_models()),
    "many": lambda: html(sample.many_models()),
    "hostile": lambda: html(sample.hostile_names()),
    "long": lambda: html(sample.long_names()),
    "references": lambda: render_html(with_references(from_content(sample.long_names()))),
    "history": lambda: render_history(HISTORY),
    "study": lambda: study().to_html(),
    "error analysis": lambda: cases().to_html(),
}
Pages = Callable[[str], Path]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    folder = tmp_path_factory.mktemp("pages")

    def written(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(SHAPES[name](), encoding="utf-8")
        return path

    return written


def _point_at(browser: Page, marker: str) -> None:
    """Move the mouse to the middle of a mark."""
    browser.run(f"{marker}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    browser.run(SETTLED)  # the event of that scrolling hides a tooltip
    x, y = browser.run(
        f"(() => {{ const b = {marker}.getBoundingClientRect(); return [b.x + b.width / 2, b.y + "
        f"b.height / 2] }})()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def _press(browser: Page, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)


@pytest.mark.parametrize(
    ("scheme", "colours"),
    [
        ("light", ("rgb(11, 106, 116)", "rgb(252, 251, 248)")),
        ("dark", ("rgb(92, 201, 212)", "rgb(21, 23, 26)")),
    ],
)
def test_the_fullest_page_is_shown_sorted_pointed_at_and_reduced(
    browser: Page, pages: Pages, scheme: str, colours: tuple[str, str]
) -> None:
    path = pages("gated")
    browser.show(path, width=DESK, scheme=scheme)
    marker = "getComputedStyle(document.querySelector('.wide .chart [stroke-linecap]')).stroke"
    ground = "getComputedStyle(document.body).backgroundColor"
    assert browser.run("document.querySelector('h1').innerText").startswith("Gate failed: ")
    assert (browser.run(marker), browser.run(ground)) == colours

    original = browser.run(MODELS)
    by_value = "document.querySelectorAll('.board thead button')[1].click()"
    browser.run(by_value)
    assert browser.run(MODELS) == original  # best first
    browser.run(by_value)
    assert browser.run(MODELS) == original[::-1]
    browser.run("document.querySelector('.board thead button').click()")
    assert browser.run(MODELS) == sorted(sample.FIVE)

    _point_at(browser, f"{CHART}.querySelector('[data-model=ease] [data-tip]')")
    assert browser.run(TIP).startswith("ease: +0.")
    assert browser.run("document.querySelectorAll('.chart title').length") == 0  # no second tooltip
    _press(browser, "Escape")
    assert browser.run(TIP) == ""

    models, markers = browser.run(VISIBLE_MODELS), browser.run(CHART_MARKS)
    browser.run("document.querySelector('#models button[value=ease]').click()")
    assert browser.run(VISIBLE_MODELS) == [model for model in models if model != "ease"]
    assert browser.run(CHART_MARKS) == 0
    browser.run("[...document.querySelectorAll('#models button')].at(-1).click()")
    assert (browser.run(VISIBLE_MODELS), browser.run(CHART_MARKS)) == (models, markers)

    folded = "document.querySelector('#pairs').closest('details').open"
    assert browser.run(folded) is False
    browser.run("document.querySelector('.rail a[href=\"#pairs\"]').click()")
    browser.run(SETTLED)
    assert browser.run(folded) is True

    browser.run(OPEN_DETAILS)
    assert browser.run(WIDTH) <= DESK
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [
        path.resolve().as_uri()
    ]


ROWS = """
[...document.querySelectorAll('.side-by-side')].map(side =>
  [...side.querySelectorAll('figure')].map(figure =>
    [...figure.querySelectorAll('.wide [data-model]')]
      .map(row => row.querySelector('[text-anchor=end]').getBoundingClientRect().y)))
"""


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["references", "long"])
@pytest.mark.parametrize("width", [830, 1024, DESK])
def test_charts_side_by_side_have_the_same_rows(
    browser: Page, pages: Pages, width: int, name: str
) -> None:
    """The right chart repeats no names; its caption may take more lines."""
    browser.show(pages(name), width=width)
    pairs = browser.run(ROWS)

    assert pairs
    for left, right in pairs:
        assert len(left) == 5
        assert left == pytest.approx(right, abs=1)


@pytest.mark.nightly
@pytest.mark.parametrize("width", [320, PHONE, 768, 1100, DESK])
@pytest.mark.parametrize("name", SHAPES)
def test_nothing_overflows_the_page(browser: Page, pages: Pages, width: int, name: str) -> None:
    browser.show(pages(name), width=width)
    browser.run(OPEN_DETAILS)
    assert browser.run(WIDTH) <= width
    assert browser.run("innerWidth") == width


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["two", "gated", "history", "study", "error analysis"])
def test_paper_holds_the_page_with_its_wide_charts(browser: Page, pages: Pages, name: str) -> None:
    browser.show(pages(name), width=PAPER)
    browser.call("Emulation.setEmulatedMedia", media="print")
    too_wide = browser.run(WIDTH) - PAPER
    visible = browser.run(
        "Object.fromEntries(['#models', '.toc', '.rail', '.filter', '.narrow'].map(s => "
        "[s, [...document.querySelectorAll(s)].some(e => e.offsetHeight)]))"
    )
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    fold = "getComputedStyle(document.querySelector('details:not([open]) > summary'), '::after')"
    is_folded = browser.run("document.querySelector('main details:not([open])') !== null")
    note = browser.run(f"{fold}.content") if is_folded else '" (folded: see the HTML)"'
    browser.call("Emulation.setEmulatedMedia", media="")
    assert too_wide <= 2
    assert not any(visible.values()), visible
    assert (ground, note) == ("rgb(255, 255, 255)", '" (folded: see the HTML)"')


@pytest.mark.nightly
@pytest.mark.parametrize("width", [PHONE, 1024, DESK])
def test_the_contents_mark_the_current_section_and_open_what_is_folded(
    browser: Page, pages: Pages, width: int
) -> None:
    browser.show(pages("gated"), width=width)
    links = ".rail" if width == DESK else ".toc"
    current = f"[...document.querySelectorAll('{links} [aria-current=location]')].map(a => a.hash)"
    browser.run(SETTLED)
    assert browser.run(current) == ["#answer"]
    browser.run("document.getElementById('tradeoffs').scrollIntoView({behavior: 'instant'})")
    browser.run(SETTLED)
    assert browser.run(current) == ["#tradeoffs"]

    browser.run("document.querySelector('.toc').open = true")
    browser.run(f"document.querySelector('{links} a[href=\"#conventions\"]').click()")
    assert browser.run("document.getElementById('conventions').closest('details').open") is True
    assert browser.run("document.querySelector('.toc').open") is False
    assert browser.errors == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_targets_are_24_pixels_or_more(browser: Page, pages: Pages, width: int, name: str) -> None:
    browser.show(pages(name), width=width)
    browser.run(OPEN_DETAILS)
    assert browser.run(SMALL_TARGETS) == []


@pytest.mark.nightly
def test_a_phone_gets_the_narrow_chart_with_text_of_full_size(browser: Page, pages: Pages) -> None:
    browser.show(pages("gated"), width=PHONE)
    assert browser.run("getComputedStyle(document.querySelector('.wide')).display") == "none"
    scale = (
        "(() => { const c = document.querySelector('.narrow .chart'); return c.clientWidth / 350 "
        "})()"
    )
    assert browser.run(scale) >= 0.95


@pytest.mark.nightly
def test_arrow_keys_walk_through_the_marks(browser: Page, pages: Pages) -> None:
    browser.show(pages("gated"), width=DESK)
    browser.run(f"{CHART}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    browser.run(SETTLED)
    browser.run(f"{CHART}.focus({{preventScroll: true}})")
    tips = []
    for _ in range(3):
        _press(browser, "ArrowRight")
        tips.append(browser.run(TIP))
    _press(browser, "ArrowLeft")

    assert len(set(tips)) == 3
    assert browser.run(TIP) == tips[1]
    assert browser.run("document.querySelectorAll('.at-mark').length") == 1
    browser.run("document.activeElement.blur()")
    assert browser.run(TIP) == ""


@pytest.mark.nightly
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_tooltips_stay_inside_the_window(browser: Page, pages: Pages, width: int) -> None:
    browser.show(pages("gated"), width=width)
    outside = browser.run("""
        const visible = c => c.getClientRects().length;
        [...document.querySelectorAll('.chart')].filter(visible).flatMap(chart => {
          chart.scrollIntoView({block: 'center', behavior: 'instant'});
          return [...chart.querySelectorAll('[data-tip]')].filter(mark => {
            const box = mark.getBoundingClientRect();
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
            const options = {clientX: x, clientY: y, bubbles: true};
            chart.dispatchEvent(new PointerEvent('pointermove', options));
            const tip = document.querySelector('.tip').getBoundingClientRect();
            return tip.width && (tip.left < 0 || tip.right > innerWidth);
          })
        }).length""")

    assert outside == 0


@pytest.mark.nightly
def test_a_row_of_the_leaderboard_lights_its_model_up(browser: Page, pages: Pages) -> None:
    browser.show(pages("gated"), width=DESK)
    _point_at(browser, "document.querySelector('.board tr[data-model=ease] th')")
    dimmed = "getComputedStyle(document.querySelector('#curves .chart [data-model=als]')).opacity"
    lit = "getComputedStyle(document.querySelector('#curves .chart [data-model=ease]')).opacity"
    browser.run("new Promise(done => setTimeout(done, 300))")

    assert float(browser.run(dimmed)) < 0.5 <= float(browser.run(lit))


@pytest.mark.nightly
def test_many_models_fold_their_buttons_away(browser: Page, pages: Pages) -> None:
    browser.show(pages("many"), width=DESK)

    assert browser.run("document.querySelector('#models details').open") is False
    assert browser.run("document.querySelectorAll('#models button[value]').length") == 14


@pytest.mark.nightly
def test_the_page_can_be_read_without_scripts(browser: Page, pages: Pages) -> None:
    browser.show(pages("gated"), width=DESK, scripts=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)

    assert browser.errors == []
    assert browser.run("document.querySelectorAll('#models button, thead button').length") == 0
    assert browser.run("document.getElementById('models').offsetHeight") == 0
    assert browser.run("document.querySelectorAll('.rail a').length") > 10
    assert browser.run("document.querySelectorAll('.chart g > title').length") > 10
    assert len(browser.run(MODELS)) == len(sample.FIVE)


@pytest.mark.nightly
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["gated", "two", "many", "history", "study", "error analysis"])
def test_axe_finds_no_violation(
    browser: Page, pages: Pages, name: str, scheme: str, width: int
) -> None:
    browser.show(pages(name), width=width, scheme=scheme)
    browser.run(OPEN_DETAILS)
    browser.call("Runtime.evaluate", expression=axe_script())

    violations = json.loads(browser.run("axe.run().then(r => JSON.stringify(r.violations))"))

    assert [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in violations] == []
