"""What pages, Markdown, tables and comments say, whole: a change of any sentence or number shows as a diff.

`make snapshots` writes the stored texts again.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from concord.reports.commenting.comment import Comment, render_comment
from concord.reports.history_page import render_history
from concord.reports.notebook import render_notebook
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.rendered import html, latex, markdown
from tests.reports.samples.sample_history import HISTORY
from tests.reports.samples.sample_study import study
from tests.reports.samples.trained import trained, trained_page
from tests.reports.samples.typed import typed

SNAPSHOTS = Path(__file__).parent / "snapshots"


def _comment() -> str:
    comparison = typed(sample.gated())
    return render_comment(Comment("evaluation", comparison, comparison.gate))


TEXTS: dict[str, Callable[[], str]] = {
    "five.page": lambda: Markup(html(sample.gated())).lines(),
    "five.md": lambda: markdown(sample.gated()),
    "five.tex": lambda: latex(sample.gated()),
    "five.notebook": lambda: Markup(render_notebook(typed(sample.gated()))).lines(),
    "comment.md": _comment,
    "one.page": lambda: Markup(html(sample.one_model())).lines(),
    "one.md": lambda: markdown(sample.one_model()),
    "many.md": lambda: markdown(sample.many_models()),
    "many.tex": lambda: latex(sample.many_models()),
    "trained.page": lambda: Markup(trained_page()).lines(),
    "trained.notebook": lambda: Markup(render_notebook(trained())).lines(),
    "study.page": lambda: Markup(study().to_html()).lines(),
    "history.page": lambda: Markup(render_history(HISTORY)).lines(),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_as_stored(name: str) -> None:
    text, stored = TEXTS[name](), SNAPSHOTS / f"{name}.txt"
    if os.environ.get("CONCORD_WRITE_SNAPSHOTS"):
        stored.write_text(text, encoding="utf-8")

    assert text == stored.read_text(encoding="utf-8")
