"""`concord presets diff A B`: where two presets differ."""

from typing import Any

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import with_data_conventions
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.scope import changed_by, override_keys
from concord.pipeline.params.model import PARAMS
from concord.pipeline.terminal.arguments import preset_named
from concord.pipeline.terminal.table import console, print_table
from concord.reports.text.numbers import setting


def diff_presets(one: str, other: str) -> None:
    """Print where two presets differ and the metrics that each convention can change; params.yaml keeps its scale."""
    a, b = preset_named(one), preset_named(other)
    if PARAMS.name in (one, other):
        a, b = (
            (a, with_data_conventions(b, a))
            if one == PARAMS.name
            else (with_data_conventions(a, b), b)
        )
    rows = [
        (name, _told(name, ours), _told(name, theirs), _changes(name, a, b))
        for name, (ours, theirs) in _differing(a, b).items()
    ]
    rows += _overrides(a, b)
    if not rows:
        console().print(f"{one} and {other} are the same in every convention.")
        return
    print_table(("convention", one, other, "changes"), rows)


def _differing(a: Conventions, b: Conventions) -> dict[str, tuple[Any, Any]]:
    ours, theirs = a.preset_values(), b.preset_values()
    return {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}


def _overrides(a: Conventions, b: Conventions) -> list[tuple[str, str, str, str]]:
    """Differences for single metrics that differ from the general ones."""
    general = _differing(a, b)
    metrics = sorted({*a.overrides, *b.overrides})
    return [
        (f"{name}, for {metric}", _told(name, ours), _told(name, theirs), metric)
        for metric in metrics
        for name, (ours, theirs) in _differing(a.of(metric), b.of(metric)).items()
        if general.get(name) != (ours, theirs)
    ]


def _changes(name: str, a: Conventions, b: Conventions) -> str:
    """The metrics that the convention can change, without those whose overrides agree."""
    able = changed_by(name)
    agreeing = [said for metric in able for said in _agreeing(METRIC[metric], name, a, b)]
    if agreeing == able:
        return "no metric"
    return _in_short(able) + (f" but {', '.join(agreeing)}" if agreeing else "")


def _agreeing(metric: Metric, name: str, a: Conventions, b: Conventions) -> list[str]:
    """The metric where all its labels agree, else those of its labels that do."""
    keys = override_keys(metric)
    alike = [key for key in keys if getattr(a.of(key), name) == getattr(b.of(key), name)]
    if alike == keys:
        return [metric.name]
    return [f"{key} without a cutoff" if key == metric.name else key for key in alike]


def _in_short(metrics: list[str]) -> str:
    """The metrics, or whose family they all are where that is shorter."""
    if len(metrics) == len(CATALOGUE):
        return "every metric"
    of_truth = [metric.name for metric in CATALOGUE if not metric.of_list]
    return "every metric of relevance" if metrics == of_truth else ", ".join(metrics)


def _told(name: str, value: Any) -> str:
    meaning = CONVENTION[name].explain(value)
    return f"{setting(value)} ({meaning})" if meaning else setting(value)
