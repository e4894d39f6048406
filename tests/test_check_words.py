"""The check of words in the documentation, and in the texts of the software."""

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from concord.pipeline.commands.cli import build_parser
from docs.check_words import ROOT, problems, read_words

WORDS = {"knob": "convention", "own metric": "custom metric"}
LISTED = read_words()


def test_words_are_found_with_line_and_replacement() -> None:
    text = "A convention\nis a Knob, and an own\nmetric.\n"

    assert list(problems(text, WORDS)) == [
        (2, "Knob", "convention"),
        (2, "own metric", "custom metric"),
    ]


def test_code_quotations_comments_and_links_are_not_checked() -> None:
    text = '`knob` "a knob" [it](knob.md)\n<!-- knob -->\n```text\nknob\n```\n> knob\n\nknob-like\n'

    assert list(problems(text, WORDS)) == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests/reports/snapshots").iterdir()), ids=lambda path: path.name
)
def test_reports_and_comments_have_no_listed_word(path: Path) -> None:
    assert list(problems(path.read_text(encoding="utf-8"), LISTED)) == []


def test_help_of_commands_has_no_listed_word() -> None:
    texts = list(_help(build_parser()))

    assert len(texts) > 20
    assert [each for text in texts for each in problems(text, LISTED)] == []


def _help(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the help of a parser and of its commands."""
    yield parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _help(command)


@pytest.mark.parametrize("folder", ["reports/text", "pipeline/commands", "pipeline"])
def test_sentences_in_the_code_have_no_listed_word(folder: str) -> None:
    found = [
        (path.name, *each)
        for path in sorted((ROOT / folder).glob("*.py"))
        for sentence in _sentences(path)
        for each in problems(sentence, LISTED)
    ]

    assert found == []


def _sentences(path: Path) -> Iterator[str]:
    """Yield the strings of a module that have a space, but its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {id(value) for value in statements if isinstance(value, ast.Constant)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.value
