"""The page in a real browser without a network."""

from pathlib import Path

import pytest

from tests.reports.samples import sample
from tests.reports.samples.browser import Page
from tests.reports.samples.rendered import html

pytestmark = pytest.mark.whole

PHONE, DESK = 390, 1400
MODELS_SHOWN = (
    "[...document.querySelectorAll('.board tbody th')].map(h => h.firstChild.data.trim())"
)


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("five"), sample.five_models())


def _written(folder: Path, content: sample.Content) -> Path:
    path = folder / "report.html"
    path.write_text(html(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_loads_without_complaint_or_request(
    browser: Page, five: Path, width: int, scheme: str
) -> None:
    browser.show(five, width=width, scheme=scheme)
    assert browser.run("document.querySelector('h1').innerText").startswith("ease is best")
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [
        five.resolve().as_uri()
    ]


@pytest.mark.parametrize("width", [320, PHONE, 768, 1100, DESK])
@pytest.mark.parametrize("variant", ["five", "gated", "two", "thirty", "hostile", "long"])
def test_nothing_overflows_the_page(
    browser: Page, tmp_path: Path, width: int, variant: str, variants: dict[str, Path]
) -> None:
    browser.show(variants[variant], width=width)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("innerWidth") == width


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory, five: Path) -> dict[str, Path]:
    others = {
        "two": sample.two_models(),
        "thirty": sample.many_models(30),
        "hostile": sample.hostile_names(),
        "gated": sample.gated(),
        "long": sample.with_long_names(sample.five_models()),
    }
    return {"five": five} | {
        name: _written(tmp_path_factory.mktemp(name), content) for name, content in others.items()
    }


@pytest.mark.parametrize("variant", ["two", "five"])
def test_paper_holds_the_page(browser: Page, variant: str, variants: dict[str, Path]) -> None:
    browser.show(variants[variant], width=720)  # A4 without margins, at 96 pixels an inch
    browser.call("Emulation.setEmulatedMedia", media="print")
    too_wide = browser.run("document.documentElement.scrollWidth") - 720
    buttons = browser.run("document.getElementById('models').offsetHeight")
    browser.call("Emulation.setEmulatedMedia", media="")
    assert too_wide <= 2
    assert buttons == 0


def test_charts_and_page_follow_the_scheme(browser: Page, five: Path) -> None:
    mark = "getComputedStyle(document.querySelector('.wide .chart [stroke-linecap]')).stroke"
    ground = "getComputedStyle(document.body).backgroundColor"
    looks = {}
    for scheme in ("light", "dark"):
        browser.show(five, width=DESK, scheme=scheme)
        looks[scheme] = (browser.run(mark), browser.run(ground))
    assert looks["light"] == ("rgb(11, 106, 116)", "rgb(252, 251, 248)")
    assert looks["dark"] == ("rgb(92, 201, 212)", "rgb(21, 23, 26)")


def test_a_phone_gets_the_narrow_chart_with_text_of_full_size(browser: Page, five: Path) -> None:
    browser.show(five, width=PHONE)
    assert browser.run("getComputedStyle(document.querySelector('.wide')).display") == "none"
    scale = "(() => { const c = document.querySelector('.narrow .chart'); return c.clientWidth / 350 })()"
    assert browser.run(scale) >= 0.95


def test_a_click_on_a_head_sorts_best_first_and_a_second_turns_it_round(
    browser: Page, five: Path
) -> None:
    browser.show(five, width=DESK)
    original = browser.run(MODELS_SHOWN)
    click = "document.querySelectorAll('.board thead button')[1].click()"
    browser.run(click)
    assert browser.run(MODELS_SHOWN) == original
    browser.run(click)
    assert browser.run(MODELS_SHOWN) == original[::-1]
    head = "document.querySelectorAll('.board thead th')[1].getAttribute('aria-sort')"
    assert browser.run(head) == "ascending"


def test_models_sort_by_name(browser: Page, five: Path) -> None:
    browser.show(five, width=DESK)
    browser.run("document.querySelector('.board thead button').click()")
    assert browser.run(MODELS_SHOWN) == sorted(sample.FIVE)


def test_the_page_can_be_read_without_scripts(browser: Page, five: Path) -> None:
    browser.show(five, width=DESK, scripts=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.errors == []
    assert browser.run("document.querySelectorAll('thead button').length") == 0
    assert len(browser.run(MODELS_SHOWN)) == len(sample.FIVE)


def test_hostile_names_run_nothing(browser: Page, variants: dict[str, Path]) -> None:
    browser.show(variants["hostile"], width=DESK)
    assert browser.errors == []
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.images.length") == 0
    assert browser.run("document.querySelector('h1').innerText").startswith(sample.HOSTILE[0])
