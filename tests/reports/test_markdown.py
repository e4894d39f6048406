import re

import pytest

from reports.markdown import COMMENT_LIMIT, render_markdown, words
from tests.reports.samples import sample


def _tables(text: str) -> list[list[str]]:
    """Every run of lines that start with a bar."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [block.splitlines() for block in blocks]


def _cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_the_story_is_told_in_short() -> None:
    text = render_markdown(sample.five_models())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert headings == [
        "Demo shop",
        "Leaderboard",
        "nDCG@10: difference to popularity",
        "R@20: difference to popularity",
        "For whom is it better or worse?",
        "Would another definition change the answer?",
        "Data quality",
        "Conventions",
    ]
    assert "fingerprint 3f9ac1d20b77" in text
    assert sample.five_models()["verdicts"][0] in text
    assert "<svg" not in text


@pytest.mark.parametrize(
    "comparison",
    [
        sample.five_models(),
        sample.two_models(),
        sample.hostile_names(),
        sample.without_numbers(),
        sample.one_model(),
    ],
    ids=["five", "two", "hostile", "null", "one"],
)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(comparison: sample.Comparison) -> None:
    tables = _tables(render_markdown(comparison))
    assert tables
    for head, rule, *rows in tables:
        assert re.fullmatch(r"(\|:?-+:?)+\|", rule)
        assert {_cells(line) for line in (rule, *rows)} == {_cells(head)}


def test_every_segmentation_and_every_remedy_is_told() -> None:
    comparison = sample.five_models()
    text = render_markdown(comparison)

    for segmentation in comparison["segments"]:
        assert f"by {words(segmentation['name'])} |" in text
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    for warning in comparison["warnings"]:
        remedy = f" What to do: {words(warning['fix'])}." if warning["fix"] else ""
        assert any(line.endswith(words(warning["sentence"]) + remedy) for line in lines)
    assert "Nothing to report" not in text


def test_fifty_models_with_long_names_fit_in_a_comment_with_a_note() -> None:
    comparison = sample.with_long_names(sample.many_models(50, every_pair=False))
    text = render_markdown(comparison)
    assert len(text) <= COMMENT_LIMIT
    assert "more in the HTML report" in text


def test_few_models_are_not_cut() -> None:
    assert "more in the HTML report" not in render_markdown(sample.five_models())


def test_names_cannot_become_markup() -> None:
    assert words("a|b") == r"a\|b"
    assert words("<b>`x`</b>") == r"&lt;b&gt;\`x\`&lt;/b&gt;"
    assert words("[a](b) *c* _d_\n# e") == r"\[a\](b) \*c\* \_d\_ \# e"
    assert words("@team nDCG@10") == "&#64;team nDCG@10"


def test_hostile_names_leave_no_tag_behind() -> None:
    text = render_markdown(sample.hostile_names())
    tags = set(re.findall(r"<[^ >]+>?", text))
    assert tags == {"<details>", "<summary>", "</summary>", "</details>"}
