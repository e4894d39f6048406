"""Definitions of metrics that may have given published numbers.

Presets are tried first, then the given conventions with one of them changed, then with two. Each
definition ranks the lists in its own way: ties, copies and the precision of scores belong to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from concord.metrics_core.conventions.conventions import Conventions, Ranking
from concord.metrics_core.conventions.presets import (
    UNWEIGHTED,
    defines,
    preset,
    presets,
    with_data_conventions,
)
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.evaluation.list_orders import ListOrders
from concord.metrics_core.evaluation.panel import (
    Definition,
    definition_content,
    panel_problem,
)
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import depends_on

MAX_CHANGES = 2  # conventions that are changed at once
MAX_THRESHOLDS = 10  # relevance thresholds that are tried
# Values of conventions that are not enumerated in the registry.
_MORE_VALUES: Mapping[str, tuple[Any, ...]] = {
    "relevance_threshold": (None,),
    "discount": ({"log": 2}, {"log": math.e}, {"log": 10}, {"jk": 2}, {"halflife": 5}),
    "err_max_grade": (1, 2, 3, 4, 5),
}
_SKIPPED_VALUES = ("error", "propagate")  # they give no number

Content = tuple[str, Ranking]  # what determines the values of a label


@dataclass(frozen=True)
class DefinitionSet:
    """Conventions of some labels, and the presets that have them.

    Attributes
    ----------
    definitions : tuple of Definition
        Definition of each label.
    content : tuple of Content
        What determines the values of each label.
    """

    definitions: tuple[Definition, ...]
    content: tuple[Content, ...]
    presets: tuple[str, ...] = ()
    presets_with_null: tuple[str, ...] = ()


def definition_rounds(
    labels: Sequence[Label],
    conventions: Conventions,
    grades: Sequence[float],
    orders: ListOrders,
) -> Iterator[list[DefinitionSet]]:
    """Yield the presets' definitions, then those with one convention changed, then with two.

    The first definitions of the presets' are those of `conventions`. Each set is one for all
    labels; presets that lack the definition of a label are left out.
    """
    thresholds = grades if len(grades) <= MAX_THRESHOLDS else ()
    pinned = [label.conventions(conventions) for label in labels]
    yield _preset_sets(labels, pinned, orders)
    for n_changes in range(1, MAX_CHANGES + 1):
        yield _changed_sets(labels, pinned, n_changes, thresholds, orders)


def _definition_set(
    labels: Sequence[Label], conventions: Sequence[Conventions], presets: tuple[str, ...] = ()
) -> DefinitionSet:
    pairs = [*zip(labels, conventions, strict=True)]
    return DefinitionSet(
        tuple(Definition(label, 0, (), each) for label, each in pairs),
        tuple(
            (f"{label} {definition_content(label, each)}", each.ranking) for label, each in pairs
        ),
        presets,
    )


def _computable(
    labels: Sequence[Label],
    conventions: Sequence[Conventions],
    pinned: Sequence[Conventions],
    orders: ListOrders,
) -> list[Conventions] | None:
    """Return the conventions with the simplest ranking; None if a label has no value."""
    computable = []
    for label, each, own in zip(labels, conventions, pinned, strict=True):
        if panel_problem(label, each, own):
            return None
        ranking = orders.simplest(each.ranking, own.ranking)
        if ranking is None:
            return None
        is_simplest = ranking == each.ranking
        computable.append(each if is_simplest else replace(each, **ranking._asdict()))
    return computable


def _preset_sets(
    labels: Sequence[Label], pinned: Sequence[Conventions], orders: ListOrders
) -> list[DefinitionSet]:
    """Return the given conventions, the presets, and presets with null as threshold."""
    pairs = [*zip(labels, pinned, strict=True)]
    named: dict[str, list[Conventions]] = {
        name: [with_data_conventions(label.conventions(preset(name)), own) for label, own in pairs]
        for name in presets()
        if all(defines(name, label.name) for label in labels)
    }
    if any(own.propensity and not label.metric.describes_list for label, own in pairs):
        named[UNWEIGHTED] = [replace(own, propensity=None) for own in pinned]
    first = _definition_set(labels, pinned)
    sets = {first.content: first}
    for name, conventions in named.items():
        if (computable := _computable(labels, conventions, pinned, orders)) is not None:
            new = _definition_set(labels, computable)
            old = sets.setdefault(new.content, new)
            sets[new.content] = replace(old, presets=(*old.presets, name))
    for each in [*sets.values()]:
        null = [replace(d.conventions, relevance_threshold=None) for d in each.definitions]
        names = [name for name in each.presets if name != UNWEIGHTED]
        if names and (computable := _computable(labels, null, pinned, orders)) is not None:
            new = _definition_set(labels, computable)
            old = sets.setdefault(new.content, new)
            others = (name for name in names if name not in old.presets)
            sets[new.content] = replace(old, presets_with_null=(*old.presets_with_null, *others))
    return [*sets.values()]


def _changed_sets(
    labels: Sequence[Label],
    pinned: Sequence[Conventions],
    n_changes: int,
    thresholds: Sequence[float],
    orders: ListOrders,
) -> list[DefinitionSet]:
    choices = _alternatives(labels, pinned, thresholds, orders)
    sets: dict[Any, DefinitionSet] = {}
    for names in combinations(choices, n_changes):
        for values in product(*(choices[name] for name in names)):
            changes = dict(zip(names, values, strict=True))
            changed = [replace(own, **changes) for own in pinned]
            if any(map(_is_impossible, changed)):
                continue
            computable = _computable(labels, changed, pinned, orders)
            if computable and all(_differ(computable, pinned, name) for name in names):
                new = _definition_set(labels, computable)
                sets.setdefault(new.content, new)  # other orders of equal scores may be the same
    return [*sets.values()]


def _differ(some: Sequence[Conventions], others: Sequence[Conventions], name: str) -> bool:
    return any(getattr(a, name) != getattr(b, name) for a, b in zip(some, others, strict=True))


def _alternatives(
    labels: Sequence[Label],
    pinned: Sequence[Conventions],
    thresholds: Sequence[float],
    orders: ListOrders,
) -> dict[str, list[Any]]:
    """Return the alternative values of each convention that affects a label."""
    choices = {}
    for each in PRESET_CONVENTIONS:
        affected = [
            getattr(own, each.name)
            for label, own in zip(labels, pinned, strict=True)
            if depends_on(label.metric, each.name)
        ]
        values = [*each.values, *_MORE_VALUES.get(each.name, ())]
        if each.name == "relevance_threshold":
            values += thresholds
        choices[each.name] = [
            value
            for value in values
            if value not in _SKIPPED_VALUES
            and any(value != own for own in affected)
            and not (each.sets_ranking and _is_idle(each.name, value, pinned, orders))
        ]
    return {name: values for name, values in choices.items() if values}


def _is_idle(name: str, value: Any, pinned: Sequence[Conventions], orders: ListOrders) -> bool:
    """True if a convention ranks the lists as the pinned ones do, or refuses them."""
    rankings = {own.ranking for own in pinned}
    return all(
        orders.simplest(each._replace(**{name: value}), each) in (None, each) for each in rankings
    )


def _is_impossible(conventions: Conventions) -> bool:
    """True if nDCG does not support this ideal list."""
    needs_binary_gain = conventions.ideal == "full_k" and conventions.gain != "binary"
    return needs_binary_gain or conventions.ideal == "truth_given_order_at_k"
