"""`reconcile`: search the definitions of metrics that reproduce published numbers.

Presets are tried first, then the given conventions with one of them changed, then with two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from concord.metrics_core.analyses.reconcile.result import Reconciliation
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.data.argument_types import Data, PolicyOptions, TableColumns, Truth
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.definition_search import (
    ConventionMatch,
    DefinitionSearch,
    distance,
    next_candidates,
    refuse_other_tables,
    sort_key,
)
from concord.metrics_core.evaluation.definition_sets import MAX_CHANGES
from concord.metrics_core.evaluation.inputs import LoadedInputs, load_inputs
from concord.metrics_core.evaluation.printed_number import PrintedNumber, number_text
from concord.metrics_core.metrics.label import Label, parse_supported

MAX_NEAREST = 5  # definitions that do not match


def reconcile(
    recs: Data,
    truth: Truth,
    *,
    value: str | float | Mapping[str, str | float],
    metric: str | None = None,
    conventions: ConventionsLike = "standard",
    columns: TableColumns | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
) -> Reconciliation:
    """Search the definitions of metrics that reproduce published numbers on these lists.

    Give several numbers of one source if you have them: one number has matches by chance.

    Parameters
    ----------
    recs, truth, columns, input, unit
        As for `evaluate`.
    value : dict, str or float
        {metric: number}, to be explained by one set of conventions; or one number and `metric`.
        A number as printed, such as "0.330": its last digit defines how exact a match must be.
        A float has the digits of its `repr`.
    metric : str, optional
        A label such as "nDCG@10" that reads lists and ground truth only.
    conventions : Conventions, str or dict, default="standard"
        The conventions to vary.

    Returns
    -------
    Reconciliation
        Matching definitions, best first, then the nearest of the others.

    Raises
    ------
    ValueError
        If a value is not a number, or a metric reads more than lists and ground truth;
        otherwise as `evaluate`.

    Examples
    --------
    >>> import concord as cc
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["b", "c", "d", "e"]}
    >>> result = cc.reconcile(lists, truth, value={"P@2": "0.5", "AP@2": "0.125"})
    >>> result.matches[0].means
    {'P@2': 0.5, 'AP@2': 0.125}
    """
    values = parse_values(_pairs(value, metric), partial(parse_supported, feature="reconcile"))
    conventions = resolve_conventions(conventions)
    refuse_other_tables(conventions, "reconcile")
    with in_memory() as connection:
        inputs = load_inputs(
            connection,
            recs,
            truth,
            conventions,
            columns=columns,
            policies=input,
            unit=unit,
        )
        return search(values, conventions, inputs)


def _pairs(
    value: str | float | Mapping[str, str | float], metric: str | None
) -> Iterable[tuple[str, str | float]]:
    """Return each metric with its number."""
    if isinstance(value, Mapping) == (metric is not None):
        problem = "is given, but `value` names its metrics" if metric else "is missing"
        fix = "leave it out" if metric else "name the metric of the value, such as 'nDCG@10'"
        raise refuse("metric", problem, fix)
    if not value and isinstance(value, Mapping):
        raise refuse("value", "is empty", "write a number for each metric: {'nDCG@10': '0.330'}")
    return value.items() if isinstance(value, Mapping) else [(str(metric), value)]


def parse_values(
    pairs: Iterable[tuple[str, str | float]], parse: Callable[[str], Label]
) -> dict[Label, str]:
    """Return the number of each metric as printed; `parse` returns the label of a metric's name.

    Raises
    ------
    ValueError
        If a metric is unknown or occurs twice, or a value is not a number.
    """
    values: dict[Label, str] = {}
    for name, number in pairs:
        label = parse(name)
        if label in values:
            raise refuse("value", f"has two numbers of {label}", "give one number of each metric")
        values[label] = number_text(number)
        try:
            PrintedNumber.parse(values[label])
        except ValueError:
            fix = "write a text such as '0.330' or '33.0%'"
            raise refuse("value", f"{number!r} is not a number as printed", fix) from None
    return values


def search(
    values: Mapping[Label, str],
    conventions: Conventions,
    inputs: LoadedInputs,
) -> Reconciliation:
    """Search definitions on loaded lists; see `reconcile`.

    Parameters
    ----------
    values : mapping
        The number of each label as printed.
    conventions : Conventions
        The conventions to vary.
    inputs : LoadedInputs
        The lists and the ground truth.

    Returns
    -------
    Reconciliation
        Matching definitions, best first, then the nearest of the others.
    """
    numbers = [PrintedNumber.parse(text) for text in values.values()]
    steps: list[list[ConventionMatch]] = []
    search = DefinitionSearch([*values], conventions, [inputs], [numbers])
    for n_changes in range(MAX_CHANGES + 1):
        (candidates,) = next_candidates([search])
        steps.append([match for (match,) in candidates])
        if n_changes and any(each.matches for step in steps for each in step):
            break
    steps[:1] = [steps[0][:1], steps[0][1:]]  # the given conventions, then the presets
    matching = sorted(_with_chance(steps, numbers), key=lambda each: sort_key(each, numbers))
    nearest = [
        each
        for step in steps
        for each in step
        if not each.matches and not any(map(math.isnan, each.means.values()))
    ]
    nearest.sort(key=lambda each: distance(each, numbers))
    texts = {str(label): text for label, text in values.items()}
    return Reconciliation(texts, (*matching, *nearest[:MAX_NEAREST]), inputs.n_units)


def _with_chance(
    steps: Sequence[Sequence[ConventionMatch]], numbers: Sequence[PrintedNumber]
) -> Iterator[ConventionMatch]:
    """Yield the matches with the share of the numbers nearby that have a match in as few steps.

    A number cut off counts only for matches that are cut off themselves. With several numbers it
    is the share of their combinations.
    """
    nearby = (number.units_nearby for number in numbers)
    n_combinations = math.prod(each.stop - each.start for each in nearby)  # may exceed len()
    given: dict[bool, set[tuple[int, ...]]] = {False: set(), True: set()}
    for step in steps:
        for may_be_cut, combinations in given.items():
            for each in step:
                combinations |= {
                    *product(
                        *(
                            number.printed_units(mean, may_be_cut=may_be_cut)
                            for number, mean in zip(numbers, each.means.values(), strict=True)
                        )
                    )
                }
        for each in step:
            if each.matches:
                yield replace(each, chance=len(given[each.is_cut]) / n_combinations)
