"""The documentation site, as `make site` builds it, in a browser without a network."""

from pathlib import Path

import pytest

from tests.project import ROOT, made_once, run_process
from tests.reports.samples.browser import Page

pytestmark = pytest.mark.nightly
PHONE, DESK = 390, 1440
PAGES = [
    "docs/index",
    "docs/why",
    "docs/tutorials/compare-models",
    "docs/get-started/read-the-report",
    "docs/how-to/gate",
    "docs/reference/presets",
    "docs/reference/metrics/nDCG",
    "docs/reference/api/generated/concord.compare",
    "docs/reference/api/generated/concord.results.Comparison",
    "CHANGELOG",
]
GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 30)"}
RESULTS = """new Promise(done => {
  const found = () => [...document.querySelectorAll('#search-results li a')].map(a => a.href);
  const wait = () => found().length ? done(found()) : setTimeout(wait, 50);
  wait();
})"""


def build(folder: Path) -> None:
    run_process(ROOT, "make", "site", f"SITE={folder}/html")


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder of the site; a warning of Sphinx or a broken link fails the build."""
    return made_once(tmp_path_factory, worker_id, build) / "html"


@pytest.mark.parametrize("scheme", GROUNDS)
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_the_window_and_needs_no_network(
    browser: Page, site: Path, page: str, width: int, scheme: str
) -> None:
    browser.show(site / f"{page}.html", width=width, scheme=scheme)

    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("getComputedStyle(document.body).backgroundColor") == GROUNDS[scheme]
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def test_a_search_for_ndcg_finds_the_page_of_the_metric(browser: Page, site: Path) -> None:
    browser.show(site / "search.html", width=DESK)
    browser.call("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q=ndcg")

    found = [link.partition("#")[0].partition("?")[0] for link in browser.run(RESULTS)]
    browser.call("Page.navigate", url="about:blank")  # ends the requests for excerpts of pages
    assert f"{site.as_uri()}/docs/reference/metrics/nDCG.html" in found[:3]
