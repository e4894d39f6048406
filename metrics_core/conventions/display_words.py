"""Words that texts show for a user, an item and a request: query and document in search."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from concord.metrics_core.errors import Problem, raise_problems

WORDS = ("user", "item", "request")  # of our texts
_SINGULAR = r"[^\W\d_]+([ -][^\W\d_]+)*(?<!ies)(?<![^aius]s)"
_FIX = "write a word for user, item or request, such as {user: query, item: document}"


def word_problems(words: Any) -> Iterator[tuple[str, str]]:
    """Yield problems and fixes of the display words."""
    if not isinstance(words, Mapping):
        yield f"is {words!r}", _FIX
        return
    for key, word in words.items():
        if key not in WORDS:
            yield f"has the key {key!r}", _FIX
        elif not isinstance(word, str) or not re.fullmatch(_SINGULAR, word):
            yield f"has {word!r} for {key}", "write a word of letters, in the singular"
        elif word != key and re.search(r"\b(user|item|request)s?\b", word, re.IGNORECASE):
            fix = "choose a word that does not contain user, item or request"
            yield f"has {word!r} for {key}", fix
    shown = [str(word).casefold() for word in words.values()]
    if len({*shown}) < len(shown):
        yield "has one word for two of user, item and request", "write two different words"


def refuse_words(words: Any) -> None:
    """Raise an InputError if the display words are invalid."""
    problems = () if words is None else word_problems(words)
    raise_problems(Problem("words", *each) for each in problems)


def changed_words(words: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the words that differ from user, item and request; None if none does."""
    return {key: word for key, word in (words or {}).items() if word != key} or None


def plural(word: str) -> str:
    """Return the plural of an English word."""
    if re.search("[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search("(s|x|z|ch|sh)$", word) else f"{word}s"
