"""Which conventions concern which metrics, and what decides the values of a label: equal content, equal values."""

import json
from collections.abc import Mapping
from typing import Any

from concord.metrics_core.conventions.convention import Problem
from concord.metrics_core.conventions.conventions import ANY_CUTOFF, OPTIONAL, Conventions
from concord.metrics_core.conventions.registry import CONVENTION, CONVENTIONS
from concord.metrics_core.conventions.validation import suggest
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC
from concord.metrics_core.metrics.custom_metric import FAMILY, find_own_metric, known_metrics
from concord.metrics_core.metrics.label import Label, similar_metric
from concord.metrics_core.metrics.metric import Metric

CODE = "code"


def affected_metrics(convention: str) -> list[str]:
    """Return the metrics whose values a convention can change."""
    return [m.name for m in (*CATALOGUE, *known_metrics()) if depends_on(m, convention)]


def depends_on(metric: Metric, convention: str) -> bool:
    """True if a convention can change the values of a metric."""
    scope = CONVENTION[convention].metrics
    if isinstance(scope, tuple):
        return metric.name in scope
    return convention in metric.conventions or metric.is_in_scope(scope)


def idle_overrides(conventions: Conventions) -> list[Problem]:
    """Return overrides without effect: of unknown metrics, or of conventions that do not concern them."""
    problems = []
    names = {key.partition("@")[0] for key in conventions.overrides} - METRIC.keys()
    own_metrics = filter(None, map(find_own_metric, names))
    metrics = (*CATALOGUE, *own_metrics)
    known = {key: metric for metric in metrics for key in override_keys(metric)}
    for key, values in conventions.overrides.items():
        location = f"overrides.{key}"
        if key not in known:
            cut = ANY_CUTOFF if key.casefold().endswith(ANY_CUTOFF) else ""
            name = similar_metric(key.removesuffix(cut))
            name = f"{name}{cut}" if f"{name}{cut}" in known else name
            fix = f"did you mean {name!r}?" if name else suggest(key, known)
            problems.append((location, f"{key!r} is no metric", fix))
            continue
        metric = known[key]
        for convention in values:
            if not depends_on(metric, convention):
                fix = f"remove it; {convention} concerns {', '.join(affected_metrics(convention))}"
                problems.append((f"{location}.{convention}", f"does not change {metric.name}", fix))
    return problems


def override_keys(metric: Metric) -> list[str]:
    """Return the keys of `overrides` for a metric: `RR`, and `RR@k` for its labels with a cutoff."""
    return [metric.name, metric.name + ANY_CUTOFF] if metric.takes_k else [metric.name]


def label_content(label: Label, conventions: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the values of a label; `conventions` are plain data, as in a summary.

    A convention that is missing, because an older version did not know it, is left out.
    """
    known = {**OPTIONAL, **conventions}
    overrides = known.get("overrides", {})
    values = {**known, **overrides.get(label.name, {}), **overrides.get(label.override_key, {})}
    if (threshold := dict(label.arguments).get("rel")) is not None:
        values["relevance_threshold"] = threshold
    content = {
        each.name: values[each.name]
        for each in CONVENTIONS
        if each.name in values
        and (
            depends_on(label.metric, each.name)
            or (each.describes_data and each.metrics != "kernel")
        )
    }
    if label.metric.family == FAMILY:
        content[CODE] = known["own_metrics"].get(label.name)
    return content


def as_plain_data(conventions: Conventions) -> dict[str, Any]:
    """Return conventions as a summary has them."""
    content: dict[str, Any] = json.loads(json.dumps(conventions.as_dict()))
    return content


def describe_changes(label: Label, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how a label's conventions or code differ, as `other conventions: gain was 'linear' and is 'exp2'`; empty if they do not."""
    if then == now:
        return ""
    was, is_now = (label_content(label, each) for each in (then, now))
    changed = [name for name, value in is_now.items() if name in was and was[name] != value]
    changes = ", ".join(f"{n} was {was[n]!r} and is {is_now[n]!r}" for n in changed if n != CODE)
    code = ["other code"] if CODE in changed else []
    return " and ".join([*code, *([f"other conventions: {changes}"] if changes else [])])


def group_by_reason(departed: Mapping[str, str]) -> dict[str, str]:
    """Return how labels differ -> the labels, as `nDCG@5, nDCG@10`."""
    labels: dict[str, list[str]] = {}
    for label, why in departed.items():
        labels.setdefault(why, []).append(label)
    return {why: ", ".join(each) for why, each in labels.items()}
