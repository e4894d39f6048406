"""`study`: comparison of the same models over several data sets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.analyses.study.result import (
    Aggregation,
    Answer,
    Cell,
    GradeConvention,
    MissingModel,
    Study,
    StudyDataset,
)
from concord.metrics_core.analyses.study.statistics import (
    Comparisons,
    PairPooling,
    aggregate,
    cells_of,
    find_winner,
    ordered_pairs,
    pool_pairs,
)
from concord.metrics_core.comparison.config import is_list_of_text
from concord.metrics_core.comparison.min_effect import (
    EFFECT_FIX,
    Effect,
    is_effect,
    is_share,
)
from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.metrics.label import suggest_label, to_result_spelling
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.text_format import join_names

MIN_COUNT = 2  # data sets, and models
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
    """Return the winner over several data sets, and the ways of aggregation that agree.

    Parameters
    ----------
    comparisons : dict of str to Comparison
        Result of `compare` for each data set.
    primary : list of str, optional
        Labels of the study. Default: labels that are primary in all comparisons, in the order of
        the first.
    models : list of str, optional
        Models of the study. Default: models of all data sets.
    baseline : str, optional
        Model that the others are compared with. Default: the common baseline of all data sets.
    min_effect : float or str, default=0.0
        Minimum relevant difference over data sets: a number, or a share of the baseline's mean
        over data sets such as "2%".
    title : str, default="Study"
        Title of the report.
    sources : dict of str to str, optional
        Origin of each data set, for the report.

    Returns
    -------
    Study
        Winners, means, ranks, and pairs of models.

    Raises
    ------
    InputError
        If conventions differ, or a label, model or baseline is missing from a data set.

    Examples
    --------
    >>> import concord as cc
    >>> demo = cc.datasets.load_demo()
    >>> models = {name: demo.models[name] for name in ("als", "ease")}
    >>> comparisons = {
    ...     country: cc.compare(
    ...         models,
    ...         demo.truth.join(users, on="user", how="semi"),
    ...         metrics=["nDCG@10"],
    ...         baseline="als",
    ...         panel=False,
    ...     )
    ...     for (country,), users in demo.users.group_by("country", maintain_order=True)
    ... }
    >>> cc.study(comparisons).answers[0].winners
    ('ease',)
    """
    _check_arguments(comparisons, {"primary": primary, "models": models}, min_effect)
    _refuse_lists_and_values(comparisons)
    _refuse_different_conventions(comparisons)
    labels = _choose_labels(comparisons, primary)
    _refuse_different_directions(comparisons, labels)
    compared, missing = _choose_models(comparisons, models)
    base = _choose_baseline(comparisons, compared, baseline)
    first, same_truth = next(iter(comparisons.values())), _same_truth(comparisons)
    poolings = [
        PairPooling(label, comparisons, base, min_effect, bool(same_truth)) for label in labels
    ]
    tried, n_compared = max(each.tried or 0 for each in comparisons.values()), len(compared) - 1
    alpha = (1 - first.confidence) * n_compared / max(tried, n_compared)
    pairs, left_out = pool_pairs(poolings, compared, alpha=alpha)
    answers: list[Answer] = []
    cells: list[Cell] = []
    ways: list[Aggregation] = []
    for label in labels:
        higher_is_better = first.metric(label).higher_is_better
        label_cells = [*cells_of(label, comparisons, compared, base)]
        label_ways = aggregate(label, label_cells, higher_is_better=higher_is_better)
        label_pairs = [pair for pair in pairs if pair.label == label]
        ahead = ordered_pairs(label_pairs, higher_is_better=higher_is_better)
        answers.append(
            find_winner(
                label,
                label_ways,
                ahead,
                n_datasets=len(comparisons),
                has_same_truth=bool(same_truth),
            )
        )
        cells += label_cells
        ways += label_ways
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
        missing_models=missing,
        metrics=tuple(first.metric(label) for label in labels),
        min_effect={pooling.label: pooling.absolute_effect for pooling in poolings},
        answers=tuple(answers),
        cells=tuple(cells),
        ways=tuple(ways),
        pairs=tuple(pairs),
        left_out=tuple(left_out),
        conventions=first.conventions,
        same_truth=same_truth,
        replicated=_replicated_models(comparisons, compared),
        grade_conventions=tuple(_grade_conventions(comparisons, labels)),
        min_effect_share=str(min_effect) if is_share(min_effect) else None,
        tried=tried or None,
    )


def _check_arguments(comparisons: Any, lists: Mapping[str, Any], min_effect: Any) -> None:
    if not isinstance(comparisons, Mapping) or not all(
        isinstance(name, str) and isinstance(each, Comparison) for name, each in comparisons.items()
    ):
        problem = "must be a dict that maps each data set's name to a Comparison"
        raise refuse("comparisons", problem, "write {'movielens': concord.compare(…), …}")
    for name, value in lists.items():
        if value is not None and not is_list_of_text(value):
            example = "['nDCG@10']" if name == "primary" else "['als', 'ease']"
            raise refuse(name, f"is {format_value(value)}", f"write a list of names: {example}")
    if not is_effect(min_effect):
        raise refuse("min_effect", f"is {format_value(min_effect)}", EFFECT_FIX)
    if len(comparisons) < MIN_COUNT:
        problem = f"a study needs {MIN_COUNT} data sets or more, got {len(comparisons)}"
        raise refuse("datasets", problem, "add one")


def _refuse_lists_and_values(comparisons: Comparisons) -> None:
    names: dict[bool, list[str]] = {True: [], False: []}
    for name, comparison in comparisons.items():
        names[comparison.has_lists].append(name)
    if names[True] and names[False]:
        problem = (
            f"{join_names(names[True])} evaluated lists, {join_names(names[False])} compared "
            "values of another tool, whose definitions are unknown"
        )
        raise refuse("datasets", problem, "evaluate lists in all of them, or values in all")


def _refuse_different_directions(comparisons: Comparisons, labels: Sequence[str]) -> None:
    """Raise InputError for labels of which high values are better on some data sets only."""
    problems = []
    for label in labels:
        lower = [n for n, each in comparisons.items() if not each.metric(label).higher_is_better]
        if 0 < len(lower) < len(comparisons):
            problem = f"lower is better in {join_names(lower)}, and higher in the others"
            problems.append(
                Problem(f"primary: {label}", problem, "set higher_is_better the same in all")
            )
    raise_problems(problems)


def _refuse_different_conventions(comparisons: Comparisons) -> None:
    """Raise InputError if conventions of two data sets differ, except those of grades."""
    first, *others = comparisons
    problems = [
        Problem(f"{first}, {other}", f"differ in {difference}", _SAME_PARAMS)
        for other in others
        for difference in _setting_differences(comparisons[first], comparisons[other])
    ]
    raise_problems(problems)


_SAME_PARAMS = "set the same in both params.yaml, then evaluate both again"


def _setting_differences(a: Comparison, b: Comparison) -> Iterator[str]:
    if a.confidence != b.confidence:
        yield f"comparison.confidence: {a.confidence:g} and {b.confidence:g}"
    conventions_a, conventions_b = _conventions(a), _conventions(b)
    for name in dict.fromkeys([*conventions_a, *conventions_b]):
        value_a, value_b = _value_text(conventions_a, name), _value_text(conventions_b, name)
        if value_a != value_b and _last(name) not in _GRADE_CONVENTIONS:
            yield f"conventions.{name}: {value_a} and {value_b}"


def _conventions(comparison: Comparison) -> dict[str, Any]:
    """Return the value of each convention; overrides have names such as `overrides.RR.ties`.

    The size of the catalogue belongs to the data set, so `candidates` leaves it out.
    """
    conventions = comparison.conventions
    overrides = {
        f"overrides.{metric}.{name}": value
        for metric, overridden in conventions.overrides.items()
        for name, value in overridden.items()
    }
    values = {each.name: each.value for each in conventions.values}
    if candidates := values.get("candidates"):
        values["candidates"] = {k: v for k, v in candidates.items() if k != "catalogue"}
    return values | overrides


def _value_text(conventions: Mapping[str, Any], name: str) -> str:
    """Return a convention's value as text; an override that is missing has the general value."""
    value = conventions.get(name, conventions.get(_last(name)))
    return value if isinstance(value, str) else json.dumps(value)


def _last(name: str) -> str:
    """Return `ties` of `overrides.RR.ties`."""
    return name.rpartition(".")[2]


def _grade_conventions(
    comparisons: Comparisons, labels: Sequence[str]
) -> Iterator[GradeConvention]:
    """Yield the conventions of grades that affect these labels and differ between data sets."""
    metrics = {each.metric(label).name for each in comparisons.values() for label in labels}
    affected_metrics = {
        convention.name: {*convention.changes}
        for comparison in comparisons.values()
        for convention in comparison.conventions.values
    }
    names = {name for comparison in comparisons.values() for name in _conventions(comparison)}
    for name in sorted(names):
        affected = affected_metrics.get(name) or {*name.split(".")[1:2]}
        if _last(name) not in _GRADE_CONVENTIONS or not metrics & affected:
            continue
        values: dict[str, tuple[str, ...]] = {}
        for dataset, comparison in comparisons.items():
            text = _value_text(_conventions(comparison), name)
            values[text] = (*values.get(text, ()), dataset)
        if len(values) > 1:
            yield GradeConvention(name, values)


def _same_truth(comparisons: Comparisons) -> tuple[tuple[str, ...], ...]:
    """Return the groups of data sets with the same ground truth, or fold of it, by its hash."""
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
    """Return the requested labels, or those that are primary in all data sets."""
    first, *others = comparisons.values()
    common = [label for label in first.labels if all(label in c.labels for c in others)]
    fix = f"name one of {join_names(common)}" if common else "evaluate one label in all of them"
    if primary is None:
        labels = [label for label in first.primary if all(label in c.primary for c in others)]
        if not labels:
            each = "; ".join(f"{name}: {', '.join(c.primary)}" for name, c in comparisons.items())
            raise refuse("primary", f"no label is primary in every data set ({each})", fix)
        return tuple(labels)
    labels = [*dict.fromkeys(to_result_spelling(text, common) for text in primary)]
    problems = []
    for label in labels:
        if missing := [name for name, c in comparisons.items() if label not in c.labels]:
            problem = f"was not evaluated in {join_names(missing)}"
            problems.append(Problem(f"primary: {label}", problem, suggest_label(label, common)))
    raise_problems(problems)
    return tuple(labels)


def _choose_models(
    comparisons: Comparisons, models: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[MissingModel, ...]]:
    """Return the models of the study, and the models that some data set lacks.

    The models are the requested ones, or those of all data sets.
    """
    missing_from = {
        model: tuple(name for name, c in comparisons.items() if model not in c.models)
        for model in dict.fromkeys(
            [*(m for c in comparisons.values() for m in c.models), *(models or ())]
        )
    }
    common = tuple(model for model, names in missing_from.items() if not names)
    if len(common) < MIN_COUNT:
        each = "; ".join(f"{name}: {', '.join(c.models)}" for name, c in comparisons.items())
        problem = f"fewer than {MIN_COUNT} models are in every data set ({each})"
        raise refuse("models", problem, "give the same model the same name everywhere")
    if models is None:
        missing = (MissingModel(model, names) for model, names in missing_from.items() if names)
        return common, tuple(missing)
    requested = tuple(dict.fromkeys(models))
    fix = "leave it out, or evaluate it there"
    raise_problems(
        Problem(f"models: {model}", f"is missing in {join_names(missing_from[model])}", fix)
        for model in requested
        if missing_from[model]
    )
    if len(requested) < MIN_COUNT:
        problem = f"a study needs {MIN_COUNT} models or more, got {len(requested)}"
        raise refuse("models", problem, f"name {MIN_COUNT} or more of {join_names(common)}")
    return requested, ()


def _choose_baseline(comparisons: Comparisons, models: Sequence[str], baseline: str | None) -> str:
    """Return the requested baseline, or the common baseline of all data sets."""
    fix = f"name one of {join_names(models)}"
    baselines = dict.fromkeys(comparison.baseline for comparison in comparisons.values())
    if baseline is None and len(baselines) > 1:
        each = ", ".join(f"{name} has {c.baseline}" for name, c in comparisons.items())
        raise refuse("baseline", f"differs between data sets: {each}", fix)
    baseline = next(iter(baselines)) if baseline is None else baseline
    if baseline not in models:
        raise refuse("baseline", f"{baseline!r} is not among the models of the study", fix)
    return baseline


def _dataset(name: str, comparison: Comparison, source: str) -> StudyDataset:
    return StudyDataset(
        name=name,
        source=source,
        title=comparison.title,
        baseline=comparison.baseline,
        n_users=max((score.n_users for score in comparison.scores), default=0),
        fingerprint=comparison.conventions.fingerprint,
    )
