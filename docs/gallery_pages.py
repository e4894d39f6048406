"""Pages that the documentation shows besides the report: on the demo, but for the history."""

import re
import runpy
import tempfile
from collections.abc import Callable
from pathlib import Path

from markdown_it import MarkdownIt

import concord as cc
from concord.datasets import load_demo
from concord.reports.comment import Comment, render_comment
from concord.reports.page import render_history
from tests.reports.samples.sample_history import HISTORY

Picture = tuple[Callable[[], str], list[str], float]  # a page, elements of it, scale
METRICS = ["nDCG@10"]
README = Path(__file__).resolve().parents[1] / "README.md"
_CARD = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 15px/1.4 system-ui, sans-serif; width: {width}px }} td, th {{ white-space: nowrap }}
</style><body>{}"""
_COMMENT = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1f2328; max-width: 900px; margin: 24px }}
table {{ border-collapse: collapse }} td, th {{ border: 1px solid #d1d9e0; padding: 6px 13px }}
h2 {{ border-bottom: 1px solid #d1d9e0; padding-bottom: 8px }}
</style><body>{}"""


def as_card(content: str, width: int = 768) -> str:
    """Return a page with what a notebook shows for a result."""
    return _CARD.format(content, width=width)


def card_page() -> str:
    """Return what a notebook shows after the example of the README."""
    (example,) = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "example.py")
        file.write_text(example, encoding="utf-8")
        names = runpy.run_path(str(file))
    return as_card(names["comparison"]._repr_html_(), width=980)


def error_analysis_page() -> str:
    """Return the users for whom als is furthest behind ease."""
    demo = load_demo()
    models = {name: demo.models[name] for name in ("als", "ease")}
    cases = cc.cases(
        models,
        demo.truth,
        model="als",
        versus="ease",
        metrics=METRICS,
        train=demo.train,
        items=demo.items,
    )
    return cases.to_html()


def study_page() -> str:
    """Return a study over the countries of the demo."""
    demo = load_demo()
    comparisons = {}
    for country in sorted(demo.users["country"].unique()):
        users = demo.users.filter(country=country).select("user")
        models = {name: recs.join(users, on="user") for name, recs in demo.models.items()}
        truth = demo.truth.join(users, on="user")
        comparisons[country] = cc.compare(
            models, truth, metrics=METRICS, baseline="popularity", panel=False
        )
    return cc.study(comparisons, title="The demo shop in six countries", min_effect="2%").to_html()


def history_page() -> str:
    """Return a history of three revisions."""
    return render_history(HISTORY)


def as_comment(text: str) -> str:
    """Return a page with a Markdown comment as GitHub shows it, approximately."""
    markdown = text.replace("❌", "✖")  # fonts without pictures
    return _COMMENT.format(MarkdownIt().enable("table").render(markdown))


def comment_page() -> str:
    """Return the comment of a gate."""
    demo = load_demo()
    comparison = cc.compare(
        {name: demo.models[name] for name in ("ease", "ease-recent", "als")},
        demo.truth,
        metrics=[*METRICS, "Coverage@10"],
        primary=METRICS,
        baseline="ease",
        min_effect="2%",
        items=demo.items,
        gate={"guardrails": {"nDCG@10": "5%", "Coverage@10": "10%"}},
        title="Demo shop",
    )
    return as_comment(render_comment(Comment("evaluation", comparison, comparison.gate)))
