"""`study`: the same models compared over several data sets."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.analyses.study_statistics import (
    Comparisons,
    aggregate,
    cells_of,
    find_winner,
    friedman_test,
    models_ahead,
    pool_pairs,
)
from concord.metrics_core.comparison.min_effect import EFFECT_FIX, Effect, absolute, is_effect
from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.metrics.label import canonical_label, suggest_label
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.study import (
    Aggregation,
    Cell,
    GradeConvention,
    MissingModel,
    Pair,
    ShrunkDifference,
    Study,
    StudyDataset,
)
from concord.metrics_core.results.words import listed

MIN_COUNT = 2  # of data sets, and of models
_GRADE_CONVENTIONS = {each.name for each in PRESET_CONVENTIONS if each.sets_scale}


def study(
    comparisons: Mapping[str, Comparison],
    *,
    primary: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    baseline: str | None = None,
    min_effect: Effect = 0.0,
    title: str = "Study",
    sources: Mapping[str, str] | None = None,
) -> Study:
    """Return who wins over several data sets, under how many ways of aggregating, and whether it is sure.

    Parameters
    ----------
    comparisons : dict
        Maps each data set's name to what `compare` returned.
    primary : list of str, optional
        Labels of the study. Default: those that are primary in every comparison, in the order of the first.
    models : list of str, optional
        Default: those that all data sets have.
    baseline : str, optional
        Default: the one that all data sets have.
    min_effect : float or str, default=0.0
        Minimum relevant difference over data sets: a number, or a share of the baseline's mean such as "2%".
    title : str, default="Study"
        Of the report.
    sources : dict, optional
        Maps data sets to where they come from, as the report shows it.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        Conventions differ, or a label, model or baseline is missing from a data set.
    """
    _check_arguments(comparisons, {"primary": primary, "models": models}, min_effect)
    _refuse_different_conventions(comparisons)
    labels = _choose_labels(comparisons, primary)
    compared, missing = _choose_models(comparisons, models)
    base = _choose_baseline(comparisons, compared, baseline)
    first, same_truth = next(iter(comparisons.values())), _same_truth(comparisons)
    alpha = 1 - first.confidence
    effects: dict[str, float] = {}
    answers, omnibus = [], []
    cells: list[Cell] = []
    ways: list[Aggregation] = []
    pairs: list[Pair] = []
    shrunk: list[ShrunkDifference] = []
    for label in labels:
        higher_is_better = first.metric(label).higher_is_better
        effects[label] = _absolute_effect(min_effect, label, comparisons, base)
        label_cells = [*cells_of(label, comparisons, compared, base)]
        label_ways = aggregate(label, label_cells, higher_is_better=higher_is_better)
        label_pairs, label_shrunk = pool_pairs(
            label, comparisons, compared, baseline=base, min_effect=effects[label]
        )
        ahead = models_ahead(label_pairs, higher_is_better=higher_is_better, alpha=alpha)
        answers.append(
            find_winner(
                label,
                label_ways,
                ahead,
                n_datasets=len(comparisons),
                has_same_truth=bool(same_truth),
            )
        )
        omnibus.append(friedman_test(label, label_cells, first.confidence))
        cells += label_cells
        ways += label_ways
        pairs += label_pairs
        shrunk += label_shrunk
    return Study(
        title=title,
        baseline=base,
        primary=labels,
        confidence=first.confidence,
        models=compared,
        datasets=tuple(
            _dataset(name, comparison, (sources or {}).get(name, ""))
            for name, comparison in comparisons.items()
        ),
        left_out=missing,
        metrics=tuple(first.metric(label) for label in labels),
        min_effect=effects,
        answers=tuple(answers),
        cells=tuple(cells),
        ways=tuple(ways),
        pairs=tuple(pairs),
        shrunk=tuple(shrunk),
        omnibus=tuple(omnibus),
        conventions=first.conventions,
        same_truth=same_truth,
        replicated=_replicated_models(comparisons, compared),
        grade_conventions=tuple(_grade_conventions(comparisons, labels)),
    )


def _check_arguments(comparisons: Any, lists: Mapping[str, Any], min_effect: Any) -> None:
    if not isinstance(comparisons, Mapping) or not all(
        isinstance(name, str) and isinstance(each, Comparison) for name, each in comparisons.items()
    ):
        problem = "must be a dict that maps each data set's name to a Comparison"
        raise refuse("comparisons", problem, "write {'movielens': concord.compare(…), …}")
    for name, value in lists.items():
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        if value is not None and not (is_list and all(isinstance(text, str) for text in value)):
            example = "['nDCG@10']" if name == "primary" else "['als', 'ease']"
            raise refuse(name, f"is {format_value(value)}", f"write a list of names: {example}")
    if not is_effect(min_effect):
        raise refuse("min_effect", f"is {format_value(min_effect)}", EFFECT_FIX)
    if len(comparisons) < MIN_COUNT:
        problem = f"names {len(comparisons)}, and a study needs {MIN_COUNT}"
        raise refuse("datasets", problem, "add one")


def _refuse_different_conventions(comparisons: Comparisons) -> None:
    """Raise InputError if numbers of two data sets do not mean the same; conventions of grades may differ."""
    first, *others = comparisons
    problems = [
        Problem(f"{first}, {other}", f"differ in {difference}", _SAME_PARAMS)
        for other in others
        for difference in _setting_differences(comparisons[first], comparisons[other])
    ]
    raise_problems(problems)


_SAME_PARAMS = "set the same in both params.yaml, then `dvc repro`"


def _setting_differences(one: Comparison, other: Comparison) -> Iterator[str]:
    if one.confidence != other.confidence:
        yield f"comparison.confidence: {one.confidence:g} and {other.confidence:g}"
    a, b = _conventions(one), _conventions(other)
    for name in dict.fromkeys([*a, *b]):
        value_a, value_b = _value_text(a, name), _value_text(b, name)
        if value_a != value_b and _last(name) not in _GRADE_CONVENTIONS:
            yield f"conventions.{name}: {value_a} and {value_b}"


def _conventions(comparison: Comparison) -> dict[str, Any]:
    """Return name -> value, those that are overridden for a metric as `overrides.RR.ties`."""
    pinned = comparison.conventions
    overrides = {
        f"overrides.{metric}.{name}": value
        for metric, changed in pinned.overrides.items()
        for name, value in changed.items()
    }
    return {each.name: each.value for each in pinned.values} | overrides


def _value_text(conventions: Mapping[str, Any], name: str) -> str:
    """Return a value as text; a metric without an override has the value of all metrics."""
    value = conventions.get(name, conventions.get(_last(name)))
    return value if isinstance(value, str) else json.dumps(value)


def _last(name: str) -> str:
    """Return `ties` of `overrides.RR.ties`."""
    return name.rpartition(".")[2]


def _grade_conventions(
    comparisons: Comparisons, labels: Sequence[str]
) -> Iterator[GradeConvention]:
    """Yield the conventions of grades that change these labels and differ between data sets."""
    metrics = {each.metric(label).name for each in comparisons.values() for label in labels}
    changes = {
        convention.name: {*convention.changes}
        for comparison in comparisons.values()
        for convention in comparison.conventions.values
    }
    names = {name for comparison in comparisons.values() for name in _conventions(comparison)}
    for name in sorted(names):
        changed = changes.get(name) or {*name.split(".")[1:2]}
        if _last(name) not in _GRADE_CONVENTIONS or not metrics & changed:
            continue
        values: dict[str, tuple[str, ...]] = {}
        for dataset, comparison in comparisons.items():
            text = _value_text(_conventions(comparison), name)
            values[text] = (*values.get(text, ()), dataset)
        if len(values) > 1:
            yield GradeConvention(name, values)


def _same_truth(comparisons: Comparisons) -> tuple[tuple[str, ...], ...]:
    """Return the groups of data sets that share a ground truth, or that of a fold, by its hash."""
    names: dict[str, list[str]] = {}
    for name, comparison in comparisons.items():
        for sha256 in dict.fromkeys(file.sha256 for file in comparison.provenance.truths):
            if sha256 is not None:
                names.setdefault(sha256, []).append(name)
    return tuple(dict.fromkeys(tuple(group) for group in names.values() if len(group) > 1))


def _replicated_models(comparisons: Comparisons, models: Sequence[str]) -> tuple[str, ...]:
    replicated = {
        model
        for each in comparisons.values()
        if each.replicates
        for model in each.replicates.models
    }
    return tuple(model for model in models if model in replicated)


def _choose_labels(comparisons: Comparisons, primary: Sequence[str] | None) -> tuple[str, ...]:
    """Return the requested labels; else those that are primary everywhere, in the order of the first data set."""
    first, *others = comparisons.values()
    everywhere = [label for label in first.labels if all(label in c.labels for c in others)]
    fix = f"name one of {listed(everywhere)}" if everywhere else "evaluate one label in all of them"
    if primary is None:
        shared = [p for p in first.primary if all(p in other.primary for other in others)]
        if not shared:
            each = "; ".join(f"{name}: {', '.join(c.primary)}" for name, c in comparisons.items())
            raise refuse("primary", f"no label is primary in every data set ({each})", fix)
        return tuple(shared)
    if not primary:
        raise refuse("primary", "names no label", fix)
    labels = dict.fromkeys(_spelled(text) for text in primary)
    problems = [
        Problem(f"primary: {text}", f"was not evaluated in {listed(missing)}", suggest_label(text, everywhere))
        for text in labels
        if (missing := [name for name, c in comparisons.items() if text not in c.labels])
    ]  # fmt: skip
    raise_problems(problems)
    return tuple(labels)


def _spelled(text: str) -> str:
    try:
        return canonical_label(text)
    except ValueError as error:
        raise refuse(f"primary: {text}", str(error), "write a label such as nDCG@10") from None


def _choose_models(
    comparisons: Comparisons, models: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[MissingModel, ...]]:
    """Return the requested models; else those of every data set, and those that are left out."""
    missing_in = {
        model: tuple(name for name, c in comparisons.items() if model not in c.models)
        for model in dict.fromkeys(
            [*(m for c in comparisons.values() for m in c.models), *(models or ())]
        )
    }
    everywhere = tuple(model for model, names in missing_in.items() if not names)
    if len(everywhere) < MIN_COUNT:
        each = "; ".join(f"{name}: {', '.join(c.models)}" for name, c in comparisons.items())
        problem = f"fewer than {MIN_COUNT} models are in every data set ({each})"
        raise refuse("models", problem, "give the same model the same name everywhere")
    if models is None:
        missing = (MissingModel(model, names) for model, names in missing_in.items() if names)
        return everywhere, tuple(missing)
    requested = tuple(dict.fromkeys(models))
    problems = [
        Problem(f"models: {m}", f"is missing in {listed(missing_in[m])}", "leave it out, or evaluate it there")
        for m in requested
        if missing_in[m]
    ]  # fmt: skip
    raise_problems(problems)
    if len(requested) < MIN_COUNT:
        problem = f"a study needs {MIN_COUNT} models, and this names {len(requested)}"
        raise refuse("models", problem, f"name {MIN_COUNT} or more of {listed(everywhere)}")
    return requested, ()


def _choose_baseline(comparisons: Comparisons, models: Sequence[str], baseline: str | None) -> str:
    """Return the requested baseline; else the one that all data sets have."""
    fix = f"name one of {listed(models)}"
    baselines = dict.fromkeys(comparison.baseline for comparison in comparisons.values())
    if baseline is None and len(baselines) > 1:
        each = ", ".join(f"{name} has {c.baseline}" for name, c in comparisons.items())
        raise refuse("baseline", f"is not the same everywhere: {each}", fix)
    baseline = next(iter(baselines)) if baseline is None else baseline
    if baseline not in models:
        raise refuse("baseline", f"{baseline!r} is not among the models of the study", fix)
    return baseline


def _absolute_effect(effect: Effect, label: str, comparisons: Comparisons, baseline: str) -> float:
    """Return the minimum relevant difference as a number; a share is of the baseline's mean over data sets."""
    means = [comparison.score(baseline, label).mean for comparison in comparisons.values()]
    known = [mean for mean in means if mean is not None]
    return absolute(effect, math.fsum(known) / len(known) if known else 0.0)


def _dataset(name: str, comparison: Comparison, source: str) -> StudyDataset:
    return StudyDataset(
        name=name,
        source=source,
        title=comparison.title,
        baseline=comparison.baseline,
        n_users=max((score.n_users for score in comparison.scores), default=0),
        fingerprint=comparison.conventions.fingerprint,
    )
