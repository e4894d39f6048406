"""What the comparisons of a study must share, and what is chosen of it: conventions, labels, models, a baseline."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.words import listed
from concord.metrics_core.conventions.conventions import KNOBS
from concord.metrics_core.metrics.catalogue import spelled
from concord.metrics_core.metrics.spelling import did_you_mean
from concord.metrics_core.studying.parts import LeftOut

Comparisons = Mapping[str, Comparison]
FEWEST = 2
_OF_GRADES = {knob.name for knob in KNOBS if knob.scale}


def refuse_unlike(comparisons: Comparisons) -> None:
    """Refuses data sets whose numbers do not mean the same, naming each knob with its values.

    Knobs that belong to the grades of a data set (`relevance_threshold`) may differ, as they may under any preset.

    Raises
    ------
    InputError : fewer than two data sets, or knobs or the confidence of intervals differ
    """
    if len(comparisons) < FEWEST:
        raise refuse("datasets", f"names {len(comparisons)}, and a study needs {FEWEST}", "add one")
    first, *others = comparisons
    problems = [
        Problem(f"{first}, {other}", f"differ in {what}", fix)
        for other in others
        for what, fix in _differing(comparisons[first], comparisons[other])
    ]
    if problems:
        raise InputError(problems)


def scales(comparisons: Comparisons, labels: Sequence[str]) -> Iterator[str]:
    """What of these labels differs by the grades of the data sets, in words."""
    metrics = {comparison.metric(label).name for comparison in comparisons.values() for label in labels}  # fmt: skip
    for knob in sorted(filter(_is_of_grades, _changing(comparisons, metrics))):
        values: dict[str, list[str]] = {}
        for name, comparison in comparisons.items():
            values.setdefault(_value(_knobs(comparison), knob), []).append(name)
        if len(values) > 1:
            told = "; ".join(f"{value} on {listed(names)}" for value, names in values.items())
            yield f"`{knob}` belongs to the grades of a data set: {told}."


def _changing(comparisons: Comparisons, metrics: set[str]) -> set[str]:
    changes = {
        knob.name: {*knob.changes}
        for comparison in comparisons.values()
        for knob in comparison.conventions.knobs
    }
    return {
        knob
        for comparison in comparisons.values()
        for knob in _knobs(comparison)
        if metrics & (changes.get(knob) or {*knob.split(".")[1:2]})
    }


def _is_of_grades(knob: str) -> bool:
    return _last(knob) in _OF_GRADES


def _last(knob: str) -> str:
    """`ties` of `overrides.RR.ties`."""
    return knob.rpartition(".")[2]


def same_truth(comparisons: Comparisons) -> list[tuple[str, ...]]:
    """Data sets that share a truth, or that of a fold, told by its hash: they are no two data sets."""
    known: dict[str, list[str]] = {}
    for name, comparison in comparisons.items():
        for sha256 in {file.sha256: file for file in comparison.provenance.truths}:
            if sha256 is not None:
                known.setdefault(sha256, []).append(name)
    return list(dict.fromkeys(tuple(names) for names in known.values() if len(names) > 1))


def chosen_labels(comparisons: Comparisons, primary: Sequence[str] | None) -> tuple[str, ...]:
    """The labels that are named; else those that are primary everywhere, in the first one's order.

    Raises
    ------
    InputError : a label was not evaluated somewhere, or none is primary everywhere
    """
    if primary is None:
        first, *others = comparisons.values()
        shared = [p for p in first.primary if all(p in other.primary for other in others)]
        if not shared:
            each = "; ".join(f"{name}: {', '.join(c.primary)}" for name, c in comparisons.items())
            raise refuse("primary", f"no label is primary in every data set ({each})", "name the labels as `primary`")  # fmt: skip
        return tuple(shared)
    wanted = [_spelled(text) for text in primary]
    lacking = {
        text: [name for name, comparison in comparisons.items() if text not in comparison.labels]
        for text in wanted
    }
    problems = [
        Problem(f"primary: {text}", f"was not evaluated in {listed(names)}", _meant(text, comparisons))
        for text, names in lacking.items()
        if names
    ]  # fmt: skip
    if problems or not wanted:
        none = [Problem("primary", "names no label", "name one, such as nDCG@10")]
        raise InputError(problems or none)
    return tuple(dict.fromkeys(wanted))


def chosen_models(
    comparisons: Comparisons, models: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """The models that are named; else those of every data set, and those that some lack.

    Raises
    ------
    InputError : a model that is named is missing somewhere, or fewer than two are everywhere
    """
    known = list(dict.fromkeys(m for c in comparisons.values() for m in c.models))
    lacking = {m: tuple(n for n, c in comparisons.items() if m not in c.models) for m in known}
    if models is not None:
        problems = [
            Problem(f"models: {model}", f"is not in {listed(missing)}", "leave it out, or evaluate it there")
            for model in models
            if (missing := lacking.get(model, tuple(comparisons)))
        ]  # fmt: skip
        if problems:
            raise InputError(problems)
        return _enough(tuple(dict.fromkeys(models)), comparisons), ()
    everywhere = tuple(model for model in known if not lacking[model])
    left_out = tuple(LeftOut(m, missing) for m, missing in lacking.items() if missing)
    return _enough(everywhere, comparisons), left_out


def chosen_baseline(comparisons: Comparisons, models: Sequence[str], baseline: str | None) -> str:
    """The baseline that is named; else the one that all data sets have.

    Raises
    ------
    InputError : it is not among the models, or the data sets have different ones
    """
    if baseline is None:
        named = list(dict.fromkeys(c.baseline for c in comparisons.values()))
        if len(named) > 1:
            each = ", ".join(f"{name} has {c.baseline}" for name, c in comparisons.items())
            raise refuse("baseline", f"is not the same everywhere: {each}", f"name one of {listed(models)}")  # fmt: skip
        baseline = named[0]
    if baseline not in models:
        raise refuse("baseline", f"{baseline!r} is not among the models of the study", f"name one of {listed(models)}")  # fmt: skip
    return baseline


def _enough(models: tuple[str, ...], comparisons: Comparisons) -> tuple[str, ...]:
    if len(models) < FEWEST:
        each = "; ".join(f"{name}: {', '.join(c.models)}" for name, c in comparisons.items())
        what = f"fewer than two models are in every data set ({each})"
        raise refuse("models", what, "give the same model the same name everywhere")
    return models


def _differing(one: Comparison, other: Comparison) -> Iterator[tuple[str, str]]:
    same = "set the same in both params.yaml, then `dvc repro`"
    if one.confidence != other.confidence:
        yield f"comparison.confidence: {one.confidence:g} and {other.confidence:g}", same
    ours, theirs = _knobs(one), _knobs(other)
    for knob in dict.fromkeys([*ours, *theirs]):
        one_value, other_value = _value(ours, knob), _value(theirs, knob)
        if not _is_of_grades(knob) and one_value != other_value:
            yield f"conventions.{knob}: {one_value} and {other_value}", same


def _knobs(comparison: Comparison) -> dict[str, Any]:
    """Every knob by name, those that are overridden for a metric as `overrides.RR.ties`."""
    pinned = comparison.conventions
    inner = {
        f"overrides.{metric}.{name}": value
        for metric, changed in pinned.overrides.items()
        for name, value in changed.items()
    }
    return {knob.name: knob.value for knob in pinned.knobs} | inner


def _value(knobs: Mapping[str, Any], knob: str) -> str:
    """In words; where a metric overrides nothing, that of all."""
    value = knobs.get(knob, knobs.get(_last(knob)))
    return value if isinstance(value, str) else json.dumps(value)


def _meant(text: str, comparisons: Comparisons) -> str:
    first, *others = comparisons.values()
    shared = [label for label in first.labels if all(label in other.labels for other in others)]
    return did_you_mean(text, shared)


def _spelled(text: str) -> str:
    try:
        return spelled(text)
    except ValueError as error:
        raise refuse(f"primary: {text}", str(error), "write a label such as nDCG@10") from None
