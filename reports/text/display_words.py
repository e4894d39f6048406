"""The words for user, item and request in a finished text, such as query and document in search.

All texts are written with user, item and request; these words are replaced where a text leaves.
Names of the result, code, quoted ids and parts of names such as `item-knn` stay.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from concord.metrics_core.conventions.display_words import plural, word_problems

Form = Literal["text", "html", "markdown"]
_JOINED = r"[\w\-/=@\\]"  # next to a word: it is a part of a name
_WORD = (
    rf"(?<!{_JOINED})(?<!{_JOINED}[.:])(?<!<wbr>)(?:(?P<article>[Aa]n?)(?P<space>\s+))?"
    rf"(?:(?P<word>(?i:user|item|request))(?P<plural>s?)|(?P<pronoun>whom?))(?!{_JOINED}|[.:]\w)"
)
_CODE: Mapping[Form, str] = {
    "text": r"`[^`\n]*`",
    "html": r"<(style|script|code)\b.*?</(?:style|script|code)>|(?<=>)[^<>]{1,60}…(?=<)",
    "markdown": r"`[^`\n]*`|<!--.*?-->|\]\(<[^>]*>\)",
}
_SHOWN_ATTRIBUTE = re.compile(r'\b((?:aria-label|title)=")([^"]*)')
_NO_NAMES = {  # keys of codes and of our own texts
    *("by", "conventions", "fix", "formula", "kind", "mean", "notes", "question", "reason_a"),
    *("reason_b", "sentence", "source", "unit", "value", "who"),
}
_PERSONS = {"user", "customer", "client", "visitor", "member", "person", "reader", "viewer"}


@dataclass(frozen=True)
class DisplayWords:
    """Shows other words for user, item and request.

    Attributes
    ----------
    words : dict
        Word of the texts -> word to show; empty if texts stay as they are.
    names : frozenset of str
        Names with one of these words, which stay.
    """

    words: Mapping[str, str]
    names: frozenset[str] = frozenset()

    def show(self, text: str, form: Form = "text", escape: Callable[[str], str] = str) -> str:
        """Return the text with the words to show; `escape` escapes a name as in the text."""
        if not self.words:
            return text
        quotes = [rf"(?<!\w){each}[^\n<]*?{each}(?!\w)" for each in map(escape, "'\"")]
        names = sorted(map(escape, self.names), key=lambda name: (-len(name), name))
        spellings = "|".join(map(_spelling, names))
        kept = "|".join([_CODE[form], rf"(?<!\w)(?:{spellings or '(?!)'})(?!\w)", *quotes])
        tag = "<[^>]*>" if form == "html" else "(?!)"
        pattern = f"(?P<kept>{kept})|(?P<tag>{tag})|{_WORD}"
        return re.sub(pattern, partial(self._replacement, escape), text, flags=re.DOTALL)

    def _replacement(self, escape: Callable[[str], str], match: re.Match[str]) -> str:
        text = match[0]
        if match["tag"]:
            return _SHOWN_ATTRIBUTE.sub(
                lambda part: part[1] + self.show(part[2], "html", escape), text
            )
        if match["pronoun"]:
            is_thing = self.words.get("user", "user") not in _PERSONS
            return {"who": "that", "whom": "which"}.get(text, text) if is_thing else text
        word = self.words.get((match["word"] or "").lower())
        if word is None:
            return text
        shown = _like(match["word"], plural(word) if match["plural"] else word)
        if match["article"] is None:
            return shown
        return _like(match["article"], _article(word)) + match["space"] + shown


NO_WORDS = DisplayWords({})


def display_words(*results: Any) -> DisplayWords:
    """Return the words of the first result that has any, and the names of all results."""
    known = [each for each in results if each is not None]
    words = next((each.words for each in known if each.words), None)
    if words is None or any(word_problems(words)):  # somebody edited the file
        return NO_WORDS
    strings = {name for each in known for name in _strings(each.to_dict())}
    return DisplayWords(words, frozenset(each for each in strings if re.search(_WORD, each)))


def _strings(part: Any) -> Iterator[str]:
    """Yield the strings of a result that may be names."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for key, value in part.items():
            yield from () if key in _NO_NAMES else _strings(value)
    elif isinstance(part, list):
        for value in part:
            yield from _strings(value)


def _spelling(name: str) -> str:
    """Return the pattern of a name, which may begin a sentence."""
    first = "".join(sorted({name[0], name[0].upper()}))
    return f"[{re.escape(first)}]{re.escape(name[1:])}".replace("_", "_(?:<wbr>)?")


def _like(original: str, word: str) -> str:
    """Return the word, with a capital if the original has one."""
    return word[:1].upper() + word[1:] if original[0].isupper() else word


def _article(word: str) -> str:
    return "an" if re.match("(?!eu|one|uni|use)[aeiou]", word, re.I) else "a"
