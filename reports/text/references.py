"""References as text: the values that a model's mean is read against, apart from the models."""

from collections.abc import Iterable, Mapping

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.reference import NAMES
from concord.reports.text import numbers

WORD = "reference"  # in the place of a verdict
_MEANINGS: Mapping[str, str] = {
    "chance": "random order",
    "most popular": "in train",
    "best possible": "relevant items first",
}
_REPEATS = ", with items that users already have"
_SEARCH = "Chance is not shown, as it misleads over judged and retrieved items; give `items`."


def known(comparison: Comparison, label: str) -> dict[str, float]:
    """Return name -> mean of each known reference of a label; a best possible 1 not on its own."""
    reference = comparison.references and comparison.references.of(label)
    values = {name: getattr(reference, kind, None) for kind, name in NAMES.items()}
    shown = {name: value for name, value in values.items() if value is not None}
    return {} if shown == {"best possible": 1.0} else shown


def texts(comparison: Comparison, label: str) -> dict[str, str]:
    """Return name -> mean of each known reference of a label, with the decimals of its models."""
    digits = comparison.decimals[label]
    return {name: numbers.number(x, digits) for name, x in known(comparison, label).items()}


def names(comparison: Comparison, labels: Iterable[str]) -> list[str]:
    """Return the names of references that are known for one of these labels."""
    shown = {name for label in labels for name in known(comparison, label)}
    return [name for name in NAMES.values() if name in shown]


def meanings(comparison: Comparison, labels: Iterable[str]) -> str:
    """Return `chance (lists in random order), …` for the references of these labels."""
    repeats = comparison.references is not None and comparison.references.repeats
    more = {"most popular": _REPEATS} if repeats else {}
    shown = names(comparison, labels)
    return ", ".join(f"{name} ({_MEANINGS[name]}{more.get(name, '')})" for name in shown)


def note(comparison: Comparison, labels: Iterable[str]) -> str:
    """Return what the references of these labels are, and why chance is missing in search."""
    shown, references = meanings(comparison, labels), comparison.references
    sentences = [f"References are no models: {shown}."] if shown else []
    values = references.values if references and comparison.words else ()
    if values and all(each.chance is None for each in values):
        sentences.append(_SEARCH)
    return " ".join(sentences)
