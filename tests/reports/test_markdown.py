"""The Markdown report: well-formed tables, a length that fits in a comment, hostile names."""

import re

import pytest
from markdown_it import MarkdownIt

from concord.reports.text.markdown import COMMENT_LIMIT, escape_markdown, escape_sentence
from tests.reports.samples import sample
from tests.reports.samples.rendered import markdown

SHAPES = {
    "gated": sample.gated,
    "two": sample.two_models,
    "hostile": sample.hostile_names,
    "nothing": sample.without_numbers,
    "one": sample.one_model,
}


def _cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


@pytest.mark.parametrize("name", SHAPES)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(name: str) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown(SHAPES[name]()), re.MULTILINE)
    assert tables
    for head, rule, *rows in (table.splitlines() for table in tables):
        assert re.fullmatch(r"(\|:?-+:?)+\|", rule)
        assert {_cells(line) for line in (rule, *rows)} == {_cells(head)}


def test_the_outcome_of_the_gate_is_said_once() -> None:
    text = markdown(sample.gated())

    assert text.startswith("## ❌ Gate: failed\n\n**Demo shop. Against popularity: random-walk is ")


def test_many_models_with_long_names_fit_in_a_comment_with_a_note() -> None:
    content = sample.many_models()
    for model in content["models"]:
        content = sample.renamed(content, {model: model.ljust(600, "x")})
    text = markdown(content)
    assert len(text) <= COMMENT_LIMIT
    assert re.search(r"… and \d+ more", text)
    assert "… and" not in markdown(sample.five_models())


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("<b>`x`</b>", r"&lt;b&gt;\`x\`&lt;/b&gt;"),
        ("[a](b) *c* _d_\n# e", r"\[a\](b) \*c\* \_d\_ \# e"),
        ("a\u202eb", r"a\\u202eb"),
        ("@team nDCG@10", "@&#8203;team nDCG@10"),
        ("a@b.org", "a@&#8203;b.org"),
        ("é@octocat", "é@&#8203;octocat"),
        ("é#12", r"é\#&#8203;12"),
        ("#12, o/p#12, GH-12", r"\#&#8203;12, o/p\#&#8203;12, GH-&#8203;12"),
        ("https://a.b www.a.b", "https:&#8203;//a.b www&#8203;.a.b"),
        (":smile: $x$", r":&#8203;smile: \$&#8203;x\$"),
        ("!12 ~bug %v1 &12", r"\!&#8203;12 \~&#8203;bug %&#8203;v1 &amp;&#8203;12"),
        ("2% of 3 < 4 & 5", "2% of 3 &lt; 4 &amp; 5"),
    ],
)
def test_names_become_no_markup_notify_nobody_and_link_nowhere(text: str, escaped: str) -> None:
    """GitHub and GitLab find mentions in the rendered text, so that only a break prevents them."""
    assert escape_markdown(text) == escaped


def test_a_setting_in_a_sentence_is_code_and_all_else_is_text() -> None:
    text = "`user_no_recs: zero` decides, a_b `<b>|` not"

    assert escape_sentence(text) == r"`user_no_recs: zero` decides, a\_b \`&lt;b&gt;\|\` not"


@pytest.mark.parametrize("name", sample.HOSTILE_IDS)
def test_a_hostile_name_in_code_is_text(name: str) -> None:
    text = f"set `columns={{{name!r}: 1}}`, `{name}` or {name}"
    (paragraph,) = (each for each in MarkdownIt().parse(escape_sentence(text)) if each.children)
    tokens = paragraph.children or []
    shown = "".join(f"`{each.content}`" if each.tag == "code" else each.content for each in tokens)

    assert {each.type for each in tokens} <= {"text", "code_inline", "text_special"}
    assert shown.replace("\N{ZERO WIDTH SPACE}", "") == text.replace("\n", " ")


def test_a_backslash_in_code_is_shown_once() -> None:
    assert escape_sentence(r"`columns={'a\\b': {'item': …}}`") == r"`columns={'a\\b': {'item': …}}`"
