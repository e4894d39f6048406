"""How presets define a metric: their values on the example, and their differences in words."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from concord.metrics import Conventions
from concord.metrics_core.conventions.library_presets import ABOVE_ZERO
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.presets import preset as conventions_of_preset
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.evaluation.panel import changed_conventions
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.metrics.metric import Metric
from docs.worked_example import STANDARD, label_of, values_of

DIGITS = 4
OF_USERS = ("user_no_recs", "user_empty_truth", "user_recs_only", "user_both_empty", "undefined")
# Starts the meaning that the registry has for a value.
STARTS = {
    "ap_denominator": "divides by",
    "precision_denominator": "divides by",
    "recall_denominator": "divides by",
    "novelty_denominator": "divides by",
    "ap_sum_over": "sums over",
    "f1_aggregate": "F1",
    "hit_kind": "counts",
    "ideal": "ideal list:",
    "ild_distance": "distance:",
    "ild_one_item": "a list of one item:",
}
WORDS = {  # of single values
    ("gain", "binary"): "each relevant item gains 1",
    ("gain", "exp2"): "gain 2^grade - 1",
    ("gain", "exp2_above_threshold"): "gain 2^(grade - threshold + 1) - 1",
    ("rbp_gain", "linear"): "each relevant item gains its grade",
    ("ideal", "truth_at_min_k_len"): "ideal list: not longer than the list",
    ("relevance_threshold", None): "every judged item is relevant",
    ("relevance_threshold", ABOVE_ZERO): "each grade above 0 is relevant",
    ("truth_visible", "retrieved"): "knows relevant items of the list only",
}
DISCOUNTS = {
    "log": "discount 1 / log(rank + 1) to base {:.3g}",
    "jk": "ranks up to {:g} are not discounted",
    "halflife": "half the discount at rank {:g}",
}
ROUNDED = {"user": "values", "mean": "means"}
LEFT_OUT = "left out"
COUNTS = {"zero": "0", "one": "1", "error": "an error"}


def values_table(metric: Metric) -> Iterator[str]:
    """Yield a table of values on the example: presets with equal values share a row."""
    rows: dict[str, dict[str, list[str]]] = {}
    values = {name: values_of(name)[metric.name] for name in presets_of(metric)}
    for name in sorted(values, key=lambda name: (name != "standard", -round(values[name], DIGITS))):
        text = format_value(values[name])
        changes = "; ".join(_formula_words(_changes(metric, conventions_of_preset(name))))
        rows.setdefault(text, {}).setdefault(changes, []).append(name)
    yield f"| `{label_of(metric)}` | as computed by |"
    yield "|--:|---|"
    for text, groups in rows.items():
        cells = (
            _links(names) + (f": {changes}" if changes else "") for changes, names in groups.items()
        )
        yield f"| {text} | {'<br>'.join(cells)} |"


def users_table(metric: Metric) -> Iterator[str]:
    """Yield a table of what presets do with users who have no list or no relevant item."""
    groups: dict[str, list[str]] = {}
    for name in presets_of(metric):
        conventions = parse(label_of(metric)).conventions(conventions_of_preset(name))
        groups.setdefault(users_in_words(conventions), []).append(name)
    yield "| users | as counted by |"
    yield "|---|---|"
    for words, names in groups.items():
        yield f"| {words} | {_links(names)} |"


def presets_of(metric: Metric) -> list[str]:
    """Return the presets that define a metric, `standard` first."""
    return [name for name in PRESETS if metric.name in values_of(name)]


def _changes(metric: Metric, conventions: Conventions) -> dict[str, Any]:
    """Return the conventions that change the metric's formula and differ from `standard`."""
    changed = changed_conventions(parse(label_of(metric)), conventions, STANDARD)
    return {
        name: value
        for name, value in changed.items()
        if name not in OF_USERS
        and not CONVENTION[name].sets_ranking
        and not CONVENTION[name].describes_data
    }


def users_in_words(conventions: Conventions) -> str:
    """Return what counts for users without a list and for users without a relevant item."""
    no_list = _outcome(conventions, "user_no_recs")
    no_item = _outcome(conventions, "user_empty_truth")
    unknown = _outcome(conventions, "user_recs_only")
    neither = _outcome(conventions, "user_both_empty")
    if no_list == no_item:
        parts = [f"{no_list} without a list or a relevant item"]
    else:
        parts = [f"{no_list} without a list", f"{no_item} without a relevant item"]
    if unknown not in {no_item, LEFT_OUT}:
        parts.append(f"{unknown} outside the ground truth")
    if neither not in {no_list, no_item}:
        parts.append(f"{neither} without both")
    return ", ".join(parts)


def _links(names: Iterable[str]) -> str:
    """Return links from a page of a metric to the pages of presets."""
    return ", ".join(f"[`{name}`](../presets/{name}.md)" for name in names)


def format_value(value: float) -> str:
    """Return a value as the tables show it."""
    return "undefined" if math.isnan(value) else f"{value:.{DIGITS}f}"


def plain(value: Any) -> str:
    """Return a convention's value as params.yaml has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {plain(inner)}" for name, inner in value.items()) + "}"
    return value if isinstance(value, str) else json.dumps(value)


def _outcome(conventions: Conventions, name: str) -> str:
    """Return what users of one kind count in the mean."""
    value = getattr(conventions, name)
    if value == "nan" and conventions.undefined == "zero":
        value = "zero"
    return COUNTS.get(value, LEFT_OUT)


def _formula_words(changes: Mapping[str, Any]) -> Iterator[str]:
    for name, value in changes.items():
        if name == "discount":
            ((kind, number),) = value.items()
            yield DISCOUNTS[kind].format(number)
        elif name == "round":
            ((what, digits),) = value.items()
            yield f"{ROUNDED[what]} rounded to {digits} digits"
        elif (key := (name, value)) in WORDS:
            yield WORDS[key]
        else:
            meaning = CONVENTION[name].values[value].partition(";")[0]
            yield f"{STARTS[name]} {meaning}" if name in STARTS else meaning
