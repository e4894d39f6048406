"""Ten payloads in every name that can carry one, through the real stages into every page."""

import re
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt

from tests.library import evaluated_project
from tests.reports.samples.browser import Page
from tests.reports.samples.markup import Markup

PAYLOADS = (
    '"><script>window.ran = 1</script>',
    "</script></style></title><img src=x onerror=window.ran=1>",
    "' onmouseover='window.ran = 1' x='",
    "<svg/onload=window.ran=1>",
    "[click](javascript:window.ran=1) ![x](https://evil.example/x.png)",
    "<https://evil.example> | a | b |",
    "`code` {{ 7 * 7 }} {% raw %} ${7*7} **bold** _it_ ~~no~~",
    "\\input{secret} \\write18{id} $x^2$ 100% #1 & ~ {open",
    "&lt;script&gt;window.ran=1&lt;/script&gt; &#60;b&#62;",
    "<!-- --> <details open ontoggle=window.ran=1> </details> <a href=javascript:window.ran=1>",
)
MODELS = ("popularity", "als")
USERS = [f"{PAYLOADS[n % 10]} {n}" for n in range(40)]
ITEMS = [f"{PAYLOADS[n % 10]} i{n}" for n in range(30)]
COLUMN = "x\"'><script>window.ran=1</script>|`"


def _tables() -> dict[str, pl.DataFrame]:
    of_items = {
        "item": ITEMS,
        "categories": [[PAYLOADS[n % 10]] for n in range(30)],
        "title": [f"{PAYLOADS[(n + 3) % 10]} t{n}" for n in range(30)],
        "group": [PAYLOADS[(n + 6) % 10] for n in range(30)],
    }
    groups = [PAYLOADS[n % 10] for n in range(40)]
    train = [(user, ITEMS[(n * 3 + m) % 30]) for n, user in enumerate(USERS) for m in range(n % 7)]
    tables = {
        "items": pl.DataFrame(of_items),
        "users": pl.DataFrame({"user": USERS, COLUMN: groups}),
        "train": pl.DataFrame(train, schema=["user", "item"], orient="row"),
        "truth": pl.DataFrame({"user": USERS, "item": [ITEMS[(n * 7) % 30] for n in range(40)]}),
    }
    for seed, model in enumerate(MODELS):
        rows = [
            (user, ITEMS[(n * 7 * seed + 11 * position) % 30], position + 1)
            for n, user in enumerate(USERS)
            for position in range(10)
        ]
        lists = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
        tables[model] = lists.unique(["user", "item"], keep="first").with_columns(
            rank=pl.col("rank").rank("ordinal").over("user").cast(pl.Int64)
        )
    return tables


CHANGES = {
    "background.items.columns": {"group": "group"},
    "report.title": " ".join(PAYLOADS),
    "evaluation.metrics": ["nDCG", "P"],
    "evaluation.ks": [10],
    "evaluation.panel": False,
    "comparison.primary": ["nDCG@10"],
    "segments": {
        PAYLOADS[0]: {"by": "user", "column": COLUMN},
        PAYLOADS[5]: {"by": "truth_item", "shares": [0.5, 0.8]},
        PAYLOADS[7]: {"by": "activity", "edges": [0, 3]},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the report that the stages make of it."""
    project = evaluated_project(tmp_path_factory.mktemp("hostile"), _tables(), CHANGES)
    return project / "results" / "report"


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_every_payload_is_in_the_page_as_text(page: str) -> None:
    text = " ".join(" ".join(Markup(page).text).split())
    for payload in PAYLOADS:
        assert payload in text
    assert COLUMN in text


def test_the_page_holds_no_script_handler_or_link_of_theirs(page: str) -> None:
    markup = Markup(page)
    assert markup.unclosed == []
    assert len(markup.all("script")) == len(markup.all("style")) == 1
    for tag in ("img", "iframe", "object", "embed", "base"):
        assert markup.all(tag) == []
    assert all("action" not in form for form in markup.all("form"))
    for tag, attributes in markup.tags:
        for key, value in attributes.items():
            assert not key.startswith("on"), (tag, key)
            assert "javascript:" not in str(value) or key not in {"href", "src", "action"}
            if key in {"href", "src", "xlink:href"}:
                assert str(value).startswith(("#", "data:,")), (tag, value)


def test_nothing_runs_in_a_browser(folder: Path, browser: Page) -> None:
    browser.show(folder / "report.html", width=1400)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    hover = (
        "[...document.querySelectorAll('main *')].forEach("
        "e => e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})))"
    )
    browser.run(hover)
    browser.run("document.querySelectorAll('button').forEach(b => b.click())")
    assert browser.run("typeof window.ran") == "undefined"
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.images.length") == 0


def test_markdown_holds_no_tag_link_or_picture_of_theirs(folder: Path) -> None:
    text = (folder / "report.md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    markup = Markup(html)
    tags = {tag for tag, _ in markup.tags}
    assert not tags & {"script", "img", "a", "svg", "s", "em", "hr", "pre", "style", "iframe"}
    assert {key for _, attributes in markup.tags for key in attributes} <= {"style"}
    assert len(markup.all("details")) == 1
    recommended = " ".join(" ".join(markup.text).split())
    for (
        payload
    ) in PAYLOADS:  # a break that nobody sees keeps addresses and mentions from being found
        assert payload in recommended.replace("\N{ZERO WIDTH SPACE}", "")
    for table in re.findall(r"<table>.*?</table>", html, re.DOTALL):
        widths = {len(re.findall("<t[hd]", row)) for row in table.split("<tr>")[1:]}
        assert len(widths) == 1
