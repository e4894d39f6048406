"""Presets as text: the list of all, the conventions of one, or the differences of two."""

from collections.abc import Iterator, Sequence
from typing import Any

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.scope import affected_metrics, override_keys
from concord.metrics_core.results.presets import PresetList, convention_values
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import setting


def describe(result: Conventions | PresetList) -> Iterator[Block]:
    """Yield one line per preset, or the name of the preset and one line per convention."""
    if isinstance(result, PresetList):
        rows = []
        for preset in result.descriptions:
            package = f" Checked against {preset.package}." if preset.package else ""
            rows.append((preset.name, preset.sentence + package))
        yield TextTable(("preset", "meaning"), rows)
        return
    yield Heading(f"Conventions of {result.preset}")
    values = convention_values(result)
    table = [
        (each.convention, setting(each.value), each.meaning)
        for each in values
        if each.metric is None
    ]
    yield TextTable(("convention", "value", "meaning"), table)
    for each in values:
        if each.metric is not None:
            yield (
                f"but for {each.metric}: {each.convention}: {setting(each.value)} ({each.meaning})"
            )


def describe_differences(
    name_a: str, a: Conventions, name_b: str, b: Conventions
) -> Iterator[Block]:
    """Yield the conventions in which two presets differ, and the metrics that they change."""
    rows = [
        (name, _text(name, value_a), _text(name, value_b), _changed_metrics(name, a, b))
        for name, (value_a, value_b) in _differences(a, b).items()
    ]
    rows += _overrides(a, b)
    if rows:
        yield TextTable(("convention", name_a, name_b, "changes"), rows)
    else:
        yield f"{name_a} and {name_b} are the same in every convention."


def _differences(a: Conventions, b: Conventions) -> dict[str, tuple[Any, Any]]:
    """Return convention -> both values, where they differ."""
    values, others = a.preset_values(), b.preset_values()
    return {name: (values[name], others[name]) for name in values if values[name] != others[name]}


def _overrides(a: Conventions, b: Conventions) -> list[tuple[str, str, str, str]]:
    """Return the rows of metrics whose differences are not the general ones."""
    general = _differences(a, b)
    return [
        (f"{name}, for {metric}", _text(name, values[0]), _text(name, values[1]), metric)
        for metric in sorted({*a.overrides, *b.overrides})
        for name, values in _differences(a.for_key(metric), b.for_key(metric)).items()
        if general.get(name) != values
    ]


def _changed_metrics(name: str, a: Conventions, b: Conventions) -> str:
    """Return the metrics that the convention changes, without those whose overrides agree."""
    metrics = affected_metrics(name)
    agreeing = [key for metric in metrics for key in _agreeing(METRIC[metric], name, a, b)]
    if agreeing == metrics:
        return "no metric"
    text = ", ".join(metrics)
    if len(metrics) == len(CATALOGUE):
        text = "every metric"
    elif metrics == [metric.name for metric in CATALOGUE if not metric.describes_list]:
        text = "every metric of relevance"
    return f"{text} but {', '.join(agreeing)}" if agreeing else text


def _agreeing(metric: Metric, name: str, a: Conventions, b: Conventions) -> list[str]:
    """Return the metric if both presets agree on all its labels, else the labels they agree on."""
    keys = override_keys(metric)
    agreeing = [
        key for key in keys if getattr(a.for_key(key), name) == getattr(b.for_key(key), name)
    ]
    if agreeing == keys:
        return [metric.name]
    return [f"{key} without a cutoff" if key == metric.name else key for key in agreeing]


def _text(name: str, value: Any) -> str:
    meaning = CONVENTION[name].explain(value)
    return f"{setting(value)} ({meaning})" if meaning else setting(value)


def with_null(presets: Sequence[str]) -> list[str]:
    """Return a text with the presets that need null as relevance threshold, or nothing."""
    return [f"{', '.join(presets)}, with relevance_threshold: null"] if presets else []
