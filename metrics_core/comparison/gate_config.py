"""Parsing and validation of a gate's configuration."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.comparison.min_effect import (
    EFFECT_FIX,
    is_effect,
    unevaluated_label_problem,
    unreachable_problems,
)
from concord.metrics_core.comparison.segmentation import ByPopularity, Segmentation
from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.conventions.validation import suggest
from concord.metrics_core.errors import Location, Problem, raise_problems, refuse
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.metrics.label import Label, canonical_label, is_pooled
from concord.metrics_core.results.gate import MIN_EFFECT, Gate, Margin

KEYS = ("guardrails", "segments", "success", "undecided", "models")
EXAMPLE = "{'guardrails': {'nDCG@10': '2%'}}"
MARGIN_FIX = EFFECT_FIX.replace("write", f"write {MIN_EFFECT},", 1)


def parse_gate(value: Any) -> Gate:
    """Return the gate that a dict describes, its labels in the spelling of results.

    Raises
    ------
    InputError
        The value is not a dict, or its keys or values are invalid; all problems at once.
    """
    if not isinstance(value, Mapping):
        raise refuse("gate", f"is {format_value(value)}", f"write a dict such as {EXAMPLE}")
    raise_problems(_shape_problems(value))
    segments = value.get("segments") or {}
    return Gate(
        guardrails=_with_canonical_labels(value.get("guardrails") or {}),
        segments={name: _with_canonical_labels(each) for name, each in segments.items()},
        success=tuple(canonical_label(text) for text in value.get("success") or ()),
        undecided_passes=value.get("undecided") == "pass",
        models=tuple(value.get("models") or ()),
    )


def _with_canonical_labels(margins: Mapping[str, Margin]) -> dict[str, Margin]:
    return {
        canonical_label(text): margin if isinstance(margin, str) else float(margin)
        for text, margin in margins.items()
    }


def _shape_problems(gate: Mapping[Any, Any]) -> Iterator[Problem]:
    for key in gate:
        if key not in KEYS:
            yield Problem(
                "gate", f"{format_value(key)} is not a key of a gate", suggest(str(key), {*KEYS})
            )
    yield from _margin_problems(("gate", "guardrails"), gate.get("guardrails") or {})
    segments = gate.get("segments") or {}
    if not isinstance(segments, Mapping):
        fix = "write a dict such as {'activity': {'nDCG@10': '5%'}}"
        yield Problem(("gate", "segments"), f"is {format_value(segments)}", fix)
        segments = {}
    for name, margins in segments.items():
        yield from _margin_problems(("gate", "segments", name), margins)
    for key in ("success", "models"):
        names = gate.get(key) or ()
        is_list = isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
        if isinstance(names, str) or not is_list:
            yield Problem(
                ("gate", key), f"is {format_value(names)}", "write a list of names: ['…']"
            )
    if gate.get("undecided") not in {None, "pass"}:
        fix = "write 'pass', or leave it out"
        yield Problem(("gate", "undecided"), f"is {format_value(gate['undecided'])}", fix)


def _margin_problems(location: tuple[Any, ...], margins: Any) -> Iterator[Problem]:
    if not isinstance(margins, Mapping) or not all(isinstance(text, str) for text in margins):
        yield Problem(
            location, f"is {format_value(margins)}", "write a dict such as {'nDCG@10': '2%'}"
        )
        return
    for text, margin in margins.items():
        if margin != MIN_EFFECT and not is_effect(margin):
            yield Problem((*location, text), f"is {format_value(margin)}", MARGIN_FIX)
    yield from spelling_problems(location, margins)


def spelling_problems(location: Location, margins: Iterable[str]) -> Iterator[Problem]:
    """Yield labels that are given in two spellings: one of the two margins would be lost."""
    spellings: dict[str, list[str]] = {}
    for text in margins:
        spellings.setdefault(canonical_label(text), []).append(text)
    for label, texts in spellings.items():
        if len(texts) > 1:
            problem = f"names {label} as {' and '.join(map(repr, texts))}"
            yield Problem(location, problem, "name each label once")


def gate_problems(
    gate: Gate,
    config: EvaluationConfig,
    segments: Mapping[str, Segmentation],
    models: Collection[str],
) -> Iterator[Problem]:
    """Yield unknown labels, segments and models, and labels that a gate cannot test."""
    if not gate.labels:
        problem = "names nothing that must not get worse, and nothing that must get better"
        yield Problem("gate", problem, "name a guardrail, such as `guardrails: {nDCG@10: 2%}`")
    labels = {str(label): label for label in config.labels}
    if len(set(gate.success)) < len(gate.success):
        yield Problem(("gate", "success"), "names a label more than once", "name each label once")
    for model in gate.models:
        if model not in models:
            fix = suggest(model, {*models})
            yield Problem(("gate", "models"), f"{model!r} is not among the models", fix)
    for name in [name for name in gate.segments if name not in segments]:
        known = {*segments}
        fix = suggest(name, known) if known else f"add it to {config.settings.name('segments')}"
        yield Problem(("gate", "segments"), f"{name!r} is not a segmentation", fix)
    entries: list[tuple[Location, str, Segmentation | None]] = [
        (("gate", key), text, None)
        for key in ("guardrails", "success")
        for text in getattr(gate, key)
    ]
    entries += [
        (("gate", "segments", name), text, segments[name])
        for name, margins in gate.segments.items()
        if name in segments
        for text in margins
    ]
    for location, text, segmentation in entries if labels else ():
        if text not in labels:
            yield unevaluated_label_problem(location, text, labels, config.settings)
        elif is_pooled(labels[text], config.conventions):
            problem = (
                f"{text} is pooled over users under these conventions, so that it has no interval"
            )
            yield Problem(location, problem, "name a metric that has a value for each user")
        elif segmentation is not None:
            yield from _segment_problems(location, labels[text], segmentation)
    margins: dict[tuple[str, ...], Mapping[str, Margin]] = {("guardrails",): gate.guardrails}
    margins |= {("segments", name): each for name, each in gate.segments.items()}
    for keys, margin_of in margins.items():
        for text, margin in margin_of.items():
            if text in labels and not isinstance(margin, str):
                yield from unreachable_problems(margin, [labels[text]], ("gate", *keys, text))


def _segment_problems(
    location: Location, label: Label, segmentation: Segmentation
) -> Iterator[Problem]:
    if not isinstance(segmentation, ByPopularity):
        if label.metric.is_aggregate:
            problem = f"{label} is one number over all users, which groups of users do not have"
            yield Problem(location, problem, "name a metric that has a value for each user")
    elif segmentation.by == "recommended_item":
        problem = "groups recommended items, of which more or fewer is neither better nor worse"
        yield Problem(location, problem, "name a segmentation of users, or of relevant items")
    elif label.stem != "R" or label.k is None:
        problem = f"{label} is not known for groups of relevant items"
        yield Problem(location, problem, "name R@k, such as R@10")
