import re

import pytest

from concord.reports.writing.escaping import words
from concord.reports.writing.fitting import COMMENT_LIMIT
from tests.reports.samples import sample
from tests.reports.samples.rendered import markdown


def _tables(text: str) -> list[list[str]]:
    """Every run of lines that start with a bar."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [block.splitlines() for block in blocks]


def _cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_the_story_is_told_in_short() -> None:
    text = markdown(sample.five_models())
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
    "content",
    [
        sample.five_models(),
        sample.two_models(),
        sample.hostile_names(),
        sample.without_numbers(),
        sample.one_model(),
    ],
    ids=["five", "two", "hostile", "null", "one"],
)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(content: sample.Content) -> None:
    tables = _tables(markdown(content))
    assert tables
    for head, rule, *rows in tables:
        assert re.fullmatch(r"(\|:?-+:?)+\|", rule)
        assert {_cells(line) for line in (rule, *rows)} == {_cells(head)}


def test_every_segmentation_and_every_remedy_is_told() -> None:
    content = sample.five_models()
    text = markdown(content)

    for segmentation in content["segments"]:
        assert f"by {words(segmentation['name'])} |" in text
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    for warning in content["warnings"]:
        remedy = f" What to do: {words(warning['fix'])}." if warning["fix"] else ""
        assert any(line.endswith(words(warning["sentence"]) + remedy) for line in lines)
    assert "Nothing to report" not in text


def test_fifty_models_with_long_names_fit_in_a_comment_with_a_note() -> None:
    content = sample.with_long_names(sample.many_models(50, every_pair=False))
    text = markdown(content)
    assert len(text) <= COMMENT_LIMIT
    assert "more in the HTML report" in text


def test_few_models_are_not_cut() -> None:
    assert "more in the HTML report" not in markdown(sample.five_models())


def test_names_cannot_become_markup() -> None:
    assert words("a|b") == r"a\|b"
    assert words("<b>`x`</b>") == r"&lt;b&gt;\`x\`&lt;/b&gt;"
    assert words("[a](b) *c* _d_\n# e") == r"\[a\](b) \*c\* \_d\_ \# e"
    assert words("a\u202eb") == r"a\\u202eb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
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
def test_names_notify_nobody_and_link_nowhere(text: str, shown: str) -> None:
    """What GitHub and GitLab look for in text as it is shown, so that no escape stops them; a break inside does."""
    assert words(text) == shown


def test_hostile_names_leave_no_tag_behind() -> None:
    text = markdown(sample.hostile_names())
    tags = set(re.findall(r"<[^ >]+>?", text))
    assert tags == {"<details>", "<summary>", "</summary>", "</details>"}
