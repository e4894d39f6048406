"""Words that texts show for a user, an item and a request: query and document in search."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.data.column_names import normalise_name
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.errors import Problem, raise_problems

WORDS = ("user", "item", "request")  # of our texts
_QUERY = ("query", "queryid", "qid", "topic", "topicid")  # names of columns in search
_DOCUMENT = ("doc", "docid", "docno", "document", "documentid", "corpusid")
_SEARCH: Mapping[str, Mapping[str, str]] = {
    "user": dict.fromkeys(_QUERY, "query"),
    "item": dict.fromkeys(_DOCUMENT, "document")
    | dict.fromkeys(["passage", "passageid"], "passage"),
}
_FIX = "write a word for user, item or request, such as {user: query, item: document}"


def word_problems(words: Any) -> Iterator[tuple[str, str]]:
    """Yield problems and fixes of the display words."""
    if not isinstance(words, Mapping):
        yield f"is {format_value(words)}", _FIX
        return
    for key, word in words.items():
        if key not in WORDS:
            yield f"has the key {format_value(key)}", _FIX
        elif not isinstance(word, str) or not re.fullmatch(r"[^\W\d_]+([ -][^\W\d_]+)*", word):
            yield f"has {format_value(word)} for {key}", "write a word of letters, in the singular"
        elif word != key and re.search(r"\b(user|item|request)s?\b", word, re.IGNORECASE):
            fix = "choose a word that does not contain user, item or request"
            yield f"has {format_value(word)} for {key}", fix


def refuse_words(words: Any) -> None:
    """Raise an InputError if the display words are invalid."""
    problems = () if words is None else word_problems(words)
    raise_problems(Problem("words", *each) for each in problems)


def changed_words(words: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the words that differ from user, item and request; None if none does."""
    return {key: word for key, word in (words or {}).items() if word != key} or None


def words_of_table(truth: InputTable) -> dict[str, str] | None:
    """Return the words that are set, or else those that format and columns suggest."""
    if truth.words:
        return changed_words(truth.words)
    if truth.format == "trec":
        return {"user": "query", "item": "document"}
    names = {key: normalise_name(truth.original_name(key)) for key in _SEARCH}
    words = {key: _SEARCH[key][name] for key, name in names.items() if name in _SEARCH[key]}
    return words if "user" in words else None
