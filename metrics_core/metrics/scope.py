"""Which conventions can change which metrics, and what determines the values of a label."""

import json
from collections.abc import Mapping
from typing import Any

from concord.metrics_core.conventions.conventions import ANY_CUTOFF, OPTIONAL, Conventions
from concord.metrics_core.conventions.registry import CONVENTION, CONVENTIONS, suggest
from concord.metrics_core.errors import Problem
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC
from concord.metrics_core.metrics.custom_metric import FAMILY, find_own_metric, known_metrics
from concord.metrics_core.metrics.label import Label, similar_metrics
from concord.metrics_core.metrics.metric import Metric

CODE = "code"


def affected_metrics(convention: str) -> list[str]:
    """Return the names of the metrics whose values a convention can change."""
    return [m.name for m in (*CATALOGUE, *known_metrics()) if depends_on(m, convention)]


def depends_on(metric: Metric, convention: str) -> bool:
    """True if a convention can change the values of a metric."""
    scope = CONVENTION[convention].metrics
    if isinstance(scope, tuple):
        return metric.name in scope
    return not metric.is_of_values and (
        convention in metric.conventions or metric.is_in_scope(scope)
    )


def idle_overrides(conventions: Conventions) -> list[Problem]:
    """Return overrides without effect: the metric is unknown or the convention cannot change it."""
    problems = []
    names = {key.partition("@")[0] for key in conventions.overrides} - METRIC.keys()
    own_metrics = filter(None, map(find_own_metric, names))
    metrics = (*CATALOGUE, *own_metrics)
    known = {key: metric for metric in metrics for key in override_keys(metric)}
    for key, values in conventions.overrides.items():
        location = ("conventions", "overrides", key)
        if key not in known:
            suffix = ANY_CUTOFF if key.casefold().endswith(ANY_CUTOFF) else ""
            name = next(iter(similar_metrics(key.removesuffix(suffix))), None)
            name = f"{name}{suffix}" if f"{name}{suffix}" in known else name
            fix = f"did you mean {name!r}?" if name else suggest(key, known)
            problems.append(Problem(location, f"{key!r} is not a metric", fix))
            continue
        metric = known[key]
        for convention in values:
            if not depends_on(metric, convention):
                fix = f"remove it; {convention} concerns {', '.join(affected_metrics(convention))}"
                message = f"does not change {metric.name}"
                problems.append(Problem((*location, convention), message, fix))
    return problems


def override_keys(metric: Metric) -> list[str]:
    """Return the keys of `overrides` for a metric: `RR`, and `RR@k` for labels with a cutoff."""
    return [metric.name, metric.name + ANY_CUTOFF] if metric.takes_k else [metric.name]


def label_content(label: Label, conventions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conventions and code that determine a label's values: equal content, equal values.

    Parameters
    ----------
    label : Label
        The label.
    conventions : Mapping[str, Any]
        Conventions as plain data, as in a summary. Those that an older version did not have may be
        missing; the result leaves them out.
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
    """Return conventions as plain data, as in a summary."""
    content: dict[str, Any] = json.loads(json.dumps(conventions.as_dict()))
    return content


def describe_changes(label: Label, previous: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """Return how a label's conventions or code differ; empty if they do not.

    For example: `other conventions: gain was 'linear' and is 'exp2'`.
    """
    if previous == current:
        return ""
    old, new = (label_content(label, conventions) for conventions in (previous, current))
    changed = [name for name, value in new.items() if name in old and old[name] != value]
    changes = ", ".join(f"{n} was {old[n]!r} and is {new[n]!r}" for n in changed if n != CODE)
    code = ["other code"] if CODE in changed else []
    return " and ".join([*code, *([f"other conventions: {changes}"] if changes else [])])


def group_by_reason(reasons: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of each reason, as in {"other code": "nDCG@5, nDCG@10"}."""
    labels: dict[str, list[str]] = {}
    for label, reason in reasons.items():
        labels.setdefault(reason, []).append(label)
    return {reason: ", ".join(group) for reason, group in labels.items()}
