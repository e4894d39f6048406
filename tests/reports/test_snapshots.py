"""The text of pages, Markdown, tables and comments; `make snapshots` writes the stored texts."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import from_content
from concord.reports.comment import Comment, render_comment
from concord.reports.markdown import render_markdown
from concord.reports.page import render_history, render_html, render_notebook
from concord.reports.text.blocks import to_text
from concord.reports.text.history import describe
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html, latex, markdown
from tests.reports.samples.sample_comment import comment
from tests.reports.samples.sample_error_analysis import cases, in_a_report, one_user
from tests.reports.samples.sample_history import FIRST, GAPS, GONE, HISTORY
from tests.reports.samples.sample_replicates import replicate_sample
from tests.reports.samples.sample_study import study

SEARCH = {"user": "query", "item": "document"}
SNAPSHOTS = Path(__file__).parent / "snapshots"


COMMENTS = (
    "gate",
    "no gate",
    "changes",
    "no segment worse",
    "other conventions",
    "no decision",
    "widened gate",
)
TEXTS: dict[str, Callable[[], str]] = {
    "five.page": lambda: Markup(html(sample.gated())).lines(),
    "five.text": lambda: str(from_content(sample.gated())),
    "five.md": lambda: markdown(sample.gated()),
    "five.tex": lambda: latex(sample.gated()),
    "five.notebook": lambda: Markup(render_notebook(from_content(sample.gated()))).lines(),
    **{f"comment.{name.replace(' ', '_')}.md": partial(comment, name) for name in COMMENTS},
    "one.page": lambda: Markup(html(sample.one_model())).lines(),
    "one.md": lambda: markdown(sample.one_model()),
    "lower.page": lambda: Markup(html(sample.lower_is_better())).lines(),
    "lower.tex": lambda: latex(sample.lower_is_better()),
    "many.md": lambda: markdown(sample.many_models()),
    "many.tex": lambda: latex(sample.many_models()),
    "search.page": lambda: Markup(render_html(search())).lines(),
    "search.comment.md": lambda: render_comment(Comment("", search(), None)),
    "trained.page": lambda: Markup(render_html(replicate_sample())).lines(),
    "trained.notebook": lambda: Markup(render_notebook(replicate_sample())).lines(),
    "trained.text": lambda: str(replicate_sample()),
    "trained.md": lambda: render_markdown(replicate_sample()),
    "trained.comment.md": lambda: render_comment(Comment("", replicate_sample(), None)),
    "error_analysis.page": lambda: Markup(cases().to_html()).lines(),
    "error_analysis.one_item.page": lambda: Markup(
        cases(segment="channel=app", item="iu1").to_html()
    ).lines(),
    "error_analysis.one_user.page": lambda: Markup(one_user().to_html()).lines(),
    "error_analysis.in_a_report.page": lambda: Markup(f"<section>{in_a_report(behind=2)}").lines(),
    "error_analysis.ahead_in_a_report.page": lambda: Markup(
        f"<section>{in_a_report(behind=0)}"
    ).lines(),
    "study.page": lambda: Markup(study().to_html()).lines(),
    "audit.text": lambda: str(audit()),
    "history.text": lambda: to_text(describe(HISTORY)),
    "history.gaps.text": lambda: to_text(describe(GAPS)),
    "history.page": lambda: Markup(render_history(HISTORY)).lines(),
    "history.gone.page": lambda: Markup(
        render_history(replace(HISTORY, revisions=(FIRST, GONE), reuse=None))
    ).lines(),
}


def search() -> Comparison:
    """Return two models with the words of search, one of whose names has another word."""
    content = sample.renamed(sample.two_models(), {"ease": "item encoder"})
    return replace(
        from_content(content), title="Search of items", words=SEARCH, panel=(), segments=()
    )


def audit() -> cc.results.Audit:
    """Return an audit in which `first` hits the 20 users with a leak and no other."""
    users = [f"u{n}" for n in range(40)]
    first = {user: ["a", "b"] if n < 20 else ["b", "c"] for n, user in enumerate(users)}
    other = {user: ["c", "a"] if n % 4 == 0 else ["c", "b"] for n, user in enumerate(users)}
    return cc.audit(
        {"first": first, "other": other},
        {user: ["a"] for user in users},
        train={user: ["a" if n < 20 else "b"] for n, user in enumerate(users)},
        metrics=["Hit@2"],
        conventions="standard",
    )


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_as_stored(name: str) -> None:
    text, stored = TEXTS[name](), SNAPSHOTS / f"{name}.txt"
    if os.environ.get("CONCORD_WRITE_SNAPSHOTS"):
        stored.write_text(text, encoding="utf-8")

    assert text == stored.read_text(encoding="utf-8")
