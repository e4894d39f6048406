"""Definitions of metrics that may have given published numbers, and their means.

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
from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.ambiguity import Ambiguity
from concord.metrics_core.evaluation.inputs import LoadedInputs
from concord.metrics_core.evaluation.panel import (
    Definition,
    changed_conventions,
    definition_content,
    panel_problem,
)
from concord.metrics_core.evaluation.printed_number import PrintedNumber
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import depends_on
from concord.metrics_core.results.comparison_parts import value_text


@dataclass(frozen=True)
class ConventionMatch:
    """Conventions, and the means that they give.

    Attributes
    ----------
    means : dict
        Mean of each metric.
    presets : tuple of str
        Presets that define the metrics so; may be empty.
    changes : dict
        Conventions that differ from the requested ones.
    matches : bool
        True if every mean is printed as its number.
    is_cut : bool
        True if the further digits of a mean were cut off, not rounded.
    presets_with_null : tuple of str
        Presets that define the metrics so if `relevance_threshold` is null.
    chance : float or None
        Share of random numbers that have a match as close as this one, see
        docs/how-to/reconcile.md; None if it does not match, or is the match of a table's row.

    Examples
    --------
    >>> import concord as cc
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["b"]}
    >>> match = cc.reconcile(lists, truth, value="0.5", metric="P@2").matches[0]
    >>> match.means, match.matches
    ({'P@2': 0.5}, True)
    """

    means: Mapping[str, float]
    presets: tuple[str, ...]
    changes: Mapping[str, Any]
    matches: bool
    is_cut: bool
    presets_with_null: tuple[str, ...] = ()
    chance: float | None = None

    @property
    def mean(self) -> float:
        """Mean of the first metric."""
        return next(iter(self.means.values()))

    @property
    def change_texts(self) -> list[str]:
        """Changes as text, such as `gain: binary`."""
        return [f"{name}: {value_text(value)}" for name, value in self.changes.items()]


MAX_THRESHOLDS = 10  # relevance thresholds that are tried
# Values of conventions that are not enumerated in the registry.
_MORE_VALUES: Mapping[str, tuple[Any, ...]] = {
    "relevance_threshold": (None,),
    "discount": ({"log": 2}, {"log": math.e}, {"log": 10}, {"jk": 2}, {"halflife": 5}),
    "err_max_grade": (1, 2, 3, 4, 5),
}
_SKIPPED_VALUES = ("error", "propagate")  # they give no number

Candidate = tuple[ConventionMatch, ...]  # conventions: the match of each model


@dataclass(frozen=True)
class DefinitionSet:
    """Conventions of some labels, and the presets that have them.

    Attributes
    ----------
    definitions : tuple of Definition
        Definition of each label.
    content : tuple
        What determines the values of each label.
    """

    definitions: tuple[Definition, ...]
    content: tuple[tuple[str, Ranking], ...]
    presets: tuple[str, ...] = ()
    presets_with_null: tuple[str, ...] = ()


def refuse_other_tables(conventions: Conventions, feature: str) -> None:
    """Raise an InputError if a convention reads another table than the ground truth."""
    problem = f"reads train or items, but `{feature}` reads only lists and ground truth"
    if isinstance((conventions.candidates or {}).get("catalogue"), str):
        fix = "write the number of items"
        raise refuse("conventions.candidates.catalogue", problem, fix)
    if (conventions.propensity or {"column": "truth"}).get("column") != "truth":
        fix = "leave it out, or name a column of the ground truth"
        raise refuse("conventions.propensity", problem, fix)


def candidate_rounds(
    labels: Sequence[Label],
    conventions: Conventions,
    models: Sequence[LoadedInputs],
    numbers: Sequence[Sequence[PrintedNumber]],
) -> Iterator[list[Candidate]]:
    """Yield the presets' definitions, then those with one convention changed, then with two.

    Parameters
    ----------
    labels : sequence of Label
        Metrics that one set of conventions is to explain; presets that lack one are left out.
    conventions : Conventions
        The conventions to change; they are the first candidate.
    models : sequence of LoadedInputs
        Lists and ground truth of each model.
    numbers : sequence of sequences of PrintedNumber
        For each model the number of each label.
    """
    grades = sorted({grade for inputs in models for grade in inputs.positive_grades})
    thresholds = grades if len(grades) <= MAX_THRESHOLDS else ()
    pinned = [label.conventions(conventions) for label in labels]
    ambiguity = Ambiguity(*map(any, zip(*(each.ambiguity for each in models), strict=True)))
    seen: set[_Outcome] = set()
    for n_changes in (0, 1, 2):
        if n_changes:
            sets = _changed_sets(labels, pinned, n_changes, thresholds, ambiguity)
        else:
            sets = _preset_sets(labels, pinned, ambiguity)
        matches = (
            _compute_matches(sets, conventions, *each) for each in zip(models, numbers, strict=True)
        )
        candidates = _merge_alike(sets, [*zip(*matches, strict=True)], seen)
        yield _without_idle_null(candidates)


_Outcome = tuple[Any, ...]  # definitions without their ranking, and their means


def _merge_alike(
    sets: Sequence[DefinitionSet], candidates: Sequence[Candidate], seen: set[_Outcome]
) -> list[Candidate]:
    """Return one candidate of those that differ in the ranking only and have the same means.

    It has the fewest changes, and the presets of all. Outcomes of earlier rounds are left out.
    """
    distinct: dict[_Outcome, Candidate] = {}
    for each, candidate in zip(sets, candidates, strict=True):
        means = tuple(tuple(match.means.values()) for match in candidate)
        outcome = (*(content for content, _ in each.content), means)
        if outcome not in seen:
            other = distinct.get(outcome, candidate)
            distinct[outcome] = candidate if other is candidate else _merge(other, candidate)
    seen |= distinct.keys()
    return [*distinct.values()]


def _merge(candidate: Candidate, other: Candidate) -> Candidate:
    first = min(candidate, other, key=lambda each: len(each[0].changes))
    presets = (*candidate[0].presets, *other[0].presets)
    null = (*candidate[0].presets_with_null, *other[0].presets_with_null)
    null = tuple(name for name in null if name not in presets)
    return tuple(replace(each, presets=presets, presets_with_null=null) for each in first)


def _compute_matches(
    sets: Sequence[DefinitionSet],
    conventions: Conventions,
    model: LoadedInputs,
    numbers: Sequence[PrintedNumber],
) -> list[ConventionMatch]:
    """Return the means of each set, and whether they are printed as the numbers of the labels."""
    distinct: dict[tuple[str, Ranking], Definition] = {}
    for each in sets:
        for content, definition in zip(each.content, each.definitions, strict=True):
            distinct.setdefault(content, replace(definition, number=len(distinct)))
    all_means = dict(zip(distinct, model.means(conventions, [*distinct.values()]), strict=True))
    matches = []
    for each in sets:
        means = [all_means[content] for content in each.content]
        pairs = [*zip(numbers, means, strict=True)]
        is_match = all(number.matches(mean) for number, mean in pairs)
        matches.append(
            ConventionMatch(
                {str(d.label): mean for d, mean in zip(each.definitions, means, strict=True)},
                each.presets,
                _changes(each, conventions),
                is_match,
                is_match and any(number.is_truncated(mean) for number, mean in pairs),
                each.presets_with_null,
            )
        )
    return matches


def _changes(each: DefinitionSet, conventions: Conventions) -> dict[str, Any]:
    """Return the changed conventions; if labels differ in one, it is named for each label."""
    by_label = {
        str(d.label): changed_conventions(d.label, d.conventions, conventions)
        for d in each.definitions
    }
    changes: dict[str, Any] = {}
    for label, changed in by_label.items():
        for name, value in changed.items():
            is_shared = changes.setdefault(name, value) == value
            changes |= {} if is_shared else {f"{name} of {label}": value}
    return changes


def _without_idle_null(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the definitions without presets whose means null as threshold does not change."""
    means = {
        name: [each.mean for each in candidate]
        for candidate in candidates
        for name in candidate[0].presets
    }
    effective = []
    for candidate in candidates:
        own = [each.mean for each in candidate]
        names = tuple(x for x in candidate[0].presets_with_null if means[x] != own)
        if names or not candidate[0].presets_with_null or candidate[0].presets:
            effective.append(tuple(replace(each, presets_with_null=names) for each in candidate))
    return effective


def sort_key(
    match: ConventionMatch, numbers: Sequence[PrintedNumber]
) -> tuple[bool, bool, int, float]:
    """Return the sort key: rounded before truncated, presets before others, few changes first."""
    is_of_no_preset = not match.presets and not match.presets_with_null
    return match.is_cut, is_of_no_preset, len(match.changes), distance(match, numbers)


def distance(match: ConventionMatch, numbers: Sequence[PrintedNumber]) -> float:
    """Return the sum of the distances of the means from their numbers, in last digits."""
    pairs = zip(match.means.values(), numbers, strict=True)
    return math.fsum(abs(mean - number.value) / number.last_digit for mean, number in pairs)


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
    ambiguity: Ambiguity,
) -> list[Conventions] | None:
    """Return the conventions with the simplest ranking; None if a label has no value."""
    computable = []
    for label, each, own in zip(labels, conventions, pinned, strict=True):
        if panel_problem(label, each, own):
            return None
        ranking = ambiguity.simplest(each.ranking, own.ranking)
        if ranking is None:
            return None
        is_simplest = ranking == each.ranking
        computable.append(each if is_simplest else replace(each, **ranking._asdict()))
    return computable


def _preset_sets(
    labels: Sequence[Label], pinned: Sequence[Conventions], ambiguity: Ambiguity
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
        if (computable := _computable(labels, conventions, pinned, ambiguity)) is not None:
            new = _definition_set(labels, computable)
            old = sets.setdefault(new.content, new)
            sets[new.content] = replace(old, presets=(*old.presets, name))
    for each in [*sets.values()]:
        null = [replace(d.conventions, relevance_threshold=None) for d in each.definitions]
        names = [name for name in each.presets if name != UNWEIGHTED]
        if names and (computable := _computable(labels, null, pinned, ambiguity)) is not None:
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
    ambiguity: Ambiguity,
) -> list[DefinitionSet]:
    choices = _alternatives(labels, pinned, thresholds, ambiguity)
    sets: dict[Any, DefinitionSet] = {}
    for names in combinations(choices, n_changes):
        for values in product(*(choices[name] for name in names)):
            changes = dict(zip(names, values, strict=True))
            changed = [replace(own, **changes) for own in pinned]
            if any(map(_is_impossible, changed)):
                continue
            computable = _computable(labels, changed, pinned, ambiguity)
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
    ambiguity: Ambiguity,
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
            and not (each.sets_ranking and _is_idle(each.name, value, pinned, ambiguity))
        ]
    return {name: values for name, values in choices.items() if values}


def _is_idle(name: str, value: Any, pinned: Sequence[Conventions], ambiguity: Ambiguity) -> bool:
    """True if a convention ranks the lists as the pinned ones do, or refuses them."""
    rankings = {own.ranking for own in pinned}
    return all(
        ambiguity.simplest(each._replace(**{name: value}), each) in (None, each)
        for each in rankings
    )


def _is_impossible(conventions: Conventions) -> bool:
    """True if nDCG does not support this ideal list."""
    needs_binary_gain = conventions.ideal == "full_k" and conventions.gain != "binary"
    return needs_binary_gain or conventions.ideal == "truth_given_order_at_k"
