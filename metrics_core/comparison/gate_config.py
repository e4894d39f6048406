"""A gate as a dict says it, and what is wrong with one: labels, segments, models and margins that cannot be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.comparison.config import ComparisonConfig, Finding, absolute, wrong_effect
from concord.metrics_core.comparison.segmentation import ByPopularity, Segmentation
from concord.metrics_core.conventions.convention import shown
from concord.metrics_core.conventions.validation import nearest
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.metrics.label import canonical_label, did_you_mean, is_pooled, parse
from concord.metrics_core.results.gate import MIN_EFFECT, Gate, Margin

KEYS = ("guardrails", "segments", "success", "undecided", "models")
EXAMPLE = "{'guardrails': {'nDCG@10': '2%'}}"


def wrong_margin(margin: Any) -> str | None:
    """Why a value is no margin; None where it is one."""
    if margin == MIN_EFFECT:
        return None
    said = wrong_effect(margin)
    return said and said.replace("no effect: write", f"no margin: write {MIN_EFFECT},")


def gate_of(given: Any) -> Gate:
    """A gate as a dict says it, in the spelling of labels.

    Raises
    ------
    InputError : it is none; all that is wrong with its shape at once
    """
    if not isinstance(given, Mapping):
        raise refuse("gate", f"{given!r} is no dict", f"write {EXAMPLE}")
    if problems := [Problem(*each) for each in _shape_findings(given)]:
        raise InputError(problems)
    return gate_from(
        given.get("guardrails") or {},
        given.get("segments") or {},
        given.get("success") or (),
        given.get("undecided"),
        given.get("models") or (),
    )


def gate_from(
    guardrails: Mapping[str, Margin],
    segments: Mapping[str, Mapping[str, Margin]],
    success: Sequence[str],
    undecided: str | None,
    models: Sequence[str],
) -> Gate:
    """The gate that is said by these, whose shapes are right."""
    return Gate(
        guardrails=_spelled(guardrails),
        segments={name: _spelled(margins) for name, margins in segments.items()},
        success=tuple(canonical_label(text) for text in success),
        undecided_passes=undecided == "pass",
        models=tuple(models),
    )


def _spelled(margins: Mapping[str, Margin]) -> dict[str, Margin]:
    return {
        canonical_label(text): margin if isinstance(margin, str) else float(margin)
        for text, margin in margins.items()
    }


def _shape_findings(given: Mapping[Any, Any]) -> Iterator[Finding]:
    for key in given:
        if key not in KEYS:
            yield "gate", f"{shown(key)} is not a key of a gate", nearest(str(key), set(KEYS))
    yield from _margin_findings("gate.guardrails", given.get("guardrails") or {})
    segments = given.get("segments") or {}
    if not isinstance(segments, Mapping):
        yield (
            "gate.segments",
            f"{shown(segments)} is no dict",
            "write {'activity': {'nDCG@10': '5%'}}",
        )
        segments = {}
    for name, margins in segments.items():
        yield from _margin_findings(f"gate.segments.{name}", margins)
    for key in ("success", "models"):
        names = given.get(key) or ()
        texts = isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
        if isinstance(names, str) or not texts:
            yield f"gate.{key}", f"{shown(names)} is no list of names", "write ['…']"
    if given.get("undecided") not in {None, "pass"}:
        yield "gate.undecided", f"is {shown(given['undecided'])}", "write 'pass', or leave it out"


def _margin_findings(place: str, margins: Any) -> Iterator[Finding]:
    if not isinstance(margins, Mapping) or not all(isinstance(text, str) for text in margins):
        yield place, f"{shown(margins)} is no dict of margins", "write {'nDCG@10': '2%'}"
        return
    for text, margin in margins.items():
        if said := wrong_margin(margin):
            what, _, fix = said.partition(": ")
            yield f"{place}.{text}", what, fix
    yield from twice_findings(place, margins)


def twice_findings(place: str, margins: Iterable[str]) -> Iterator[Finding]:
    """Labels that stand in two spellings, of which one margin would be lost."""
    spellings: dict[str, list[str]] = {}
    for text in margins:
        spellings.setdefault(canonical_label(text), []).append(text)
    for label, texts in spellings.items():
        if len(texts) > 1:
            yield (
                place,
                f"names {label} as {' and '.join(map(repr, texts))}",
                "name each label once",
            )


def gate_findings(gate: Gate, config: ComparisonConfig, models: Sequence[str]) -> Iterator[Finding]:
    """Labels, segments and models that are not there, or that no gate can decide on."""
    if not gate.labels:
        what = "names nothing that must not get worse, and nothing that must get better"
        yield "gate", what, "name a guardrail, such as `guardrails: {nDCG@10: 2%}`"
    for label in gate.guardrails:
        yield from _label_findings("gate.guardrails", label, config)
    for label in gate.success:
        yield from _label_findings("gate.success", label, config)
    if len(set(gate.success)) < len(gate.success):
        yield "gate.success", "names a label more than once", "name each label once"
    for name, margins in gate.segments.items():
        place = f"gate.segments.{name}"
        if name not in config.segments:
            known = set(config.segments)
            fix = nearest(name, known) if known else f"add it to {config.settings.segments}"
            yield "gate.segments", f"{name!r} is no segmentation", fix
            continue
        for label in margins:
            found = list(_label_findings(place, label, config))
            yield from found or _in_segment_findings(place, label, config.segments[name], config)
    for model in gate.models:
        if model not in models:
            yield "gate.models", f"{model!r} is not among the models", nearest(model, {*models})


def _label_findings(place: str, label: str, config: ComparisonConfig) -> Iterator[Finding]:
    evaluated = [str(each) for each in config.labels]
    if label not in evaluated:
        fix = f"{did_you_mean(label, evaluated)} (or add it to {config.settings.metrics})"
        yield place, f"{label!r} is not evaluated", fix
    elif is_pooled(parse(label), config.conventions):
        what = f"{label} is pooled over users under these conventions, so that it has no interval"
        yield place, what, "name a metric that has a value for each user"


def _in_segment_findings(
    place: str, label: str, segmentation: Segmentation, config: ComparisonConfig
) -> Iterator[Finding]:
    metric = parse(label)
    if not isinstance(segmentation, ByPopularity):
        if metric.metric.of_catalogue:
            what = f"{label} is one number over all users, which groups of users do not have"
            yield place, what, "name a metric that has a value for each user"
    elif segmentation.by == "recommended_item":
        what = "tells what is shown, of which more or less is neither better nor worse"
        yield place, what, "name a segmentation of users or of wanted items"
    elif metric.stem != "R" or metric.k is None:
        yield place, f"{label} is not known of groups of wanted items", "name R@k, such as R@10"


def margin_of(config: ComparisonConfig, label: str, margin: Margin, reference: float) -> float:
    """By how much a label may be worse: `min_effect` is that of the comparison, a share that of the reference's mean."""
    return absolute(config.min_effects[label] if margin == MIN_EFFECT else margin, reference)
