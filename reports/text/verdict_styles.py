"""Style of each verdict: a word, a shape and a colour, so that no verdict rests on colour alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# SVG paths in a box of 2 x 2 around the origin.
_UP = "M0,-0.95L1,0.8L-1,0.8Z"
_DOWN = "M0,0.95L1,-0.8L-1,-0.8Z"
_DIAMOND = "M0,-1L1,0L0,1L-1,0Z"
_CIRCLE = "M0.85,0A0.85,0.85,0,1,1,-0.85,0A0.85,0.85,0,1,1,0.85,0Z"
_SQUARE = "M-0.8,-0.8L0.8,-0.8L0.8,0.8L-0.8,0.8Z"
_CROSS = "M-0.8,-0.8L0.8,0.8M0.8,-0.8L-0.8,0.8"
_CHEVRON_UP = "M-0.9,0.5L0,-0.6L0.9,0.5"
_CHEVRON_DOWN = "M-0.9,-0.5L0,0.6L0.9,-0.5"
_DASH = "M-0.9,0L0.9,0"
_SLASH = "M-0.8,0.8L0.8,-0.8"


@dataclass(frozen=True)
class VerdictStyle:
    """Text and mark of a verdict.

    Attributes
    ----------
    link : str
        Words between `word` and the name of the other model: better `than`, equivalent `to`.
    tone : str
        Name of a colour.
    path : str
        Shape of the mark, as an SVG path.
    filled : bool
        False for a hollow mark: the difference is small or undecided.
    """

    word: str
    link: str
    tone: Literal["better", "worse", "even", "open"]
    path: str
    meaning: str
    filled: bool = False


_PERHAPS_LESS = ", perhaps by less"  # than the minimum relevant difference
_RELEVANT = "by more than the minimum relevant difference"
_SMALL = "perhaps by less than the minimum relevant difference"
_UNSIZED = "significant; its size has no interval"
_SIZE = "for the difference to"  # links "no interval" to the other model

ORDER_DECIDES = "the order of equal scores decides"

# Each has a word and a mark of its own, but for the two ways of being undecided.
VERDICTS: Mapping[str, VerdictStyle] = {
    "better": VerdictStyle("better", "than", "better", _UP, _RELEVANT, filled=True),
    "better_below_threshold": VerdictStyle(f"better{_PERHAPS_LESS}", "than", "better", _UP, _SMALL),
    "better_without_interval": VerdictStyle(
        "better, no interval", _SIZE, "better", _CHEVRON_UP, _UNSIZED
    ),
    "equivalent": VerdictStyle(
        "equivalent", "to", "even", _DIAMOND, "any difference is too small to matter", filled=True
    ),
    "identical": VerdictStyle(
        "identical", "to", "even", _SQUARE, "the same value for every user", filled=True
    ),
    "undecided_by_order": VerdictStyle("undecided", "against", "open", _CIRCLE, ORDER_DECIDES),
    "undecided": VerdictStyle(
        "undecided", "against", "open", _CIRCLE, "these users do not show which is better"
    ),
    "too_few_users": VerdictStyle(
        "too few differ",
        "to compare it with",
        "open",
        _CROSS,
        "too few users have different values for a test",
    ),
    "no_interval": VerdictStyle(
        "no interval", _SIZE, "open", _DASH, "there is no interval, so no verdict"
    ),
    "not_comparable": VerdictStyle(
        "not comparable",
        "with",
        "open",
        _SLASH,
        "too many users have no list from one of the two",
    ),
    "worse_without_interval": VerdictStyle(
        "worse, no interval", _SIZE, "worse", _CHEVRON_DOWN, _UNSIZED
    ),
    "worse_below_threshold": VerdictStyle(f"worse{_PERHAPS_LESS}", "than", "worse", _DOWN, _SMALL),
    "worse": VerdictStyle("worse", "than", "worse", _DOWN, _RELEVANT, filled=True),
}


def perhaps_less(verdict: str, min_effect: str) -> str:
    """Return `, perhaps by less than 0.01` if a verdict leaves that open; else an empty text."""
    if not verdict.endswith("below_threshold"):
        return ""
    return f"{_PERHAPS_LESS} than {min_effect}" if min_effect else _PERHAPS_LESS


def phrase(verdict: str, min_effect: str = "", text: str = "") -> str:
    """Return `better than als, perhaps by less than 0.01`, with a text after the first word."""
    word = VERDICTS[verdict].word.removesuffix(_PERHAPS_LESS)
    return f"{word}{text}{perhaps_less(verdict, min_effect)}"
