"""What decides the values of a label: its conventions and, of an own metric, its code. Equal content, equal values."""

import json
from collections.abc import Mapping
from typing import Any

from concord.metrics_core.conventions.conventions import OPTIONAL, Conventions
from concord.metrics_core.conventions.registry import CONVENTIONS
from concord.metrics_core.metrics.catalogue import Label, depends_on
from concord.metrics_core.metrics.own import FAMILY

_EVERYWHERE = (
    "unit_mean",
    "candidates",
    "propensity",
)  # which users and rows are evaluated, and how
CODE = "code"


def label_content(label: Label, conventions: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the values of a label; `conventions` are plain data, as in a summary.

    A convention that is missing, because an older version did not know it, is left out.
    """
    known = {**OPTIONAL, **conventions}
    overrides = known.get("overrides", {})
    own = {**known, **overrides.get(label.name, {}), **overrides.get(label.override_key, {})}
    if (threshold := dict(label.arguments).get("rel")) is not None:
        own["relevance_threshold"] = threshold
    content = {
        each.name: own[each.name]
        for each in CONVENTIONS
        if each.name in own
        and (
            depends_on(label.metric, each.name)
            or (each.describes_data and each.metrics != "kernel")
        )
    }
    if label.metric.family == FAMILY:
        content[CODE] = known["own_metrics"].get(label.name)
    return content


def plain(conventions: Conventions) -> dict[str, Any]:
    """Return conventions as a summary has them."""
    content: dict[str, Any] = json.loads(json.dumps(conventions.as_dict()))
    return content


def departure(label: Label, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how a label's conventions or code differ, as `other conventions: gain was 'linear' and is 'exp2'`; empty if they do not."""
    if then == now:
        return ""
    was, is_now = (label_content(label, each) for each in (then, now))
    changed = [name for name, value in is_now.items() if name in was and was[name] != value]
    told = ", ".join(f"{n} was {was[n]!r} and is {is_now[n]!r}" for n in changed if n != CODE)
    code = ["other code"] if CODE in changed else []
    return " and ".join([*code, *([f"other conventions: {told}"] if told else [])])


def by_reason(departed: Mapping[str, str]) -> dict[str, str]:
    """Return how labels differ -> the labels, as `nDCG@5, nDCG@10`."""
    labels: dict[str, list[str]] = {}
    for label, why in departed.items():
        labels.setdefault(why, []).append(label)
    return {why: ", ".join(each) for why, each in labels.items()}
