"""Definitions of metrics that may have given published numbers.

Presets are tried first, then the given conventions with one of them changed, then with two. Each
definition ranks the lists in its own way: ties, copies and the precision of scores belong to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from concord.metrics_core.evaluation.inputs import LoadedInputs
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
    """Definitions of some labels, and the presets that have them."""

    definitions: tuple[Definition, ...]
    presets: tuple[str, ...] = ()
    presets_with_null: tuple[str, ...] = ()

    @cached_property
    def content(self) -> tuple[Content, ...]:
        """What determines the values of each label."""
        return tuple(
            (f"{d.label} {definition_content(d.label, d.conventions)}", d.conventions.ranking)
            for d in self.definitions
        )


class DefinitionSpace:
    """All definitions that are tried for some labels.

    Each set of definitions is one for all labels; presets that lack the definition of a label are
    left out.

    Parameters
    ----------
    labels : sequence of Label
        The labels.
    conventions : Conventions
        The conventions to change.
    models : sequence of LoadedInputs
        Lists and ground truth of each model. Their grades are relevance thresholds to try, unless
        there are more than MAX_THRESHOLDS.
    """

    def __init__(
        self,
        labels: Sequence[Label],
        conventions: Conventions,
        models: Sequence[LoadedInputs],
    ) -> None:
        self.pinned = {label: label.conventions(conventions) for label in labels}
        grades = sorted({grade for inputs in models for grade in inputs.positive_grades})
        self.thresholds = grades if len(grades) <= MAX_THRESHOLDS else ()
        self.models = models
        self._simplest: dict[tuple[Ranking, tuple[int | None, ...]], Ranking] = {}

    def rounds(self) -> Iterator[list[DefinitionSet]]:
        """Yield the presets' definitions, then those with one convention changed, then with two.

        The first definitions of the presets' are those of the given conventions.
        """
        yield self._preset_sets()
        for n_changes in range(1, MAX_CHANGES + 1):
            yield self._changed_sets(n_changes)

    def _preset_sets(self) -> list[DefinitionSet]:
        """Return the given conventions, the presets, and presets with null as threshold."""
        first = _definition_set(self.pinned)
        sets = {first.content: first}

        def add(conventions: Mapping[Label, Conventions], names: Iterable[str], field: str) -> None:
            if new := self._computable(conventions):
                old = sets.setdefault(new.content, new)
                others = tuple(name for name in names if name not in old.presets)
                changes: dict[str, Any] = {field: getattr(old, field) + others}
                sets[new.content] = replace(old, **changes)

        for name in presets():
            if all(defines(name, label.name) for label in self.pinned):
                own = {
                    label: with_data_conventions(label.conventions(preset(name)), pinned)
                    for label, pinned in self.pinned.items()
                }
                add(own, [name], "presets")
        if any(own.propensity and not x.metric.describes_list for x, own in self.pinned.items()):
            unweighted = {x: replace(own, propensity=None) for x, own in self.pinned.items()}
            add(unweighted, [UNWEIGHTED], "presets")
        for each in [*sets.values()]:
            if names := [name for name in each.presets if name != UNWEIGHTED]:
                null = {
                    d.label: replace(d.conventions, relevance_threshold=None)
                    for d in each.definitions
                }
                add(null, names, "presets_with_null")
        return [*sets.values()]

    def _changed_sets(self, n_changes: int) -> list[DefinitionSet]:
        choices = self._alternatives()
        sets: dict[Any, DefinitionSet] = {}
        for names in combinations(choices, n_changes):
            for values in product(*(choices[name] for name in names)):
                changes = dict(zip(names, values, strict=True))
                changed = {label: replace(own, **changes) for label, own in self.pinned.items()}
                if any(map(_is_impossible, changed.values())):
                    continue
                new = self._computable(changed)
                if new and all(self._differs(new, name) for name in names):
                    sets.setdefault(new.content, new)  # several rankings may order lists alike
        return [*sets.values()]

    def _computable(self, conventions: Mapping[Label, Conventions]) -> DefinitionSet | None:
        """Return the definitions with the simplest rankings; None if a label has no value."""
        computable = {}
        for label, each in conventions.items():
            own = self.pinned[label]
            ranking = self._simplest_ranking(each.ranking, own.ranking)
            if ranking is None or panel_problem(label, each, own):
                return None
            computable[label] = replace(each, **ranking._asdict())
        return _definition_set(computable)

    def _simplest_ranking(self, ranking: Ranking, pinned: Ranking) -> Ranking | None:
        """Return one ranking for all that order the lists alike, with the given values if it can.

        None if the ranking rejects the lists of a model.
        """

        def orders(each: Ranking) -> tuple[int | None, ...]:
            return tuple(model.order(each) for model in self.models)

        own = orders(ranking)
        if None in own:
            return None
        if (pinned, own) not in self._simplest:
            simplest = pinned if orders(pinned) == own else ranking
            by_id = {"ties": ranking.ties.replace("item_text_", "item_")}
            for changes in (by_id, *({name: value} for name, value in pinned._asdict().items())):
                simpler = simplest._replace(**changes)
                simplest = simpler if orders(simpler) == own else simplest
            self._simplest[pinned, own] = simplest
        return self._simplest[pinned, own]

    def _differs(self, each: DefinitionSet, name: str) -> bool:
        """True if a convention of a label is not the given one."""
        return any(
            getattr(d.conventions, name) != getattr(self.pinned[d.label], name)
            for d in each.definitions
        )

    def _alternatives(self) -> dict[str, list[Any]]:
        """Return the alternative values of each convention that affects a label."""
        choices = {}
        for each in PRESET_CONVENTIONS:
            affected = [
                getattr(own, each.name)
                for label, own in self.pinned.items()
                if depends_on(label.metric, each.name)
            ]
            values = [*each.values, *_MORE_VALUES.get(each.name, ())]
            if each.name == "relevance_threshold":
                values += self.thresholds
            choices[each.name] = [
                value
                for value in values
                if value not in _SKIPPED_VALUES and any(value != own for own in affected)
            ]
        return {name: values for name, values in choices.items() if values}


def _definition_set(conventions: Mapping[Label, Conventions]) -> DefinitionSet:
    return DefinitionSet(tuple(Definition(x, 0, (), each) for x, each in conventions.items()))


def _is_impossible(conventions: Conventions) -> bool:
    """True if nDCG does not support this ideal list."""
    needs_binary_gain = conventions.ideal == "full_k" and conventions.gain != "binary"
    return needs_binary_gain or conventions.ideal == "truth_given_order_at_k"
