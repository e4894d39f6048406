"""Error analyses of five users, of whom one has many relevant items."""

from dataclasses import replace
from typing import Any

import polars as pl

import concord as cc
from concord.metrics_core.results.stored import from_content
from tests.reports.samples import sample


def cases(name: str = "als", title: str = "Blue lamp", **options: Any) -> cc.results.Cases:
    users = [f"u{n}" for n in range(1, 6)]
    lists = {
        name: {user: ["x", "y", "low", f"i{user}"] for user in users},
        "ease": {user: [f"i{user}", "low", "x"] for user in users},
    }
    truth: dict[str, dict[str, int]] = {user: {f"i{user}": 5, "low": 2} for user in users}
    truth["u5"] |= {f"t{n}": 4 for n in range(40)}
    items = pl.DataFrame({"item": ["iu1", "low", "x"], "title": ["Café chair", title, None]})
    user_features = pl.DataFrame(
        {"user": users, "channel": ["app", "web", "app", "web", 'a "b"&c']}
    )
    segments = {"channel": {"by": "user", "column": "channel"}}
    conventions = cc.preset("standard", relevance_threshold=4, err_max_grade=5)
    return cc.cases(
        lists,
        truth,
        model=name,
        versus="ease",
        metrics=["nDCG@4", "R@2"],
        conventions=conventions,
        items=items,
        users=user_features,
        segments=segments,
        title="Demo shop",
        input={"unknown_items": "keep"},
        **options,
    )


def one_user() -> cc.results.Cases:
    """Return an error analysis of one user whose values are equal, without features."""
    lists = {"a": {"u": ["x"]}, "b": {"u": ["y"]}}
    return cc.cases(
        lists, {"u": ["x"]}, model="a", versus="b", metrics=["R@1"], conventions="standard"
    )


def in_a_report(*, behind: int) -> str:
    """Return the section of a report: example users of both sides, a model with replicates."""
    both = replace(
        cases(worst=2),
        model_a="mf",
        both_sides=True,
        n_behind=behind,
        n_ahead=1,
        item_cases=(),
        jaccard=None,
        rbo=None,
    )
    page = from_content(sample.two_models()).to_html(cases=both)
    assert '<a href="#error_analysis">Examples</a>' in page
    return page.split('<section id="error_analysis">')[1].split('<section id="data">')[0]
