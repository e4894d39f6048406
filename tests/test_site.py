"""The documentation site, as `make site` builds it, in a browser without a network."""

import csv
import json
from pathlib import Path

import pytest

from tests.project import ROOT, made_once, run_process
from tests.reports.samples.browser import Page

pytestmark = pytest.mark.nightly
PHONE, DESK = 390, 1440
HEIGHTS = {PHONE: 844, DESK: 900}
FIRST = 3  # results among which the page of a query has to be
RECORDS = ("docs/decisions/", "CHANGELOG")  # have every word
QUERIES = Path(__file__).with_name("site_queries.csv")  # as readers, threads and the FAQ ask
PAGES = [
    "docs/index",
    "docs/why",
    "docs/tutorials/compare-models",
    "docs/get-started/read-the-report",
    "docs/how-to/gate",
    "docs/reference/presets",
    "docs/reference/presets/rectools",
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
RANKED = "Search._performSearch(...Search._parseQuery(%s)).reverse().map(result => result[0])"


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


def test_a_query_finds_its_page_among_the_first_results(browser: Page, site: Path) -> None:
    with QUERIES.open(encoding="utf-8", newline="") as file:
        pages = {row["query"]: row["page"] for row in csv.DictReader(file)}
    browser.show(site / "search.html", width=DESK)

    found = {query: browser.run(RANKED % json.dumps(query)) for query in pages}
    missed = {q: found[q][:FIRST] for q, page in pages.items() if page not in found[q][:FIRST]}
    assert missed == {}
    records = [page for pages in found.values() for page in pages if page.startswith(RECORDS)]
    assert records == []


@pytest.mark.parametrize("width", HEIGHTS)
def test_the_home_page_shows_code_result_and_doors_without_scrolling(
    browser: Page, site: Path, width: int
) -> None:
    browser.show(site / "docs/index.html", width=width, height=HEIGHTS[width])

    lowest = "Math.max(...[...document.querySelectorAll('.start pre, .start img, .doors li')]"
    assert browser.run(f"{lowest}.map(e => e.getBoundingClientRect().bottom))") <= HEIGHTS[width]


def test_programs_find_a_list_of_pages_at_the_root(site: Path) -> None:
    assert (site / "llms.txt").read_text(encoding="utf-8").startswith("# Concord\n")
