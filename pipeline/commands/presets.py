"""`concord presets`: all of them, the knobs of one, or where two differ."""

from typing import Any

from concord.metrics_core.conventions.conventions import KNOB, Conventions
from concord.metrics_core.conventions.presets import PRESETS, Preset, beside
from concord.metrics_core.metrics.catalogue import CATALOGUE, METRIC, changed_by, override_keys
from concord.metrics_core.metrics.metric import Metric
from concord.pipeline.params.model import PARAMS
from concord.pipeline.terminal.arguments import preset_named
from concord.pipeline.terminal.table import console, print_table
from concord.reports.writing.numbers import setting


def list_presets() -> None:
    """Every preset, with the library that its parity test runs."""
    rows = [(name, _stands_for(each)) for name, each in PRESETS.items()]
    print_table(("preset", "stands for"), rows)


def _stands_for(preset: Preset) -> str:
    checked = f" Checked against {preset.package}." if preset.package else ""
    return preset.sentence + checked


def show_preset(name: str) -> None:
    """Every knob of a preset, and its overrides."""
    own = preset_named(name)
    rows = [(knob, setting(value), _means(knob, value)) for knob, value in own.knobs().items()]
    print_table(("convention", "value", "meaning"), rows)
    for metric, changed in own.overrides.items():
        for knob, value in changed.items():
            console().print(f"but for {metric}: {knob}: {setting(value)} ({_means(knob, value)})")


def diff_presets(one: str, other: str) -> None:
    """Knob by knob, in words, with the metrics that each can change; params.yaml keeps the scale of its data."""
    a, b = preset_named(one), preset_named(other)
    if PARAMS.name in (one, other):
        a, b = (a, beside(b, a)) if one == PARAMS.name else (beside(a, b), b)
    rows = [
        (knob, _told(knob, ours), _told(knob, theirs), _changes(knob, a, b))
        for knob, (ours, theirs) in _differing(a, b).items()
    ]
    rows += _overrides(a, b)
    if not rows:
        console().print(f"{one} and {other} are the same in every convention.")
        return
    print_table(("convention", one, other, "changes"), rows)


def _differing(a: Conventions, b: Conventions) -> dict[str, tuple[Any, Any]]:
    ours, theirs = a.knobs(), b.knobs()
    return {knob: (ours[knob], theirs[knob]) for knob in ours if ours[knob] != theirs[knob]}


def _overrides(a: Conventions, b: Conventions) -> list[tuple[str, str, str, str]]:
    """Metrics whose own knobs differ where the general ones do not say so already."""
    general = _differing(a, b)
    metrics = sorted({*a.overrides, *b.overrides})
    return [
        (f"{knob}, for {metric}", _told(knob, ours), _told(knob, theirs), metric)
        for metric in metrics
        for knob, (ours, theirs) in _differing(a.of(metric), b.of(metric)).items()
        if general.get(knob) != (ours, theirs)
    ]


def _changes(knob: str, a: Conventions, b: Conventions) -> str:
    """The metrics that the knob can change, without those whose overrides agree."""
    able = changed_by(knob)
    agreeing = [said for name in able for said in _agreeing(METRIC[name], knob, a, b)]
    if agreeing == able:
        return "no metric"
    return _in_short(able) + (f" but {', '.join(agreeing)}" if agreeing else "")


def _agreeing(metric: Metric, knob: str, a: Conventions, b: Conventions) -> list[str]:
    """The metric where all its labels agree, else those of its labels that do."""
    keys = override_keys(metric)
    alike = [key for key in keys if getattr(a.of(key), knob) == getattr(b.of(key), knob)]
    if alike == keys:
        return [metric.name]
    return [f"{key} without a cutoff" if key == metric.name else key for key in alike]


def _in_short(metrics: list[str]) -> str:
    """The metrics, or whose family they all are where that is shorter."""
    if len(metrics) == len(CATALOGUE):
        return "every metric"
    of_truth = [metric.name for metric in CATALOGUE if not metric.of_list]
    return "every metric of relevance" if metrics == of_truth else ", ".join(metrics)


def _told(knob: str, value: Any) -> str:
    meaning = KNOB[knob].means(value)
    return f"{setting(value)} ({meaning})" if meaning else setting(value)


def _means(knob: str, value: Any) -> str:
    return KNOB[knob].means(value) or KNOB[knob].sentence
