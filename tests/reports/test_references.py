"""References in every view: rows apart from the models, with a mean only."""

from dataclasses import replace

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import from_content, to_content
from concord.reports.latex import render_latex
from concord.reports.markdown import render_markdown
from concord.reports.page import render_html, render_notebook
from concord.reports.text.blocks import blocks_of, to_lines
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.sample_references import MEANS, with_references

NAMES = {"item-knn": "chance", "als": "most popular", "ease": "best possible"}
LINE = "chance 0.004 · most popular 0.176 · best possible 0.981"
NOTE = "chance (random order), most popular (in train), best possible (relevant items first)"
SEARCH = "Chance is not shown, as it misleads over judged and retrieved items; give items."


@pytest.fixture(scope="module")
def five() -> Comparison:
    return from_content(sample.five_models())


@pytest.fixture(scope="module")
def named() -> Comparison:
    """Return models that have the names of references."""
    return with_references(from_content(sample.renamed(sample.five_models(), NAMES)))


def _page(comparison: Comparison) -> str:
    return Markup(render_html(comparison)).lines()


def test_a_terminal_has_them_below_the_models_with_a_mean_only(named: Comparison) -> None:
    lines = str(named).splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("nDCG@10"))
    board = lines[head + 1 : head + 9]

    assert [line.split("  ")[0] for line in board[:5]] == named.ranked
    assert [line.split() for line in board[5:]] == [
        ["chance", "0.004", "reference"],
        ["most", "popular", "0.176", "reference"],
        ["best", "possible", "0.981", "reference"],
    ]


def test_a_narrow_terminal_has_a_block_for_each(named: Comparison) -> None:
    lines = [*to_lines(blocks_of(named), 40)]
    first = lines.index("nDCG@10 ↑")
    block = lines[first : lines.index("", first)]

    assert block[-9:] == [
        line
        for name, mean in zip(("chance", "most popular", "best possible"), MEANS, strict=True)
        for line in (name, f"  mean: {mean}", "  verdict: reference")
    ]


def test_markdown_and_latex_have_them_below_the_models(named: Comparison) -> None:
    markdown, latex = render_markdown(named), render_latex(named, ["nDCG@10", "Rprec"])

    assert "| chance | 0.004 |  |  |  |  |  | reference |" in markdown.splitlines()
    assert f"Reference: {NOTE}." in markdown
    assert latex.partition("\\midrule")[2].partition("\\midrule\n")[2].splitlines()[:4] == [
        "\\textit{chance} & 0.004 &  \\\\",
        "\\textit{most popular} & 0.176 &  \\\\",
        "\\textit{best possible} & 0.981 &  \\\\",
        "\\bottomrule",
    ]
    assert f"References, in italics: {NOTE}." in latex


def test_a_page_has_a_line_of_them_and_rows_that_are_no_models(named: Comparison) -> None:
    html = render_html(named)
    page = Markup(html)
    lines = page.lines().splitlines()
    figures = [lines[i + 1] for i, line in enumerate(lines) if "minus popularity" in line]
    _, body = html.split('<tbody class="references">')
    rows = body.partition("</tbody>")[0]

    assert figures[:2] == [LINE, LINE]
    assert "data-model" not in rows
    assert rows.count("<tr>") == 3
    assert rows.count(">reference<") == 3
    assert "chance reference | 0.004 | 0.004 | 0.004 | 0.004 |" in page.lines()
    assert f"References are no models: {NOTE}." in page.lines()


def test_a_card_has_them_in_its_tables(named: Comparison) -> None:
    lines = Markup(render_notebook(named)).lines().splitlines()

    assert any(line.startswith("chance (reference) | 0.004 | 0.004 |") for line in lines)
    assert f"References are no models: {NOTE}." in " ".join(lines)


def test_a_frame_of_the_leaderboard_has_models_only(five: Comparison) -> None:
    assert with_references(five).leaderboard.equals(five.leaderboard)


def test_they_are_stored_with_the_comparison(five: Comparison) -> None:
    stored = with_references(five, repeats=True)
    assert from_content(to_content(stored)).references == stored.references


def test_an_unknown_reference_is_left_out_of_every_view(five: Comparison) -> None:
    means = dict.fromkeys(five.primary, (None, 0.176, None))
    some = with_references(five, means)
    texts = (str(some), render_markdown(some), render_latex(some), _page(some))

    for text in texts:
        assert "most popular" in text
        assert "chance" not in text.lower()
        assert "best possible" not in text


def test_a_comparison_without_references_says_nothing_of_them(five: Comparison) -> None:
    for none in (replace(five, references=None), with_references(five, {})):
        for text in (str(none), render_markdown(none), render_latex(none), _page(none)):
            assert "eference:" not in text
            assert "References" not in text
            assert "best possible" not in text


def test_a_metric_without_references_has_empty_cells(five: Comparison) -> None:
    one = with_references(five, {"R@20": MEANS})
    page = _page(one)

    assert str(one).count("most popular  ") == 1
    assert "chance reference | | 0.004" in page.splitlines()
    assert page.count(LINE) == 1


def test_search_says_below_the_leaderboard_why_chance_is_not_shown(
    five: Comparison,
) -> None:
    search = replace(
        with_references(five, {"nDCG@10": (None, None, 0.98)}),
        words={"user": "query", "item": "document"},
    )
    page, sentence = _page(search), SEARCH.replace("retrieved items", "retrieved documents")

    assert page.count(sentence) == 1
    assert page.index(sentence) > page.index("best possible reference")
    assert sentence not in _page(with_references(search, {"nDCG@10": MEANS}))


def test_repeated_items_among_the_most_popular_are_named(five: Comparison) -> None:
    repeats = with_references(five, repeats=True)
    note = "most popular (in train, with items that users already have)"

    assert all(note in text for text in (str(repeats), render_markdown(repeats), _page(repeats)))
