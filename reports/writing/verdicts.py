"""The verdicts of the comparison: a word, a shape and a tone each, so that colour never speaks alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from concord.metrics_core.results.comparison import Comparison

Tone = Literal["better", "worse", "even", "open"]

# SVG paths in a box of 2 x 2 around the origin, as Vega's shape scale takes them.
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
class Verdict:
    """`link` joins the word to the name of the other model: better `than`, equivalent `to`.

    `filled` tells a difference that matters from one that is there but small, or is not settled.
    """

    word: str
    link: str
    meaning: str
    tone: Tone
    path: str
    filled: bool


VERDICTS: Mapping[str, Verdict] = {
    "better": Verdict(
        "better", "than", "by more than the smallest difference that matters", "better", _UP, True
    ),
    "better_below_threshold": Verdict(
        "slightly better",
        "than",
        "though not surely by a difference that matters",
        "better",
        _UP,
        False,
    ),
    "better_without_interval": Verdict(
        "better, no interval",
        "for the difference to",
        "significant; its size has no interval",
        "better",
        _CHEVRON_UP,
        False,
    ),
    "equivalent": Verdict(
        "equivalent", "to", "any difference is too small to matter", "even", _DIAMOND, True
    ),
    "identical": Verdict("identical", "to", "the same value for every user", "even", _SQUARE, True),
    "undecided": Verdict(
        "undecided", "against", "these users cannot tell which is better", "open", _CIRCLE, False
    ),
    "too_few_users": Verdict(
        "too few differ",
        "to judge it against",
        "too few users have different values for a judgement",
        "open",
        _CROSS,
        False,
    ),
    "no_interval": Verdict(
        "no interval",
        "for the difference to",
        "no interval can be given, hence no verdict",
        "open",
        _DASH,
        False,
    ),
    "not_comparable": Verdict(
        "not comparable",
        "with",
        "too many users have no list from one of the two",
        "open",
        _SLASH,
        False,
    ),
    "worse_without_interval": Verdict(
        "worse, no interval",
        "for the difference to",
        "significant; its size has no interval",
        "worse",
        _CHEVRON_DOWN,
        False,
    ),
    "worse_below_threshold": Verdict(
        "slightly worse",
        "than",
        "though not surely by a difference that matters",
        "worse",
        _DOWN,
        False,
    ),
    "worse": Verdict(
        "worse", "than", "by more than the smallest difference that matters", "worse", _DOWN, True
    ),
}


def verdicts_seen(comparison: Comparison) -> set[str]:
    """The verdicts that occur on primary metrics."""
    return {pair.verdict for pair in comparison.primary_pairs}
