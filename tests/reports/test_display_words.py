"""Display words: query and document instead of user and item, and what stays as it is."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import escape

import concord as cc
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import from_content, to_content, to_json
from concord.reports.latex import escaped, render_latex
from concord.reports.markdown import render_markdown
from concord.reports.page import render_html, render_notebook
from concord.reports.text.display_words import NO_WORDS, DisplayWords, display_words
from concord.reports.text.markdown import escape_markdown
from tests.reports.samples import sample
from tests.reports.samples.sample_error_analysis import cases

SEARCH = {"user": "query", "item": "document"}


@pytest.mark.parametrize(
    ("text", "words", "shown"),
    [
        ("Users who differ: 12 users.", SEARCH, "Queries that differ: 12 queries."),
        ("For whom? An item of a user's list.", SEARCH, "For which? A document of a query's list."),
        ("the users' lists of 1 item", SEARCH, "the queries' lists of 1 document"),
        ("A user, an item", {"user": "answer", "item": "passage"}, "An answer, a passage"),
        ("users, an item", {"user": "class", "item": "unit"}, "classes, a unit"),
        ("users who", {"user": "reader"}, "readers who"),
        ("A request of 3 requests of a user", {"request": "turn"}, "A turn of 3 turns of a user"),
        ("item-knn, users.csv, new_user, user=3", SEARCH, "item-knn, users.csv, new_user, user=3"),
        ("`user_no_recs` of `user`, user 'my item'", SEARCH, None),
    ],
)
def test_words_are_replaced_with_article_plural_and_capital(
    text: str, words: dict[str, str], shown: str | None
) -> None:
    expected = shown or "`user_no_recs` of `user`, query 'my item'"

    assert DisplayWords(words).show(text) == expected


def test_html_changes_in_texts_and_labels_only() -> None:
    html = (
        '<style>.item { a: b }</style><a href="#user" class="item" title="1 user">an item</a>'
        '<code>user</code><svg aria-label="Users"><title>Users</title><text>a user of…</text></svg>'
    )

    assert DisplayWords(SEARCH).show(html, "html") == (
        '<style>.item { a: b }</style><a href="#user" class="item" title="1 query">a document</a>'
        '<code>user</code><svg aria-label="Queries"><title>Queries</title>'
        "<text>a user of…</text></svg>"
    )


PIECES = st.lists(
    st.sampled_from(["user", "items", "Request", "who", " ", "-", "_", "'", "é", "x"]), min_size=1
)
NAMES = PIECES.map("".join).map(str.strip).filter(lambda name: re.search(r"\w", name))
FORMS: dict[str, Callable[[str], str]] = {
    "text": str,
    "markdown": escape_markdown,
    "html": lambda name: str(escape(name)),
}


@given(name=NAMES, number=st.integers(0, 10**6), form=st.sampled_from(sorted(FORMS)))
@example(name="'' user", number=1, form="html")
def test_names_and_numbers_never_change(name: str, number: int, form: str) -> None:
    spelled = FORMS[form](name)
    words = DisplayWords(SEARCH, frozenset({name}))

    shown = words.show(f"{number} users of ({spelled}) have an item.", form, FORMS[form])  # type: ignore[arg-type]

    assert shown == f"{number} queries of ({spelled}) have a document."


def searched(content: sample.Content) -> Comparison:
    """Return a sample with a model, a segmentation and a title that have the replaced words."""
    names = {"ease": "dense user", "activity": "items of a user", "relevant items": "relevance"}
    names |= {"recommended items": "lists"}
    named = sample.renamed(content, names) | {"title": "An item of users"}
    return replace(from_content(named), words=SEARCH)


RENDERERS: dict[str, Callable[[Comparison], str]] = {
    "html": render_html,
    "markdown": render_markdown,
    "latex": render_latex,
    "notebook": render_notebook,
    "text": str,
}


@pytest.mark.parametrize("form", RENDERERS)
def test_a_report_keeps_its_names_and_numbers(form: str) -> None:
    comparison, render = searched(sample.gated()), RENDERERS[form]
    before, after = render(replace(comparison, words=None)), render(comparison)

    assert re.findall(r"\d[\d.,]*", _visible(after)) == re.findall(r"\d[\d.,]*", _visible(before))
    for name in ("dense user", "item-knn", "items of a user", "An item of users"):
        spelled = escaped(name) if form == "latex" else name
        assert after.count(spelled) == before.count(spelled)
    rest = re.sub(r"dense user|items of a user|An item of users|`[^`]*`", "", _visible(after))
    assert not re.search(r"(?<![\w-])(users?|items?|who)(?![\w\\-])", rest)
    assert "queries" in after


def _visible(text: str) -> str:
    """Return the text without code, tags, and cut names."""
    return re.sub(r"<(style|script|code)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)


def test_sentences_of_a_comparison_have_its_words() -> None:
    comparison = searched(sample.gated())

    assert "other queries like these" in comparison.covers


def test_a_plan_has_the_words_of_its_comparison() -> None:
    text = str(cc.plan(searched(sample.gated())))

    assert text.startswith("nDCG@10: 236 queries detect a true difference of ")
    assert not re.search(r"\busers\b|(?<!dense )(?<!of a )\buser\b", text)


def test_the_error_analysis_counts_queries_in_its_script_too() -> None:
    page = cases(title="The user's guide", words=SEARCH).to_html()

    assert "} queries${" in page
    assert "} documents`" in page
    assert "The user&#39;s guide" in page
    assert not re.search(r"> *Users? *<", page)


def test_without_words_a_text_is_the_same() -> None:
    comparison = from_content(sample.two_models())

    assert display_words(comparison) is NO_WORDS
    assert "words" not in to_content(comparison)


def test_words_are_stored_with_the_comparison() -> None:
    comparison = replace(from_content(sample.two_models()), words=SEARCH)

    assert to_content(comparison)["words"] == SEARCH
    assert "words" in to_json(comparison)


def test_words_of_an_edited_file_are_not_shown() -> None:
    comparison = replace(
        from_content(sample.two_models()), words={"user": "<script>alert(1)</script>"}
    )

    assert "alert(1)" not in render_html(comparison)


def test_an_evaluation_has_the_words_of_its_ground_truth() -> None:
    evaluation = cc.evaluate({"q": ["a"]}, {"q": ["a"]}, metrics=["RR"], words={"user": "query"})

    assert str(evaluation).splitlines()[0].startswith("1 query, ")
