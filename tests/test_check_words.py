"""The check of words in the documentation."""

from docs.check_words import problems

WORDS = {"knob": "convention", "own metric": "custom metric"}


def test_words_are_found_with_line_and_replacement() -> None:
    text = "A convention\nis a Knob, and an own\nmetric.\n"

    assert list(problems(text, WORDS)) == [
        (2, "Knob", "convention"),
        (2, "own metric", "custom metric"),
    ]


def test_code_quotations_comments_and_links_are_not_checked() -> None:
    text = '`knob` "a knob" [it](knob.md)\n<!-- knob -->\n```text\nknob\n```\n> knob\n\nknob-like\n'

    assert list(problems(text, WORDS)) == []
