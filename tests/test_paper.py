"""The paper has the form that its journal asks for, and its numbers come from their sources."""

import re
from datetime import datetime
from typing import Any

from ruamel.yaml import YAML

from paper.fill_numbers import COMMENT, HEADER, PAPER, fill

TEXT = PAPER.read_text(encoding="utf-8")
PROSE = COMMENT.sub("", HEADER.sub("", TEXT))
BIBLIOGRAPHY = PAPER.with_name("paper.bib").read_text(encoding="utf-8")
FEWEST_WORDS, MOST_WORDS = 750, 1750  # of the journal
SECTIONS = [  # of the journal
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
]


def _header() -> Any:
    (header,) = HEADER.findall(TEXT)
    return YAML(typ="safe").load(header)


def _references() -> dict[str, str]:
    """Return the fields of each reference by its key."""
    return dict(re.findall(r"^@\w+\{(\w+),\n(.*?)^\}$", BIBLIOGRAPHY, re.MULTILINE | re.DOTALL))


def test_each_number_is_that_of_its_source() -> None:
    assert fill(TEXT) == (TEXT, [])


def test_an_old_number_is_replaced() -> None:
    old = re.sub(r"computes \d+ metrics", "computes 1 metrics", TEXT)

    assert old != TEXT
    assert fill(old) == (TEXT, [])


def test_a_number_without_a_source_and_a_statement_that_is_missing_are_named() -> None:
    _, problems = fill(re.sub(r"computes \d+ metrics", "has 1 metric", TEXT))

    missing, unexplained = problems
    assert missing.startswith("“computes ")
    assert "has 1 metric" in unexplained


def test_each_citation_has_a_reference_and_each_reference_is_cited() -> None:
    assert set(re.findall(r"@([a-z]\w+)", PROSE)) == set(_references())
    assert BIBLIOGRAPHY.count("\n@") + 1 == len(_references())


def test_each_reference_says_who_what_when_and_where() -> None:
    for key, fields in _references().items():
        names = set(re.findall(r"^  (\w+) +=", fields, re.MULTILINE))
        assert {"author", "title"} <= names, key
        assert names & {"year", "urldate"}, key
        assert names & {"doi", "url"}, key


def test_the_header_has_the_fields_of_the_journal() -> None:
    header = _header()

    assert set(header) == {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    assert (PAPER.parent / header["bibliography"]).is_file()
    assert datetime.strptime(header["date"], "%d %B %Y")
    places = {place["index"] for place in header["affiliations"] if place["name"]}
    assert all(author["name"] and author["affiliation"] in places for author in header["authors"])


def test_sections_length_and_pictures_are_as_the_journal_asks() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\((\S+)\)", PROSE)

    assert re.findall(r"^# (.*)$", PROSE, re.MULTILINE) == SECTIONS
    assert FEWEST_WORDS <= len(PROSE.split()) <= MOST_WORDS
    assert pictures
    assert [picture for picture in pictures if not (PAPER.parent / picture).is_file()] == []
