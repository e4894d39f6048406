"""`cases`: error analysis of two models, by the users and items with the largest differences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from concord.metrics_core.analyses.cases.examples import (
    ExampleBuilder,
    PairValues,
    item_difference,
)
from concord.metrics_core.analyses.cases.result import Cases, ItemDifference
from concord.metrics_core.analyses.cases.tables import SIDES, Tables, open_tables
from concord.metrics_core.comparison.arguments import parse_list_arguments
from concord.metrics_core.comparison.config import ComparisonConfig, baseline_problems
from concord.metrics_core.comparison.inputs import ComparisonInput, evaluate_models
from concord.metrics_core.comparison.options import Options
from concord.metrics_core.comparison.replicate_config import ReplicateNames
from concord.metrics_core.comparison.segment_groups import UserGroups, group_users
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.comparison.top_lists import P
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.argument_types import Data, ModelColumns, PolicyOptions, Truth
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.evaluation.list_overlap import jaccard, rank_biased_overlap
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.results.comparison_parts import or_none
from concord.metrics_core.stats.floating_point import exact_mean

WORST = 20


class NoSharedValuesError(InputError):
    """No requested user has a value from both models, or their folds differ."""


@dataclass(frozen=True)
class ExampleSelection:
    """Selection of example users.

    Attributes
    ----------
    models : (str, str)
        Names of the two models.
    worst : int
        Number of users, and of items, with the largest losses of the first model.
    segment : str or None
        Segment such as `channel=app`; None for all users.
    item : str or None
        Select only users with this item in their ground truth or in a list.
    both_sides : bool
        True to add `worst` users with the largest gains of the first model. Then only the lists of
        the example users are read, so there are no items and no mean overlap.
    """

    models: tuple[str, str]
    worst: int = WORST
    segment: str | None = None
    item: str | None = None
    both_sides: bool = False


def cases(
    models: Mapping[str, Data],
    truth: Truth,
    *,
    model: str,
    versus: str,
    metrics: Sequence[str],
    conventions: ConventionsLike = "standard",
    worst: int = WORST,
    segment: str | None = None,
    item: Any = None,
    train: Data | None = None,
    items: Data | None = None,
    users: Data | None = None,
    segments: Mapping[str, Mapping[str, Any]] | None = None,
    columns: ModelColumns | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
    words: Mapping[str, str] | None = None,
    title: str = "Comparison",
) -> Cases:
    """Return the users and items for which `model` is furthest behind `versus`.

    The other arguments are those of `compare`.

    Parameters
    ----------
    models : dict
        Model -> recommendations, as for `compare`; only two of them are read.
    model, versus : str
        A model, or a replicate of it such as `als-2`. A model with replicates is represented by
        the first one.
    metrics : list of str
        Labels to show; users are sorted by the first.
    worst : int, default=20
        Number of users, and of items.
    segment : str, optional
        Select only users of this segment, such as `channel=app`; `segments` must define it.
    item : optional
        Select only users with this item in their ground truth or in a list.

    Returns
    -------
    Cases
        Users with their values, ground truth and both lists, and items with their recall. Users
        without a list from one of the models are counted, but are no examples.

    Raises
    ------
    InputError
        If an argument is invalid, or no requested user has a value from both models.

    Examples
    --------
    >>> import concord as cc
    >>> models = {"als": {"ann": ["a", "b"]}, "ease": {"ann": ["b", "a"]}}
    >>> truth = {"ann": ["b"]}
    >>> result = cc.cases(
    ...     models, truth, model="als", versus="ease", metrics=["RR@2"]
    ... )
    >>> result.cases[0].user, result.cases[0].difference
    ('ann', -0.5)
    """
    parsed = parse_list_arguments(
        models,
        truth,
        metrics=metrics,
        conventions=conventions,
        tables={"train": train, "items": items, "users": users},
        columns=columns,
        options=Options(title=title, segments=segments, input=input, unit=unit, words=words),
    )
    if type(worst) is not int or worst < 1:
        problem = Problem("worst", f"is {worst!r}", "write a whole number above 0")
        parsed.problems.append(problem)
    first = next(iter(parsed.lists), "")
    pair = (first, first)  # if the models or the two names are invalid
    if parsed.lists:
        names = (model, versus)
        pair = parsed.parse(resolve_pair, names, parsed.lists, parsed.replicates, default=pair)
    config = ComparisonConfig(
        labels=parsed.labels,
        conventions=parsed.conventions,
        baseline=pair[1],
        primary=parsed.names,
        title=title,
        segments=parsed.rules.segments,
        replicates=parsed.replicates,
    )
    config = parsed.validated(config, [*parsed.lists], arguments={"primary": "metrics"})
    results, data = evaluate_models(config, parsed, names=pair)
    selection = ExampleSelection(
        (model, versus), worst, segment, None if item is None else str(item)
    )
    return analyze_errors(ComparisonInput(config, results, data), selection)


def resolve_pair(
    models: tuple[str, str], lists: Collection[str], replicates: ReplicateNames
) -> tuple[str, str]:
    """Return the names of both models' lists; a model with replicates is represented by the first.

    Raises
    ------
    InputError
        If a name is unknown, or both names have the same list.
    """
    names = [*lists, *replicates]
    raise_problems(
        problem
        for argument, name in zip(("model", "versus"), models, strict=True)
        for problem in baseline_problems(name, names, argument)
    )
    a, b = (next(iter(replicates[x].values())) if x in replicates else x for x in models)
    if a == b:
        raise refuse("versus", f"{b!r} is the model itself", "name another model")
    return a, b


def analyze_errors(inputs: ComparisonInput, selection: ExampleSelection) -> Cases:
    """Return the error analysis of the first model against the second, on the primary labels.

    Parameters
    ----------
    inputs : ComparisonInput
        Two evaluated models.
    selection : ExampleSelection
        Selection of example users.

    Returns
    -------
    Cases
        Users with their values, ground truth and both lists, and items with their recall. Users
        without a list from one of the models are counted, but are no examples.

    Raises
    ------
    NoSharedValuesError
        If the folds differ, or no requested user has a value from both models.
    InputError
        If the segment or the item is unknown.
    """
    _raise_if_folds_differ(inputs)
    config = inputs.config
    values, segments = _pair_values(inputs), _segments(inputs)
    label, n_users = values.labels[0], len(values.users)
    lists = dict(zip(SIDES, inputs.models.values(), strict=True))
    pool = np.ones(n_users, dtype=np.bool_)
    if selection.segment is not None:
        pool &= _in_segment(inputs, segments, selection.segment)
    with open_tables(inputs, lists, label, config.main_cutoff) as tables:
        if selection.item is not None:
            pool &= _has_item(tables, selection.item, n_users)
        without_value = pool & np.isnan(values.gains)
        pool &= ~without_value
        if not pool.any():
            problem = f"no requested user has a value of {label} from both models"
            fix = "request another segment, item or metric"
            raise NoSharedValuesError([Problem("cases", problem, fix)])
        have_lists = pool.copy()
        for without_list in inputs.without_list.values():
            have_lists &= ~without_list
        behind = have_lists if selection.item is not None else have_lists & (values.gains < 0)
        numbers = values.select(behind, selection.worst)
        if selection.both_sides:
            ahead = values.select(have_lists & (values.gains > 0), selection.worst, ahead=True)
            numbers = np.concatenate([numbers, ahead])
        is_example = np.isin(np.arange(n_users), numbers)
        tables.select_pool(is_example if selection.both_sides else pool)
        tables.select_examples(numbers)
        shared = tables.shared_items(n_users)
        overlap = {"jaccard": jaccard(shared), "rbo": rank_biased_overlap(shared, P)}
        builder = ExampleBuilder(values, tables, inputs.data, segments, overlap)
        examples = tuple(builder.build(numbers))
        item_differences: tuple[ItemDifference, ...] = ()
        mean_jaccard, mean_rbo = None, None
        if not selection.both_sides:
            rows = tables.items(values.threshold(label), selection.worst, selection.item)
            titles = tables.titles([row[0] for row in rows])
            item_differences = tuple(item_difference(row, titles, int(pool.sum())) for row in rows)
            mean_jaccard, mean_rbo = (_mean(each[pool]) for each in overlap.values())
    a, b = inputs.models
    return Cases(
        title=config.title,
        a=a,
        b=b,
        model_a=selection.models[0],
        model_b=selection.models[1],
        labels=tuple(map(str, values.labels)),
        higher_is_better=label.metric.higher_is_better,
        thresholds={str(each): values.threshold(each) for each in values.labels},
        k=config.main_cutoff,
        p=P,
        segment=selection.segment,
        item=selection.item,
        who="requests" if config.of_requests else "users",
        n_users=int(pool.sum()),
        n_behind=int((values.gains[pool] < 0).sum()),
        n_ahead=int((values.gains[pool] > 0).sum()),
        jaccard=mean_jaccard,
        rbo=mean_rbo,
        cases=examples,
        item_cases=item_differences,
        both_sides=selection.both_sides,
        n_without_list=int((pool & ~have_lists).sum()),
        n_without_value=int(without_value.sum()),
        words=inputs.data.words,
    )


def _raise_if_folds_differ(inputs: ComparisonInput) -> None:
    folds = {name: each.quality.get("fold") for name, each in inputs.models.items()}
    if len(set(folds.values())) > 1:
        names = " and ".join(f"{name} on fold {fold}" for name, fold in folds.items())
        problem = f"the models were evaluated on different ground truths: {names}"
        raise NoSharedValuesError([Problem("cases", problem, "name replicates of one fold")])


def _pair_values(inputs: ComparisonInput) -> PairValues:
    config, aligned = inputs.config, inputs.aligned
    a, b = inputs.models
    by_label = {}
    for label in config.primary_labels:
        undefined = label.conventions(config.conventions).undefined
        values = aligned.values(str(label), "zero" if undefined == "zero" else "skip")
        by_label[str(label)] = (values[a], values[b])
    return PairValues(aligned.users, config.primary_labels, config.conventions, by_label)


def _segments(inputs: ComparisonInput) -> dict[str, UserGroups]:
    return {
        name: group_users(inputs, name, segmentation)
        for name, segmentation in inputs.config.segments.items()
        if not isinstance(segmentation, ByPopularity)
    }


def _in_segment(inputs: ComparisonInput, segments: Mapping[str, UserGroups], segment: str) -> Bools:
    """Return (users,) True for users of a segment such as `channel=app`."""
    masks = {
        f"{name}={value}": groups.group_numbers == number
        for name, groups in segments.items()
        for number, value in enumerate(groups.names)
    }
    if segment not in masks:
        fix = f"name one of: {', '.join(masks)}"
        if not masks:
            setting = inputs.config.settings.name("segments")
            fix = f"there are no segments of users: add some to {setting}"
        raise refuse("segment", f"{segment!r} is unknown", fix)
    return masks[segment]


def _has_item(tables: Tables, item: str, n_users: int) -> Bools:
    mask = tables.has_item(item, n_users)
    if not mask.any():
        problem = f"{item!r} is in no ground truth and in no list"
        raise refuse("item", problem, "write the item's id as in the files")
    return mask


def _mean(values: Floats) -> float | None:
    return or_none(exact_mean(values[~np.isnan(values)]))
