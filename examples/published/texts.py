"""The worked examples of the five texts that Concord has as presets.

python examples/published/texts.py

A printed number that contradicts the formula of its text is marked: docs/reference/errata.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import concord as cc
from concord.typing import PresetName

Truth = Mapping[str, Any]
TOLERANCE = 1e-12
BELLEI_LISTS = {"U1": [1, 6, 8], "U2": [1, 2, 3, 4, 5], "U3": [], "U4": [1, 2, 3, 4], "U5": []}
BELLEI_TRUTH = {"U1": [1, 2, 3, 4, 5, 6], "U2": [2, 4, 6], "U3": [2, 4, 6], "U4": [], "U5": []}
SIX = {"u": list("abcdef")}
JUDGED = {"u": dict(zip("abcdefgh", (3, 2, 3, 0, 1, 2, 3, 2), strict=True))}
LISTED = {"u": dict(zip("abcdef", (3, 2, 3, 0, 1, 2), strict=True))}
FOUR = {"u": list("ABCD")}
RATINGS = {"u": {"A": 4, "B": 3, "C": 0, "D": 5}}
FIVE = {"u": list("abcde")}
BINARY = {"u": list("ace")}
GRADES = {"u": dict(zip("abcde", (3, 2, 3, 0, 1), strict=True))}


@dataclass(frozen=True)
class Example:
    """Printed values of a metric at some cutoffs; None is no cutoff."""

    preset: PresetName
    metric: str
    cutoffs: Sequence[int | None]
    printed: str
    lists: Mapping[str, Any]
    truth: Truth


def bellei(metric: str, printed: str) -> Example:
    """Return an example of Bellei's table."""
    return Example("bellei", metric, (1, 3, 5), printed, BELLEI_LISTS, BELLEI_TRUTH)


def amitness(metric: str, printed: str, truth: Truth) -> Example:
    """Return an example at the cutoffs 1 to 5."""
    return Example("amitness", metric, (1, 2, 3, 4, 5), printed, FIVE, truth)


EXAMPLES = (
    bellei("P", "1/3 1/3 4/15"),
    bellei("R", "1/18 2/9 1/3"),
    bellei("F1", "2/21 7/27 19/66"),
    bellei("AP", "1/3 1/2 1/2"),
    bellei("RR", "1/3 1/3 1/3"),
    bellei("nDCG", "1/3 0.544 0.550"),
    Example("wikipedia", "CG", (6,), "11", SIX, JUDGED),
    Example("wikipedia", "DCG", (6,), "6.861", SIX, JUDGED),
    Example("wikipedia", "nDCG", (6,), "0.785", SIX, JUDGED),
    Example("wikipedia_exp", "DCG", (6,), "16.047", SIX, LISTED),
    Example("recohut_method0", "DCG", (6,), "8.097171433256849", SIX, LISTED),
    Example("recohut_method1", "nDCG", (6,), "0.9608081943360617", SIX, LISTED),
    Example("minnesota", "RR", (None,), "1/2", FOUR, {"u": ["B"]}),
    Example("minnesota", "RR", (None,), "1/3", FOUR, {"u": ["C"]}),
    Example("minnesota", "RR", (None,), "1/4", FOUR, {"u": ["D"]}),
    Example("minnesota", "DCG", (4,), "9.5", FOUR, RATINGS),
    Example("minnesota", "nDCG", (4,), "0.872", FOUR, RATINGS),
    amitness("P", "1 1/2 2/3 1/2 3/5", BINARY),
    amitness("R", "1/3 1/3 2/3 2/3 1", BINARY),
    amitness("F1", "1/2 2/5 2/3 4/7 0.749", BINARY),
    Example("amitness", "AP", (None,), "0.7575", FIVE, BINARY),
    amitness("CG", "3 5 8 8 9", GRADES),
    amitness("DCG", "3 4.2619 5.7619 5.7619 6.1487", GRADES),
    amitness("nDCG", "1 0.8710 0.9777 0.9112 0.9723", GRADES),
)


def main() -> None:
    """Print a row per example: preset, metric, printed values and those of Concord."""
    print(f"{'preset':<17}{'metric':<20}{'printed':<34}Concord")
    for each in EXAMPLES:
        cutoffs = ", ".join(map(str, filter(None, each.cutoffs)))
        metric = f"{each.metric}{cutoffs and f'@{cutoffs}'}"
        values = computed(each)
        cells = [
            f"{value:.4f}" + ("" if agrees(text, value) else " (erratum)")
            for text, value in zip(each.printed.split(), values, strict=True)
        ]
        print(f"{each.preset:<17}{metric:<20}{each.printed:<34}{', '.join(cells)}")


def computed(example: Example) -> list[float]:
    """Return Concord's value at each cutoff."""
    labels = [example.metric + (f"@{k}" if k else "") for k in example.cutoffs]
    conventions = cc.preset(example.preset)
    result = cc.evaluate(example.lists, example.truth, metrics=labels, conventions=conventions)
    return [result[label] for label in labels]


def agrees(printed: str, value: float) -> bool:
    """True if the value is the printed fraction, or is rounded to the printed number."""
    if "/" in printed:
        return abs(value - Fraction(printed)) < TOLERANCE
    decimals = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.5 * 10.0**-decimals + TOLERANCE


if __name__ == "__main__":
    main()
